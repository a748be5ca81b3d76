"""The points of ``--catalog`` at a ``--stage``, for the commands that list, count and draw."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ckrules import arch as gpu_facts
from ckrules.cli.emit import TABLE_ROWS, Listing, emit, several_gpus, show_table, wanted_fields
from ckrules.cli.options import Request
from ckrules.cli.terminal import note
from ckrules.constraints import operator_of
from ckrules.constraints.catalogs import STAGES, Catalog, load
from ckrules.engine.backends.pointwise import At
from ckrules.engine.errors import CkrulesError, UsageError, unknown
from ckrules.engine.expr import BoolExpr
from ckrules.engine.parse import parse_condition
from ckrules.engine.variables import domain_of
from ckrules.selection import read_value

if TYPE_CHECKING:
    from ckrules.engine.book import RuleBook

_KEYS = ("variant", "arch", "ndim", "dtype")
_DEPTHWISE = "forward_depthwise"
Point = Mapping[str, Any]


class CatalogList:
    """What a catalog lists for the options of a command, in the catalog's order.

    Depthwise kernels are listed with ``forward``, as upstream does, or alone when
    ``forward_depthwise`` is asked for.

    Raises:
        UnknownNameError: For an unknown catalog, stage, field or value, with near matches.
    """

    def __init__(self, request: Request) -> None:
        books = request.books
        self.stage = request.stage or ("generated" if books.profile == "dispatcher" else "listed")
        if self.stage not in STAGES:
            raise unknown("stage", self.stage, STAGES)
        if books.profile == "builder":
            raise UsageError("--catalog takes --stage instead of --profile builder")
        gpus = gpu_facts.load_all(books.arch_files) if books.arch_files else None
        self.request = request
        self.catalog: Catalog = load(request.catalog, ck=books.ck, gpus=gpus)
        self._values = {k: self._listed(k) for k in _KEYS}

    def _listed(self, key: str) -> list[Any]:
        """The values of a key that are asked for (all of them where none is)."""
        books, field = self.request.books, self.catalog.book().fields[key]
        words = self.request.given.get(key)
        if key == "variant":
            known = (*domain_of(field).values, _DEPTHWISE)
            for word in words or ():
                if word not in known:
                    raise unknown("variant", word, known)
            return list(dict.fromkeys(words or known[:-1]))
        if words is None:
            return list(domain_of(field).values)
        if key == "arch":
            return list(dict.fromkeys(books.plain_arch(w) for w in words))
        domain = domain_of(field)
        return list(dict.fromkeys(domain.accept(read_value(domain, w)) for w in words))

    @cached_property
    def points(self) -> list[Point]:
        """The points that survive the stage and meet ``--set`` and ``--where``."""
        wanted = self._values["variant"]
        listed = list(dict.fromkeys("forward" if v == _DEPTHWISE else v for v in wanted))
        found: list[Point] = []
        for key in itertools.product(listed, *(self._values[k] for k in _KEYS[1:])):
            found += self.catalog.listed(*key)
        if _DEPTHWISE in wanted and "forward" not in wanted:
            found = [p for p in found if p["variant"] != "forward"]
        found = [p for p in found if self._meets(p)]
        return found if self.stage == "listed" else self.catalog.stage(found, self.stage).points

    def _meets(self, point: Point) -> bool:
        conditions = self._conditions[operator_of(str(point["variant"]))]
        if conditions is None:
            return False
        at = At(point)
        return all(at.holds(c) for c in conditions)

    @cached_property
    def _conditions(self) -> dict[str, list[BoolExpr] | None]:
        """The filters by operator; None where the operator lacks a field that they name."""
        operators = {operator_of(v) for v in self._values["variant"]}
        with_forward = "forward" in self._values["variant"]
        out: dict[str, list[BoolExpr] | None] = {}
        for operator in sorted(operators):
            out[operator] = self._filters(self._book(operator))
        if with_forward and "depthwise" not in out:
            try:
                out["depthwise"] = self._filters(self._book("depthwise"))
            except CkrulesError:
                out["depthwise"] = None
        return out

    def _book(self, operator: str) -> RuleBook:
        return self.catalog.book(_DEPTHWISE if operator == "depthwise" else None)

    def _filters(self, book: RuleBook) -> list[BoolExpr]:
        names = book.vocabulary.names()
        found = [parse_condition(text, names) for text in self.request.where]
        for key, words in self.request.given.items():
            if key in _KEYS:
                continue
            if key not in book.fields:
                raise unknown("field", key, book.fields)
            domain = domain_of(book.fields[key])
            values = [domain.accept(read_value(domain, w)) for w in words]
            texts = " | ".join(f"{key} == {v!r}" for v in values)
            found.append(parse_condition(texts, names))
        return found

    # -- commands --------------------------------------------------------------------------

    def count(self, by: Sequence[str]) -> tuple[int, list[tuple[tuple[Any, ...], int]]]:
        """The number of points, and by the values of fields; depthwise kernels may lack one."""
        known = {**self.catalog.book().fields, **self._book("depthwise").fields}
        for field in by:
            if field not in known:
                raise unknown("field", field, known)
        groups = Counter(tuple(p.get(f, "-") for f in by) for p in self.points)
        places = {f: {v: i for i, v in enumerate(domain_of(known[f]).values)} for f in by}

        def order(entry: tuple[tuple[Any, ...], int]) -> list[tuple[int, str]]:
            last = 1 << 30
            return [(places[f].get(v, last), str(v)) for f, v in zip(by, entry[0], strict=True)]

        return len(self.points), sorted(groups.items(), key=order)

    def show(
        self,
        listing: Listing,
        *,
        limit: int | None,
        shard: tuple[int, int] | None,
        no_summary: bool,
    ) -> int:
        """Writes the points, or the first of them as a table; returns the exit code."""
        points = self.points
        if shard is not None:
            i, n = shard
            points = points[(i - 1) * len(points) // n : i * len(points) // n]
        most = TABLE_ROWS if listing.to_terminal and limit is None else limit
        return self._write(points if most is None else points[:most], listing, no_summary)

    def draw(self, listing: Listing, n: int, seed: int, no_summary: bool) -> int:
        """Writes ``n`` different points, each set of them equally likely."""
        places = random.Random(seed).sample(range(len(self.points)), min(n, len(self.points)))
        return self._write([self.points[i] for i in places], listing, no_summary)

    def _write(self, points: Sequence[Point], listing: Listing, no_summary: bool) -> int:
        groups = [(o, [p for p in points if operator_of(p["variant"]) == o])
                  for o in dict.fromkeys(operator_of(p["variant"]) for p in points)]  # fmt: skip
        if len(groups) > 1 and listing.name not in ("names", "jsonl") and not listing.to_terminal:
            raise UsageError(
                "depthwise kernels have other fields than the rest: use --format names or jsonl, "
                "or ask for --variant forward_depthwise alone"
            )
        several_gpus(listing, {p["arch"] for p in points} or {""})
        chunks = list(self._chunks(groups, listing))
        if listing.to_terminal:
            for chunk, (_, rows) in zip(chunks, groups, strict=True):
                show_table(chunk, listing, self._summary(points), str(rows[0]["variant"]))
        else:
            fields = self._columns(groups[0][0] if groups else "conv", listing).fields
            emit(chunks, fields, listing, len(points))
        if not no_summary:
            note(self._summary(points))
        return 0

    def _columns(self, operator: str, listing: Listing) -> Any:
        from ckrules.reports.columns import Columns

        return Columns(self._book(operator), wanted_fields(listing))

    def _chunks(
        self, groups: Sequence[tuple[str, list[Point]]], listing: Listing
    ) -> Iterator[Mapping[str, Any]]:
        from ckrules.reports.columns import NAME, factor

        for operator, points in groups:
            columns = self._columns(operator, listing)
            chunk = dict(columns.of_points(points))
            if NAME in chunk:  # upstream's rule sets have spellings of their own
                chunk[NAME] = factor([self.catalog.kernel_name(p) for p in points])
            yield chunk

    def _summary(self, points: Sequence[Point]) -> str:
        whole = len(self.points)
        shown = f"{whole:,}" if len(points) == whole else f"{len(points):,} of {whole:,}"
        plural = "s" * (whole != 1)
        return (
            f"{shown} point{plural} (catalog {self.catalog.name}, {self.stage}; "
            f"{self.request.title()})"
        )
