"""Kernels to choose from: all or a sample of a part of a space that a problem leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ckrules.engine.expr import INT
from ckrules.engine.expr.variables import Role, domain_of
from ckrules.engine.rewrite.simplify import Simplifier
from ckrules.engine.sampling import Permutation
from ckrules.kernels import problem_books
from ckrules.kernels.families import problems_of
from ckrules.output.columns import Column, Columns
from ckrules.ranking.kernels import KernelTable, timing
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.engine.expr import BoolExpr
    from ckrules.engine.rules.region import Region
    from ckrules.engine.space import Space
    from ckrules.kernels.books import Books
    from ckrules.kernels.parts import Point

    Codes = NDArray[np.int32]

CHUNK = 1 << 14


@dataclass(frozen=True)
class Candidates:
    """The kernels of a region that accept a problem.

    Args:
        region: A part of the space of one variant and GPU.
        problem: A problem of the variant.

    Raises:
        UsageError: If the region has several variants or GPUs, or nothing is known of times.
    """

    region: Region
    books: Books
    problem: Any

    @cached_property
    def variant(self) -> str:
        """The variant of every kernel."""
        return self._one("variant")

    @cached_property
    def arch(self) -> str:
        """The GPU of every kernel."""
        return self._one("arch")

    def _one(self, name: str) -> str:
        values = self.region.space.domains[name]
        if len(values) != 1:
            known = ", ".join(map(str, values[:4]))
            raise UsageError(f"kernels of one {name} are ranked: give --{name}, such as {known}")
        return str(values[0])

    @cached_property
    def space(self) -> Space:
        """The region's kernels that accept the problem, whatever rules say of both."""
        return self.region.space.where(*self.conditions(self.problem))

    def fitting(self) -> Candidates:
        """These, or of them those that are called after the problem, if there are any.

        A number that a kernel is called after and the problem has, too, such as the head dimension
        of attention, may be larger than the problem's: of kernels that differ in nothing else the
        one with the next larger number is meant.
        """
        asked = problem_books.accepted(problems_of(self.variant), self.problem)
        called = []
        for name, field in self.region.book.fields.items():
            domain = domain_of(field)
            if domain.role is not Role.PURPOSE or domain.sort != INT or f"p_{name}" not in asked:
                continue
            values = self.region.space.codec.domains[name]
            if larger := [v for v in values if v >= asked[f"p_{name}"]]:
                called.append(field == min(larger))
        some = replace(self, region=replace(self.region, where=(*self.region.where, *called)))
        return some if called and some.space.count() else self

    def conditions(self, problem: Any) -> list[BoolExpr]:
        """The conditions on kernels under which they accept a problem."""
        problems = problems_of(self.variant)
        values = problem_books.accepted(problems, problem)
        gpus = self.books.gpus
        book = problem_books.book(self.variant, ck=self.books.ck, gpus=gpus)
        known = Simplifier(values)
        return [known.condition(r.condition) for r in book.rules]

    def tables(
        self, limit: int, seed: int, part: Space | None = None
    ) -> Iterator[Mapping[str, Any]]:
        """All kernels if there are no more than ``limit``, else so many drawn uniformly."""
        space = self.space if part is None else part
        if space.count() <= limit:
            yield from (table for table, _ in space.tables(CHUNK))
        else:
            yield from (table for table, _ in space.sample_tables(limit, seed, CHUNK))

    def codes(self, limit: int, seed: int, part: Space | None = None) -> Iterator[Codes]:
        """The kernels of `tables`, a matrix at a time.

        A row is a kernel: of each field of `space` the place of its value among the candidates.
        """
        known = self.space.codec.domains
        space = self.space if part is None else part
        places: list[Any] = []
        for name in self.space.names:
            values = space.codec.domains[name]
            at = {v: i for i, v in enumerate(known[name])}
            places.append(None if values == known[name] else np.asarray([at[v] for v in values]))
        if space.count() <= limit:
            tables: Iterator[Mapping[str, Any]] = (t for t, _ in space.tables(CHUNK))
        else:
            order = Permutation(space.count(), seed)
            starts = range(0, limit, CHUNK)
            numbers = (order.of(i, min(i + CHUNK, limit)) for i in starts)
            tables = (space.compile().unrank_many(n) for n in numbers)
        for table in tables:
            columns = zip(self.space.names, places, strict=True)
            taken = [table[n] if at is None else at[table[n]] for n, at in columns]
            yield np.stack(taken, axis=1).astype(np.int32)

    def table(self, codes: Codes, product: str | None = None) -> KernelTable:
        """The table of kernels that rows of `codes` say."""
        names = self.space.names
        rows = dict(zip(names, np.ascontiguousarray(codes.T), strict=True))
        (chunk,) = self._columns.chunks([rows], self.space.codec.domains)
        return KernelTable.of_columns(chunk, self.books, self.variant, self.arch, product)

    @cached_property
    def _columns(self) -> Columns:
        wanted = dict.fromkeys([*self.region.book.fields, *timing(self.variant).quantities])
        return Columns(self.region.book, tuple(wanted))

    def kernels(
        self, limit: int, seed: int, product: str | None = None, part: Space | None = None
    ) -> Iterator[tuple[KernelTable, Sequence[Point]]]:
        """Tables of kernels with their configurations, a chunk at a time.

        Args:
            limit: Of more kernels, so many are drawn uniformly.
            part: The part of `space` that they are of; None: all of it.
        """
        domains = (self.space if part is None else part).domains
        for chunk in self._columns.chunks(self.tables(limit, seed, part), domains):
            made = KernelTable.of_columns(chunk, self.books, self.variant, self.arch, product)
            yield made, PointRows(chunk, tuple(self.region.book.fields))


class PointRows(Sequence[Mapping[str, Any]]):
    """Rows of columns as configurations, made when they are asked for."""

    def __init__(self, columns: Mapping[str, Column], fields: tuple[str, ...]) -> None:
        self.columns, self.fields = columns, fields

    def __len__(self) -> int:
        return len(self.columns[self.fields[0]])

    @overload
    def __getitem__(self, i: int) -> Mapping[str, Any]: ...

    @overload
    def __getitem__(self, i: slice) -> Sequence[Mapping[str, Any]]: ...

    def __getitem__(self, i: int | slice) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        return {f: self.columns[f].values[self.columns[f].codes[i]] for f in self.fields}
