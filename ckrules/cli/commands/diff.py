"""Compare what two GPUs, versions, profiles, catalogs or rule books accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ckrules.cli.answers import Writer, answer_options, name_or_text
from ckrules.cli.request import Request
from ckrules.cli.sides import side_of
from ckrules.cli.space_options import space_options
from ckrules.cli.terminal import progress, waiting
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.engine.rules.region import Region
    from ckrules.kernels.releases import RuleChange
    from ckrules.reasoning.difference import Part

GROUP = "check"


@click.command()
@click.argument("a")
@click.argument("b")
@space_options
@answer_options
def command(a: str, b: str, request: Request, write: Writer) -> int:
    """Compare what two GPUs, versions, profiles, catalogs or rule books accept."""
    from ckrules.reasoning.difference import STEPS, diff

    with waiting("reading what is compared"):
        sides = side_of(a, request), side_of(b, request)
    with progress("steps of comparing", STEPS) as bar:
        found = diff(*sides, told=bar.advance)
    changes = _changes(*sides)

    def lines() -> Iterator[str]:
        if found.dropped:
            yield f"compared without {', '.join(found.dropped)}"
        if found.equal:
            yield f"equal: {count(found.both, 'configuration')} on both sides, none on one only"
        else:
            yield f"only {found.only_a.title}: {found.only_a.count:,}"
            yield f"both: {found.both:,}"
            yield f"only {found.only_b.title}: {found.only_b.count:,}"
            yield from _part(found.only_a, found.only_b.title)
            yield from _part(found.only_b, found.only_a.title)
        yield from (f"rule {change}" for change in changes)

    told = {"rules": [c.to_dict() for c in changes]} if changes else {}
    ck = sides[0].book.vocabulary.ck if request.by_catalog else ""
    write({**request.to_dict(ck), **found.to_dict(), **told}, lines())
    return 0 if found.equal else 1


def _changes(a: Region, b: Region) -> list[RuleChange]:
    """The rules that differ where the sides are two versions of one rule set."""
    from ckrules.kernels.releases import rule_changes

    old, new = a.book, b.book
    variants = a.space.domains.get("variant")
    if old.name != new.name or old.vocabulary.ck == new.vocabulary.ck or not variants:
        return []
    return rule_changes(str(variants[0]), old, new)


def _part(part: Part, other: str) -> Iterator[str]:
    if part.witness is None:
        return
    yield f"{part.title} accepts {name_or_text(part.witness)}"
    for r in part.rules:
        yield f"  {other}: {r.rule.code} rejects {r.count:,}: {_short(r.message)}"


def _short(message: str, most: int = 200) -> str:
    return message if len(message) <= most else f"{message[: most - 1]}…"
