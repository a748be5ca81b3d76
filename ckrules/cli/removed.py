"""How many candidates each family of rules removes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ckrules import constraints
from ckrules.cli.terminal import progress

if TYPE_CHECKING:
    from ckrules.engine.expr import BoolExpr
    from ckrules.selection import Selection


def removed(selection: Selection) -> tuple[int, list[tuple[str, int]]]:
    """The number of candidates, and how many of what was left each family removed in turn.

    Families come in the order of `ckrules.constraints.FAMILIES`, ``--where`` last; a family that
    removes nothing is left out.
    """
    space = selection.candidates()
    left = total = space.count()
    found: list[tuple[str, int]] = []
    steps = list(_steps(selection))
    with progress("counting what each family removes", len(steps)) as bar:
        for family, conditions in steps:
            space = space.where(*conditions)
            now = space.count()
            if left - now:
                found.append((family, left - now))
            left = now
            bar.advance(1)
    return total, found


def _steps(selection: Selection) -> Iterator[tuple[str, list[BoolExpr]]]:
    present = {r.family for r in selection.book.rules}
    ordered = [f for f in constraints.FAMILIES if f in present]
    for family in [*ordered, *sorted(present - set(ordered))]:
        yield family, [r.condition for r in selection.book.rules if r.family == family]
    if selection.where:
        yield "--where", list(selection.where)


def number(n: int) -> str:
    """A count: exact up to a million millions, else rounded.

    >>> number(1234567), number(3 * 10**20)
    ('1,234,567', '3e+20')
    """
    return f"{n:,}" if n < 10**12 else f"{n:.3g}"


def sentence(selection: Selection) -> str:
    """What was removed, for the end of a summary."""
    from ckrules.engine.diagram.errors import TooHardError

    try:
        total, families = removed(selection)
    except TooHardError:
        return "what each family of rules removes is too hard to count"
    parts = ", ".join(f"{family} {number(n)}" for family, n in families)
    return f"{number(total)} candidates" + (f", removed by family: {parts}" if parts else "")
