"""The drawing of block tiles: A, B and C with the warp tiles of each wave, as places on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from ckrules.kernels.block_map import BlockMap
from ckrules.pictures.marks import template
from ckrules.support.visible import visible

_SIDE, _SIDE_OF_SEVERAL = 380.0, 230.0  # of the larger of M and N
_GAP = 26.0
_LEFT, _TOP = 66.0, 30.0
_LETTER = 7.4  # wide at most, of labels
_BESIDE = 2  # products in a row
_CELLS = 64  # warp tiles along a side that are drawn one by one
_COLORS = 8


@dataclass(frozen=True)
class Cell:
    """A warp tile of C, or a part of A or B, with the wave that it belongs to."""

    x: float
    y: float
    width: float
    height: float
    color: int
    label: str
    title: str


@dataclass(frozen=True)
class MapLabel:
    """Words beside the drawing."""

    x: float
    y: float
    text: str
    anchor: str = "middle"


@dataclass(frozen=True)
class Drawing:
    """What is drawn, in units of the drawing."""

    width: float
    height: float
    cells: tuple[Cell, ...]
    labels: tuple[MapLabel, ...]
    words: str
    """What it shows, for who does not see it."""


def drawing(tiles: Sequence[BlockMap]) -> Drawing:
    """The block tile of each product: A at the left, B above, C between them; in one scale.

    >>> found = drawing([BlockMap((64, 64, 32), (2, 2, 1), (16, 16, 16))])
    >>> len([c for c in found.cells if c.title.startswith("C")]), found.cells[0].title
    (16, 'A: M 0 to 15, K 0 to 15')
    """
    side = _SIDE if len(tiles) == 1 else _SIDE_OF_SEVERAL
    scale = side / max(max(tile.block[:2]) for tile in tiles)
    panels: list[Drawing] = []
    top = width = 0.0
    for first in range(0, len(tiles), _BESIDE):
        left = high = 0.0
        for tile in tiles[first : first + _BESIDE]:
            panel = _panel(tile, scale, (left, top), heading=len(tiles) > 1)
            left, high = panel.width, max(high, panel.height)
            panels.append(panel)
        top, width = high, max(width, left)
    cells = tuple(c for p in panels for c in p.cells)
    labels = tuple(label for p in panels for label in p.labels)
    return Drawing(width, top, cells, labels, "; ".join(p.words for p in panels))


def _panel(tile: BlockMap, scale: float, at: tuple[float, float], *, heading: bool) -> Drawing:
    """A product whose corner is at a place; its width and height are where it ends."""
    m, n, k = tile.block
    (a, b, c), beside = tile.names, f"{tile.axes[0]} {m}"
    deep = min(max(k * scale, 24.0), _SIDE)  # K may have another scale, its numbers say so
    x = at[0] + max(_LEFT, len(beside) * _LETTER + 12)
    y = at[1] + _TOP + (24 if heading else 0)
    left, top = x + deep + _GAP, y + deep + _GAP
    wide, high = n * scale, m * scale
    cells = (
        *_side(tile, 0, (x, top), (deep, high)),
        *_side(tile, 1, (left, y), (wide, deep)),
        *_result(tile, (left, top), (wide, high)),
    )
    centre = left + wide / 2
    labels = (
        *([MapLabel(at[0] + 6, at[1] + 20, tile.product, "start")] if heading else []),
        MapLabel(x + deep / 2, top - 8, f"{a}: {m} x {k}"),
        MapLabel(centre, y - 10, f"{b}: {k} x {n}"),
        MapLabel(centre, top + high + 18, f"{c}: {m} x {n}"),
        MapLabel(x - 6, top + high / 2, beside, "end"),
    )
    words = f"{tile.product}: {_words(tile)}" if heading else _words(tile)
    right = max(left + wide, *(v.x + len(v.text) * _LETTER / 2 for v in labels if v.x == centre))
    return Drawing(right + 12, top + high + 28, cells, labels, words)


def inline(tiles: Sequence[BlockMap]) -> str:
    """The drawing as an ``<svg>`` for a page, whose styles colour waves and text.

    >>> inline([BlockMap((64, 64, 32), (2, 2, 1), (16, 16, 16))])[:36]
    '<svg class="tile" viewBox="0 0 674.0'
    """
    return _rendered(tiles, "", alone=False)


def standalone(tiles: Sequence[BlockMap], title: str) -> str:
    """The drawing as a file of its own, light or dark as the reader's system is."""
    return _rendered(tiles, visible(title), alone=True)


