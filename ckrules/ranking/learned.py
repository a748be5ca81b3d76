"""Models of times, learned from measurements on top of estimates.

A model has two parts. One says how a kernel's time compares with that of the model's reference
kernels on the same problem, which is all that a ranking needs; the other how long the reference
kernels take. Both say how far the estimate is off, from numbers without units
(`ckrules.kernels.timing.Estimate`), so that they carry to tiles and problems that were not
measured. Each part is several gradient-boosted ensembles, trained on different problems; their
spread is the uncertainty. LightGBM trains them; `ckrules.ranking.forest` predicts with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

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


@dataclass(frozen=True)
class TimePrediction:
    """Predicted microseconds of each kernel, with the range that two of three fall into."""

    microseconds: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class TimeModel:
    """A model of the times of one variant and dtype on one GPU.

    Args:
        card: What it was trained on and how good it is, for people and for `covers`.
        reference: The kernels that times are compared with.
        features: Names of the numbers of a kernel and problem, in order; those of the problem
            alone come last.
        situation: Names of the numbers of the problem alone.
        relative: The ensembles for kernels: what their estimate against that of the reference
            kernels leaves out, as a logarithm to base 2.
        level: The same for the reference kernels' time.
    """

    card: Mapping[str, Any]
    reference: Sequence[Point]
    features: Sequence[str]
    situation: Sequence[str]
    relative: Sequence[Ensemble]
    level: Sequence[Ensemble]
    _tables: dict[tuple[str, str], KernelTable] = field(default_factory=dict, compare=False)

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
        return self._like(table, self.card["about"]["values"])

    def carries(self, table: KernelTable) -> NDArray[np.bool_]:
        """Which kernels are like those measured but for the pipeline.

        What was learned of tiles and problems holds for another pipeline, too, better than the
        estimate alone (docs/ranking.md has the figures of pipelines that were left out).
        """
        values = self.card["about"]["values"]
        return self._like(table, {n: v for n, v in values.items() if n != "pipeline"})

    def _like(self, table: KernelTable, values: Mapping[str, Any]) -> NDArray[np.bool_]:
        inside = np.ones(len(table), dtype=np.bool_)
        for name, known in values.items():
            column = table.columns[name]
            inside &= np.asarray([v in known for v in column.values])[column.codes]
        for name, (low, high) in self.card["about"]["ranges"].items():
            column = table.columns[name]
            inside &= np.asarray([low <= v <= high for v in column.values])[column.codes]
        return inside

    def predict(self, table: KernelTable, problem: Any, estimate: Estimate) -> TimePrediction:
        """The times of kernels on a problem.

        Kernels unlike any measured have their estimate, set against the reference kernels'; those
        of another pipeline what was learned of the rest, and the range of an estimate.
        """
        base = self.base(table, problem)
        inside = self.carries(table)
        outside = ~self.measured(table)
        relative = np.log2(estimate.microseconds) - base
        spread = np.zeros(len(table))
        if inside.any():
            x = matrix(estimate, base, self.features, self.situation)[inside]
            parts = np.stack([f.predict(x) for f in self._relative])
            relative[inside] += parts.mean(axis=0)
            spread[inside] = parts.std(axis=0)
        s = np.asarray([[estimate.situation[n] for n in self.situation]])
        levels = np.asarray([f.predict(s)[0] for f in self._level])
        level = base + levels.mean()
        errors = self.card["errors"]
        error = np.where(outside, errors["outside"], np.hypot(spread, errors["relative"]))
        error = np.hypot(error, errors["level"])
        middle = level + relative
        return TimePrediction(2.0**middle, 2.0 ** (middle - error), 2.0 ** (middle + error))

    def base(self, table: KernelTable, problem: Any) -> float:
        """The estimate of the reference kernels: the mean of its logarithms to base 2."""
        key = (table.gpu.name, table.product.name)
        if key not in self._tables:
            self._tables[key] = KernelTable.of_points(
                self.reference, table.books, table.product.name
            )
        estimate = self._tables[key].estimate(problem)
        found = float(np.log2(estimate.microseconds).mean())
        if not np.isfinite(found):
            raise UsageError(f"the model's reference kernels have no estimated time on {problem}")
        return found

    @cached_property
    def _relative(self) -> list[Forest]:
        return [Forest(e) for e in self.relative]

    @cached_property
    def _level(self) -> list[Forest]:
        return [Forest(e) for e in self.level]


def matrix(
    estimate: Estimate, base: float, features: Sequence[str], situation: Sequence[str]
) -> Floats:
    """The numbers that `TimeModel.relative` reads: a row for each kernel."""
    against = np.log2(estimate.microseconds) - base
    # What kernels have no share of, estimates do not name (vector units).
    none = np.zeros(len(against))
    columns = [against if n == AGAINST else estimate.features.get(n, none) for n in features]
    columns += [np.full(len(against), estimate.situation[n]) for n in situation]
    return np.stack(columns, axis=1)
