"""Draw points, each set of them equally likely."""

from __future__ import annotations

import secrets
from typing import Any

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
from ckrules.cli.options import Request, space_options
from ckrules.cli.removed import number
from ckrules.cli.terminal import note

_CHUNK = 1 << 16


@click.command()
@space_options
@listing_options
@click.option(
    "-n", "--n", "--limit", "n", type=click.IntRange(min=0), default=10, help="How many [10]."
)
@click.option("--seed", type=int, help="The same seed draws the same points [a random one].")
@click.option("--no-summary", is_flag=True, help="No line on standard error at the end.")
def command(request: Request, listing: Listing, n: int, seed: int | None, no_summary: bool) -> int:
    """Draw points, each set of them equally likely, without repeats."""
    if request.catalog:
        from ckrules.cli.catalog_list import CatalogList

        drawn_seed = secrets.randbelow(2**32) if seed is None else seed
        return CatalogList(request).draw(listing, n, drawn_seed, no_summary)
    from ckrules.reports.columns import Columns

    columns = Columns(request.selection.book, wanted_fields(listing))
    space = request.selection.space
    several_gpus(listing, space.domains["arch"])
    seed = secrets.randbelow(2**32) if seed is None else seed
    indices = space.sample_indices(n, seed)
    tables: list[dict[str, Any]] = [
        space.compile().unrank_many(indices[at : at + _CHUNK])
        for at in range(0, len(indices), _CHUNK)
    ]
    chunks = columns.chunks(tables, space.domains)
    drawn = f"{number(len(indices))} of {number(space.count())} points"
    if listing.to_terminal and 0 < len(indices) <= TABLE_ROWS * 10:
        show_table(next(iter(chunks)), listing, drawn, str(space.domains["variant"][0]))
    else:
        emit(chunks, columns.fields, listing, len(indices))
    if not no_summary:
        note(f"{drawn} ({request.title()}), seed {seed}")
    return 0
