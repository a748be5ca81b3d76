"""Pictures as files: drawn by matplotlib, which is imported when a picture is made.

Nothing is shown in a window, and the same picture gives the same bytes. An SVG takes its ink from
the text around it (``currentColor``), has a title and a description for who cannot see it, and
names nothing of another address.
"""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ckrules.pictures import marks
from ckrules.pictures.shapes import (
    Bars,
    Cells,
    CoordinateAxis,
    HeatMap,
    Nothing,
    Parallel,
    Picture,
    Points,
    brief,
    number,
)
from ckrules.support.errors import UsageError
from ckrules.support.visible import visible

if TYPE_CHECKING:
    import numpy as np

INK = "#2b2b2b"
"""The colour of text and lines; in an SVG it becomes ``currentColor``."""
PALETTE = (
    *("#3b82c4", "#d1662a", "#2f9a63", "#c2548f", "#8a72cf", "#a8842c", "#2b97a3", "#cf5454"),
    *("#7f8894", "#6f9a2e"),
)
"""Colours of groups, told apart on white and on black."""
_WIDTH, _HEIGHT = 8.0, 5.5
_DPI = 150
#: Inches for parallel axes, and of a letter of their values.
_ACROSS, _LETTER = 6.4, 0.062
#: So many points and more become a bitmap in pictures of lines.
_MANY = 2000
_STYLE = {
    "svg.hashsalt": "ckrules",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 10,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
    ),
    "axes.spines.top": False,
    "axes.spines.right": False,
}
# matplotlib's settings are one for the whole process.
_ONE = threading.Lock()


class NoMatplotlibError(UsageError):
    """matplotlib is not installed, so that no picture can be made."""

    def __init__(self) -> None:
        super().__init__("pictures need matplotlib: pip install 'ckrules[plot]'")


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


def drawn(picture: Picture, form: str) -> bytes:
    """The picture as the bytes of a file: ``png``, ``svg``, or ``html``, a page with the latter.

    Raises:
        NoMatplotlibError: If matplotlib is not installed.
    """
    figure_bytes = _saved(picture, "png" if form == "png" else "svg")
    if form == "png":
        return figure_bytes
    text = figure_bytes.decode()
    if form == "svg":
        return marks.standalone(text, picture.title, picture.about, INK).encode()
    inner = marks.inline(text, picture.title, picture.about, INK)
    return marks.page(inner, picture.title).encode()


def inline(picture: Picture, key: str = "p") -> str:
    """The picture as an ``<svg>`` for a page, which decides its colours and its width.

    Args:
        key: Letters and digits before its ids, so that several pictures fit one page.

    Raises:
        NoMatplotlibError: If matplotlib is not installed.
    """
    return marks.inline(_saved(picture, "svg").decode(), picture.title, picture.about, INK, key)


def _saved(picture: Picture, form: str) -> bytes:
    mpl = require()
    from matplotlib.figure import Figure

    buffer = io.BytesIO()
    with _ONE, mpl.rc_context(_STYLE), warnings.catch_warnings():
        # The reader's fonts draw an SVG, and have letters that matplotlib's lack.
        warnings.filterwarnings("ignore", message="Glyph ")
        figure = Figure(figsize=(_WIDTH, _high(picture)), layout="constrained")
        draw: Callable[[Any, Any], None] = _HOW[type(picture)]
        draw(figure, picture)
        if form == "png":
            figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
        else:
            about = dict.fromkeys(("Date", "Creator", "Format", "Type"))
            figure.savefig(buffer, format="svg", metadata=about, dpi=_DPI, transparent=True)
    return buffer.getvalue()


def _high(picture: Picture) -> float:
    """Inches."""
    if isinstance(picture, Bars):
        return 1.1 + 0.24 * len(picture.labels)
    if isinstance(picture, HeatMap):
        return 1.6 + 0.26 * len(picture.rows)
    if isinstance(picture, Cells):
        return 1.1 + 0.2 * len(picture.rows)
    return 1.2 if isinstance(picture, Nothing) else _HEIGHT


def _nothing(figure: Any, picture: Nothing) -> None:
    said = _plain(f"{picture.title}: {picture.about}")
    figure.text(0.5, 0.5, _wrapped(said, 90), ha="center",
                va="center", style="italic")  # fmt: skip


def _bars(figure: Any, picture: Bars) -> None:
    axes = figure.add_subplot()
    places = range(len(picture.labels))
    axes.barh(places, picture.values, color=PALETTE[0], height=0.7)
    axes.set_yticks(places, [_plain(text) for text in picture.labels])
    axes.invert_yaxis()
    axes.set(title=_plain(picture.title), xlabel=picture.unit, ylabel=_plain(picture.field))
    axes.margins(x=0.16, y=0.02)
    if _whole(picture.values):
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.xaxis.set_major_formatter(lambda value, _: brief(value))
    for place, value in zip(places, picture.values, strict=True):
        axes.annotate(number(value), (value, place), (4, 0), textcoords="offset points",
                      va="center", fontsize=8)  # fmt: skip


