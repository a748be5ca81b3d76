"""What pictures of spaces and predictions show, compared with the spaces and rankings."""

from __future__ import annotations

import re
import warnings
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from ckrules.engine.rules.region import Region
from ckrules.kernels import problem_files
from ckrules.kernels.books import Books
from ckrules.kernels.lds_map import Fragment, Layout, LdsMap, Loads, OperandMap
from ckrules.kernels.selection import select
from ckrules.pictures import counting, drawing, lds, sampled, times
from ckrules.pictures.shapes import (
    Bars,
    CoordinateAxis,
    HeatMap,
    Nothing,
    Parallel,
    Picture,
    Points,
)
from ckrules.ranking.candidates import Candidates
from ckrules.ranking.ranker import Ranker
from ckrules.support.errors import UnknownNameError

BOOKS = Books("2026.06")
LINE = "N=8,C=256,K=256,H=28,W=28,Y=3,X=3,pad=1"
PROBLEM = problem_files.parse(LINE, problem_files.kinds(["forward"]))[0]


@pytest.fixture(scope="module")
def region() -> Region:
    given = {"variant": "forward", "arch": "gfx942", "dtype": "fp16", "tile_k": 32, "ndim": 2}
    return select(BOOKS, given, ["tile_m <= 128 & tile_n <= 64 & pipeline == 'compv3'"])


def way() -> OperandMap:
    """An operand of 16 rows that a wave loads."""
    lanes = Loads(32, 16, 8, (4, 16), 1, 1)
    return OperandMap(
        "A", "M", False, lanes, Layout(0, 32, 8, 2, 2), Fragment(16, 32, 4, (1, 1), 1), 64
    )


@pytest.fixture(scope="module")
def pictures(region: Region) -> dict[str, Picture]:
    """One of each kind."""
    candidates = Candidates(region, BOOKS, PROBLEM)
    tables = list(candidates.kernels(500, 1))
    names = ("scheduler", "tile_m", "tile_n", "wave_m", "warp_tile_m")
    return {
        "bars": counting.by_value(region.space, "tile_m"),
        "pairs": counting.pairs(region.space, "tile_n", "tile_m"),
        "parallel": sampled.parallel(region.space.sample(50, 1), names),
        "occupancy": sampled.occupancy(tables[0][0]),
        "tiles": times.tiles(region, BOOKS, PROBLEM, Ranker(False), draw=2000),
        "roofline": times.roofline(Ranker(False).rank(tables, PROBLEM, 20), BOOKS, PROBLEM),
        "lanes": lds.loads(way()),
        "nothing": Nothing("tile map", "no kernel accepts <N=1> & $more$"),
    }


def test_counts(region: Region, pictures: dict[str, Picture]) -> None:
    bars, pairs = pictures["bars"], pictures["pairs"]
    assert isinstance(bars, Bars)
    assert isinstance(pairs, HeatMap)
    assert sum(bars.values) == region.space.count()
    for label, n in zip(bars.labels, bars.values, strict=True):
        assert region.space.bind(tile_m=int(label)).count() == n
    for row, line in zip(pairs.rows, pairs.cells, strict=True):
        for column, n in zip(pairs.columns, line, strict=True):
            found = region.space.bind(tile_m=int(row), tile_n=int(column)).count()
            assert (n or 0) == found


def test_very_many_values(region: Region) -> None:
    """What is left out is said."""
    groups = [((i,), 100 - i) for i in range(70)]
    bars = counting.bars("lds_bytes", groups)
    assert isinstance(bars, Bars)
    assert bars.labels == tuple(map(str, range(40)))
    assert "30 other values with 1,365 configurations are not shown" in bars.about
    cells = counting.cells("a", "b", [((i, j), 1) for i in range(3) for j in range(50)])
    assert isinstance(cells, HeatMap)
    assert (len(cells.rows), len(cells.columns)) == (3, 40)
    assert "10 values of a" in cells.about


