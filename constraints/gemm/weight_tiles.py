"""How pre-shuffled weights meet the tile of A that goes through LDS."""

from __future__ import annotations

from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.expr import IntExpr
from ckrules.engine.rules.book import quantity


class WeightTiles(TileGemm):
    """A GEMM whose weights may be shuffled beforehand: loads and reads of A beside them."""

    @quantity
    def preshuffle_lanes_k(self) -> IntExpr:
        """Lanes side by side along a row of A, which each load 16 bytes (pre-shuffled weights)."""
        return self.tile_k // (16 // self.element_bytes)

    @quantity
    def preshuffle_rows(self) -> IntExpr:
        """Rows of A that a wave loads at once (pre-shuffled weights)."""
        return self.wave_size // self.preshuffle_lanes_k

    @quantity
    def preshuffle_reads(self) -> IntExpr:
        """Bytes of A that a lane reads from LDS for a step along K (pre-shuffled weights)."""
        tile = self.warp_tile_m * self.warp_tile_k * self.element_bytes
        return tile * self.repeat_m // self.wave_size

    @quantity
    def repeat_n(self) -> IntExpr:
        """Warp tiles that a wave computes along N."""
        return self.tile_n // (self.warp_tile_n * self.wave_n)
