"""The report of what two sides accept: GPUs, versions, profiles, catalogs or rule books."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ckrules.pictures import counting
from ckrules.pictures.shapes import Bars
from ckrules.reasoning.difference import diff
from ckrules.report import choice
from ckrules.report.page import Report, ReportSection, ReportTable
from ckrules.report.space import name_of

if TYPE_CHECKING:
    from ckrules.engine.rules.region import Region
    from ckrules.reasoning.difference import Part


def of_sides(
    a: Region, b: Region, title: str, told: Callable[[int], None] = lambda _: None
) -> Report:
    """The report of a difference, whose counts are exact.

    Args:
        title: The part of the space that is compared, in words.
        told: Told of steps done, of `ckrules.reasoning.difference.STEPS`.
    """
    found = diff(a, b, told=told)
    labels = (f"only {found.only_a.title}", "both", f"only {found.only_b.title}")
    counts = (found.only_a.count, found.both, found.only_b.count)
    facts = [(label, f"{n:,}") for label, n in zip(labels, counts, strict=True)]
    if found.dropped:
        facts.append(("compared without", ", ".join(found.dropped)))
    text = (
        "Both sides accept the same configurations, which is proven for all of them."
        if found.equal
        else "Counts are exact."
    )
    bars = Bars(
        "configurations that one side or both accept", "side", counting.UNIT, labels, counts
    )
    sections = [ReportSection("What is accepted", text, picture=bars)]
    sections += _rules(found.only_a, found.only_b.title)
    sections += _rules(found.only_b, found.only_a.title)
    for side in (a,) if found.equal else (a, b):
        for field in choice.to_count(side.book, side.space)[:2]:
            picture = counting.by_value(side.space, field)
            heading = f"Both: by {field}" if found.equal else f"{side.title}: by {field}"
            sections.append(ReportSection(heading, picture=picture))
    return Report(f"{a.title} against {b.title}: {title}", facts, sections)


def _rules(part: Part, other: str) -> Iterator[ReportSection]:
    """The rules of the other side that reject what one side alone accepts."""
    if part.witness is None:
        return
    rows = [
        [r.rule.code, f"{r.count:,}", r.rule.summary, r.message]
        for r in sorted(part.rules, key=lambda r: -r.count)
    ]
    text = f"Such as {name_of(part.witness)}; each rule has an example of its own."
    yield ReportSection(
        f"What {other} rejects and {part.title} accepts", text,
        table=ReportTable(["rule", "rejects", "the rule", "example"], rows, frozenset({1})),
    )  # fmt: skip
