"""Draw configurations uniformly."""

from __future__ import annotations

import secrets

import click

from ckrules.cli.emit import (
    TABLE_ROWS,
    Listing,
    emit,
    listing_options,
    several_gpus,
    show_table,
    wanted_fields,
    with_version,
)
from ckrules.cli.options import limit_option, quiet_option
from ckrules.cli.removed import number
from ckrules.cli.request import Request, distinct_option, space_options
from ckrules.cli.terminal import note
from ckrules.support.tables import count

GROUP = "explore"


@click.command()
@space_options
@distinct_option
@listing_options
@limit_option
@click.option(
    "--seed", type=int, help="The same seed draws the same configurations [a random one]."
)
@quiet_option
def command(
    request: Request, listing: Listing, limit: int | None, seed: int | None, quiet: bool
) -> int:
    """Draw configurations uniformly, without repeats; 10 where no --limit says more."""
    n = 10 if limit is None else limit
    if (listed := request.listing) is not None:
        from ckrules.cli.catalog_list import CatalogList

        drawn_seed = secrets.randbelow(2**32) if seed is None else seed
        return CatalogList(request, listed).draw(listing, n, drawn_seed, quiet)
    from ckrules.output.columns import Columns

    columns = Columns(request.region.book, wanted_fields(listing), listing.style)
    space = request.region.space
    several_gpus(listing, space.domains["arch"])
    seed = secrets.randbelow(2**32) if seed is None else seed
    shown = min(n, space.count())
    tables = (table for table, _ in space.sample_tables(n, seed))
    made = columns.chunks(tables, space.domains)
    chunks = with_version(made, listing, request.books.ck)
    drawn = f"{number(shown)} of {count(space.count(), 'configuration')}"
    if listing.to_terminal and 0 < shown <= TABLE_ROWS * 10:
        show_table(next(iter(chunks)), listing, "", str(space.domains["variant"][0]))
    else:
        emit(chunks, columns.fields, listing, shown)
    if not quiet:
        note(f"{drawn} ({request.title()}), seed {seed}")
    return 0
