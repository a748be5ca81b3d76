"""Why, fix and lint for the spaces that files describe."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ckrules.cli.answers import Writer, point_text
from ckrules.cli.terminal import note
from ckrules.engine.expr.printer import literal
from ckrules.engine.rules import Rule
from ckrules.support.errors import UsageError
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.cli.request import Request
    from ckrules.engine.rules.region import Region
    from ckrules.engine.space import Space
    from ckrules.reasoning.findings import Finding


def point_of(text: str) -> dict[str, Any]:
    """The point that a JSON object on the command line, or a file of one, gives.

    Raises:
        UsageError: For anything else.
    """
    raw, place = text, text[:40]
    if not text.lstrip().startswith("{"):
        try:
            with open(text, encoding="utf-8") as file:
                raw, place = file.read(1 << 20), text
        except UnicodeDecodeError:
            raise UsageError(f"{text}: not UTF-8 text") from None
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError(f"{place}: not a JSON object of values by variable")
    return found


def region_of(file: str, request: Request) -> Region:
    """The space that a file describes, as a part of what its restrictions leave.

    Raises:
        UsageError: For a file that describes no space, and options other than --where.
        ExpressionError: For a condition that is none.
    """
    from ckrules.engine.restrictions import book_of
    from ckrules.engine.rules.region import Region
    from ckrules.kernels.selection import conditions
    from ckrules.readers.space_file import read_space

    request.only(where=True, beside="a file that describes a space")
    book = book_of(read_space(file))
    given = request.wheres().get("--where", ())
    title = ", ".join([os.path.basename(file), *given])
    return Region(book, {}, conditions(book, given), title)


def why(space: Space, point: str | None, write: Writer, timeout: float) -> int:
    """Says why a point is none of the space, or why the space is empty."""
    if point is None:
        return _why_empty(space, write, timeout)
    from ckrules.reasoning.why import why as ask

    found = ask(space, point_of(point), timeout=timeout)

    def lines() -> Iterator[str]:
        if found.legal:
            yield "legal: no restriction is broken"
        for violation, conflict in zip(found.violations, found.conflicts, strict=True):
            yield f"{violation.code} {violation.message}"
            yield f"  conflict: {conflict.sentence()}"
            yield from _places([violation.rule])
        if found.core is not None:
            yield f"core: {found.core.sentence()}"

    write(found.to_dict(), lines())
    return 0 if found.legal else 1


def _why_empty(space: Space, write: Writer, timeout: float) -> int:
    from ckrules.reasoning.why import why_region

    found = why_region(space, timeout=timeout)

    def lines() -> Iterator[str]:
        if found.witness is not None:
            yield f"not empty: {point_text(found.witness)}"
        if found.conflict is not None:
            yield f"empty: {found.conflict.sentence()}"
            yield from _places(found.conflict.rules)

    write(found.to_dict(), lines())
    return 1 if found.empty else 0


def fix(
    space: Space, point: str | None, n: int, keep: Sequence[str], write: Writer, timeout: float
) -> int:
    """Finds the points of the space nearest to a point."""
    from ckrules.reasoning.nearest import fix as ask

    if point is None:
        raise UsageError("fix what? Give a point: a JSON object, or a file of one")
    found = ask(space, point_of(point), n=n, keep=keep, timeout=timeout)

    def lines() -> Iterator[str]:
        for number, one in enumerate(found.fixes, 1):
            what = "already legal" if not one.changes else count(len(one.changes), "change")
            yield f"{number}. {what}: {point_text(one.point)}"
            for c in one.changes:
                yield f"   {c.field}: {literal(c.before)} -> {literal(c.after)}"
        if found.obstacle is not None:
            yield f"nothing legal keeps {', '.join(found.kept) or 'anything'}"
            yield f"  {found.obstacle.sentence()}"
            yield from _places(found.obstacle.rules)

    write(found.to_dict(), lines())
    return 0 if found.fixes else 1


def lint(space: Space, write: Writer, timeout: float) -> int:
    """Finds what is wrong with the restrictions themselves."""
    from ckrules.reasoning.lint import lint as ask

    report = ask(space, timeout=timeout)

    def lines() -> Iterator[str]:
        for finding in report.findings:
            yield _finding(finding)
            yield from _places(finding.rules)

    write(report.to_dict(), lines())
    for question in report.undecided:
        note(f"undecided: {question}")
    note(f"{count(len(report.findings), 'finding')} in {count(len(space.rules), 'restriction')}")
    if report.findings:
        return 1
    return 4 if report.undecided else 0


def _finding(finding: Finding) -> str:
    return f"{finding.code} [{finding.severity}] {finding.message}"


def _places(rules: Sequence[Rule]) -> list[str]:
    """Where restrictions stand, a line each."""
    return [f"  {rule.code}: {rule.name} ({rule.sources[0]})" for rule in rules if rule.sources]
