"""Training models of times, and holding them against measurements they have not seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.ranking.evaluation import EfficiencyFigures, figures, judge
from ckrules.ranking.fingerprints import ROWS, fingerprint
from ckrules.ranking.kernels import KernelTable
from ckrules.ranking.learned import AGAINST, COMMON, MOST_KERNELS, TimeModel, matrix
from ckrules.ranking.measurements import MeasuredProblem, kernels_of
from ckrules.ranking.trees import Ensemble, read
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.kernels.books import Books
    from ckrules.kernels.parts import Point
    from ckrules.kernels.timing import Estimate
    from ckrules.ranking.ranker import Ranker

    Floats = NDArray[np.float64]

MEMBERS = 5
LEAST_ERROR = 1e-4
"""What a prediction is at least off by, as a logarithm to base 2."""
_RELATIVE = {
    "objective": "huber", "alpha": 0.2, "learning_rate": 0.1, "num_leaves": 15,
    "min_child_samples": 20, "bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.6,
}  # fmt: skip
_LEVEL = {
    "objective": "huber", "alpha": 0.3, "learning_rate": 0.05, "num_leaves": 6,
    "min_child_samples": 8, "bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.7,
}  # fmt: skip
_ROUNDS, _LEVEL_ROUNDS = 150, 150
_MANY, _MORE_ROUNDS = 20_000, 500
"""Times from which there are more trees: few times would be learned by heart."""
_FALLING, _FALLING_OUTSIDE = 1.5, 4.0
"""How fast weights of slower kernels fall, for measured kernels and for others.

Picks among measured kernels are better where slow ones count; what is learned of these does not
carry to kernels that were not measured (docs/ranking.md has the figures of both).
"""
_PROPERTIES = {"deterministic": True, "force_row_wise": True, "num_threads": 1, "verbosity": -1}


class NoLightGBMError(UsageError):
    """LightGBM is not installed, so that no model can be trained."""

    def __init__(self) -> None:
        super().__init__("training models of times needs LightGBM: pip install 'ckrules[rank]'")


def lightgbm() -> Any:
    """The package LightGBM.

    Raises:
        NoLightGBMError: If it is not installed.
    """
    try:
        import lightgbm as found
    except ImportError:
        raise NoLightGBMError from None
    return found


@dataclass(frozen=True)
class Samples:
    """Measurements as numbers: what a model learns from and is tested on."""

    measured: Sequence[MeasuredProblem]
    tables: Sequence[KernelTable]
    estimates: Sequence[Estimate]

    @classmethod
    def of(
        cls, measured: Sequence[MeasuredProblem], books: Books, product: str | None = None
    ) -> Samples:
        """The measurements with the estimates of their kernels."""
        made: dict[tuple[int, ...], KernelTable] = {}
        tables = []
        for each in measured:
            key = tuple(map(id, each.points))
            if key not in made:
                made[key] = KernelTable.of_points(each.points, books, product)
            tables.append(made[key])
        found = [t.estimate(m.problem) for t, m in zip(tables, measured, strict=True)]
        return cls(measured, tables, found)

    def __len__(self) -> int:
        return len(self.measured)

    def only(self, wanted: Callable[[MeasuredProblem], bool]) -> Samples:
        """The problems that meet a condition."""
        kept = [i for i, m in enumerate(self.measured) if wanted(m)]
        return Samples(
            [self.measured[i] for i in kept],
            [self.tables[i] for i in kept],
            [self.estimates[i] for i in kept],
        )

    def estimated(self) -> EfficiencyFigures:
        """The figures of picks by the estimates alone."""
        pairs = zip(self.estimates, self.measured, strict=True)
        return figures(judge(e.microseconds, m.microseconds) for e, m in pairs)

    def predicted(self, model: TimeModel) -> EfficiencyFigures:
        """The figures of a model's picks."""
        return figures(
            judge(model.predict(t, m.problem, e).microseconds, m.microseconds)
            for m, t, e in zip(self.measured, self.tables, self.estimates, strict=True)
        )

    def judged(self, ranker: Ranker) -> EfficiencyFigures:
        """The figures of a ranker's picks."""
        return figures(
            judge(ranker.times(t, m.problem), m.microseconds)
            for m, t in zip(self.measured, self.tables, strict=True)
        )


