"""Counts by the values of fields, and the forms that they are written in."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ckrules.engine.errors import UsageError, unknown

if TYPE_CHECKING:
    from ckrules.engine.space import Space

#: The values of some fields, and how many points have them.
Group = tuple[tuple[Any, ...], int]


def grouped(space: Space, by: Sequence[str]) -> Iterator[Group]:
    """Values and count of every combination that has points, in the fields' order."""
    for field in by:
        if field not in space.domains:
            raise unknown("field", field, space.domains)
    if len(set(by)) < len(by):
        raise UsageError("--by names a field twice")
    outer, inner = by[:-2], by[-2:]
    for values in itertools.product(*(space.domains[f] for f in outer)):
        part = space.bind(**dict(zip(outer, values, strict=True))) if outer else space
        for key, n in part.counts_by(*inner).items():
            if n:
                yield (*values, *(key if len(inner) == 2 else (key,))), n


def rows_of(by: Sequence[str], groups: Sequence[Group] | None) -> list[dict[str, Any]]:
    """A dictionary of the fields' values and the count for each group."""
    return [dict(zip(by, key, strict=True)) | {"count": n} for key, n in groups or ()]


def render_groups(by: Sequence[str], count: int, groups: Sequence[Group] | None, form: str) -> str:
    """The groups, or without them the count alone, as ``table``, ``jsonl`` or ``csv``."""
    rows = [{"count": count}] if groups is None else rows_of(by, groups)
    if form == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows)
    if form == "table" and groups is None:
        return f"{count}\n"
    cells = [[*by, "count"], *([_cell(v) for v in row.values()] for row in rows)]
    if form == "csv":
        return "".join(",".join(row) + "\n" for row in cells)
    return _aligned([*cells, ["total", *[""] * (len(by) - 1), str(count)]])


def _cell(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _aligned(rows: list[list[str]]) -> str:
    """Columns side by side, the last one to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for *keys, n in rows:
        cells = [f"{k:<{w}}" for k, w in zip(keys, widths, strict=False)]
        lines.append("  ".join([*cells, f"{n:>{widths[-1]}}"]))
    return "\n".join(lines) + "\n"
