"""Count, list or sample a space that a JSON file describes."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.emit import TABLE_ROWS, Listing, emit, listing_options, show_table
from ckrules.cli.groups import grouped, render_groups
from ckrules.cli.options import Shard, Words
from ckrules.cli.output import text_output
from ckrules.cli.removed import number
from ckrules.cli.terminal import note
from ckrules.engine.errors import UsageError, unknown

if TYPE_CHECKING:
    from ckrules.engine.space import Space

_ACTIONS = ("count", "enumerate", "sample")
_COUNT_FORMS = ("csv", "jsonl")
EPILOG = """\b
FILE holds {"variables": [{"name": ..., "values": [...]}, ...],
"constraints": ["Python expressions over the names", ...]}.
"""


@click.command(epilog=EPILOG)
@click.argument("file", metavar="FILE")
@click.argument("action", metavar="|".join(_ACTIONS))
@listing_options
@click.option("--where", multiple=True, metavar="EXPR", help="A further condition. Repeatable.")
@click.option("--limit", "-n", type=click.IntRange(min=0), help="So many points at most.")
@click.option("--by", type=Words(), help="Count for each combination of these fields' values.")
@click.option("--shard", type=Shard(), help="Enumerate only part I of N, counted from 1.")
@click.option("--seed", type=int, help="The same seed draws the same points.")
def command(
    file: str,
    action: str,
    listing: Listing,
    where: tuple[str, ...],
    limit: int | None,
    by: tuple[str, ...] | None,
    shard: tuple[int, int] | None,
    seed: int | None,
) -> int:
    """Count, list or sample a space that a JSON file describes."""
    from ckrules.readers.space_file import read_space

    if action not in _ACTIONS:
        raise unknown("action", action, _ACTIONS)
    if listing.form == "names":
        raise UsageError("a space of a file has no kernel names: choose another --format")
    space = read_space(file)
    if where:
        space = space.where(*where)
    if action == "count":
        return _count(space, by, listing)
    if by:
        raise UsageError(f"--by counts: it does not go with {action}")
    if action == "enumerate":
        tables = _enumerated(space, shard, _rows(limit, listing))
    else:
        seed = secrets.randbelow(2**32) if seed is None else seed
        indices = space.sample_indices(10 if limit is None else limit, seed)
        tables = iter([space.compile().unrank_many(indices)] if indices else [])
    _write(space, tables, listing)
    if action == "sample":
        note(f"seed {seed}")
    return 0


def _count(space: Space, by: tuple[str, ...] | None, listing: Listing) -> int:
    groups = list(grouped(space, by)) if by else None
    form = listing.form if listing.form in _COUNT_FORMS else "table"
    with text_output(listing.output) as stream:
        stream.write(render_groups(by or (), space.count(), groups, form))
    return 0


def _rows(limit: int | None, listing: Listing) -> int | None:
    return TABLE_ROWS if limit is None and listing.to_terminal else limit


def _enumerated(
    space: Space, shard: tuple[int, int] | None, limit: int | None
) -> Iterator[Mapping[str, Any]]:
    source = space if shard is None else space.shard(shard[0] - 1, shard[1])
    left = limit
    for table in source.columns() if limit != 0 else ():
        rows = len(next(iter(table.values()), ()))
        yield table if left is None else {n: c[:left] for n, c in table.items()}
        if left is not None:
            left -= rows
            if left <= 0:
                return


def _write(space: Space, tables: Iterable[Mapping[str, Any]], listing: Listing) -> None:
    from ckrules.reports.columns import Column

    domains = space.domains
    for field in listing.fields or ():
        if field not in domains:
            raise unknown("field", field, domains)
    wanted = listing.fields or tuple(domains)
    chunks = ({n: Column(domains[n], table[n]) for n in wanted} for table in tables)
    if listing.to_terminal:
        for chunk in itertools.islice(chunks, 1):
            shown = len(next(iter(chunk.values())))
            show_table(chunk, listing, f"{shown:,} of {number(space.count())} points", None)
        return
    form = listing if listing.name != "names" else Listing("jsonl", listing.fields, listing.output)
    emit(chunks, {n: _sort(domains[n]) for n in wanted}, form, None)


def _sort(values: tuple[Any, ...]) -> str:
    names = {bool: "bool", int: "int", float: "real", str: "enum"}
    return names[type(values[0])] if values else "int"
