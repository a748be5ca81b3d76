"""How a two-dimensional tile is distributed over the threads that load or store it.

`tile_distribution_encoding_pattern_2d`, thread raked (core/algorithm/static_encoding_pattern.hpp):
lanes of a wave run first along the contiguous extent X, a vector each, then along the rows Y;
waves follow along Y.
"""

from __future__ import annotations

from ckrules.engine.expr import BoolExpr, Expr, IntExpr, minimum, named


class Pattern:
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
        self.terms: dict[str, Expr] = {}
        self.name, self.vector, self.waves, self.wave_size = name, vector, waves, wave_size
        self.extent = self._term("extent", extent, "elements along the contiguous dimension")
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
        name = f"{self.name}_{what}"
        term: IntExpr = named(name, node, doc=f"{self.name.upper()} tile: {doc}")
        self.terms[name] = term
        return term

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
