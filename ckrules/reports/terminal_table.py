"""The table that a terminal gets: the columns that vary, and the others in one line above."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from ckrules.engine.expr import Value
from ckrules.reports.columns import Column
from ckrules.reports.points.table import cell

#: Fields whose three numbers are shown in one column.
_TRIPLES = {"tile": "mnk", "wave": "mnk", "warp_tile": "mnk", "vector": "abc"}
_FEATURES = "features"


def show(
    chunk: Mapping[str, Column],
    title: str,
    *,
    color: bool,
    defaults: Mapping[str, Value] | None = None,
) -> None:
    """Prints a chunk as a table with `rich`.

    Args:
        chunk: The rows.
        title: The line below the table.
        color: Whether to use colours.
        defaults: Shortens the table: three numbers share a column, fields with a default are
            named in one column where they differ from it, and what is the same in all rows
            stands above. Without it every column is shown as it is.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console(color_system="auto" if color else None, highlight=False)
    if defaults is None:
        shown = {name: column.texts(cell) for name, column in chunk.items()}
        same: dict[str, str] = {}
    else:
        shown = _short(chunk, defaults)
        same = {n: r[0] for n, r in shown.items() if len(set(r)) == 1}
        same = {} if len(same) == len(shown) else same
    words = ", ".join(f"{name} {value}" for name, value in same.items() if value)
    for line in textwrap.wrap(f"In all rows: {words}" if words else "", max(console.width - 1, 40)):
        console.print(line, style="dim", markup=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    vary = {n: r for n, r in shown.items() if n not in same}
    for name in vary:
        table.add_column(name, no_wrap=name != _FEATURES, overflow="fold")
    for row in zip(*vary.values(), strict=True):
        table.add_row(*row)
    if vary:
        console.print(table)
    console.print(title, markup=False)


def _short(chunk: Mapping[str, Column], defaults: Mapping[str, Value]) -> dict[str, list[str]]:
    """The columns with triples and features joined."""
    out: dict[str, list[str]] = {}
    features = {n: c.rows() for n, c in chunk.items() if n in defaults}
    for name, column in chunk.items():
        if name in features or (name == "layout" and "ndim" in chunk):  # it follows from ndim
            continue
        stem, _, letter = name.rpartition("_")
        if letter not in _TRIPLES.get(stem, "-"):
            out[name] = column.texts(cell)
        elif stem not in out:
            parts = [chunk[f"{stem}_{x}"].texts(cell) for x in _TRIPLES[stem]]
            out[stem] = ["x".join(t) for t in zip(*parts, strict=True)]
    if features:
        rows = zip(*features.values(), strict=True)
        out[_FEATURES] = [
            _features(dict(zip(features, row, strict=True)), defaults) for row in rows
        ]
    return out


def _features(values: Mapping[str, Any], defaults: Mapping[str, Value]) -> str:
    """The fields that are not at their default.

    >>> _features({"two_stage": True, "pad_m": False, "streamk": "off"},
    ...           {"two_stage": False, "pad_m": True, "streamk": "off"})
    'two_stage no-pad_m'
    """
    words = []
    for name, value in values.items():
        if value == defaults[name]:
            continue
        if isinstance(value, bool):
            words.append(name if value else f"no-{name}")
        else:
            words.append(f"{name}={value}")
    return " ".join(words)
