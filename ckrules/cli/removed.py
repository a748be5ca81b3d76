"""How many candidates each topic of the rules removes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckrules.cli.terminal import progress
from ckrules.kernels import library
from ckrules.support.tables import aligned

if TYPE_CHECKING:
    from ckrules.engine.expr import BoolExpr
    from ckrules.engine.rules.region import Region


def removed(region: Region) -> tuple[int, list[tuple[str, int]]]:
    """The number of candidates, and how many of what was left each topic removed in turn.

    Topics come in the order of `ckrules.kernels.library.topics`, ``--where`` and ``--distinct``
    last; a topic that removes nothing is left out. The figures are kept on disk beside the compiled
    spaces.
    """
    from ckrules.engine.diagram import cache
    from ckrules.engine.diagram.content import digest

    steps = _steps(region)
    conditions = [c for _, added in steps for c in added]
    sizes = [f"{topic} {len(added)}" for topic, added in steps]
    key = digest(region.candidates().domains, conditions, ["removed", *sizes])
    total, *found = cache.figures(key, lambda: _counts(region, steps))
    topics = zip((topic for topic, _ in steps), found, strict=True)
    return total, [(topic, n) for topic, n in topics if n]


def _counts(region: Region, steps: Sequence[tuple[str, Sequence[BoolExpr]]]) -> list[int]:
    space = region.candidates()
    left = space.count()
    counts = [left]
    with progress("counting what each topic removes", len(steps)) as bar:
        for _, conditions in steps:
            space = space.where(*conditions)
            now = space.count()
            counts.append(left - now)
            left = now
            bar.advance(1)
    return counts


def _steps(region: Region) -> list[tuple[str, list[BoolExpr]]]:
    rules = region.book.rules
    present = {r.topic for r in rules}
    ordered = [f for f in library.topics() if f in present]
    topics = [*ordered, *sorted(present - set(ordered))]
    steps = [(f, [r.condition for r in rules if r.topic == f]) for f in topics]
    if region.where:
        steps.append(("--where", list(region.where)))
    return [*steps, ("--distinct", list(region.first))] if region.first else steps


def number(n: int) -> str:
    """A count, exactly.

    >>> number(1234567)
    '1,234,567'
    """
    return f"{n:,}"


def meanings() -> dict[str, str]:
    """What each topic of `removed` is."""
    return {
        **library.topics(),
        "--where": "the conditions asked for",
        "--distinct": "what makes the same code as another one",
    }


def lines(region: Region) -> list[str]:
    """What each topic of the rules removes from the candidates, a line each."""
    from ckrules.engine.diagram.errors import BudgetExceededError

    try:
        total, topics = removed(region)
    except BudgetExceededError:
        return ["what each topic of the rules removes is too hard to count"]
    known = meanings()
    rows = [["candidates", number(total), ""]]
    rows += [[f"  {t} removes", number(n), known.get(t, "")] for t, n in topics]
    return aligned(rows, right={1}).splitlines()
