"""The table that a terminal gets: the columns that vary, and the others in one line above."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping

from ckrules.output.brief import NOTHING, Brief, short
from ckrules.output.columns import Column
from ckrules.output.points.table import cell
from ckrules.support.ansi import BOLD, DIM, painted
from ckrules.support.tables import line
from ckrules.support.visible import visible

LEAST = 16
"""The width to which a column is shortened, where its title is not longer."""


def show(
    chunk: Mapping[str, Column],
    title: str,
    *,
    color: bool,
    brief: Brief | None = None,
    wide: bool = False,
) -> None:
    """Prints a chunk as a table.

    Args:
        title: The line below the table, or nothing.
        brief: Shortens the table: the fields of a group share a column, fields with a default
            are named in one column where they differ from it, and what is the same in all rows
            stands above. Without it every column is shown as it is.
        wide: Whether lines may be longer than the terminal is wide.
    """
    width = shutil.get_terminal_size().columns
    if brief is None:
        shown = {name: column.texts(cell) for name, column in chunk.items()}
        same: dict[str, str] = {}
    else:
        shown = short(chunk, brief)
        same = {n: r[0] for n, r in shown.items() if len(set(r)) == 1}
        same = {} if len(same) == len(shown) else same
    words = ", ".join(f"{name} {value}" for name, value in same.items() if value != NOTHING)
    for text in textwrap.wrap(
        visible(f"In all rows: {words}") if words else "", max(width - 1, 40)
    ):
        print(painted(text, DIM, color))
    vary = {visible(n): r for n, r in shown.items() if n not in same}
    fitted, left_out = (vary, []) if wide else fit(vary, width)
    widths = [max(len(n), *map(len, r)) for n, r in fitted.items()]
    for row in [list(fitted), *zip(*fitted.values(), strict=True)]:
        print(painted(line(row, widths), BOLD, color and row == list(fitted)))
    if left_out:
        print(painted(f"not shown: {', '.join(left_out)} (--wide)", DIM, color))
    if title:
        print(title)


def fit(columns: Mapping[str, list[str]], width: int) -> tuple[dict[str, list[str]], list[str]]:
    """The columns within a width, and the names of the last ones, for which there is no room.

    The widest are shortened first, in the middle; none below `LEAST`.

    >>> fit({"name": ["a" * 20 + "b" * 20], "n": ["1"]}, 24)
    ({'name': ['aaaaaaaaaa…bbbbbbbbbb'], 'n': ['1']}, [])
    >>> fit({"name": ["a" * 40], "other": ["b" * 40]}, 24)[1]
    ['other']
    """
    kept = dict(columns)
    left_out: list[str] = []
    while True:
        widths = {n: max(len(n), *map(len, r)) for n, r in kept.items()}
        least = {n: min(w, max(LEAST, len(n))) for n, w in widths.items()}
        gaps = 2 * (len(kept) - 1)
        if sum(least.values()) + gaps <= width or len(kept) == 1:
            break
        left_out.insert(0, next(reversed(kept)))
        del kept[left_out[0]]
    while sum(widths.values()) + gaps > width:
        longest = max(widths, key=lambda n: widths[n] - least[n])
        if widths[longest] <= least[longest]:
            break
        widths[longest] -= 1
    return {n: [shortened(t, widths[n]) for t in r] for n, r in kept.items()}, left_out


def shortened(text: str, width: int) -> str:
    """A text in so many characters, without its middle where it is longer.

    >>> shortened("abcdefgh", 5), shortened("abc", 5)
    ('ab…gh', 'abc')
    """
    if len(text) <= width:
        return text
    head = width // 2
    return f"{text[:head]}…{text[len(text) - (width - head - 1) :]}"
