"""Counts by the values of fields, and the forms that they are written in."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from ckrules.support.errors import UsageError
from ckrules.support.tables import aligned, word
from ckrules.support.visible import csv_cell, json_text

if TYPE_CHECKING:
    from ckrules.engine.space import Space

#: The values of some fields, and how many points have them.
Group = tuple[tuple[Any, ...], int]


def grouped(space: Space, by: Sequence[str]) -> Iterator[Group]:
    """Values and count of every combination that has points, in the fields' order."""
    for key, n in space.counts_by(*by).items():
        if n:
            yield (key if len(by) > 1 else (key,)), n


def rows_of(by: Sequence[str], groups: Sequence[Group] | None) -> list[dict[str, Any]]:
    """A dictionary of the fields' values and the count for each group."""
    return [dict(zip(by, key, strict=True)) | {"count": n} for key, n in groups or ()]


def render_groups(
    by: Sequence[str], count: int, groups: Sequence[Group] | None, form: str, *, bars: int = 0
) -> str:
    """The groups, or without them the count alone, as ``table``, ``jsonl`` or ``csv``.

    ``bars`` is the length of the longest bar behind the counts of a table; 0 for none.

    >>> print(render_groups(["k"], 9, [((16,), 8), ((32,), 1)], "table", bars=8), end="")
    k      count
    16         8  ########
    32         1  #
    total      9
    """
    rows = [{"count": count}] if groups is None else rows_of(by, groups)
    if form == "jsonl":
        return "".join(json_text(row) + "\n" for row in rows)
    if form == "table" and groups is None:
        return f"{count}\n"
    if form == "csv":
        out = io.StringIO()
        lines = [[*by, "count"], *(row.values() for row in rows)]
        csv.writer(out, lineterminator="\n").writerows(map(csv_cell, line) for line in lines)
        return out.getvalue()
    cells = [[*by, "count"], *([word(v) for v in row.values()] for row in rows)]
    cells.append(["total", *[""] * (len(by) - 1), str(count)])
    if bars and rows:
        most = max(row["count"] for row in rows)
        drawn = ["#" * -(-row["count"] * bars // most) for row in rows]
        cells = [[*line, bar] for line, bar in zip(cells, ["", *drawn, ""], strict=True)]
    return aligned(cells, right={len(by)})


def write_parquet(
    by: Sequence[str], count: int, groups: Sequence[Group] | None, stream: IO[bytes]
) -> None:
    """The groups, or without them the count alone, as one Parquet table.

    Raises:
        UsageError: Without pyarrow, or for a count that takes more than 64 bits.
    """
    from ckrules.output.columns import factor
    from ckrules.output.points import parquet

    counts = [count] if groups is None else [n for _, n in groups]
    if max(counts, default=0) >= 1 << 63:
        raise UsageError("a count is more than Parquet's integers hold: choose --format csv")
    values = [] if groups is None else [[key[i] for key, _ in groups] for i in range(len(by))]
    named = dict(zip(by if groups is not None else (), values, strict=True)) | {"count": counts}
    columns = {n: factor(v) for n, v in named.items()}
    stream.writelines(parquet.pieces([columns], _sorts(named)))


def _sorts(columns: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    names = {bool: "bool", int: "int", float: "real"}
    kinds = {n: {type(v) for v in column} for n, column in columns.items()}
    return {n: names.get(k.pop(), "enum") if len(k) == 1 else "enum" for n, k in kinds.items()}
