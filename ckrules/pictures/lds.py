"""Pictures of a kernel's way through LDS: who loads what, and where it lies in the banks."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.kernels.lds_map import LdsMap, OperandMap
from ckrules.pictures.shapes import Cells, Nothing

#: Rows and columns that are drawn; of larger tiles the first.
_ROWS, _COLUMNS, _LINES = 32, 32, 16


#: Pictures of one kernel's way through LDS: what they show, and of which operand.
KINDS: Mapping[str, str] = {
    "loads-a": "Lanes that load A",
    "loads-b": "Lanes that load B",
    "lds-a": "A in LDS",
    "lds-b": "B in LDS",
}


def picture(found: LdsMap | str, kind: str) -> Cells | Nothing:
    """A picture of a kernel's way through LDS; of one without a model it says why.

    Args:
        found: The way, or why there is none.
        kind: A key of `KINDS`.
    """
    if isinstance(found, str):
        return Nothing(KINDS[kind], found)
    what, name = kind.split("-")
    operand = found.operands["ab".index(name)]
    return loads(operand) if what == "loads" else layout(found, operand)


def loads(operand: OperandMap) -> Cells:
    """Which lane loads which vector of an operand's tile from global memory, coloured by wave.

    >>> from ckrules.kernels.lds_map import Fragment, Layout, Loads
    >>> lanes = Loads(32, 16, 8, (4, 16), 1, 1)
    >>> a = OperandMap("A", "M", False, lanes, Layout(0, 32, 8, 2, 2),
    ...                Fragment(16, 32, 4, (1, 1), 1), 64)
    >>> loads(a).words[1]
    ('4', '5', '6', '7')
    """
    found = operand.loads
    contiguous, other = ("K", operand.along)
    if operand.transposed:
        contiguous, other = other, contiguous
    columns = range(0, found.extent, found.width)[:_COLUMNS]
    rows = range(min(found.rows, _ROWS))
    owners = [[found.owner(row, column) for column in columns] for row in rows]
    several = found.passes > 1
    part = _part(found.rows, len(columns) * found.width, found.extent)
    words = tuple(
        tuple(f"{lane}.{turn}" if several else str(lane) for _, lane, turn in line)
        for line in owners
    )
    return Cells(
        f"{operand.name}: lanes that load from global memory",
        f"{contiguous}, {found.width} elements a lane", other,
        tuple(map(str, columns)), tuple(map(str, rows)),
        tuple(tuple(wave for wave, _, _ in line) for line in owners), words,
        tuple(f"wave {i}" for i in range(found.waves)),
        f"{operand.name} has {found.rows} rows of {found.extent} elements; each cell is the lane"
        f"{', and behind the point the pass,' if several else ''} that loads {found.width}"
        f" elements, coloured by its wave{part}.",
    )  # fmt: skip


def layout(found: LdsMap, operand: OperandMap) -> Cells:
    """Where an operand's packs lie in LDS, a line for each time that all banks come round.

    Packs are coloured by their place along K, so that a swizzle is seen.
    """
    lies = operand.layout
    each = lies.pack * lies.size
    line = found.banks * 4
    wide = max(line // each, 1)
    packs = lies.depth // lies.pack
    by_place = {
        (lies.place(row, k * lies.pack) - lies.start) // each: (row, k)
        for row in range(operand.rows)
        for k in range(packs)
    }
    lines = range(min(-(-len(by_place) // wide), _LINES))
    columns = range(min(wide, _COLUMNS))
    cells = [[by_place.get(i * wide + j, (-1, 0)) for j in columns] for i in lines]
    return Cells(
        f"{operand.name}: its packs in LDS",
        f"bank of the first byte ({found.banks} banks)", "byte",
        tuple(str(j * each // 4 % found.banks) for j in columns),
        tuple(str(lies.start + i * wide * each) for i in lines),
        tuple(tuple(k for _, k in row) for row in cells),
        tuple(tuple(f"{r}:{k * lies.pack}" if r >= 0 else "" for r, k in row) for row in cells),
        tuple(f"K {k * lies.pack}" for k in range(packs)),
        f"{operand.name} lies in LDS in packs of {lies.pack} elements along K ({each} bytes): each "
        f"cell is the row along {operand.along} and the first K of a pack"
        f"{'' if len(lines) * wide >= len(by_place) else '; the first lines are drawn'}.",
    )  # fmt: skip


def _part(rows: int, columns: int, extent: int) -> str:
    return "" if rows <= _ROWS and columns >= extent else "; a part is drawn"
