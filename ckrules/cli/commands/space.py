"""Ask about a space that a file describes: JSON, T1, a tuner's cache."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli import space_questions
from ckrules.cli.answers import Writer, timeout_option
from ckrules.cli.counts import FORMS, whole_or_part, write_counts
from ckrules.cli.emit import TABLE_ROWS, Listing, emit, show_table
from ckrules.cli.formats import TEXT, Forms, by_suffix, output_option
from ckrules.cli.options import OneOf, Shard, Words, limit_option, option
from ckrules.cli.removed import number
from ckrules.cli.terminal import note
from ckrules.output import points as forms
from ckrules.output.counts import grouped
from ckrules.support.errors import UsageError, unknown

if TYPE_CHECKING:
    from ckrules.engine.space import Space

#: What each action takes beside the file, --where, --format and -o.
_TAKES: Mapping[str, tuple[str, ...]] = {
    "count": ("by", "shard"),
    "enumerate": ("fields", "limit", "shard"),
    "sample": ("fields", "limit", "seed"),
    "why": ("point", "timeout"),
    "fix": ("point", "keep", "limit", "timeout"),
    "lint": ("timeout",),
}

GROUP = "explore"

EPILOG = """\b
FILE holds {"variables": [{"name": ..., "values": [...]}, ...],
"constraints": ["Python expressions over the names", ...]}, or is a T1 file
("ConfigurationSpace"), {"tune_params": ..., "restrictions": [...]}, a cache file
of Kernel Tuner (its points are what was measured), or {"name": [values], ...}.

\b
ACTION is count, enumerate, sample, why, fix or lint. POINT, for why and fix, is a
JSON object of values by name, or a file of one; why without it says why the space
is empty.

\b
Examples:
  ckrules space gemm.json count --by MWG,NWG
  ckrules space gemm.json why '{"MWG": 128, ...}'
  ckrules space gemm.json fix point.json -n 3 --keep MWG
"""


@click.command(epilog=EPILOG)
@click.argument("file", metavar="FILE")
@click.argument("action", type=OneOf(tuple(_TAKES), "action"))
@click.argument("point", metavar="[POINT]", required=False)
@option("--where", multiple=True, metavar="EXPR", help="A further condition. Repeatable.")
@limit_option
@option("--by", type=Words(), help="Count for each combination of these fields' values.")
@option("--shard", type=Shard(), help="Only part I of N, counted from 1.")
@option("--seed", type=int, help="The same seed draws the same points.")
@option("--fields", type=Words(), help="Columns: fields, quantities, name.")
@option("--keep", type=Words(), help="Variables that a fix leaves alone.")
@option(
    "--format", "form", metavar="NAME", help="By action: table, json, jsonl, csv, parquet, text."
)
@output_option
@timeout_option(60)
def command(
    file: str,
    action: str,
    where: tuple[str, ...],
    form: str | None,
    output: str | None,
    **rest: Any,
) -> int:
    """Ask about a space that a file describes: JSON, T1, a tuner's cache."""
    from ckrules.readers.space_file import read_space

    _check(action, rest)
    space = read_space(file)
    if where:
        space = space.where(*where)
    if action == "count":
        return _count(space, rest["by"], rest["shard"], _form(form, output, FORMS), output)
    if action in ("enumerate", "sample"):
        listing = Listing(_listed_form(form), rest["fields"], output)
        return _list(space, action, listing, rest["limit"], rest["shard"], rest["seed"])
    write = Writer(_form(form, output, TEXT), output)
    if action == "why":
        return space_questions.why(space, rest["point"], write, rest["timeout"])
    if action == "lint":
        return space_questions.lint(space, write, rest["timeout"])
    n = 1 if rest["limit"] is None else rest["limit"]
    if not n:
        raise UsageError("-n 0 asks for no fix")
    keep = rest["keep"] or ()
    return space_questions.fix(space, rest["point"], n, keep, write, rest["timeout"])


def _check(action: str, given: Mapping[str, Any]) -> None:
    """Refuse what the action would not look at."""
    for name, value in given.items():
        if value is not None and name != "timeout" and name not in _TAKES[action]:
            shown = name.upper() if name == "point" else f"--{name}"
            fits = " or ".join(a for a, names in _TAKES.items() if name in names)
            raise UsageError(f"{shown} does not go with {action}: it is for {fits}")


def _form(given: str | None, output: str | None, known: Forms) -> str:
    if given is not None and given not in known:
        raise unknown("format", given, known)
    return given or by_suffix(output, known) or next(iter(known))


def _listed_form(given: str | None) -> str | None:
    known = forms.available()
    if given == "names":
        raise UsageError("a space of a file has no kernel names: choose another --format")
    if given is not None and given not in known:
        raise unknown("format", given, known)
    return given


def _count(
    space: Space,
    by: tuple[str, ...] | None,
    shard: tuple[int, int] | None,
    form: str,
    output: str | None,
) -> int:
    whole_or_part(by, shard)
    groups = list(grouped(space, by)) if by else None
    total = space.shard(shard[0] - 1, shard[1]).size if shard else space.count()
    write_counts(by, total, groups, form, output, {})
    return 0


def _list(
    space: Space,
    action: str,
    listing: Listing,
    limit: int | None,
    shard: tuple[int, int] | None,
    seed: int | None,
) -> int:
    if action == "enumerate":
        most = TABLE_ROWS if limit is None and listing.to_terminal else limit
        _write(space, _enumerated(space, shard, most), listing)
        return 0
    seed = secrets.randbelow(2**32) if seed is None else seed
    drawn = space.sample_tables(10 if limit is None else limit, seed)
    _write(space, (table for table, _ in drawn), listing)
    note(f"seed {seed}")
    return 0


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
    from ckrules.output.columns import Column

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