def train(
    samples: Samples,
    books: Books,
    *,
    seed: int = 1,
    members: int = MEMBERS,
    card: Mapping[str, Any] | None = None,
    left_out: Callable[[Point], bool] | None = None,
    told: Callable[[int], None] | None = None,
) -> TimeModel:
    """A model of these measurements.

    Args:
        samples: Measurements of kernels of one variant, dtype and GPU.
        books: The rule books by which the kernels were read.
        seed: The same seed and measurements give the same model.
        members: Ensembles that are trained, each on another part of the problems.
        card: What else its card says.
        left_out: Kernels that are not learned from.
        told: Called with 1 after each ensemble.

    Raises:
        UsageError: If there are fewer than ten problems, kernels of several variants, dtypes or
            GPUs, or more kernels than a model is of.
        NoLightGBMError: If LightGBM is not installed.
    """
    if len(samples) < 10:
        raise UsageError(f"{len(samples)} problems are too few to learn from: at least 10")
    kernels = kernels_of(samples.measured)
    if len(kernels) > MOST_KERNELS:
        raise UsageError(f"{len(kernels):,} kernels, a model is of {MOST_KERNELS:,} at most")
    for name in COMMON:
        found = sorted({str(p[name]) for p in kernels})
        if len(found) > 1:
            raise UsageError(
                f"a model is of one {name}, these measurements have {', '.join(found)}: "
                "give a file for each"
            )
    return _Training(samples, books, seed, members, left_out).model(card or {}, told)


class _Training:
    def __init__(
        self,
        samples: Samples,
        books: Books,
        seed: int,
        members: int,
        left_out: Callable[[Point], bool] | None,
    ) -> None:
        self.samples, self.seed, self.members = samples, seed, members
        keep = left_out or (lambda _: False)
        every = kernels_of(samples.measured)
        self.points = [p for p in every if not keep(p)]
        self.gone = [p for p in every if keep(p)]
        everywhere = [p for p in self.points if all(_has(m.points, p) for m in samples.measured)]
        self.reference = everywhere or self.points
        first = set(map(id, self.reference))
        self.kernels = [*self.reference, *(p for p in self.points if id(p) not in first)]
        self.features = (AGAINST, *samples.estimates[0].features)
        self.situation = tuple(samples.estimates[0].situation)
        empty = TimeModel(
            {}, self.kernels, len(self.reference), self.features, self.situation, (), (), ()
        )
        self.bases = [
            empty.base(t, m.problem) for t, m in zip(samples.tables, samples.measured, strict=True)
        ]
        self.kept = [np.asarray([not keep(p) for p in m.points]) for m in samples.measured]

    def model(
        self, card: Mapping[str, Any], told: Callable[[int], None] | None = None
    ) -> TimeModel:
        levels = np.asarray([self._level(i) for i in range(len(self.samples))])
        rows = [self._rows(i) for i in range(len(self.samples))]
        times = [self._times(i, levels[i]) for i in range(len(self.samples))]
        # What estimates say of kernels is not learned again, only how far they are off.
        targets = [t - r[:, 0] for r, t in zip(rows, times, strict=True)]
        situations = np.asarray(
            [[e.situation[n] for n in self.situation] for e in self.samples.estimates]
        )
        above = levels - np.asarray(self.bases)
        rounds = _MORE_ROUNDS if sum(map(len, targets)) >= _MANY else _ROUNDS
        parts: dict[str, list[Any]] = {name: [] for name in ("relative", "carried", "level")}
        missed: dict[str, list[Floats]] = {name: [] for name in parts}
        for member, part in enumerate(self._parts()):
            seed = self.seed * 1000 + member
            rest = np.setdiff1d(np.arange(len(self.samples)), part)
            x, y = np.vstack([rows[i] for i in part]), np.hstack([targets[i] for i in part])
            for name, falling in (("relative", _FALLING), ("carried", _FALLING_OUTSIDE)):
                weights = np.hstack([_weights(times[i], falling) for i in part])
                parts[name].append(_fit(x, y, _RELATIVE, rounds, seed, weights))
                missed[name] += [parts[name][-1].predict(rows[i]) - targets[i] for i in rest]
            parts["level"].append(_fit(situations[part], above[part], _LEVEL, _LEVEL_ROUNDS, seed))
            missed["level"].append(parts["level"][-1].predict(situations[rest]) - above[rest])
            if told is not None:
                told(1)
        errors = {name: _spread(np.hstack(found)) for name, found in missed.items()}
        errors["outside"] = _spread(np.hstack(targets))
        relative, carried, level = ([_ensemble(b) for b in found] for found in parts.values())
        return TimeModel(
            {
                **card, "about": self._about(), "errors": errors, "seed": self.seed,
                ROWS: fingerprint(self.samples.measured, self.gone),
            },
            self.kernels, len(self.reference), self.features, self.situation,
            relative, carried, level,
        )  # fmt: skip

    def _parts(self) -> Iterator[NDArray[np.int64]]:
        """For each member the problems that it learns from; the rest say how good it is."""
        rng = np.random.default_rng(self.seed)
        order = rng.permutation(len(self.samples))
        for member in range(self.members):
            out = order[member :: max(self.members, 2) * 2]
            yield np.sort(np.setdiff1d(order, out))

    def _level(self, i: int) -> float:
        """The measured time of the reference kernels: the mean of logarithms to base 2.

        Where not all of them were measured, the estimates say how those that were compare.
        """
        m, estimate = self.samples.measured[i], self.samples.estimates[i]
        inside = np.asarray([_has(self.reference, p) for p in m.points]) & self.kept[i]
        if not inside.any():
            inside = self.kept[i]
        times = np.log2(np.asarray(m.microseconds))[inside]
        against = np.log2(estimate.microseconds)[inside] - self.bases[i]
        return float((times - (against if inside.sum() != len(self.reference) else 0.0)).mean())

    def _rows(self, i: int) -> Floats:
        x = matrix(self.samples.estimates[i], self.bases[i], self.features, self.situation)
        return np.asarray(x[self.kept[i]])

    def _times(self, i: int, level: float) -> Floats:
        """The measured times of the kernels against those of the reference kernels."""
        times = np.log2(np.asarray(self.samples.measured[i].microseconds))
        return np.asarray((times - level)[self.kept[i]])

    def _about(self) -> dict[str, Any]:
        """What the kernels have in common, and the values and ranges that were measured."""
        about: dict[str, Any] = {n: str(self.points[0][n]) for n in COMMON}
        about["product"] = self.samples.tables[0].product.name
        about["problems"] = len(self.samples)
        about["measurements"] = sum(len(m.points) for m in self.samples.measured)
        return about


