"""Count points exactly, in all or by the values of fields."""

from __future__ import annotations

import json
from typing import Any

import click

from ckrules.cli.groups import Group, grouped, render_groups, rows_of
from ckrules.cli.options import Request, Shard, Words, space_options
from ckrules.cli.output import text_output
from ckrules.engine.errors import UsageError, unknown

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


def _counted(request: Request, by: tuple[str, ...] | None) -> tuple[int, list[Group] | None]:
    """The number of points, and the groups where ``--by`` asks for them."""
    if request.catalog:
        from ckrules.cli.catalog_list import CatalogList

        count, listed = CatalogList(request).count(by or ())
        return count, listed if by else None
    space = request.selection.space
    groups = list(grouped(space, by)) if by else None
    return space.count() if groups is None else sum(n for _, n in groups), groups


def _render(
    request: Request,
    by: tuple[str, ...],
    count: int,
    groups: list[Group] | None,
    form: str,
) -> str:
    if form == "json":
        out: dict[str, Any] = {**request.to_dict(), "count": count}
        if groups is not None:
            out |= {"by": list(by), "groups": rows_of(by, groups)}
        return json.dumps(out) + "\n"
    return render_groups(by, count, groups, form)
