"""How a block tile goes from memory to LDS and from there to registers, as data to be drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from ckrules.arch.banks import Turns, together, turns

_WIDEST = 16  # bytes that a lane reads or writes with one instruction


@dataclass(frozen=True)
class LdsAccess:
    """One access of a wave: the first byte of each lane."""

    wave: int
    size: int
    places: tuple[int, ...]


@dataclass(frozen=True)
class Loads:
    """Which lane of which wave loads what of an operand's tile from global memory.

    Lanes run along the contiguous extent, a vector each, then over the rows; a lane's passes are
    rows that follow each other, and waves come after them.

    Args:
        extent: Elements along the contiguous dimension.
        rows: Elements along the other one.
        width: Elements that a lane loads at once.
        lanes: Lanes along the extent, and along the rows.
        waves: Waves along the rows.
        passes: Passes over the rows.

    >>> Loads(32, 16, 8, (4, 16), 1, 1).owner(5, 8)
    (0, 21, 0)
    """

    extent: int
    rows: int
    width: int
    lanes: tuple[int, int]
    waves: int
    passes: int

    def owner(self, row: int, column: int) -> tuple[int, int, int]:
        """The wave, the lane and the pass that load an element."""
        rest, turn = divmod(row, self.passes)
        wave, lane = divmod(rest, self.lanes[1])
        return wave, lane * self.lanes[0] + column // self.width, turn


@dataclass(frozen=True)
class Layout:
    """Where an operand's elements are in LDS: in packs along K, whose order rows swizzle.

    Args:
        start: The operand's first byte.
        depth: Elements along K.
        pack: Elements along K that stay together.
        layers: Rows of the tile that lie beside each other.
        size: Bytes of an element.

    >>> layout = Layout(0, 32, 8, 1, 2)
    >>> layout.place(0, 8), layout.place(1, 8)
    (16, 64)
    """

    start: int
    depth: int
    pack: int
    layers: int
    size: int

    def place(self, row: int, k: int) -> int:
        """The byte of an element: ``row`` is along M or N."""
        packs = self.depth // self.pack * self.layers
        line, layer = divmod(row, self.layers)
        column = layer * (self.depth // self.pack) + k // self.pack
        column ^= line % packs
        return self.start + self.size * ((line * packs + column) * self.pack + k % self.pack)


@dataclass(frozen=True)
class Fragment:
    """What lanes of a wave read of an operand for a matrix instruction.

    Args:
        rows: Rows of the warp tile, each a lane's.
        depth: Its elements along K.
        lanes: Lanes along K; where they do not fill the wave, lanes read the same.
        waves: Waves along the rows, and waves that read the same.
        step: What the number of a wave along the rows is counted in.
    """

    rows: int
    depth: int
    lanes: int
    waves: tuple[int, int]
    step: int


@dataclass(frozen=True)
class OperandMap:
    """One operand: what lanes load, where it is in LDS, and what lanes read from there.

    Args:
        name: A or B.
        along: The dimension that is not K: M or N.
        transposed: Whether it is transposed in registers between loading and storing.
    """

    name: str
    along: str
    transposed: bool
    loads: Loads
    layout: Layout
    fragment: Fragment
    wave_size: int

    @property
    def rows(self) -> int:
        """Elements along M or N."""
        return self.loads.extent if self.transposed else self.loads.rows

    def stores(self) -> Iterator[LdsAccess]:
        """The accesses that write a block tile, those of wave 0 first."""
        loads, pack = self.loads, self.layout.pack
        side = loads.passes if self.transposed else loads.width  # elements of a lane along K
        each = min(gcd(side, pack), max(1, _WIDEST // self.layout.size))
        for wave in range(loads.waves):
            for other in range(loads.width if self.transposed else loads.passes):
                for first in range(0, side, each):
                    places = (
                        self._stored(wave, lane, other, first) for lane in range(self.wave_size)
                    )
                    yield LdsAccess(wave, each * self.layout.size, tuple(places))

    def _stored(self, wave: int, lane: int, other: int, first: int) -> int:
        loads = self.loads
        across, down = lane % loads.lanes[0], lane // loads.lanes[0]
        row = (wave * loads.lanes[1] + down) * loads.passes
        if self.transposed:
            return self.layout.place(across * loads.width + other, row + first)
        return self.layout.place(row + other, across * loads.width + first)

    def reads(self) -> Iterator[LdsAccess]:
        """The accesses that read a block tile for matrix instructions, those of wave 0 first."""
        part, size = self.fragment, self.layout.size
        each = min(self.layout.pack, max(1, _WIDEST // size))
        along, same = part.waves
        for wave in range(along * same):
            mine = wave // part.step % along
            for first in range(mine * part.rows, self.rows, along * part.rows):
                for k in range(0, self.layout.depth, part.depth):
                    for shift in range(0, self.layout.pack, each):
                        places = (
                            self._read(lane, first, k + shift) for lane in range(self.wave_size)
                        )
                        yield LdsAccess(wave, each * size, tuple(places))

    def _read(self, lane: int, first: int, k: int) -> int:
        part = self.fragment
        behind = lane // part.rows % part.lanes
        return self.layout.place(first + lane % part.rows, k + behind * self.layout.pack)


@dataclass(frozen=True)
class LdsMap:
    """A and B on their way through LDS.

    Args:
        operands: A and B.
        isa: The instruction set, as files of GPUs name it.
        banks: The banks of the LDS.
    """

    operands: tuple[OperandMap, OperandMap]
    isa: str
    banks: int

    def turns(self, access: LdsAccess, *, writes: bool) -> Turns:
        """The bank cycles that an access takes."""
        lanes = len(access.places)
        groups = together(self.isa, self.banks, lanes, access.size, writes=writes)
        return turns(access.places, access.size, self.banks, groups)

    def counted(self, operand: OperandMap, *, writes: bool) -> Counter[tuple[int, Turns]]:
        """The accesses of a block tile by bytes of a lane and turns.

        Reads are those of one pass over the tile, whatever order the pipeline makes them in.
        """
        found = operand.stores() if writes else operand.reads()
        return Counter((a.size, self.turns(a, writes=writes)) for a in found)
