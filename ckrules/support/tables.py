"""Tables of words: aligned columns, and numbers with their nouns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape

from ckrules.support.visible import visible


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[int] = (), indent: str = "") -> str:
    """Rows as lines of columns, each as wide as its longest cell; empty without rows.

    Args:
        rows: The cells, the same number in each row; they are made `visible`.
        right: The columns whose cells stand to the right.
        indent: What every line begins with.

    >>> print(aligned([["rule", "points"], ["TILE001", "12"]], right={1}), end="")
    rule     points
    TILE001      12
    """
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(f"{indent}{line(row, widths, right=right)}\n" for row in rows)


def line(cells: Iterable[str], widths: Iterable[int], *, right: Collection[int] = ()) -> str:
    """One row of a table whose columns have these widths, without blanks at its end.

    >>> line(["a", "7", ""], [3, 2, 4], right={1})
    'a     7'
    """
    padded = (
        f"{cell:>{width}}" if i in right else f"{cell:<{width}}"
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(padded).rstrip()


def html_table(rows: Sequence[Sequence[str]], caption: str) -> str:
    """Rows as a table of HTML, the first one being its head.

    >>> html_table([["field", "value"], ["tile_m", "<64"]], "a kernel").split("<tr>")[2]
    '<td>tile_m</td><td>&lt;64</td></tr></table>'
    """
    head, *body = ([escape(visible(cell)) for cell in row] for row in rows)
    lines = [f"<tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>"]
    lines += [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in body]
    return f"<table><caption>{escape(visible(caption))}</caption>{''.join(lines)}</table>"


def count(n: int, noun: str) -> str:
    """A number and its noun.

    >>> count(1, "point"), count(1200, "point")
    ('1 point', '1,200 points')
    """
    return f"{n:,} {plural(n, noun)}"


def plural(n: int, noun: str) -> str:
    """The noun as it stands behind a number.

    >>> plural(2, "entry"), plural(0, "kernel"), plural(1, "run")
    ('entries', 'kernels', 'run')
    """
    if n == 1:
        return noun
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def word(value: object) -> str:
    """A value as tables, pages and command lines say it.

    >>> word(True), word("mem"), word(64)
    ('true', 'mem', '64')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)
