"""List the configurations that break no rule."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.best_list import catalog_of, fastest, recommended
from ckrules.cli.counts import WHY
from ckrules.cli.emit import (
    TABLE_ROWS,
    ListingOptions,
    emit,
    listing_options,
    several_gpus,
    show_table,
    wanted_fields,
)
from ckrules.cli.legality import illegal
from ckrules.cli.once import option
from ckrules.cli.options import Shard, limit_option, quiet_option
from ckrules.cli.removed import lines
from ckrules.cli.request import Request
from ckrules.cli.space_options import distinct_option, file_argument, space_options
from ckrules.cli.terminal import is_terminal, note, waiting
from ckrules.support.errors import UndecidedError, UsageError
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.engine.space import Space
    from ckrules.kernels.parts import Point

GROUP = "explore"
_QUICK = 10_000
"""Points that are written before a bar's total matters."""


@click.command()
@space_options
@distinct_option
@file_argument
@listing_options
@limit_option
@option(
    "--spread",
    type=click.IntRange(min=1),
    help="Number of configurations, evenly spaced in the whole order [20 on a terminal].",
)
@option(
    "--best",
    type=click.IntRange(min=1),
    metavar="N",
    help="The N that are predicted fastest, fastest first; see `ckrules rank`.",
)
@option(
    "--problem",
    metavar="PROBLEM",
    help="With --best: on this problem, such as N=1,C=8,… [the usual ones of the variant].",
)
@option("--shard", type=Shard(), help="Only part I of N equal parts, counted from 1.")
@option("--summary", is_flag=True, help="Say what each topic of the rules removes.")
@quiet_option
def command(
    request: Request,
    listing: ListingOptions,
    limit: int | None,
    spread: int | None,
    best: int | None,
    problem: str | None,
    shard: tuple[int, int] | None,
    summary: bool,
    quiet: bool,
) -> int:
    """List the configurations that break no rule."""
    if request.by_file:
        asked = {"--best": best, "--problem": problem, "--summary": summary or None}
        if given := [name for name, value in asked.items() if value is not None]:
            raise UsageError(f"{given[0]} does not go with a file that describes a space")
    listing = listing.of(request)
    if request.by_catalog and summary:
        raise UsageError("--summary does not go with --catalog: see ckrules why --catalog")
    shown = _Shown(request, listing, summary, quiet)
    part = (limit, spread, shard) != (None, None, None)
    if best is not None:
        if part:
            raise UsageError(
                "--best takes the whole space: leave out --limit, --spread and --shard"
            )
        points, said = fastest(request, best, problem)
        if points:
            return shown.points(points, said)
        note(said)
        return 3
    if problem is not None:
        raise UsageError("--problem goes with --best N")
    if spread is not None and (limit is not None or shard is not None):
        raise UsageError("--spread takes the whole space: leave out --limit and --shard")
    if listing.to_terminal and not part:
        if first := [] if request.by_file else recommended(request)[:TABLE_ROWS]:
            return shown.points(*_with_others(first, request.region.space))
        spread = None if request.by_file else TABLE_ROWS
    if (listed := request.listing) is not None:
        from ckrules.cli.catalog_list import CatalogList

        catalog = CatalogList(request, listed)
        return catalog.show(listing, limit=limit, spread=spread, shard=shard, quiet=quiet)
    return shown.space(limit, spread, shard)


@dataclass(frozen=True)
class _Shown:
    """What is listed, in which form, and with which notes."""

    request: Request
    listing: ListingOptions
    summary: bool
    quiet: bool

    def space(self, limit: int | None, spread: int | None, shard: tuple[int, int] | None) -> int:
        from ckrules.output.columns import Columns

        request, listing = self.request, self.listing
        columns = Columns(request.region.book, wanted_fields(listing), listing.style)
        space = request.region.space
        several_gpus(listing, space.domains.get("arch", ()))
        limit = TABLE_ROWS if limit is None and listing.to_terminal else limit
        with waiting("counting the kernels"):
            tables = _tables(space, shard, limit) if spread is None else _spread(space, spread)
        chunks = columns.chunks(tables, space.domains)
        if listing.to_terminal:
            shown = _table(chunks, request, listing)
        else:
            most = spread if limit is None else limit
            seen = listing.kept and is_terminal(sys.stderr)
            total = _rows(space, shard, most) if seen else None
            ck = "" if request.by_file else request.books.ck
            shown = emit(chunks, columns.fields, listing, total, ck)
        if not request.by_file:
            self._tell(shown)
        return 0

    def points(self, points: Sequence[Point], said: str) -> int:
        from ckrules.output.columns import Columns

        request, listing = self.request, self.listing
        variant = str(points[0]["variant"])
        columns = Columns(request.books.of(variant), wanted_fields(listing), listing.style)
        several_gpus(listing, {p["arch"] for p in points})
        chunk = columns.of_points(points)
        if listing.to_terminal:
            show_table(chunk, listing, "", variant)
            sys.stdout.flush()
        else:
            emit([chunk], columns.fields, listing, len(points), request.books.ck)
        taken = illegal(points, request.books) if request.listing is not None else ""
        self._tell(len(points), said, taken)
        return 0

    def _tell(self, shown: int, *more: str) -> None:
        request = self.request
        if not self.quiet:
            if request.listing is not None:
                whole = count(len(request.listing.points), "configuration")
                note(f"{shown:,} of {whole} ({request.title()})")
            else:
                note(_summary(request, request.region.space, shown))
            for text in filter(None, (*_evidence(request), *more)):
                note(text)
        for text in lines(request.region) if self.summary else ():
            note(text)


