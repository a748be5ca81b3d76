"""Count points exactly, in all or by the values of fields."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.options import Request, Shard, Words, space_options
from ckrules.cli.output import text_output
from ckrules.engine.errors import UsageError, unknown

if TYPE_CHECKING:
    from ckrules.engine.space import Space

_FORMATS = ("table", "json", "jsonl", "csv")


@click.command()
@space_options
@click.option("--by", type=Words(), help="Count for each combination of these fields' values.")
@click.option("--shard", type=Shard(), help="Count part I of N only.")
@click.option("--format", "form", metavar="|".join(_FORMATS), default="table", help="[table]")
@click.option("-o", "--output", metavar="FILE", help="Write to a file, replaced when complete.")
def command(
    request: Request,
    by: tuple[str, ...] | None,
    shard: tuple[int, int] | None,
    form: str,
    output: str | None,
) -> int:
    """Count points exactly, in all or by the values of fields."""
    if form not in _FORMATS:
        raise unknown("format", form, _FORMATS)
    if by and shard:
        raise UsageError("--by counts the whole space: leave out --shard")
    count, groups = _counted(request, by)
    if shard:
        i, n = shard
        count = i * count // n - (i - 1) * count // n
    with text_output(output) as stream:
        stream.write(_render(request, by or (), count, groups, form))
    return 0


def _counted(
    request: Request, by: tuple[str, ...] | None
) -> tuple[int, list[tuple[tuple[Any, ...], int]] | None]:
    """The number of points, and the groups where ``--by`` asks for them."""
    if request.catalog:
        from ckrules.cli.catalog_list import CatalogList

        count, listed = CatalogList(request).count(by or ())
        return count, listed if by else None
    for field in by or ():
        if field not in request.selection.book.fields:
            raise unknown("field", field, request.selection.book.fields)
    space = request.selection.space
    groups = list(_groups(space, by)) if by else None
    return space.count() if groups is None else sum(n for _, n in groups), groups


def _groups(space: Space, by: tuple[str, ...]) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Values and count of every combination that has points, in the fields' order."""
    if len(set(by)) < len(by):
        raise UsageError("--by names a field twice")
    outer, inner = by[:-2], by[-2:]
    for values in itertools.product(*(space.domains[f] for f in outer)):
        part = space.bind(**dict(zip(outer, values, strict=True))) if outer else space
        for key, n in part.counts_by(*inner).items():
            if n:
                yield (*values, *(key if len(inner) == 2 else (key,))), n


def _render(
    request: Request,
    by: tuple[str, ...],
    count: int,
    groups: list[tuple[tuple[Any, ...], int]] | None,
    form: str,
) -> str:
    rows = [dict(zip(by, key, strict=True)) | {"count": n} for key, n in groups or ()]
    if form == "json":
        out: dict[str, Any] = {**request.to_dict(), "count": count}
        if groups is not None:
            out |= {"by": list(by), "groups": rows}
        return json.dumps(out) + "\n"
    if groups is None:
        rows = [{"count": count}]
        if form == "table":
            return f"{count}\n"
    if form == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows)
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
