"""The points of ``--catalog`` at a ``--stage``, for the commands that list, count and draw."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ckrules.cli.emit import (
    TABLE_ROWS,
    ListingOptions,
    emit,
    several_gpus,
    show_table,
    wanted_fields,
)
from ckrules.cli.request import Request
from ckrules.cli.terminal import note
from ckrules.constraints.catalogs.listing import CatalogListing, Point
from ckrules.kernels.families import named
from ckrules.kernels.names import RULE_SET
from ckrules.support.errors import UsageError
from ckrules.support.tables import plural


class CatalogList:
    """What a catalog lists for the options of a command, written as they say."""

    def __init__(self, request: Request, listing: CatalogListing) -> None:
        self.request, self.listing, self.catalog = request, listing, listing.catalog
        for remark in listing.catalog.data.remarks:
            note(f"note: {listing.catalog.name}: {remark}")

    @property
    def points(self) -> list[Point]:
        """The points that survive the stage and meet ``--set`` and ``--where``."""
        return self.listing.points

    def count(self, by: Sequence[str]) -> tuple[int, list[tuple[tuple[Any, ...], int]]]:
        """The number of points, and by the values of fields."""
        return self.listing.count(by)

    def show(
        self,
        listing: ListingOptions,
        *,
        limit: int | None,
        spread: int | None,
        shard: tuple[int, int] | None,
        quiet: bool,
    ) -> int:
        """Writes the points, or the first of them as a table; returns the exit code."""
        points = self.points
        if shard is not None:
            i, n = shard
            points = points[(i - 1) * len(points) // n : i * len(points) // n]
        if spread is not None:
            n = min(spread, len(points))
            points = [points[(2 * i + 1) * len(points) // (2 * n)] for i in range(n)]
        most = TABLE_ROWS if listing.to_terminal and limit is None else limit
        return self._write(points if most is None else points[:most], listing, quiet)

    def draw(self, listing: ListingOptions, n: int, seed: int, quiet: bool) -> int:
        """Writes ``n`` different points, each set of them equally likely."""
        places = random.Random(seed).sample(range(len(self.points)), min(n, len(self.points)))
        return self._write([self.points[i] for i in places], listing, quiet)

    def _write(self, points: Sequence[Point], listing: ListingOptions, quiet: bool) -> int:
        groups = self.listing.by_family(points)
        if len(groups) > 1 and listing.name not in ("names", "jsonl") and not listing.to_terminal:
            guest = next(n for n, _ in groups if n != self.catalog.family.name)
            raise UsageError(
                f"{guest} kernels have other fields than the rest: use --format names or jsonl, "
                f"or ask for --variant {named(guest).variants[0]} alone"
            )
        several_gpus(listing, {p["arch"] for p in points} or {""})
        chunks = list(self._chunks(groups, listing))
        if listing.to_terminal:
            for chunk, (_, rows) in zip(chunks, groups, strict=True):
                show_table(chunk, listing, "", str(rows[0]["variant"]))
        else:
            family = groups[0][0] if groups else self.catalog.family.name
            fields = self._columns(family, listing).fields
            emit(chunks, fields, listing, len(points), self.request.books.ck)
        if not quiet:
            note(self._summary(points))
        return 0

    def _columns(self, family: str, listing: ListingOptions) -> Any:
        from ckrules.output.columns import Columns

        return Columns(self.listing.book(family), wanted_fields(listing), listing.style)

    def _chunks(
        self, groups: Sequence[tuple[str, list[Point]]], listing: ListingOptions
    ) -> Iterator[Mapping[str, Any]]:
        from ckrules.output.columns import NAME, factor

        for family, points in groups:
            columns = self._columns(family, listing)
            chunk = dict(columns.of_points(points))
            if NAME in chunk and listing.style == RULE_SET:  # a set may spell layouts otherwise
                chunk[NAME] = factor([self.catalog.kernel_name(p) for p in points])
            yield chunk

    def _summary(self, points: Sequence[Point]) -> str:
        whole = len(self.points)
        shown = f"{whole:,}" if len(points) == whole else f"{len(points):,} of {whole:,}"
        return (
            f"{shown} {plural(whole, 'configuration')} "
            f"(catalog {self.catalog.name}, {self.listing.stage}; {self.request.title()})"
        )