def test_tiles_are_the_best_of_their_kernels(region: Region, pictures: dict[str, Picture]) -> None:
    """Where all kernels of a tile are looked at, no other is faster."""
    found = pictures["tiles"]
    assert isinstance(found, HeatMap)
    space = Candidates(region, BOOKS, PROBLEM).space
    legal = {k for k, n in space.counts_by("tile_m", "tile_n").items() if n}
    shown = {
        (int(r), int(c)): v
        for r, line in zip(found.rows, found.cells, strict=True)
        for c, v in zip(found.columns, line, strict=True)
        if v is not None
    }
    assert set(shown) == legal
    key = min(legal, key=lambda k: space.counts_by("tile_m", "tile_n")[k])
    part = Region(region.book, {**region.fixed, "tile_m": key[0], "tile_n": key[1]}, region.where)
    few = Candidates(part, BOOKS, PROBLEM)
    ranking = Ranker(False).rank(few.kernels(1 << 20, 1), PROBLEM, 1)
    assert few.space.count() <= 2000
    assert shown[key] >= ranking.kernels[0].microseconds
    whole = times.tiles(part, BOOKS, PROBLEM, Ranker(False))
    assert isinstance(whole, HeatMap)
    assert whole.cells == ((pytest.approx(ranking.kernels[0].microseconds),),)


def test_occupancy(pictures: dict[str, Picture]) -> None:
    """Two blocks of a CU have half of its LDS each, at most."""
    found = pictures["occupancy"]
    assert isinstance(found, Points)
    assert sum(len(x) for x, _ in found.groups.values()) == 500
    for name, blocks in (("1 block", 1), ("2 blocks", 2), ("3 or 4 blocks", 3)):
        lds, _ = found.groups[f"{name} of a CU"]
        assert max(lds) <= 64 / blocks


def test_no_kernel_is_above_its_roofs(pictures: dict[str, Picture]) -> None:
    found = pictures["roofline"]
    assert isinstance(found, Points)
    peak, l2, memory = found.lines.values()
    for x, y in found.groups.values():
        assert (y <= np.interp(x, *l2)).all()
        assert (y <= np.interp(x, *peak)).all()
        assert (y <= np.interp(x, *memory)).all()
    assert sum(len(x) for x, _ in found.groups.values()) == 20


@pytest.mark.parametrize("kind", ["bars", "pairs", "parallel", "occupancy", "tiles", "roofline",
                                  "lanes", "nothing"])  # fmt: skip
def test_drawn(kind: str, pictures: dict[str, Picture]) -> None:
    """The markup is sound, says what it shows, takes its ink from the page and asks for nothing."""
    pytest.importorskip("matplotlib")
    picture = pictures[kind]
    text = drawing.inline(picture, "k7")
    assert text == drawing.inline(picture, "k7")
    svg = ET.fromstring(text)
    words = {e.tag.rpartition("}")[2]: e.text for e in svg[:2]}
    assert words == {"title": picture.title, "desc": picture.about}
    assert len(picture.about) > 10
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert all(i.startswith("k7-") for i in ids)
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', text)) <= set(ids)
    assert drawing.INK not in text
    links = re.findall(r'(?:src|href)="(?!#|data:)([^"]*)"', text)
    assert links == []
    assert "<metadata" not in text
    if not isinstance(picture, Nothing):
        head, rows = picture.table()
        assert rows
        assert {len(r) for r in rows} == {len(head)}
    assert drawing.drawn(picture, "png").startswith(b"\x89PNG")


def test_packs_lie_where_the_layout_says() -> None:
    operand = way()
    found = lds.layout(LdsMap((operand, operand), "gfx9", 32), operand)
    for line, words in zip(found.rows, found.words, strict=True):
        for column, word in zip(found.columns, words, strict=True):
            row, k = map(int, word.split(":"))
            assert operand.layout.place(row, k) == int(line) + 4 * int(column)
    assert len(found.rows) == 16 * 32 * 2 // 128


