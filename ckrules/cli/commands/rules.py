"""List the rules."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from typing import IO, TYPE_CHECKING, Any

import click

from ckrules.cli.formats import output_options
from ckrules.cli.group import session
from ckrules.cli.once import option
from ckrules.cli.options import OneOf, elsewhere, rule_options, topic_option
from ckrules.cli.output import text_output
from ckrules.cli.terminal import colored, is_terminal, note
from ckrules.engine.rules import KINDS, Severity
from ckrules.kernels.books import Books
from ckrules.support.ansi import BOLD, painted
from ckrules.support.errors import UsageError
from ckrules.support.tables import aligned, count

if TYPE_CHECKING:
    from ckrules.engine.rules import Rule
    from ckrules.engine.rules.book import RuleBook

_FORMATS = {"table": (".txt",), "json": (".json",), "jsonl": (".jsonl", ".ndjson")}

_ROOM = 64  # columns of a terminal below which there is room for codes and sentences alone

GROUP = "explore"


@click.command()
@topic_option
@option("--kind", type=OneOf(KINDS, "kind"), help="Only the rules of a kind.")
@option(
    "--severity",
    type=OneOf([s.value for s in Severity], "severity"),
    help="Only the rules of a severity.",
)
@option("--variant", metavar="NAME", help="Only the rules of a variant's family.")
@output_options(_FORMATS)
@rule_options
def command(
    books: Books,
    chosen_topics: tuple[str, ...],
    kind: str | None,
    severity: str | None,
    variant: str | None,
    form: str,
    output: str | None,
) -> int:
    """List the rules."""
    chosen = [books.of(variant)] if variant else books.every()
    if not chosen:
        raise UsageError(f"profile {books.profile} has no rules for CK {books.ck}")
    listed = [(b, r) for b in chosen for r in b.rules]
    listed = [(b, r) for b, r in listed if not chosen_topics or r.topic in chosen_topics]
    if chosen_topics and not listed:
        note(elsewhere(chosen_topics))
    for what, word in {"kind": kind, "severity": severity}.items():
        listed = [(b, r) for b, r in listed if word is None or getattr(r, what) == word]
    with text_output(output) as stream:
        _write(listed, form, stream)
    return 0


def _write(listed: list[tuple[RuleBook, Rule]], form: str, stream: IO[str]) -> None:
    if form == "table":
        if stream is sys.stdout and is_terminal(sys.stdout):
            _for_terminal(listed)
        elif listed:
            rows = [[r.code, r.severity, r.kind, r.name, r.summary] for _, r in listed]
            stream.write(aligned(rows))
        note(f"{count(len(listed), 'rule')}; ckrules explain CODE shows one")
        return
    from ckrules.output.rule_page import rule_dict

    dicts: list[dict[str, Any]] = [rule_dict(b, r) for b, r in listed]
    if form == "json":
        stream.write(json.dumps(dicts, indent=1, ensure_ascii=False) + "\n")
    else:
        stream.writelines(json.dumps(d, ensure_ascii=False) + "\n" for d in dicts)


def _for_terminal(listed: list[tuple[RuleBook, Rule]]) -> None:
    color, width = colored(session().color, sys.stdout), shutil.get_terminal_size().columns
    wide = width >= _ROOM
    rows = [("code", "severity", "kind"), *((r.code, r.severity, r.kind) for _, r in listed)]
    heads = aligned([row if wide else row[:1] for row in rows]).splitlines()
    indent = max(map(len, heads)) + 2
    texts = ["what every configuration meets", *(r.summary for _, r in listed)]
    for number, (head, text) in enumerate(zip(heads, texts, strict=True)):
        lines = textwrap.wrap(text, max(width - indent, 16)) or [""]
        print(painted(f"{head:<{indent}}{lines[0]}", BOLD, color and not number))
        for more in lines[1:]:
            print(" " * indent + more)
