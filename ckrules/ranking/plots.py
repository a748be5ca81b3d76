"""Pictures of measurements: predicted times, efficiencies of picks, and rooflines.

Drawn by matplotlib, which is imported when a picture is made. Nothing is shown in a window, and
the same measurements give the same bytes.
"""

from __future__ import annotations

import html
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.ranking.evaluation import figures, judge
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.ranking.ranker import Ranker
    from ckrules.ranking.training import Samples

_SIZE = (8.0, 5.5)
_DPI = 150
#: So many points and more become a bitmap in pictures of lines.
_MANY = 2000


class NoMatplotlibError(UsageError):
    """matplotlib is not installed, so that no picture can be made."""

    def __init__(self) -> None:
        super().__init__("pictures need matplotlib: pip install 'ckrules[plot]'")


@dataclass(frozen=True)
class Points:
    """What a picture shows: groups of points, and lines through them, by their titles."""

    title: str
    x: str
    y: str
    groups: Mapping[str, tuple[Any, Any]]
    lines: Mapping[str, tuple[Any, Any]]
    log_y: bool = True


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
    title = f"{len(every) // 2:,} times, half of them within {off:.0f} % ({ranker.said()})"
    return Points(
        title, "measured (us)", "predicted (us)", dict(sorted(found.items())), {"": (ends, ends)}
    )


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
    title = f"picks for {found.problems:,} problems ({ranker.said()})"
    y = "best measured time / time of the pick (%)"
    return Points(title, "problem (GFLOP)", y, {"problems": (sizes, values)}, lines, log_y=False)


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
    groups = {
        "fastest kernel measured": (xs, flops / best * 1e-6),
        "kernel picked": (xs, flops / picked * 1e-6),
    }
    lines = {"peaks of matrix units and memory": (roof, np.minimum(memory, peak))}
    return Points(title, "FLOP for each byte of the tensors", "TFLOPS", groups, lines)


def _peak(samples: Samples) -> float:
    """TFLOPS of the matrix units, from what an estimate says of its own share of them."""
    said = samples.estimates[0].figures
    return float(said["tflops"][0] / said["of_peak"][0])


KINDS: Mapping[str, Callable[[Samples, Ranker], Points]] = {
    "predicted": predicted,
    "efficiency": efficiency,
    "roofline": roofline,
}


def require() -> Any:
    """The package matplotlib.

    Raises:
        NoMatplotlibError: If it is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError:
        raise NoMatplotlibError from None
    return mpl


def drawn(points: Points, form: str) -> bytes:
    """The picture as the bytes of a file: ``png``, ``svg``, or ``html``, a page with the latter.

    Raises:
        NoMatplotlibError: If matplotlib is not installed.
    """
    mpl = require()
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "ckrules", "svg.fonttype": "path"}):
        figure = Figure(figsize=_SIZE, layout="constrained")
        axes = figure.add_subplot()
        for name, (x, y) in points.groups.items():
            axes.scatter(x, y, s=10, alpha=0.6, linewidths=0, label=name,
                         rasterized=len(x) >= _MANY)  # fmt: skip
        for name, (x, y) in points.lines.items():
            axes.plot(x, y, color="0.3", linewidth=1, linestyle=_style(name), label=name or None)
        axes.set(title=points.title, xlabel=points.x, ylabel=points.y, xscale="log",
                 yscale="log" if points.log_y else "linear")  # fmt: skip
        axes.grid(visible=True, which="major", linewidth=0.3)
        axes.legend(frameon=False, fontsize="small")
        return _saved(figure, form, points.title)


def _style(name: str) -> str:
    return "--" if "percentile" in name else "-"


def _saved(figure: Any, form: str, title: str) -> bytes:
    buffer = io.BytesIO()
    if form == "png":
        figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
        return buffer.getvalue()
    figure.savefig(buffer, format="svg", metadata={"Date": None}, dpi=_DPI)
    if form == "svg":
        return buffer.getvalue()
    text = buffer.getvalue().decode()
    said = html.escape(title)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{said}</title>\n'
        f"<body>\n{text[text.index('<svg') :]}</body>\n</html>\n"
    ).encode()