def cross_validated(
    samples: Samples,
    books: Books,
    folds: int = 5,
    seed: int = 1,
    members: int = MEMBERS,
    told: Callable[[int], None] | None = None,
) -> EfficiencyFigures:
    """The figures of models on problems that they were not trained on (folds of problems).

    Problems that the file has several times are always in one fold. ``told`` is called with 1
    after each of the ``folds * members`` ensembles.
    """
    texts = sorted({str(m.problem) for m in samples.measured})
    order = np.random.default_rng(seed).permutation(len(texts))
    fold = {texts[i]: place % folds for place, i in enumerate(order)}
    picks = []
    for f in range(folds):
        model = train(
            samples.only(lambda m, f=f: fold[str(m.problem)] != f),  # type: ignore[misc]  # mypy knows no lambda with a default
            books, seed=seed, members=members, told=told,
        )  # fmt: skip
        held = samples.only(lambda m, f=f: fold[str(m.problem)] == f)  # type: ignore[misc]  # mypy knows no lambda with a default
        picks += [
            judge(model.predict(t, m.problem, e).microseconds, m.microseconds)
            for m, t, e in zip(held.measured, held.tables, held.estimates, strict=True)
        ]
    return figures(picks)


def _has(points: Sequence[Point], point: Point) -> bool:
    return any(p is point or p == point for p in points)


def _weights(times: Floats, falling: float) -> Floats:
    """How much each kernel of a problem counts: the faster the more, as they are what is picked."""
    return np.asarray(np.exp(-falling * (times - times.min())))


def _fit(
    x: Floats,
    y: Floats,
    settings: Mapping[str, Any],
    rounds: int,
    seed: int,
    weights: Floats | None = None,
) -> Any:
    lgb = lightgbm()
    data = lgb.Dataset(x, y, weight=weights)
    return lgb.train({**settings, **_PROPERTIES, "seed": seed}, data, rounds)


def _ensemble(booster: Any) -> Ensemble:
    return read(booster.model_to_string(), booster.num_feature())


def _spread(errors: Floats) -> float:
    """The half range that two of three errors fall into; outliers do not count.

    It is never 0: no clock is that good.
    """
    return max(float(np.quantile(np.abs(errors), 0.68)), LEAST_ERROR)
