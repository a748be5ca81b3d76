"""The table that a terminal gets: the columns that vary, and the others in one line above."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from ckrules.reports.columns import Column
from ckrules.reports.points.table import cell

#: Fields whose three numbers are shown in one column.
_TRIPLES = ("tile", "wave", "warp_tile")


def show(chunk: Mapping[str, Column], title: str, *, color: bool, keep_all: bool = False) -> None:
    """Prints a chunk as a table with `rich`.

    Args:
        chunk: The rows.
        title: The line below the table.
        color: Whether to use colours.
        keep_all: Show also the columns that do not vary.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console(no_color=not color, highlight=False)
    shown = _joined({name: column.texts(cell) for name, column in chunk.items()})
    same = {} if keep_all else {n: r[0] for n, r in shown.items() if len(set(r)) == 1}
    if len(same) == len(shown):
        same = {}
    if same:
        words = ", ".join(f"{name} {value}" for name, value in same.items())
        for line in textwrap.wrap(f"In all rows: {words}", max(console.width - 1, 40)):
            console.print(line, style="dim", markup=False)
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    vary = {n: r for n, r in shown.items() if n not in same}
    for name in vary:
        table.add_column(name, overflow="fold")
    for row in zip(*vary.values(), strict=True):
        table.add_row(*row)
    if vary:
        console.print(table)
    console.print(title, markup=False)


def _joined(columns: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The columns with ``tile_m``, ``tile_n`` and ``tile_k`` as one column ``tile``."""
    out: dict[str, list[str]] = {}
    for name, rows in columns.items():
        stem = next((t for t in _TRIPLES if name in (f"{t}_m", f"{t}_n", f"{t}_k")), None)
        parts = [f"{stem}_{d}" for d in "mnk"]
        if stem is None or any(p not in columns for p in parts):
            out[name] = rows
        elif stem not in out:
            triples = zip(*(columns[p] for p in parts), strict=True)
            out[stem] = ["x".join(t) for t in triples]
    return out
