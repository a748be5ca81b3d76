"""What pictures show, as plain data: bars, heat maps, cells, points, parallel coordinates.

Every picture has a title, a sentence that says in words what is seen (``about``), and a table of
its numbers (``table``) for who cannot see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckrules.support import tables

#: Column titles, and rows of cells.
Table = tuple[list[str], list[list[str]]]


@dataclass(frozen=True)
class Nothing:
    """A picture that there is not, and why."""

    title: str
    about: str

    def table(self) -> Table:
        """No rows."""
        return [], []


@dataclass(frozen=True)
class Bars:
    """A number for each of several words; ``said`` is what ``about`` adds.

    >>> Bars("counts", "tile_m", "configurations", ("16", "32"), (8, 1)).about
    'tile_m: 2 values, most configurations at 16 (8), fewest at 32 (1).'
    """

    title: str
    field: str
    unit: str
    labels: tuple[str, ...]
    values: tuple[float, ...]
    said: str = ""

    @property
    def about(self) -> str:
        """The longest and the shortest bar, where they differ."""
        pairs = sorted(zip(self.values, self.labels, strict=True), key=lambda p: p[0])
        (few, least), (many, most) = pairs[0], pairs[-1]
        if len(pairs) == 1:
            return f"{self.field}: {most} alone, {number(many)} {self.unit}. {self.said}".strip()
        if few == many:
            shared = f"each with {number(many)} {self.unit}"
            return f"{self.field}: {len(pairs)} values, {shared}. {self.said}".strip()
        text = f"{self.field}: {len(pairs)} values, most {self.unit} at {most} ({number(many)}), "
        text += f"fewest at {least} ({number(few)})."
        return f"{text} {self.said}".strip()

    def table(self) -> Table:
        """A row for each bar."""
        rows = zip(self.labels, map(number, self.values), strict=True)
        return [self.field, self.unit], [list(r) for r in rows]


@dataclass(frozen=True)
class HeatMap:
    """A number for each pair of two fields' values; None where there is none.

    Args:
        cells: By row (values of ``y``), then by column (values of ``x``).
        low_is_good: Whether small numbers are what one looks for, as of times.
        said: What ``about`` adds, such as how many kernels were looked at.
    """

    title: str
    x: str
    y: str
    unit: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[float | None, ...], ...]
    low_is_good: bool = False
    said: str = ""

    @property
    def about(self) -> str:
        """The best cell, and how many there are."""
        found = [
            (value, row, column)
            for row, line in zip(self.rows, self.cells, strict=True)
            for column, value in zip(self.columns, line, strict=True)
            if value is not None
        ]
        value, row, column = (min if self.low_is_good else max)(found, key=lambda f: f[0])
        word = "least" if self.low_is_good else "most"
        text = f"{len(found)} pairs of {self.y} and {self.x}; {word} {self.unit} at "
        text += f"{self.y} {row}, {self.x} {column}: {number(value)}."
        return f"{text} {self.said}".strip()

    def table(self) -> Table:
        """A row for each value of ``y``."""
        rows = [
            [row, *("" if v is None else number(v) for v in line)]
            for row, line in zip(self.rows, self.cells, strict=True)
        ]
        return [f"{self.y} / {self.x}", *self.columns], rows


@dataclass(frozen=True)
class Points:
    """Groups of points, and lines through them, by their titles.

    Args:
        groups: The x and the y of the points of each group.
        lines: The x and the y of each line's ends or points; one titled "" is not in the legend.
        about: What is seen, in words.
    """

    title: str
    x: str
    y: str
    groups: Mapping[str, tuple[Any, Any]]
    lines: Mapping[str, tuple[Any, Any]]
    log_y: bool = True
    log_x: bool = True
    about: str = ""

    def table(self) -> Table:
        """How many points each group has, and between which values."""
        rows = [
            [name, f"{len(xs):,}", *(number(float(f(v))) for v in (xs, ys) for f in (min, max))]
            for name, (xs, ys) in self.groups.items()
            if len(xs)
        ]
        ends = [f"{axis}, {end}" for axis in (self.x, self.y) for end in ("least", "most")]
        return ["group", "points", *ends], rows


@dataclass(frozen=True)
class CoordinateAxis:
    """One axis of parallel coordinates: a field and its values from below."""

    name: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Parallel:
    """Configurations as lines over parallel axes.

    Args:
        rows: For each configuration the position of its value on each axis.
        groups: What each configuration is coloured by.
        field: The field that says the groups.
    """

    title: str
    axes: tuple[CoordinateAxis, ...]
    rows: Sequence[Sequence[int]]
    groups: Sequence[str]
    field: str

    @property
    def about(self) -> str:
        """How many lines there are, over which fields."""
        names = ", ".join(a.name for a in self.axes)
        return f"{len(self.rows):,} configurations over {names}, coloured by {self.field}."

    def table(self) -> Table:
        """The configurations."""
        rows = [[a.labels[i] for a, i in zip(self.axes, r, strict=True)] for r in self.rows]
        return [a.name for a in self.axes], rows


@dataclass(frozen=True)
class Cells:
    """Cells of a grid, each with the group that colours it and a word.

    Args:
        columns: What the columns are called; some, where they are many, may be "".
        rows: What the rows are called.
        groups: The number of each cell's group, by row.
        words: What stands in each cell.
        names: The groups by number; a colour stands for several where they are many.
    """

    title: str
    x: str
    y: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    words: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    about: str = ""

    def table(self) -> Table:
        """The words, each after the name of its group."""
        rows = [
            [row, *(f"{self.names[g]}: {w}" for g, w in zip(groups, words, strict=True))]
            for row, groups, words in zip(self.rows, self.groups, self.words, strict=True)
        ]
        return [f"{self.y} / {self.x}", *self.columns], rows


Picture = Bars | Cells | HeatMap | Points | Parallel | Nothing


def word(value: Any) -> str:
    """A value of a field as pictures write it.

    >>> word(True), word(16), word(None)
    ('true', '16', 'undefined')
    """
    return "undefined" if value is None else tables.word(value)


def number(value: float) -> str:
    """A number for a table: whole ones in full, others to four digits.

    >>> number(1234567), number(12.3456), number(2048.0)
    ('1,234,567', '12.35', '2,048')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def brief(value: float) -> str:
    """A number in at most five characters, for a cell.

    >>> [brief(v) for v in (7, 999, 12345, 1e6, 3.2e10, 0.25, 41.7)]
    ['7', '999', '12k', '1M', '32G', '0.25', '42']
    """
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * size:
            scaled = value / size
            return f"{scaled:.0f}{letter}" if scaled >= 10 else f"{scaled:.2g}{letter}"
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"
