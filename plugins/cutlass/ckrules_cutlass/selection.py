"""How good choices of kernels are on the complete times: ``python -m ckrules_cutlass.selection``.

Every way of choosing picks one of the measured kernels for each problem. Its efficiency is the best
measured time over that of the pick, and cuBLAS's over it. A search that measures is replayed: the
table answers in place of the GPU.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import gzip
import importlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ckrules.kernels.books import Books
from ckrules.kernels.library import book
from ckrules.kernels.names import format_name
from ckrules.ranking.measurements import MeasuredProblem, read
from ckrules.ranking.surrogate import Correction
from ckrules.ranking.training import MEMBERS, Samples, train
from ckrules.support.tables import aligned
from ckrules_cutlass.program import end
from ckrules_cutlass.targets import TARGETS
from ckrules_cutlass.vocabulary import VARIANT
from ckrules_cutlass.words import AUTO

DATA = Path(__file__).parent / "data"
BUDGET, BATCH = 20, 4

Times = Mapping[str, float]
Order = Mapping[int, Any]
"""By place of a problem, predicted times of its kernels."""


def table(name: str) -> list[dict[str, str]]:
    """The rows of a file of `DATA`."""
    with gzip.open(DATA / f"{name}.csv.gz", "rt", newline="") as file:
        return list(csv.DictReader(file))


def measured(books: Books) -> list[MeasuredProblem]:
    """The times, as `ckrules evaluate` reads them."""
    with tempfile.TemporaryDirectory() as home:
        place = Path(home) / "times.csv"
        place.write_bytes(gzip.decompress((DATA / "times.csv.gz").read_bytes()))
        return read(place, books, TARGETS[0].name, VARIANT)


@dataclass(frozen=True)
class Choice:
    """The efficiencies of one way of choosing, by problem."""

    name: str
    best: Sequence[float]
    cublas: Sequence[float]

    def row(self) -> list[str]:
        """Mean, 10th percentile and least against the best, and the mean against cuBLAS."""
        found = np.asarray(self.best) * 100
        figures = (found.mean(), np.percentile(found, 10), found.min(), 100 * np.mean(self.cublas))
        return [self.name, *(f"{v:.1f} %" for v in figures)]


class Judge:
    """Judges choices on the complete times."""

    def __init__(self, books: Books) -> None:
        self.books = books
        self.problems = measured(books)
        self.samples = Samples.of(self.problems, books)
        self.times = np.asarray([m.microseconds for m in self.problems])
        found = {r["problem"]: float(r["latency_ms"]) * 1e3 for r in table("cublas")}
        self.cublas = np.asarray([found[str(m.problem)] for m in self.problems])

    def choice(self, name: str, picks: Sequence[int]) -> Choice:
        """A way of choosing by the kernel that it picks for each problem."""
        rows = np.arange(len(picks))
        taken = self.times[rows, np.asarray(picks)]
        best = self.times.min(axis=1) / taken
        return Choice(name, best.tolist(), (self.cublas / taken).tolist())

    def choices(self, folds: int) -> Iterator[Choice]:
        """Every way of choosing."""
        yield self.choice("best measured", self.times.argmin(axis=1).tolist())
        yield self.choice("best single kernel, known from other folds", self._single(folds))
        estimates = {i: e.microseconds for i, e in enumerate(self.samples.estimates)}
        yield self.choice("estimates", [int(np.argmin(estimates[i])) for i in sorted(estimates)])
        learned = self._learned(folds)
        yield self.choice(
            "trained model, folds", [int(np.argmin(learned[i])) for i in sorted(learned)]
        )
        for name, order in (("estimates", estimates), ("trained model", learned)):
            yield self.choice(f"{BUDGET} measured, from {name}", self._searched(order))
        heuristic = self._nvidia()
        if heuristic is not None:
            yield self.choice("nvidia-matmul-heuristics", heuristic)

    def _folds(self, folds: int) -> list[list[int]]:
        order = np.random.default_rng(1).permutation(len(self.problems))
        return [sorted(order[f::folds].tolist()) for f in range(folds)]

    def _single(self, folds: int) -> list[int]:
        picks = [0] * len(self.problems)
        share = self.times.min(axis=1, keepdims=True) / self.times
        for held in self._folds(folds):
            rest = np.setdiff1d(np.arange(len(picks)), held)
            for i in held:
                picks[i] = int(share[rest].mean(axis=0).argmax())
        return picks

    def _learned(self, folds: int) -> dict[int, Any]:
        """Predictions of models that have not seen the problem."""
        found: dict[int, Any] = {}
        places = {id(m): i for i, m in enumerate(self.problems)}
        for held in self._folds(folds):
            inside = set(held)
            model = train(
                self.samples.only(lambda m, s=inside: places[id(m)] not in s),  # type: ignore[misc]  # mypy knows no lambda with a default
                self.books, seed=1, members=MEMBERS,
            )  # fmt: skip
            for i in held:
                s = self.samples
                estimate = s.estimates[i]
                found[i] = model.predict(
                    s.tables[i], self.problems[i].problem, estimate
                ).microseconds
        return found

    def _searched(self, order: Order) -> list[int]:
        """The fastest of `BUDGET` kernels that a replayed search measures."""
        return [self._search(i, np.log2(order[i])) for i in sorted(order)]

    def _search(self, i: int, predicted: Any) -> int:
        """`ckrules.ranking.surrogate` on the kernels of the table, a batch at a time."""
        numbers = np.stack(list(self.samples.estimates[i].features.values()), axis=1)
        spread = numbers.std(axis=0)
        features = (numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        times = np.log2(self.times[i])
        tried: list[int] = []
        while len(tried) < BUDGET:
            errors = times[tried] - predicted[tried]
            mean, deviation = Correction(features[tried], errors).of(features)
            least = predicted + mean - deviation
            least[tried] = np.inf
            tried += np.argsort(least, kind="stable")[:BATCH].tolist()
        return min(tried[:BUDGET], key=lambda k: times[k])

    def _nvidia(self) -> list[int] | None:
        """What NVIDIA's heuristics think fastest of these kernels; None without the package.

        Of kernels that are one to them the fastest counts.
        """
        try:
            library: Any = importlib.import_module("nvMatmulHeuristics")
        except ImportError:
            return None
        estimate = _nvidia_estimates(library)
        picks = []
        for m, times in zip(self.problems, self.times, strict=True):
            expected = np.asarray([estimate(m.problem, p) for p in m.points])
            alike = np.flatnonzero(expected == expected.min())
            picks.append(int(alike[times[alike].argmin()]))
        return picks


def _nvidia_estimates(library: Any) -> Callable[[Any, Mapping[str, Any]], float]:
    """The seconds that nvidia-matmul-heuristics expects of a kernel on an H100.

    Its description of a kernel has tiles, cluster, stages, swizzle and split-K, and no schedule.
    Of a kernel that it does not take it expects 0, here infinity.
    """
    tool = library.NvMatmulHeuristicsInterfaceEx(
        backend=library.NvMatmulHeuristicsTarget.CUTLASS3,
        flags=library.NvMatmulHeuristicsFlags.PERF_MODEL_BASED_AUTO_TUNING,
        gpu=library.NvMatmulHeuristicsNvidiaGpu.H100_SXM,
    )
    # A row-major, B and D column-major
    layout = library.NvMatmulHeuristicsMatmulLayout.TN_COL_MAJOR
    target = ctypes.c_int(library.NvMatmulHeuristicsTarget.CUTLASS3)
    tool.loadInternalDiscoverySet(layout, "HSH")
    made: dict[str, Any] = {}

    def kernel(point: Mapping[str, Any]) -> Any:
        name = format_name(point)
        if name not in made:
            found = tool.nvmmhKernelConfiguration()
            tile = [int(point[f"tile_{x}"]) for x in "mnk"]
            together = point["schedule"] == "cooperative" or point["schedule"] == AUTO
            groups = 2 if together and tile[0] >= 128 else 1
            found.cta[:] = tile
            found.warp[:] = [tile[0] // groups, tile[1], tile[2]]
            found.instr[:] = [64, _instruction(tile[1]), 16]
            found.splitK, found.gridSwizzle = 1, int(point["swizzle"])
            found.loadStages = int(book(VARIANT).resources(point, ["stage_count"])["stage_count"])
            found.cluster[:] = [int(point["cluster_m"]), int(point["cluster_n"])]
            made[name] = found
        return made[name]

    def seconds(problem: Any, point: Mapping[str, Any]) -> float:
        given = tool.makeNvMatmulHeuristicsProblem(problem.m, problem.n, problem.k, layout)
        asked = (ctypes.byref(each) for each in (given, kernel(point)))
        # the package's own method for this names a function that is not there (0.1.0.27)
        call = tool.nvMatmulHeuristicsEstimateRuntime
        found = float(call(tool.handle, b"HSH", target, *asked, tool.hardware_descriptor))
        return found if found > 0 else float("inf")

    return seconds


def _instruction(columns: int) -> int:
    return next(n for n in (256, 192, 128, 96, 64, 32, 16, 8) if columns % n == 0)


def main(words: Sequence[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="ckrules_cutlass.selection", description=__doc__)
    parser.add_argument("--folds", type=int, default=5)
    given = parser.parse_args(words)
    judge = Judge(Books())
    rows = [["choice", "mean", "10th percentile", "worst", "against cuBLAS"]]
    rows += [c.row() for c in judge.choices(given.folds)]
    print(aligned(rows, right={1, 2, 3, 4}), end="")
    names = {format_name(p) for m in judge.problems for p in m.points}
    print(f"{len(judge.problems)} problems, {len(names)} kernels")
    return 0


if __name__ == "__main__":
    end(main)
