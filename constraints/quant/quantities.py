"""What a quantised GEMM is to the rules that it shares with other GEMMs, and its scales."""

from __future__ import annotations

from functools import cached_property

from ckrules.constraints.gemm.quantities import GemmQuantities as Gemm
from ckrules.constraints.quant import words as w
from ckrules.constraints.tile_gemm.tiles import widest
from ckrules.engine.expr import FALSE, TRUE, BoolExpr, EnumExpr, IntExpr, const, ite, lookup
from ckrules.engine.rules.book import quantity, quantity_in


class QuantQuantities(Gemm):
    """Fields, facts and quantities of a quantised GEMM kernel."""

    dtype_scale: EnumExpr
    group_m: IntExpr
    group_n: IntExpr
    group_k: IntExpr
    preshuffle_quant: BoolExpr
    has_d = FALSE
    """Never: there are no D tensors."""
    mixed = FALSE
    """Never: A and B have one type, but that one of them may have 4 bits."""
    one_buffer = FALSE
    """Never: the kernel has a form for two LDS buffers."""
    fp32_sums = TRUE
    """Always."""
    whole_stores = FALSE
    """Never: no results are int32."""
    shares_tiles = FALSE
    """Never: these kernels have no stream-K."""
    widens_tile = False
    """Pre-shuffled weights with groups are widened by the warp tile."""

    # -- what other GEMMs have and these have not --------------------------------------------

    @property
    def num_wave_groups(self) -> IntExpr:  # type: ignore[override]
        """Always one (TileGemmQuantTraits)."""
        return const(1)

    @property
    def truncated_n(self) -> BoolExpr:
        """As of other GEMMs, but that scales of B's blocks cover the tile's columns."""
        return self.truncated & ~self.shuffled_b

    @cached_property
    def keeps_fp32(self) -> BoolExpr:
        """Where results are converted one by one: permuted columns, from registers."""
        return self.from_registers

    @quantity
    def splits_k(self) -> BoolExpr:
        """Never: the argument check refuses sums in parts."""
        return FALSE

    # -- types and widths --------------------------------------------------------------------

    @cached_property
    def narrow_a(self) -> BoolExpr:
        """True where A has 4 bits, two elements to a byte."""
        return self.dtype.isin(*w.NARROW_A)

    @cached_property
    def narrow_b(self) -> BoolExpr:
        """True where B has 4 bits, two elements to a byte."""
        return self.dtype.isin(*w.NARROW_B)

    @cached_property
    def a_read_turned(self) -> BoolExpr:
        """True where A is transposed as it is read from LDS."""
        return self.a_transposed & ~self.a_shuffled

    @cached_property
    def b_read_turned(self) -> BoolExpr:
        """True where B is transposed as it is read from LDS."""
        return self.b_transposed & ~self.b_shuffled

    @property
    def own_register_terms(self) -> dict[str, IntExpr]:
        """Each product of warp tiles over a group has sums of its own, and waits for a scale.

        Source: ops/gemm_quant/block/block_universal_gemm_as_bs_bquant_cr.hpp, ..._as_aquant_bs_cr
        (CK 2025.11): operator() begins `c_warp_tensor` again for each kQScale of each mIter, nIter.
        Four registers for a scale (this step's, the next one's, and where it lies) are assumed.
        """
        products = self.repeat_m * self.repeat_n * self.scales_k
        return {
            **super().own_register_terms,
            "scaled products": ite(self.grouped, products * (self.lane_elements + 4), 0),
            "scales": ite(self.grouped, 1, 0),
        }

    @cached_property
    def grouped(self) -> BoolExpr:
        """True where scales belong to groups along K, of A or of B."""
        return self.variant.isin(*w.GROUPED)

    @quantity
    def computed_vector_a(self) -> IntExpr:
        """Elements of A that the pipeline itself would load at once."""
        extent = ite(self.a_transposed, self.tile_m, self.tile_k)
        plain = super().computed_vector_a
        return ite(self.narrow_a, self.narrow_width(extent, self.tile_m), plain)

    @cached_property
    def known_warp_tile(self) -> BoolExpr:
        """Where the headers have the warp GEMM of the type that instructions see."""
        return self._has("header_warp_tiles")

    # -- scales ------------------------------------------------------------------------------

    @quantity_in("bytes")
    def scale_bytes(self) -> IntExpr:
        """Size of a scale."""
        node: IntExpr = lookup(self.facts["scale_bytes"], self.dtype_scale)
        return node

    @quantity_in("scales")
    def scales_k(self) -> IntExpr:
        """Scales of a row of A's tile, or of a column of B's, along K."""
        return self.tile_k // self.group_k

    @quantity_in("scales")
    def vector_scale(self) -> IntExpr:
        """Scales that the argument check counts as loaded at once."""
        rows = ite(self.variant == "aquant", self.tile_m, self.tile_n // self.group_n)
        per_thread = rows * self.scales_k // (self.threads // self.wave_n)
        # 32, 16, 8 and 4 bytes are tried
        four, one = (widest(w, self.scales_k, per_thread) for w in ((2, 4, 8), (4, 8, 16, 32)))
        return ite(self.grouped, ite(self.scale_bytes == 4, four, one), 1)
