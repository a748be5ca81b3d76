"""Models of times, learned from measurements on top of estimates.

One part of a model says how a kernel's time compares with that of the model's reference kernels on
the same problem, which is all that a ranking needs; another how long the reference kernels take.
Both say how far the estimate is off, from numbers without units
(`ckrules.kernels.timing.Estimate`), so that they carry to tiles and problems that were not
measured. The first part is there twice: for the kernels that were measured, of which it learns the
slow ones, too, and for others, to which that does not carry. Each part is several gradient-boosted
ensembles, trained on different problems; their spread is the uncertainty. LightGBM trains them;
`ckrules.ranking.forest` predicts with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ckrules.ranking.forest import Forest
from ckrules.ranking.kernels import KernelTable
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.kernels.parts import Point
    from ckrules.kernels.timing import Estimate
    from ckrules.ranking.trees import Ensemble

    Floats = NDArray[np.float64]

#: The feature that this module adds: the estimate against that of the reference kernels.
AGAINST = "against reference"
COMMON = ("arch", "variant", "dtype")
"""Fields of which a model is for one value each."""
VALUES = ("pipeline", "scheduler", "epilogue", "num_wave_groups", "num_groups_to_merge")
"""Fields of which a model speaks only where their value was measured."""
RANGES = ("tile_m", "tile_n", "tile_k", "waves")
"""The same of fields whose range counts."""
MOST_KERNELS = 4096
"""Kernels that a model may be of."""


@dataclass(frozen=True)
class TimePrediction:
    """Predicted microseconds of each kernel, with the range that two of three fall into."""

    microseconds: Floats
    low: Floats
    high: Floats


class _Tables(NamedTuple):
    """A model's kernels for one product: those of reference, and all that were measured."""

    reference: KernelTable
    every: KernelTable
    rows: set[tuple[Any, ...]]
    """The values of ``every``."""


