"""Draw configurations uniformly, or so that any two features meet."""

from __future__ import annotations

import random
import secrets
from itertools import islice
from typing import TYPE_CHECKING

import click

from ckrules.cli.emit import (
    TABLE_ROWS,
    ListingOptions,
    emit,
    listing_options,
    several_gpus,
    show_table,
    wanted_fields,
)
from ckrules.cli.once import option
from ckrules.cli.options import limit_option, quiet_option
from ckrules.cli.removed import number
from ckrules.cli.request import Request
from ckrules.cli.space_options import distinct_option, file_argument, space_options
from ckrules.cli.terminal import note, waiting
from ckrules.support.errors import UsageError
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.engine.codec import Point

GROUP = "explore"


@click.command()
@space_options
@distinct_option
@file_argument
@listing_options
@limit_option
@option("--seed", type=int, help="The same seed draws the same configurations [a random one].")
@option(
    "--pairs",
    is_flag=True,
    help="Few, in which any two features meet that can, those first that add most.",
)
@quiet_option
def command(
    request: Request,
    listing: ListingOptions,
    limit: int | None,
    seed: int | None,
    pairs: bool,
    quiet: bool,
) -> int:
    """Draw configurations uniformly, without repeats; 10 where no --limit says more."""
    listing = listing.of(request)
    n = 10 if limit is None else limit
    seed = secrets.randbelow(2**32) if seed is None else seed
    if (listed := request.listing) is not None:
        from ckrules.cli.catalog_list import CatalogList

        if pairs:
            raise UsageError("--pairs does not go with --catalog")
        return CatalogList(request, listed).draw(listing, n, seed, quiet)
    from ckrules.output.columns import Columns

    columns = Columns(request.region.book, wanted_fields(listing), listing.style)
    space = request.region.space
    several_gpus(listing, space.domains.get("arch", ()))
    met = ""
    if pairs:
        with waiting("choosing kernels in which features meet"):
            points, met = _pairs(request, limit, seed)
        shown, made = len(points), iter([columns.of_points(points)] if points else [])
    else:
        with waiting("counting the kernels"):
            shown = min(n, space.count())
        made = columns.chunks((table for table, _ in space.sample_tables(n, seed)), space.domains)
    if listing.to_terminal and 0 < shown <= TABLE_ROWS * 10:
        show_table(next(made), listing, "", request.variant)
    else:
        emit(made, columns.fields, listing, shown, "" if request.by_file else request.books.ck)
    if not quiet:
        drawn = f"{number(shown)} of {count(space.count(), 'configuration')}"
        note(f"{drawn} ({request.title()}){met}, seed {seed}")
    return 0


def _pairs(request: Request, limit: int | None, seed: int) -> tuple[list[Point], str]:
    """Configurations in which any two features meet, and how many pairs so many have."""
    from ckrules.certify.features import covering, pairs_of

    book = request.region.book
    pairs = pairs_of(book, request.region.space)
    points = list(islice(covering(pairs, book, seed, random.Random(seed)), limit))
    return points, f", {number(pairs.coverage(points).covered)} of {len(pairs):,} pairs of features"