def _with_others(first: Sequence[Point], space: Space) -> tuple[list[Point], str]:
    """Recommended kernels, and where there are few configurations from everywhere."""
    places = _places(space, TABLE_ROWS - len(first))
    rest = [p for p in map(space.__getitem__, places) if p not in first]
    more = ", then configurations from everywhere" if rest else ""
    shown = f"{len(first)}, ckrules catalogs {catalog_of(str(first[0]['variant']))}"
    return [*first, *rest], f"recommended kernels first ({shown}){more}"


def _places(space: Space, n: int) -> list[int]:
    """The middle of ``n`` equal parts of the order."""
    total = space.count()
    n = min(n, total)
    return [(2 * i + 1) * total // (2 * n) for i in range(n)]


def _spread(space: Space, n: int) -> Iterator[Mapping[str, Any]]:
    places = _places(space, n)
    return iter([space.compile().unrank_many(places)] if places else [])


def _rows(space: Space, shard: tuple[int, int] | None, limit: int | None) -> int | None:
    """How many points `_tables` or `_spread` has, for a bar; None where they cannot be counted.

    Of a small limit that, since counting may take longer than it lists.
    """
    if limit is not None and limit <= _QUICK:
        return limit
    i, n = shard or (1, 1)
    try:
        with waiting("counting the kernels"):
            total = space.count()
    except UndecidedError:
        return None
    listed = i * total // n - (i - 1) * total // n  # as `Space.shard` divides
    return listed if limit is None else min(limit, listed)


def _tables(
    space: Space, shard: tuple[int, int] | None, limit: int | None
) -> Iterator[Mapping[str, Any]]:
    """Tables of codes, of no more than ``limit`` rows in all; the first one is small."""
    from ckrules.output.columns import first_rows

    if limit == 0:
        return iter(())
    chunk = 1 << 16 if limit is None else min(limit, 1 << 16)
    source = space if shard is None else space.shard(shard[0] - 1, shard[1])
    tables = source.columns(chunk)
    return tables if limit is None else first_rows(tables, limit)


def _table(chunks: Iterator[Mapping[str, Any]], request: Request, listing: ListingOptions) -> int:
    """The first rows as a table; returns how many there are."""
    with waiting("finding the first kernels"):
        chunk = next(chunks, None)
    if chunk is None:
        return 0
    rows = len(next(iter(chunk.values())))
    title = f"{rows:,} of {count(request.region.space.count(), 'point')}" if request.by_file else ""
    show_table(chunk, listing, title, request.variant)
    sys.stdout.flush()  # before the summary
    return rows


def _evidence(request: Request) -> Iterator[str]:
    """How the rules stand that decide, where all is listed, and which kernels were run."""
    from ckrules.kernels.families import family_of

    family = family_of(str(request.region.space.domains["variant"][0]))
    if family.certified():
        if request.listing is None:
            yield _founded(request, family.name)
        yield _run(request, family.name)


def _founded(request: Request, family: str) -> str:
    """One line: how many of the rules that decide have been confirmed by something."""
    from ckrules.kernels.standing import Scope, sentence

    rules = [r for r in request.region.book.rules if r.severity == "error"]
    archs = tuple(str(gpu) for gpu in request.region.space.domains["arch"])
    return sentence(rules, Scope(family, request.books.headers, archs))


def _run(request: Request, name: str) -> str:
    """One line: how many kernels of the family were run, of the release and of others."""
    from ckrules.kernels import evidence

    by_ck = defaultdict[str, list[tuple[str, int, int]]](list)
    for (ck, arch), (total, wrong) in evidence.kernels_run(name).items():
        by_ck[ck].append((arch, total, wrong))
    own = request.books.headers
    parts = [] if own in by_ck else [f"none of CK {own}"]
    for ck, rows in sorted(by_ck.items()):
        total, wrong = sum(r[1] for r in rows), sum(r[2] for r in rows)
        gpus = ", ".join(f"{arch} {n}" for arch, n, _ in sorted(rows))
        bad = f"{wrong} of them wrong" if wrong else "all right"
        parts.append(f"{total} of CK {ck} ({gpus}), {bad}")
    return f"legal {name} kernels that were run: {'; '.join(parts)}"


def _summary(request: Request, space: Space, shown: int) -> str:
    total = space.count()
    whole = count(total, "configuration")
    listed = whole if shown == total else f"{shown:,} of {whole}"
    return f"{listed} ({request.title()}){'' if total else f'; {WHY}'}"