@dataclass(frozen=True)
class TimeModel:
    """A model of the times of one variant and dtype on one GPU.

    Args:
        card: What it was trained on and how good it is, for people and for `covers`.
        kernels: The kernels that were measured.
        reference: So many of them, the first, are those that times are compared with.
        features: Names of the numbers of a kernel and problem, in order; those of the problem
            alone come last.
        situation: Names of the numbers of the problem alone.
        relative: The ensembles for measured kernels: what their estimate against that of the
            reference kernels leaves out, as a logarithm to base 2.
        carried: The same for other kernels.
        level: The same for the reference kernels' time.
    """

    card: Mapping[str, Any]
    kernels: Sequence[Point]
    reference: int
    features: Sequence[str]
    situation: Sequence[str]
    relative: Sequence[Ensemble]
    carried: Sequence[Ensemble]
    level: Sequence[Ensemble]
    _tables: dict[tuple[str, str], _Tables] = field(default_factory=dict, init=False, compare=False)

    def why_not(self, table: KernelTable) -> str | None:
        """Why it says nothing of these kernels; None: it does."""
        about = self.card["about"]
        for name, have in (
            ("arch", [table.gpu.name]),
            ("variant", table.columns["variant"].used()),
            ("dtype", table.columns["dtype"].used()),
        ):
            if other := [v for v in have if v != about[name]]:
                return f"it was trained on {name} = {about[name]}, not {', '.join(map(str, other))}"
        return None

    def measured(self, table: KernelTable) -> NDArray[np.bool_]:
        """Which kernels are like those measured: their pipeline was, and tiles of such sizes."""
        return self._like(table, VALUES)

    def carries(self, table: KernelTable) -> NDArray[np.bool_]:
        """Which kernels are like those measured but for the pipeline.

        What was learned of tiles and problems holds for another pipeline, too, better than the
        estimate alone (docs/ranking.md has the figures of pipelines that were left out).
        """
        return self._like(table, [n for n in VALUES if n != "pipeline"])

    def known(self, table: KernelTable) -> NDArray[np.bool_]:
        """Which kernels were measured, or differ from one that was in nothing that counts."""
        found = self.measured(table)
        own = self._of(table)
        columns = [table.columns[n] for n in own.every.columns]
        codes = np.stack([c.codes[found] for c in columns], axis=1)
        different, place = np.unique(codes, axis=0, return_inverse=True)
        said = [
            tuple(c.values[i] for c, i in zip(columns, row, strict=True)) in own.rows
            for row in different
        ]
        found[found] = np.asarray(said, dtype=np.bool_)[place.ravel()]
        return found

    def speaking(self, table: KernelTable) -> Mapping[str, NDArray[np.bool_]]:
        """By the names of the ensembles for kernels, which kernels each speaks of."""
        known = self.known(table)
        return {"relative": known, "carried": self.carries(table) & ~known}

    def _like(self, table: KernelTable, names: Sequence[str]) -> NDArray[np.bool_]:
        inside = np.ones(len(table), dtype=np.bool_)
        for name, known in self._of(table).every.columns.items():
            column, have = table.columns[name], known.used()
            if name in RANGES:
                low, high = min(have), max(have)
                like = [low <= v <= high for v in column.values]
            elif name in names:
                like = [v in have for v in column.values]
            else:
                continue
            inside &= np.asarray(like)[column.codes]
        return inside

    def predict(self, table: KernelTable, problem: Any, estimate: Estimate) -> TimePrediction:
        """The times of kernels on a problem.

        Kernels unlike any measured have their estimate, set against the reference kernels'; those
        of another pipeline what was learned of the rest, and the range of an estimate.
        """
        base = self.base(table, problem)
        errors = self.card["errors"]
        relative = np.log2(estimate.microseconds) - base
        error = np.full(len(table), errors["outside"])
        speaking = {name: which for name, which in self.speaking(table).items() if which.any()}
        if speaking:
            x = matrix(estimate, base, self.features, self.situation)
            for name, which in speaking.items():
                parts = np.stack([f.predict(x[which]) for f in self._forests[name]])
                relative[which] += parts.mean(axis=0)
                error[which] = np.hypot(parts.std(axis=0), errors[name])
        error[~self.measured(table)] = errors["outside"]
        s = np.asarray([[estimate.situation[n] for n in self.situation]])
        levels = np.asarray([f.predict(s)[0] for f in self._forests["level"]])
        level = base + levels.mean()
        error = np.hypot(error, errors["level"])
        middle = level + relative
        return TimePrediction(2.0**middle, 2.0 ** (middle - error), 2.0 ** (middle + error))

    def base(self, table: KernelTable, problem: Any) -> float:
        """The estimate of the reference kernels: the mean of its logarithms to base 2."""
        estimate = self._of(table).reference.estimate(problem)
        found = float(np.log2(estimate.microseconds).mean())
        if not np.isfinite(found):
            raise UsageError(f"the model's reference kernels have no estimated time on {problem}")
        return found

    def _of(self, table: KernelTable) -> _Tables:
        """The model's kernels for the product of others."""
        key = (table.gpu.name, table.product.name)
        if key not in self._tables:
            reference, every = (
                KernelTable.of_points(points, table.books, table.product.name)
                for points in (self.kernels[: self.reference], self.kernels)
            )
            rows = set(zip(*(c.rows() for c in every.columns.values()), strict=True))
            self._tables[key] = _Tables(reference, every, rows)
        return self._tables[key]

    @cached_property
    def _forests(self) -> Mapping[str, Sequence[Forest]]:
        parts = {"relative": self.relative, "carried": self.carried, "level": self.level}
        return {name: [Forest(e) for e in ensembles] for name, ensembles in parts.items()}


def matrix(
    estimate: Estimate, base: float, features: Sequence[str], situation: Sequence[str]
) -> Floats:
    """The numbers that the ensembles for kernels read: a row for each kernel."""
    against = np.log2(estimate.microseconds) - base
    # What kernels have no share of, estimates do not name (vector units).
    none = np.zeros(len(against))
    columns = [against if n == AGAINST else estimate.features.get(n, none) for n in features]
    columns += [np.full(len(against), estimate.situation[n]) for n in situation]
    return np.stack(columns, axis=1)
