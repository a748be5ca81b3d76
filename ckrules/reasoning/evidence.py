"""Evidence: points that settle many questions about rules at once, before a solver is asked.

A rule that some point breaks fires, one that some point breaks alone is implied by nothing, a
guard that holds somewhere can hold. Random candidates, the rules' own examples and small changes
of legal points show almost all of that in one vectorised evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.codec import Point
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.evaluate.vector import encode, evaluate_columns
from ckrules.engine.expr import BoolExpr
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules.book import RuleBook
from ckrules.support.errors import CkrulesError

Array = npt.NDArray[Any]
_RANDOM = 20_000
_SEEDS = 100  # legal points whose surroundings are looked at


class Evidence:
    """What many points show about the conditions of a book.

    Args:
        book: The rules.
        region: Conditions that every point must meet.
        seeds: Legal points; points near them break few rules.

    >>> from ckrules.engine.rules.book import Vocabulary
    >>> from ckrules.engine.rules import Rule
    >>> from ckrules.engine.expr.variables import Int
    >>> words = Vocabulary([Int("m", range(10))])
    >>> rules = [Rule("AB001", "too-big", "compile", words.m < 6),
    ...          Rule("AB002", "far-too-big", "compile", words.m < 8)]
    >>> seen = Evidence(RuleBook("toy", words, rules, check=False))
    >>> sorted(seen.broken), sorted(seen.alone)
    (['AB001', 'AB002'], ['AB001'])
    """

    def __init__(
        self,
        book: RuleBook,
        region: Sequence[BoolExpr] = (),
        seeds: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        self.book, self.region = book, list(region)
        self.names = list(book.fields)
        self.domains = {n: domain_of(v).values for n, v in book.fields.items()}
        self._columns = {n: encode(v) for n, v in self.domains.items()}
        given = [*_examples(book), *seeds]
        rows = self._rows(given)
        if region:
            rows = rows[np.logical_and.reduce(self._holds(list(region), rows))]
        self._table = rows
        found = self._holds([r.condition for r in book.rules], rows)
        broken = ~np.asarray(found, dtype=np.bool_).reshape(len(book.rules), len(rows))
        count = broken.sum(axis=0)
        codes = [r.code for r in book.rules]
        self.broken = {c for c, row in zip(codes, broken, strict=True) if row.any()}
        self.alone = {c for c, row in zip(codes, broken, strict=True) if (row & (count == 1)).any()}

    def points_with(self, questions: Sequence[BoolExpr]) -> list[Point | None]:
        """For each condition one of the points that meets it, None if none of them does."""
        if not len(self._table) or not questions:
            return [None] * len(questions)
        out: list[Point | None] = []
        for meets in self._holds(list(questions), self._table):
            at = int(meets.argmax())
            out.append(self._point(self._table[at]) if meets[at] else None)
        return out

    def _holds(self, conditions: list[BoolExpr], rows: Array) -> list[Array]:
        columns = {n: self._columns[n][rows[:, k]] for k, n in enumerate(self.names)}
        with np.errstate(all="ignore"):
            return list(evaluate_columns(conditions, columns, len(rows)))

    def _rows(self, given: Sequence[Mapping[str, Any]]) -> Array:
        place = {n: {v: k for k, v in enumerate(d)} for n, d in self.domains.items()}
        known = [
            [place[n][p[n]] for n in self.names]
            for p in given
            if all(p.get(n) in place[n] for n in self.names)
        ]
        rng = np.random.default_rng(0)
        codes = [self._possible(n) for n in self.names]
        sizes = [len(self.domains[n]) for n in self.names]
        width = len(self.names)
        drawn = [c[rng.integers(0, len(c), size=_RANDOM)] for c in codes]
        pieces = [np.stack(drawn, axis=1).astype(np.int16)] if drawn else []
        if known:
            base = np.unique(np.asarray(known, dtype=np.int16), axis=0)
            seeds = base[np.linspace(0, len(base) - 1, min(_SEEDS, len(base))).astype(int)]
            once = np.concatenate([_changed(seeds, k, s) for k, s in enumerate(sizes)])
            twice = once.copy()
            column = rng.integers(0, width, size=len(twice))
            values = (rng.random(len(twice)) * np.asarray(sizes)[column]).astype(np.int16)
            twice[np.arange(len(twice)), column] = values
            pieces += [base, once, twice]
        return np.concatenate(pieces)

    def _possible(self, name: str) -> Array:
        """The codes of a field's values that the region's conditions on it alone allow."""
        own = [c for c in self.region if c.support == {name}]
        values = self.domains[name]
        kept = [k for k, v in enumerate(values) if all(At({name: v}).holds(c) for c in own)]
        return np.asarray(kept or range(len(values)), dtype=np.int64)

    def _point(self, row: Array) -> Point:
        return {n: self.domains[n][c] for n, c in zip(self.names, row.tolist(), strict=True)}


def _changed(rows: Array, column: int, size: int) -> Array:
    """Every row with every value in one column."""
    out = np.repeat(rows, size, axis=0)
    out[:, column] = np.tile(np.arange(size, dtype=rows.dtype), len(rows))
    return out


def _examples(book: RuleBook) -> list[Point]:
    """The accepted and rejected examples of all rules that make full points."""
    found: list[Point] = []
    for r in book.rules:
        for accepted in (True, False):
            try:
                found += book.examples(r, accepted=accepted)
            except CkrulesError:
                continue
    return found
