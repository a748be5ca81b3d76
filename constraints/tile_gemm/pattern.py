"""How a two-dimensional tile is distributed over the threads that load or store it.

`tile_distribution_encoding_pattern_2d`, thread raked (core/algorithm/static_encoding_pattern.hpp):
lanes of a wave run first along the contiguous extent X, a vector each, then along the rows Y;
waves follow along Y.
"""

from __future__ import annotations

from ckrules.engine.expr import BoolExpr, IntExpr, any_of, const, ite, minimum, named

#: Enough for a vector below 74 whose thread has less: a greater prime would be in it twice.
_ODD_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31)


def extent_of(operand: str, node: IntExpr) -> IntExpr:
    """An operand's elements along the contiguous dimension, by the name that patterns use."""
    return _named(operand, "extent", node, "elements along the contiguous dimension")


def _named(operand: str, what: str, node: IntExpr, doc: str) -> IntExpr:
    return named(f"{operand}_{what}", node, doc=f"{operand.upper()} tile: {doc}")


class TileDistribution:
    """The distribution of one operand's tile, in integer arithmetic as the header does it.

    Args:
        name: The operand: a, b or c.
        extent: X, elements along the contiguous dimension.
        rows: Y, elements along the other one.
        vector: Elements that a thread moves at once, as configured.
        waves, wave_size: The waves that take part and their lanes.
        wave_groups: NumWaveGroups.
        several_passes: Whether a wave may go over X more than once (since 2026.06).
    """

    def __init__(
        self,
        name: str,
        extent: IntExpr,
        rows: IntExpr,
        vector: IntExpr,
        waves: IntExpr,
        wave_size: IntExpr,
        wave_groups: IntExpr,
        *,
        several_passes: bool,
    ) -> None:
        self.terms: dict[str, IntExpr] = {}
        self.name, self.vector, self.waves, self.wave_size = name, vector, waves, wave_size
        self.extent = self.terms[f"{name}_extent"] = extent_of(name, extent)
        self.rows = self._term("rows", rows, "elements along the other dimension")
        self.area = self.extent * self.rows
        self.per_thread = self._term(
            "per_thread", self.area // (waves * wave_size), "elements a thread moves in all"
        )
        self.width = self._term(
            "width", minimum(vector, self.per_thread), "elements a thread moves at once (X1)"
        )
        across = self.extent // self.width
        lanes = minimum(wave_size, across) if several_passes else across
        self.lanes_x = self._term("lanes_x", lanes, "lanes side by side along the extent (X0)")
        self.lanes_y = self._term("lanes_y", wave_size // self.lanes_x, "rows of a wave (Y1)")
        self.wave_rows = self._term("wave_rows", waves // wave_groups, "waves along the rows (Y0)")
        self.passes_y = self._term(
            "passes_y", self.rows // (self.lanes_y * self.wave_rows), "passes over the rows (Y2)"
        )
        self.passes_x = self._term(
            "passes_x", self.extent // (self.lanes_x * self.width), "passes over the extent (X2)"
        )

    def _term(self, what: str, node: IntExpr, doc: str) -> IntExpr:
        term = self.terms[f"{self.name}_{what}"] = _named(self.name, what, node, doc)
        return term

    def moves(self, most: int) -> BoolExpr:
        """One access moves a power of two of elements, at most so many.

        It moves the greatest common divisor of `vector` and `width`: the tensor promises as many
        elements in a row as the vector has, and the thread's own are divided evenly.
        """
        odd = any_of(*((self.vector % p == 0) & (self.width % p == 0) for p in _ODD_PRIMES))
        wide = (self.vector % (2 * most) == 0) & (self.width % (2 * most) == 0)
        return ite(
            self.width == self.vector,
            self.vector.isin(*(1 << i for i in range(most.bit_length()))),
            ~odd & ~wide,
        )

    @property
    def at_once(self) -> IntExpr:
        """Elements that one access moves: the power of two in both `vector` and `width`."""
        node: IntExpr = const(1)
        for power in (2, 4, 8, 16, 32):
            both = (self.vector % power == 0) & (self.width % power == 0)
            node = ite(both, power, node)
        return node

    @property
    def vector_fits(self) -> BoolExpr:
        """The vector divides the contiguous extent."""
        return self.extent % self.vector == 0

    @property
    def every_thread_moves(self) -> BoolExpr:
        """The tile has at least one element for each thread."""
        return self.per_thread >= 1

    @property
    def lanes_fill_wave(self) -> BoolExpr:
        """The lanes along both dimensions make up exactly one wave."""
        return self.lanes_x * self.lanes_y == self.wave_size

    @property
    def rows_covered(self) -> BoolExpr:
        """Waves, lanes and passes cover the rows exactly."""
        return self.wave_rows * self.lanes_y * self.passes_y == self.rows

    @property
    def extent_covered(self) -> BoolExpr:
        """Lanes, vectors and passes cover the contiguous extent exactly."""
        return self.lanes_x * self.width * self.passes_x == self.extent

    @property
    def sound(self) -> BoolExpr:
        """The first two conditions, without which the rest has no meaning."""
        return self.vector_fits & self.every_thread_moves