def test_ticks_of_counts_are_whole_numbers() -> None:
    bars = Bars("runs", "status", "runs", ("ok", "hung"), (2, 1))
    cells = HeatMap("runs", "a", "b", "runs", ("1", "2"), ("x",), ((2, 3),))
    for picture in (bars, cells, HeatMap("runs", "a", "b", "runs", ("1",), ("x",), ((1,),))):
        words = re.findall(r"<text[^>]*>([^<]*)</text>", drawing.drawn(picture, "svg").decode())
        numbers = [w for w in words if re.fullmatch(r"[\d.]+", w)]
        assert numbers
        assert all("." not in w for w in numbers), numbers


def test_one_bar_is_neither_most_nor_fewest() -> None:
    assert Bars("", "status", "builds", ("ok",), (4,)).about == "status: ok alone, 4 builds."
    both = Bars("", "status", "builds", ("ok", "failed"), (4, 4))
    assert both.about == "status: 2 values, each with 4 builds."


def test_nothing_to_show(region: Region) -> None:
    none = Region(region.book, region.fixed, (region.book.vocabulary.names()["tile_m"] < 0,))
    found = [
        counting.by_value(none.space, "tile_m"),
        counting.pairs(none.space, "tile_m", "tile_n"),
        sampled.parallel([], ["tile_m"]),
        times.tiles(none, BOOKS, PROBLEM, Ranker(False)),
        times.roofline(Ranker(False).rank([], PROBLEM), BOOKS, PROBLEM),
        times.tiles(region, BOOKS, PROBLEM, Ranker(False), x="no_such"),
        times.tiles(select(BOOKS, {"variant": "forward_depthwise"}), BOOKS, PROBLEM, Ranker(False)),
    ]
    assert [type(f) for f in found] == [Nothing] * len(found)
    assert all(f.about for f in found)
    with pytest.raises(UnknownNameError):
        counting.by_value(region.space, "tile_mm")


def test_words_of_fields_stay_words() -> None:
    """No formula, no markup, nothing that a terminal acts on."""
    pytest.importorskip("matplotlib")
    picture = counting.bars(
        "<b>$x^2$</b>", [(("</svg><script>\x1b[31m",), 3), (("$\\frac$\u4e2d",), 1)]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = drawing.drawn(picture, "html").decode()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "\\frac$\u4e2d" in text
    assert "\x1b" not in text


def test_colours_are_told_from_light_and_dark() -> None:
    """WCAG 2.2, 1.4.11: a contrast of 3 to 1 with both backgrounds."""
    backgrounds = set(re.findall(r"background: (#\w{6})", _standalone()))
    assert len(backgrounds) == 2
    for color in drawing.PALETTE:
        for ground in backgrounds:
            lighter, darker = sorted(map(_luminance, (color, ground)), reverse=True)
            assert (lighter + 0.05) / (darker + 0.05) >= 3, (color, ground)


def _standalone() -> str:
    """The template of pictures that stand alone."""
    from importlib.resources import files

    return (files("ckrules.pictures") / "templates" / "standalone.svg.j2").read_text("utf-8")


def _luminance(color: str) -> float:
    return drawing._luminance([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def test_values_of_parallel_axes_have_room() -> None:
    """Columns with values do not overlap, however long the words are."""
    words = (
        CoordinateAxis("a", ("x" * 12, "y")),
        CoordinateAxis("b", ("1", "2")),
        CoordinateAxis("c", ("intrawave",)),
    )
    left, right = drawing._columns(words * 3)
    assert all(a < b for a, b in zip(left, right, strict=True))
    assert all(end < start for end, start in zip(right, left[1:], strict=False))
    assert right[0] - left[0] > 2 * (right[1] - left[1])


def test_parallel_axes(region: Region) -> None:
    """Each line passes through the values of its configuration."""
    points = region.space.sample(30, 2)
    found = sampled.parallel(points, ["pipeline", "tile_m", "tile_n", "wave_m"], "tile_n")
    assert isinstance(found, Parallel)
    assert found.field == "tile_n"
    for row, point in zip(found.table()[1], points, strict=True):
        assert row == [str(point[a.name]) for a in found.axes]
