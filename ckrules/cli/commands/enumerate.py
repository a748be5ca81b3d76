"""List the points that break no rule."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.emit import (
    TABLE_ROWS,
    Listing,
    emit,
    listing_options,
    several_gpus,
    show_table,
    wanted_fields,
)
from ckrules.cli.options import Request, Shard, space_options
from ckrules.cli.removed import number, sentence
from ckrules.cli.terminal import note

if TYPE_CHECKING:
    from ckrules.engine.space import Space

EPILOG = """\b
A terminal gets a table of the first points; elsewhere all points are written,
by default as upstream kernel names, one a line. Points break no rule of either
severity. They come in the order of Space.order, the same on every machine.

\b
Examples:
  ckrules enumerate --variant bwd_weight --arch gfx1201
  ckrules enumerate --variant forward --arch gfx942,gfx950 --dtype fp16 \\
      --where "pipeline == 'compv4' & lds_bytes <= 32768" -o points.parquet
  ckrules enumerate --catalog full --stage generated --arch gfx942 --variant forward
"""


@click.command(epilog=EPILOG)
@space_options
@listing_options
@click.option("--limit", type=click.IntRange(min=0), help="Stop after so many points.")
@click.option("--shard", type=Shard(), help="Only part I of N equal parts, counted from 1.")
@click.option("--no-summary", is_flag=True, help="No line on standard error at the end.")
def command(
    request: Request,
    listing: Listing,
    limit: int | None,
    shard: tuple[int, int] | None,
    no_summary: bool,
) -> int:
    """List the points that break no rule."""
    if request.catalog:
        from ckrules.cli.catalog_list import CatalogList

        catalog = CatalogList(request)
        return catalog.show(listing, limit=limit, shard=shard, no_summary=no_summary)
    from ckrules.reports.columns import Columns

    columns = Columns(request.selection.book, wanted_fields(listing))
    space = request.selection.space
    several_gpus(listing, space.domains["arch"])
    if listing.to_terminal:
        rows = TABLE_ROWS if limit is None else limit
        shown = _table(columns, space, shard, rows, listing)
    else:
        tables = _tables(space, shard, limit)
        shown = emit(columns.chunks(tables, space.domains), columns.fields, listing, limit)
    if not no_summary:
        note(_summary(request, space, shown))
    return 0


def _tables(
    space: Space, shard: tuple[int, int] | None, limit: int | None
) -> Iterator[Mapping[str, Any]]:
    """Tables of codes, of no more than ``limit`` rows in all; the first one is small."""
    if limit == 0:
        return iter(())
    chunk = 1 << 16 if limit is None else min(limit, 1 << 16)
    source = space if shard is None else space.shard(shard[0] - 1, shard[1])
    tables = source.columns(chunk)
    return tables if limit is None else _cut(tables, limit)


def _cut(tables: Iterator[Mapping[str, Any]], limit: int) -> Iterator[Mapping[str, Any]]:
    for table in tables:
        rows = len(next(iter(table.values())))
        yield table if rows <= limit else {n: c[:limit] for n, c in table.items()}
        limit -= rows
        if limit <= 0:
            return


def _table(
    columns: Any, space: Space, shard: tuple[int, int] | None, rows: int, listing: Listing
) -> int:
    """The first rows as a table; returns how many there are."""
    tables = _tables(space, shard, rows)
    chunk = next(iter(columns.chunks(itertools.islice(tables, 1), space.domains)), None)
    if chunk is None:
        return 0
    shown = len(next(iter(chunk.values())))
    count = space.count()
    title = f"first {shown:,} of {number(count)} points"
    show_table(chunk, listing, title, str(space.domains["variant"][0]))
    return shown


def _summary(request: Request, space: Space, shown: int) -> str:
    """One line: the points, and what each family removed from the candidates."""
    count = space.count()
    points = f"{number(count)} point{'s' * (count != 1)}"
    listed = points if shown == count else f"{shown:,} of {points}"
    return f"{listed} ({request.title()}); {sentence(request.selection)}"
