"""List the rules."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from ckrules import constraints
from ckrules.cli.group import session
from ckrules.cli.options import rule_options
from ckrules.cli.terminal import colored, is_terminal, note
from ckrules.engine.errors import unknown
from ckrules.engine.rules import KINDS, SEVERITIES
from ckrules.selection import Books

if TYPE_CHECKING:
    from ckrules.engine.book import RuleBook
    from ckrules.engine.rules import Rule

_FORMATS = ("table", "json", "jsonl")


@click.command()
@click.option("--family", metavar="LETTERS", help="Only the rules of a family, such as TILE.")
@click.option("--kind", metavar="|".join(KINDS), help="Only the rules of a kind.")
@click.option("--severity", metavar="|".join(SEVERITIES), help="Only the rules of a severity.")
@click.option("--variant", metavar="NAME", help="Only the rules of a variant's operator.")
@click.option("--format", "form", metavar="|".join(_FORMATS), default="table", help="[table]")
@rule_options
def command(
    books: Books,
    family: str | None,
    kind: str | None,
    severity: str | None,
    variant: str | None,
    form: str,
) -> int:
    """List the rules."""
    if form not in _FORMATS:
        raise unknown("format", form, _FORMATS)
    chosen = [books.of(variant)] if variant else books.every()
    listed = [(b, r) for b in chosen for r in b.rules]
    wanted = {"family": family and family.upper(), "kind": kind, "severity": severity}
    known = {"kind": tuple(KINDS), "severity": SEVERITIES, "family": tuple(constraints.FAMILIES)}
    for what, word in wanted.items():
        if word is None:
            continue
        if word not in known[what] and word not in {getattr(r, what) for _, r in listed}:
            raise unknown(what, word, known[what])
        listed = [(b, r) for b, r in listed if getattr(r, what) == word]
    _write(listed, form)
    return 0


def _write(listed: list[tuple[RuleBook, Rule]], form: str) -> None:
    if form == "table":
        if is_terminal(sys.stdout):
            _rich(listed)
        else:
            sys.stdout.writelines(_lines(listed))
        note(f"{len(listed)} rules; ckrules explain CODE shows one")
        return
    from ckrules.reports.page import rule_dict

    dicts: list[dict[str, Any]] = [rule_dict(b, r) for b, r in listed]
    if form == "json":
        print(json.dumps(dicts, indent=1, ensure_ascii=False))
    else:
        sys.stdout.writelines(json.dumps(d, ensure_ascii=False) + "\n" for d in dicts)


def _lines(listed: list[tuple[RuleBook, Rule]]) -> list[str]:
    kinds = max((len(r.kind) for _, r in listed), default=0)
    names = max((len(r.name) for _, r in listed), default=0)
    return [
        f"{r.code:<8}{r.severity:<9}{r.kind:<{kinds}}  {r.name:<{names}}  {r.summary}\n"
        for _, r in listed
    ]


def _rich(listed: list[tuple[RuleBook, Rule]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("code", "severity", "kind", "what legal points meet"):
        table.add_column(title, no_wrap=title != "what legal points meet")
    for _, r in listed:
        table.add_row(r.code, r.severity, r.kind, r.summary)
    color = colored(session().color, sys.stdout)
    Console(color_system="auto" if color else None, highlight=False).print(table, markup=False)
