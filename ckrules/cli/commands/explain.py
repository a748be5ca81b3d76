"""Explain a code, a field, a quantity, a value, a GPU or a catalog."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from ckrules.cli.formats import TEXT, output_options
from ckrules.cli.glossary import Glossary
from ckrules.cli.group import session
from ckrules.cli.once import option
from ckrules.cli.options import rule_options
from ckrules.cli.output import text_output
from ckrules.cli.terminal import colored, is_terminal
from ckrules.kernels.books import Books
from ckrules.support.tables import aligned
from ckrules.support.visible import hyperlink, json_text

GROUP = "explore"


def _completed(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    words = Glossary(Books())
    known = list(words.sections) if ctx.params.get("listed") else words.words()
    return [CompletionItem(w) for w in known if w.lower().startswith(incomplete.lower())]


@click.command()
@click.argument(
    "what",
    metavar="[CODE|FIELD|QUANTITY|VALUE|GPU|CATALOG]",
    required=False,
    shell_complete=_completed,
)
@option("--list", "listed", is_flag=True, help="List the words of a kind, or the kinds.")
@output_options(TEXT)
@rule_options
def command(books: Books, what: str | None, listed: bool, form: str, output: str | None) -> int:
    """Explain any word that ckrules prints."""
    if what is None and not listed:
        raise click.UsageError("missing argument: a word, or --list", click.get_current_context())
    make = _text if form == "text" else _json
    words = Glossary(books)
    text = make(words, what, listed)
    if form == "text" and what is not None and not listed and output is None:
        text = _linked(text, words.find(what)[1])
    with text_output(output) as stream:
        stream.write(text)
    return 0


def _linked(text: str, name: str) -> str:
    """The page with its code as a link, on a terminal and where a setting says to where."""
    if not (is_terminal(sys.stdout) and colored(session().color, sys.stdout)):
        return text
    from ckrules.checking.diagnostics import linked
    from ckrules.checking.settings import SettingsResolver

    base = str(SettingsResolver({}).of(Path.cwd())["docs-url"])
    if not base or not text.startswith(f"# {name}:"):  # a code of a rule
        return text
    return text.replace(name, hyperlink(name, linked(base, f"docs/rules/{name}.md")), 1)


def _text(words: Glossary, what: str | None, listed: bool) -> str:
    if what is None:
        sizes = ((s, f"{len(words.lines(s))} words") for s in words.sections)
        return aligned([[f"ckrules explain --list {s}", n] for s, n in sizes])
    if listed:
        return aligned([list(pair) for pair in words.lines(what.lower()).items()])
    return words.page(what)


def _json(words: Glossary, what: str | None, listed: bool) -> str:
    answer: object
    if what is None:
        answer = [{"list": s, "words": len(words.lines(s))} for s in words.sections]
    elif listed:
        lines = words.lines(what.lower())
        answer = [{"name": name, "summary": line} for name, line in lines.items()]
    else:
        section, name, word = words.find(what)
        answer = {"name": name, "list": section, "summary": word.line, "page": word.page()}
    return json_text(answer, indent=1) + "\n"
