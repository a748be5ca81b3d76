"""Kernels in the order of their predicted times on a problem, and where each time comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.kernels.names import format_name
from ckrules.kernels.timing import CAUTION
from ckrules.ranking.learned import TimeModel
from ckrules.ranking.model_file import load
from ckrules.support.errors import CkrulesError, UsageError
from ckrules.support.tables import html_table

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point
    from ckrules.ranking.kernels import KernelTable


@dataclass(frozen=True, slots=True)
class Ranked:
    """One kernel with its predicted time."""

    point: Point
    microseconds: float
    low: float
    high: float
    """Between these the time lies in two of three cases, as far as is known."""
    limit: str
    """What limits it: a name of `Estimate.bounds`."""
    figures: Mapping[str, float]
    bounds: Mapping[str, float]
    learned: bool
    """Whether a model that has seen such kernels says so, and not the estimate alone."""


@dataclass(frozen=True)
class Ranking:
    """The best kernels of all that were looked at, fastest first."""

    kernels: Sequence[Ranked]
    looked_at: int
    source: str
    """Where the times come from, in words."""
    assumed: Mapping[str, str] = field(default_factory=dict)
    """What estimates assume of the kernels that were looked at: see `Estimate.assumed`."""

    def _repr_html_(self) -> str:
        """The ranking as notebooks show it: a row for each kernel."""
        rows = [["us", "range", "limited by", "kernel"]]
        for r in self.kernels:
            label = _label(r.point)
            rows.append([f"{r.microseconds:.1f}", f"{r.low:.1f}-{r.high:.1f}", r.limit, label])
        return html_table(rows, f"{len(self.kernels)} of {self.looked_at:,} kernels: {self.source}")


#: The figures of an estimate that follow from its time.
_SPEEDS = ("tflops", "of_peak")


def _label(point: Point) -> str:
    try:
        return format_name(point)
    except CkrulesError:  # kernels without names
        return " ".join(f"{k}={v}" for k, v in point.items())


class Ranker:
    """Predicts times by a model where one speaks of the kernels, else by estimates.

    Args:
        model: The model; None for the package's own where there is one, False for none.
    """

    def __init__(self, model: TimeModel | bool | None = None) -> None:
        self.model = model
        #: Whether there was a model of the kernels that were looked at, of each table.
        self._spoken: set[bool] = set()

    def rank(
        self, tables: Iterable[tuple[KernelTable, Sequence[Point]]], problem: Any, limit: int = 10
    ) -> Ranking:
        """The fastest kernels on a problem.

        Raises:
            UsageError: If nothing is known of their times.
        """
        best: list[Ranked] = []
        looked_at = 0
        assumed: dict[str, str] = {}
        for table, points in tables:
            found, said = self._some(table, points, problem, limit)
            looked_at += len(table)
            assumed |= said
            best = sorted([*best, *found], key=self.order)[:limit]
        return Ranking(best, looked_at, self._source(best), assumed)

    def times(self, table: KernelTable, problem: Any) -> Any:
        """The predicted microseconds of every kernel of a table."""
        return self.learned_times(table, problem)[0]

    def learned_times(self, table: KernelTable, problem: Any) -> tuple[Any, Any]:
        """The same, and of which kernels a model that has seen such kernels says so.

        Raises:
            UsageError: If nothing is known of their times.
        """
        estimate = table.estimate(problem)
        model = self.model_of(table)
        if model is None:
            return estimate.microseconds, np.zeros(len(table), dtype=np.bool_)
        return model.predict(table, problem, estimate).microseconds, model.measured(table)

    def ordered(self, table: KernelTable, problem: Any) -> tuple[Any, Mapping[str, str]]:
        """The predicted microseconds by which kernels are ordered, and what estimates assume.

        With `CAUTION`: kernels that are unlike measured ones have to be so much faster.
        """
        estimate = table.estimate(problem)
        model = self.model_of(table)
        if model is None:
            return estimate.microseconds, estimate.assumed
        times = model.predict(table, problem, estimate).microseconds
        return np.where(model.measured(table), times, times * CAUTION), estimate.assumed

    def _some(
        self, table: KernelTable, points: Sequence[Point], problem: Any, limit: int
    ) -> tuple[list[Ranked], Mapping[str, str]]:
        estimate = table.estimate(problem)
        model = self.model_of(table)
        times = low = high = estimate.microseconds
        seen = np.zeros(len(table), dtype=np.bool_)
        if model is None:
            printed = table.timing.printed_range
            low, high = times / printed, times * printed
        else:
            p = model.predict(table, problem, estimate)
            times, low, high = p.microseconds, p.low, p.high
            seen = model.measured(table)
        first = np.argsort(np.where(seen, times, times * CAUTION), kind="stable")[:limit]
        limits = estimate.limits()
        # A model may see another time than the estimate: speeds are those of the time shown.
        ones = np.ones(len(table))
        speed = dict.fromkeys(_SPEEDS, estimate.microseconds / times)
        found = [
            Ranked(
                points[int(i)],
                float(times[i]),
                float(low[i]),
                float(high[i]),
                limits[i],
                {n: float(v[i] * speed.get(n, ones)[i]) for n, v in estimate.figures.items()},
                {n: float(v[i]) for n, v in estimate.bounds.items()},
                bool(seen[i]),
            )
            for i in first
        ]
        return found, estimate.assumed

    def model_of(self, table: KernelTable) -> TimeModel | None:
        """The model that speaks of kernels; None: their times are estimates.

        Raises:
            UsageError: If a model was given that speaks of others.
        """
        if self.model is False:
            return None
        if isinstance(self.model, TimeModel):
            if said := self.model.why_not(table):
                raise UsageError(f"the model does not speak of these kernels: {said}")
            return self.model
        values = (table.columns[n].used() for n in ("variant", "dtype"))
        variant, dtype = (str(v[0]) if len(v) == 1 else "" for v in values)
        model = shipped(variant, dtype, table.gpu.name)
        self._spoken.add(model is not None)
        return model

    @staticmethod
    def order(ranked: Ranked) -> float:
        """What kernels are sorted by: the time, with `CAUTION` for unmeasured kinds."""
        return ranked.microseconds * (1.0 if ranked.learned else CAUTION)

    def said(self) -> str:
        """Where the times of the kernels that were looked at came from."""
        if self.model is False:
            return "estimates alone, as asked"
        if self.model:
            return "the model given"
        if self._spoken == {False}:
            return "estimates alone: the package has no model of such kernels"
        both = " where it has one, else estimates" if False in self._spoken else ""
        return f"the package's model{both}"

    def _source(self, best: Sequence[Ranked]) -> str:
        if self.model is False:
            return "estimated from the facts of the GPU, as asked"
        learned = sum(r.learned for r in best)
        if not learned:
            return "estimated from data of the GPU (such kernels were not measured)"
        rest = len(best) - learned
        return "learned from measurements" + (
            f"; {rest} of these kernels are unlike the measured ones: estimated" if rest else ""
        )


def chosen(word: str | None) -> TimeModel | bool | None:
    """What ``--model`` says: a file's model, False for ``none``, None where it is left out."""
    if word is None:
        return None
    return False if word == "none" else load(word)


def names() -> list[str]:
    """The models of the package, as ``forward_bf16_gfx950``."""
    folder = files(__package__) / "models"
    found = (p.name.removesuffix(_SUFFIX) for p in folder.iterdir() if p.name.endswith(_SUFFIX))
    return sorted(found)


_SUFFIX = ".model.gz"


@cache
def shipped(variant: str, dtype: str, arch: str) -> TimeModel | None:
    """The package's model of such kernels; None if it has none."""
    name = f"{variant}_{dtype}_{arch}"
    if name not in names():
        return None
    with as_file(files(__package__) / "models" / f"{name}{_SUFFIX}") as path:
        return load(path)