def _heat_map(figure: Any, picture: HeatMap) -> None:
    import numpy as np
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, Normalize

    cells = np.asarray(
        [[np.nan if v is None else v for v in line] for line in picture.cells], dtype=np.float64
    )
    least, most = float(np.nanmin(cells)), float(np.nanmax(cells))
    ends = least, most
    if least == most:
        least, most = least / 2, most * 2
    norm = LogNorm(least, most) if least > 0 else Normalize(least, most)
    colors = colormaps["viridis_r" if picture.low_is_good else "viridis"]
    axes = figure.add_subplot()
    drawn = axes.pcolormesh(np.ma.masked_invalid(cells), cmap=colors, norm=norm,
                            rasterized=cells.size >= _MANY)  # fmt: skip
    across, down = range(len(picture.columns)), range(len(picture.rows))
    slant = 90 if max(map(len, picture.columns)) > 3 and len(across) > 12 else 0
    axes.set_xticks([i + 0.5 for i in across], map(_plain, picture.columns), rotation=slant)
    axes.set_yticks([i + 0.5 for i in down], map(_plain, picture.rows))
    axes.set(title=_plain(picture.title), xlabel=_plain(picture.x), ylabel=_plain(picture.y))
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(drawn, ax=axes, label=picture.unit, pad=0.02)
    bar.outline.set_visible(False)
    if least > 0:
        _briefly(bar.ax.yaxis)
    if ends[1] < 10 * ends[0] and _whole([value for _, value in _known(cells)]):
        bar.set_ticks(_between(*ends))
        bar.minorticks_off()
    if len(across) <= 20 and len(down) <= 40:
        _numbers(axes, cells, lambda value: colors(norm(value)))


def _cells(figure: Any, picture: Cells) -> None:
    import numpy as np
    from matplotlib.colors import ListedColormap

    groups = np.asarray(picture.groups) % len(PALETTE)
    axes = figure.add_subplot()
    axes.pcolormesh(groups, cmap=ListedColormap(PALETTE), vmin=0, vmax=len(PALETTE) - 1,
                    alpha=0.45, edgecolors=INK, linewidth=0.2)  # fmt: skip
    size = min(7.0, 420 / max(len(picture.columns) * max(len(w) for w in picture.words[0]), 1))
    for row, words in enumerate(picture.words):
        for column, word in enumerate(words):
            axes.text(column + 0.5, row + 0.5, _plain(word), ha="center", va="center",
                      fontsize=size)  # fmt: skip
    across, down = range(len(picture.columns)), range(len(picture.rows))
    axes.set_xticks([i + 0.5 for i in across], map(_plain, picture.columns), fontsize=7)
    axes.set_yticks([i + 0.5 for i in down], map(_plain, picture.rows), fontsize=7)
    axes.tick_params(length=0)
    axes.invert_yaxis()
    axes.set(title=_plain(picture.title), xlabel=_plain(picture.x), ylabel=_plain(picture.y))
    axes.spines[:].set_visible(False)


def _numbers(axes: Any, cells: np.ndarray[Any, Any], color: Callable[[float], Any]) -> None:
    """Writes the value of each cell into it, in what is read best on its colour."""
    size = 7 if cells.shape[1] <= 14 else 5.5
    for (row, column), value in _known(cells):
        ink = "#fdfdfd" if _luminance(color(value)[:3]) < 0.25 else "#111111"
        axes.text(column + 0.5, row + 0.5, brief(value), ha="center", va="center", color=ink,
                  fontsize=size)  # fmt: skip


def _known(cells: np.ndarray[Any, Any]) -> list[tuple[tuple[int, int], float]]:
    rows, columns = cells.shape
    found = (((i, j), float(cells[i, j])) for i in range(rows) for j in range(columns))
    return [(place, value) for place, value in found if value == value]


def _whole(values: Sequence[float]) -> bool:
    """Whether they are counts, of which there is nothing between one and the next."""
    return all(value == int(value) for value in values)


def _between(least: float, most: float) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(6, integer=True).tick_values(least, most)
    return [t for t in ticks if least <= t <= most]


def _points(figure: Any, picture: Points) -> None:
    axes = figure.add_subplot()
    for color, (name, (x, y)) in zip(_colors(len(picture.groups)), picture.groups.items(),
                                     strict=True):  # fmt: skip
        axes.scatter(x, y, s=10, alpha=0.7, linewidths=0, label=_plain(name), color=color,
                     rasterized=len(x) >= _MANY)  # fmt: skip
    for style, (name, (x, y)) in zip(_styles(picture.lines), picture.lines.items(), strict=True):
        axes.plot(x, y, color=INK, linewidth=1, linestyle=style, label=_plain(name) or None)
    axes.set(title=_wrapped(_plain(picture.title), 100), xlabel=picture.x, ylabel=picture.y,
             xscale="log" if picture.log_x else "linear",
             yscale="log" if picture.log_y else "linear")  # fmt: skip
    axes.grid(visible=True, which="major", linewidth=0.3, color=INK, alpha=0.4)
    for axis, log in ((axes.xaxis, picture.log_x), (axes.yaxis, picture.log_y)):
        if log:
            _briefly(axis)
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")


