"""Pictures of measurements: predicted times, efficiencies of picks, and rooflines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.pictures.shapes import Nothing, Points
from ckrules.ranking.evaluation import figures, judge
from ckrules.ranking.measurements import of_runs
from ckrules.ranking.remembered import remembered
from ckrules.ranking.training import Samples
from ckrules.support.errors import UsageError
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.kernels.books import Books
    from ckrules.ranking.ranker import Ranker


def of_results(
    rows: Iterable[Mapping[str, Any]], books: Books, ranker: Ranker, product: str | None = None
) -> Points | Nothing:
    """Predicted against measured times of the runs of a results database.

    Args:
        rows: The runs, as `ckrules.device.store.Runs.records` gives them.
        books: The rule books by which configurations are read.
    """
    title = "predicted against measured times"
    try:
        measured = of_runs(rows, books)
        if not measured:
            return Nothing(title, "no run has a measured time")
        return predicted(Samples.of(measured, books, product), ranker)
    except UsageError as error:
        return Nothing(title, str(error))


def predicted(samples: Samples, ranker: Ranker) -> Points:
    """Predicted against measured times of every kernel on every problem, by pipeline."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    errors = []
    for m, table in zip(samples.measured, samples.tables, strict=True):
        times = ranker.times(table, m.problem)
        errors.append(np.log2(times / np.asarray(m.microseconds)))
        for point, measured, time in zip(m.points, m.microseconds, times, strict=True):
            xs, ys = found.setdefault(str(point.get("pipeline", "kernels")), ([], []))
            xs.append(measured)
            ys.append(float(time))
    every = [v for xs, ys in found.values() for v in (*xs, *ys)]
    ends = np.asarray([min(every), max(every)])
    off = 100 * (2.0 ** float(np.median(np.abs(np.concatenate(errors)))) - 1)
    title = f"{count(len(every) // 2, 'time')}, half of them within {off:.0f} % ({ranker.said()})"
    title += _known(samples, ranker)
    about = f"{title}: measured from {ends[0]:,.4g} to {ends[1]:,.4g} microseconds."
    return Points(
        title, "measured (us)", "predicted (us)", dict(sorted(found.items())), {"": (ends, ends)},
        about=about,
    )  # fmt: skip


def efficiency(samples: Samples, ranker: Ranker) -> Points:
    """The efficiency of the pick for each problem, by the problem's size."""
    picks = [
        judge(ranker.times(t, m.problem), m.microseconds)
        for t, m in zip(samples.tables, samples.measured, strict=True)
    ]
    sizes = np.asarray([m.problem.flops / 1e9 for m in samples.measured])
    values = np.asarray([100 * p.efficiency for p in picks])
    found = figures(picks)
    ends = np.asarray([sizes.min(), sizes.max()])
    lines = {
        f"mean {found.mean:.1f} %": (ends, np.full(2, found.mean)),
        f"10th percentile {found.p10:.1f} %": (ends, np.full(2, found.p10)),
    }
    title = f"picks for {count(found.problems, 'problem')} ({ranker.said()})"
    title += _known(samples, ranker)
    y = "best measured time / time of the pick (%)"
    about = f"{title}: mean {found.mean:.1f} %, worst {found.min:.1f} %."
    return Points(
        title, "problem (GFLOP)", y, {"problems": (sizes, values)}, lines, log_y=False, about=about
    )


def roofline(samples: Samples, ranker: Ranker) -> Points:
    """The speed of the fastest kernel and of the pick for each problem, under the GPU's peaks.

    The intensity counts each byte of the tensors once.
    """
    product = samples.tables[0].product
    peak = _peak(samples)
    balance = peak * 1e3 / product.memory_gbs
    xs = np.asarray([2.0 ** e.situation["intensity"] * balance for e in samples.estimates])
    flops = np.asarray([m.problem.flops for m in samples.measured])
    best = np.asarray([m.best for m in samples.measured])
    picked = np.asarray(
        [
            m.microseconds[int(np.argmin(ranker.times(t, m.problem)))]
            for t, m in zip(samples.tables, samples.measured, strict=True)
        ]
    )
    roof = np.geomspace(min(xs.min(), balance / 4), max(xs.max(), balance * 4), 200)
    memory = roof * product.memory_gbs / 1e3
    title = f"{product.name}: {peak:,.0f} TFLOPS, {product.memory_gbs:,.0f} GB/s ({ranker.said()})"
    title += _known(samples, ranker)
    groups = {
        "fastest kernel measured": (xs, flops / best * 1e-6),
        "kernel picked": (xs, flops / picked * 1e-6),
    }
    lines = {"peaks of matrix units and memory": (roof, np.minimum(memory, peak))}
    about = f"{title}: the fastest kernels reach {(flops / best).max() * 1e-6:,.1f} TFLOPS at most."
    x = "FLOP for each byte of the tensors"
    return Points(title, x, "TFLOPS", groups, lines, about=about)


def _known(samples: Samples, ranker: Ranker) -> str:
    """The end of a title, where the models were trained on what is drawn."""
    said = remembered(samples, ranker).said()
    return f"; {said}" if said else ""


def _peak(samples: Samples) -> float:
    """TFLOPS of the matrix units, from what an estimate says of its own share of them."""
    said = samples.estimates[0].figures
    return float(said["tflops"][0] / said["of_peak"][0])


KINDS: Mapping[str, Callable[[Samples, Ranker], Points]] = {
    "predicted": predicted,
    "efficiency": efficiency,
    "roofline": roofline,
}
