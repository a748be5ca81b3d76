"""Explain a code, a field, a quantity, a value, a GPU or a catalog."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from ckrules.cli.formats import TEXT, output_options
from ckrules.cli.glossary import Glossary
from ckrules.cli.options import rule_options
from ckrules.cli.output import text_output
from ckrules.kernels.books import Books
from ckrules.support.tables import aligned
from ckrules.support.visible import json_text

EPILOG = """\b
Examples:
  ckrules explain LDS001
  ckrules explain lds_bytes
  ckrules explain compv4
  ckrules explain --list quantities
"""

GROUP = "explore"


def _completed(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    words = Glossary(Books())
    known = list(words.sections) if ctx.params.get("listed") else words.words()
    return [CompletionItem(w) for w in known if w.lower().startswith(incomplete.lower())]


@click.command(epilog=EPILOG)
@click.argument(
    "what",
    metavar="[CODE|FIELD|QUANTITY|VALUE|GPU|CATALOG]",
    required=False,
    shell_complete=_completed,
)
@click.option("--list", "listed", is_flag=True, help="List the words of a kind, or the kinds.")
@output_options(TEXT)
@rule_options
def command(books: Books, what: str | None, listed: bool, form: str, output: str | None) -> int:
    """Explain any word that ckrules prints."""
    if what is None and not listed:
        raise click.UsageError("missing argument: a word, or --list", click.get_current_context())
    make = _text if form == "text" else _json
    text = make(Glossary(books), what, listed)
    with text_output(output) as stream:
        stream.write(text)
    return 0


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