def style() -> str:
    """The styles of drawings, light or dark as the reader's system is."""
    return (files(__package__) / "templates" / "tile.css").read_text(encoding="utf-8").strip()


def _rendered(tiles: Sequence[BlockMap], title: str, *, alone: bool) -> str:
    from markupsafe import Markup

    found = template("tile.svg.j2").render(
        d=drawing(tiles), several=len(tiles) > 1, title=title, alone=alone, style=Markup(style())
    )
    return str(found)


def _side(
    tile: BlockMap, axis: int, at: tuple[float, float], size: tuple[float, float]
) -> Iterator[Cell]:
    """A (axis 0, K to the right) or B (axis 1, K downwards), by the waves that read it."""
    across, along = tile.grid[axis], tile.grid[2]
    name, letter, depth = tile.names[axis], tile.axes[axis], tile.axes[2]
    for i in range(min(across, _CELLS)):
        for j in range(min(along, _CELLS)):
            place = (j, i) if axis == 0 else (i, j)
            parts = (along, across) if axis == 0 else (across, along)
            where = (
                f"{letter} {_span(i, tile.warp[axis], tile.block[axis])}, "
                f"{depth} {_span(j, tile.warp[2], tile.block[2])}"
            )
            shade = i % tile.waves[axis] * (tile.waves[1] if axis == 0 else 1)
            yield _cell(place, parts, at, size, shade, "", f"{name}: {where}")


def _result(tile: BlockMap, at: tuple[float, float], size: tuple[float, float]) -> Iterator[Cell]:
    """The warp tiles of C by wave; only the tile as a whole where they are permuted."""
    rows, columns, _ = tile.grid
    name, (down, across, _) = tile.names[2], tile.axes
    if not tile.in_order:
        title = f"{name}: its columns are permuted within the tile"
        yield _cell((0, 0), (1, 1), at, size, 7, "permuted", title)
        return
    roomy = size[0] / columns > 26 and size[1] / rows > 13
    for i in range(min(rows, _CELLS)):
        for j in range(min(columns, _CELLS)):
            wave = tile.wave(i, j)
            m, n = _span(i, tile.warp[0], tile.block[0]), _span(j, tile.warp[1], tile.block[1])
            label = f"w{wave}" if roomy else ""
            title = f"{name}: wave {wave}, {down} {m}, {across} {n}"
            yield _cell((j, i), (columns, rows), at, size, wave, label, title)


def _cell(
    place: tuple[int, int],
    parts: tuple[int, int],
    at: tuple[float, float],
    size: tuple[float, float],
    color: int,
    label: str,
    title: str,
) -> Cell:
    width, height = size[0] / parts[0], size[1] / parts[1]
    x, y = at[0] + place[0] * width, at[1] + place[1] * height
    x, y, width, height = (round(v, 2) for v in (x, y, width, height))
    return Cell(x, y, width, height, color % _COLORS, label, title)


def _span(index: int, step: int, end: int) -> str:
    return f"{index * step} to {min((index + 1) * step, end) - 1}"


def _words(tile: BlockMap) -> str:
    (m, n, k), waves, warp = tile.block, tile.waves, tile.warp
    return (
        f"Block tile of {m} x {n}, {k} of {tile.axes[2]} at a time, for "
        f"{' x '.join(map(str, waves))} waves with warp tiles of {' x '.join(map(str, warp))}"
    )
