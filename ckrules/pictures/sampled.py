"""Pictures of configurations drawn from a space: parallel coordinates, and occupancy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ckrules.engine.expr.variables import domain_of
from ckrules.pictures.shapes import CoordinateAxis, Nothing, Parallel, Points, word
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.ranking.kernels import KernelTable

#: So many axes can be read beside each other.
AXES = 9
#: How many blocks a compute unit holds at once: those that a picture tells apart.
_BLOCKS = {
    "1 block": (1, 1), "2 blocks": (2, 2), "3 or 4 blocks": (3, 4), "5 to 8 blocks": (5, 8),
    "9 blocks and more": (9, 1 << 20),
}  # fmt: skip


def parallel(
    points: Sequence[Mapping[str, Any]], names: Sequence[str], color: str = ""
) -> Parallel | Nothing:
    """Configurations as lines over the fields of which they have several values.

    Args:
        names: The fields that axes are made of, the first `AXES` that tell them apart.
        color: The field that colours the lines; none: the first axis.

    >>> drawn = [{"a": 1, "b": 2, "c": 7}, {"a": 3, "b": 2, "c": 5}]
    >>> found = parallel(drawn, ["a", "b", "c"])
    >>> [(a.name, a.labels) for a in found.axes], found.rows, found.groups
    ([('a', ('1', '3')), ('c', ('5', '7'))], [[0, 1], [1, 0]], ['1', '3'])
    """
    title = f"{count(len(points), 'configuration')} drawn"
    if not points:
        return Nothing("parallel coordinates", "there are no configurations")
    values = {name: _values([p[name] for p in points]) for name in names}
    axes = [name for name in names if len(values[name]) > 1][:AXES]
    if len(axes) < 2:
        same = "configuration" if len(points) == 1 else "fields of the drawn configurations vary"
        return Nothing(title, f"there is one {same}: no axes to compare")
    color = color if len(values.get(color, ())) > 1 else axes[0]
    places = {name: {v: i for i, v in enumerate(values[name])} for name in axes}
    return Parallel(
        title,
        tuple(CoordinateAxis(name, tuple(map(word, values[name]))) for name in axes),
        [[places[name][p[name]] for name in axes] for p in points],
        [word(p[color]) for p in points],
        color,
    )


def _values(column: Sequence[Any]) -> list[Any]:
    """The values of a column: numbers in their order, words as they come."""
    found = list(dict.fromkeys(column))
    return sorted(found) if all(isinstance(v, (int, float)) for v in found) else found


def occupancy(table: KernelTable) -> Points | Nothing:
    """LDS and registers of kernels, by how many blocks of each a compute unit holds at once.

    Bytes of LDS are a block's, VGPRs a lane's (an estimate, `ckrules explain vgprs`), blocks what
    LDS, registers and slots for waves leave room for. No more than 32 blocks are told apart.

    Args:
        table: The kernels; nothing but what they are counts, no problem.
    """
    title = f"LDS and VGPRs against occupancy on {table.gpu.name}"
    needed = {"lds_bytes", "vgprs"}
    if not len(table) or not needed <= set(table.columns):
        return Nothing(title, "nothing is known of LDS and registers of such kernels")
    fields = table.books.of(table.family.variants[0]).fields
    values = {n: [*domain_of(f).values] for n, f in fields.items()}
    values |= {name: column.used() for name, column in table.columns.items()}
    usual = table.timing.usual(values)
    held = table.estimate(usual[0]).figures.get("blocks_per_cu") if usual else None
    if held is None:
        return Nothing(title, "nothing is known of the occupancy of such kernels")
    lds, vgprs = (np.asarray(table.columns[n].rows(), dtype=np.float64) for n in sorted(needed))
    groups = {
        f"{name} of a CU": (lds[there] / 1024, vgprs[there])
        for name, (low, high) in _BLOCKS.items()
        if (there := (held >= low) & (held <= high)).any()
    }
    one = float((held == 1).mean())
    most = (table.gpu.lds_bytes / 1024, float(table.gpu.vgprs_per_wave))
    lines = {
        f"LDS of a block: {most[0]:.0f} KiB": ([most[0]] * 2, [0, max(most[1], vgprs.max())]),
        f"VGPRs of a lane: {most[1]:.0f}": ([0, most[0]], [most[1]] * 2),
    }
    about = (
        f"{len(table):,} kernels: between {held.min():.0f} and {held.max():.0f} blocks share a "
        f"compute unit; {one:.0%} of the kernels have one to themselves."
    )
    return Points(
        title, "LDS of a block (KiB)", "VGPRs of a lane (estimate)", groups, lines,
        log_y=False, log_x=False, about=about,
    )  # fmt: skip