def _briefly(axis: Any) -> None:
    """Ticks of a logarithmic axis as numbers: 20, 50, 100, 200, …"""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(lambda value, _: brief(value))
    axis.set_minor_formatter(NullFormatter())


def _styles(lines: Mapping[str, Any]) -> list[str]:
    styles = ("-", "--", ":", "-.")
    return [styles[i % len(styles)] for i in range(len(lines))]


def _parallel(figure: Any, picture: Parallel) -> None:
    import numpy as np
    from matplotlib.collections import LineCollection

    # A line keeps its place among those over the same value, so that it can be followed.
    ends = np.asarray([max(len(a.labels) - 1, 1) for a in picture.axes], dtype=np.float64)
    apart = np.random.default_rng(1).uniform(-0.5, 0.5, size=len(picture.rows))
    moved = np.outer(apart, np.minimum(0.07, 0.6 / ends))
    heights = np.asarray(picture.rows, dtype=np.float64) / ends + moved
    left, right = (np.asarray(edge) for edge in _columns(picture.axes))
    names = list(dict.fromkeys(sorted(picture.groups)))
    axes = figure.add_subplot()
    for color, name in zip(_colors(len(names)), names, strict=True):
        mine = heights[[g == name for g in picture.groups]]
        between = [
            [(right[i], h[i]), (left[i + 1], h[i + 1])] for h in mine for i in range(len(left) - 1)
        ]
        # Behind the values, which stand between the edges of their column, lines are faint.
        behind = [[(left[i], h[i]), (right[i], h[i])] for h in mine for i in range(len(left))]
        axes.add_collection(
            LineCollection(between, colors=color, linewidths=0.7, alpha=0.5, label=_plain(name))
        )
        axes.add_collection(LineCollection(behind, colors=color, linewidths=0.7, alpha=0.13))
    for start, end, axis in zip(left, right, picture.axes, strict=True):
        for edge in (start, end):
            axes.axvline(edge, color=INK, linewidth=0.6, alpha=0.7)
        _ticks(axes, (start + end) / 2, axis.labels)
    axes.set(title=_plain(picture.title), xlim=(-0.05, right[-1] + 0.05), ylim=(-0.05, 1.05))
    axes.set_xticks((left + right) / 2, [_plain(a.name) for a in picture.axes], rotation=20,
                    ha="right")  # fmt: skip
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    legend = figure.legend(
        loc="outside right upper", frameon=False, fontsize="small", title=_plain(picture.field)
    )
    for line in legend.get_lines():
        line.set(linewidth=2.5, alpha=1)


def _columns(axes: Sequence[CoordinateAxis]) -> tuple[list[float], list[float]]:
    """The left and the right edges of the columns with the values of parallel axes, in inches."""
    wide = [0.1 + _LETTER * max(map(len, axis.labels)) for axis in axes]
    between = max(0.25, (_ACROSS - sum(wide)) / max(len(axes) - 1, 1))
    left, at = [], 0.0
    for width in wide:
        left.append(at)
        at += width + between
    return left, [start + width for start, width in zip(left, wide, strict=True)]


def _ticks(axes: Any, place: float, labels: Sequence[str]) -> None:
    """The values beside an axis; of very many only some."""
    each = -(-len(labels) // 14)
    for i in range(0, len(labels), each):
        height = i / max(len(labels) - 1, 1)
        axes.text(place, height, _plain(labels[i]), fontsize=7, va="center", ha="center")


def _colors(n: int) -> list[str]:
    return [PALETTE[i % len(PALETTE)] for i in range(n)]


def _plain(text: str) -> str:
    """Text that matplotlib takes as it is, and not as a formula."""
    return visible(text).replace("$", r"\$")


def _wrapped(text: str, width: int) -> str:
    import textwrap

    return textwrap.fill(text, width, break_long_words=True)


def _luminance(color: Sequence[float]) -> float:
    """The relative luminance of a colour, as WCAG 2.2 defines it, from 0 to 1.

    >>> round(_luminance((1, 1, 1)), 3), round(_luminance((0, 0, 0)), 3)
    (1.0, 0.0)
    """
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


_HOW: Mapping[type, Callable[[Any, Any], None]] = {
    Bars: _bars, Cells: _cells, HeatMap: _heat_map, Points: _points, Parallel: _parallel,
    Nothing: _nothing,
}  # fmt: skip
