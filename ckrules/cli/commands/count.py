"""Count configurations exactly, in all or by the values of fields."""

from __future__ import annotations

import click

from ckrules.cli.counts import FORMS, WHY, whole_or_part, write_counts
from ckrules.cli.formats import output_options
from ckrules.cli.once import option
from ckrules.cli.options import Shard, Words, known_columns
from ckrules.cli.request import Request
from ckrules.cli.space_options import distinct_option, file_argument, space_options
from ckrules.cli.terminal import note, waiting
from ckrules.output.counts import Group, grouped

GROUP = "explore"


@click.command()
@space_options
@distinct_option
@file_argument
@option(
    "--by", type=Words(known_columns), help="Count for each combination of these fields' values."
)
@option("--shard", type=Shard(), help="Count part I of N only.")
@output_options(FORMS)
def command(
    request: Request,
    by: tuple[str, ...] | None,
    shard: tuple[int, int] | None,
    form: str,
    output: str | None,
) -> int:
    """Count configurations exactly, in all or by the values of fields."""
    whole_or_part(by, shard)
    with waiting("counting the kernels" if not request.by_file else "counting the points"):
        count, groups = _counted(request, by)
    if count == 0 and request.listing is None and not request.by_file:
        note(WHY)
    if shard:
        i, n = shard
        count = i * count // n - (i - 1) * count // n
    write_counts(by, count, groups, form, output, request.to_dict())
    return 0


def _counted(request: Request, by: tuple[str, ...] | None) -> tuple[int, list[Group] | None]:
    """The number of points, and the groups where ``--by`` asks for them."""
    if request.listing is not None:
        from ckrules.cli.catalog_list import CatalogList

        count, listed = CatalogList(request, request.listing).count(by or ())
        return count, listed if by else None
    space = request.region.space
    groups = list(grouped(space, by)) if by else None
    return space.count() if groups is None else sum(n for _, n in groups), groups
