"""What follows from the fields of a GEMM with scales."""

from __future__ import annotations

from functools import cached_property

from ckrules.constraints.gemm.weight_tiles import WeightTiles
from ckrules.constraints.scaled import words as w
from ckrules.engine.expr import (
    FALSE,
    BoolExpr,
    EnumExpr,
    IntExpr,
    all_of,
    ite,
    lookup,
    maximum,
    minimum,
    rel,
)
from ckrules.engine.rules.book import quantity, quantity_in


class ScaledQuantities(WeightTiles):
    """Fields, facts and quantities of a GEMM with scales; A has rows, B columns, C rows."""

    variant: EnumExpr
    dtype_c: EnumExpr
    persistent: BoolExpr
    transpose_c: BoolExpr
    permute_n: BoolExpr
    stage: IntExpr
    scales: EnumExpr
    scale_rows: BoolExpr
    activation: EnumExpr
    routed_weight: BoolExpr
    bias: BoolExpr
    split_k: BoolExpr
    grouping: EnumExpr
    k_block_per_cu: IntExpr
    a_transposed = FALSE
    """Never: K is contiguous in A."""
    b_transposed = FALSE
    """Never: K is contiguous in B."""
    reads_interwave = FALSE
    """Never: flatmm does not look at the scheduler, block scales have intrawave alone."""

    @property
    def asserted(self) -> BoolExpr:
        """flatmm truncates, and CShuffle alone goes over the whole tile after it; so does mx_flatmm."""
        return ~self.variant.isin("flatmm", w.MX) | (self.epilogue == "cshuffle")

    @property
    def launch_blocks(self) -> IntExpr:
        """The launch bound: k_block_per_cu."""
        return self.k_block_per_cu

    @cached_property
    def flat(self) -> BoolExpr:
        """True where weights are shuffled and only A goes through LDS."""
        return self.variant != "abquant"

    @cached_property
    def shuffled_b(self) -> BoolExpr:
        """True where block scales meet pre-shuffled weights that do not go through LDS."""
        return self.pipeline == w.BLOCK_WEIGHTS

    def or_block_weights(self, found: BoolExpr) -> BoolExpr:
        """True for block scales with pre-shuffled weights, too, in releases that have them."""
        shuffled = self.pipeline.isin(w.BLOCK_WEIGHTS, w.EIGHT_WEIGHTS)
        return found | shuffled if self.since("2026.06") else found

    @cached_property
    def micro(self) -> BoolExpr:
        """True where A and B have 4 bits, or 8, and scales for every 32 along K (MX)."""
        return self.or_mx_gemm(self.variant == w.MX)

    @cached_property
    def masked(self) -> BoolExpr:
        """True for groups, of whose rows a list says how many count."""
        return self.grouping == "masked"

    @cached_property
    def mx_gemm(self) -> BoolExpr:
        """True for MX by the kernel of other GEMMs, which 2026.09 has (SCAL054)."""
        return self.variant == w.MX_GEMM

    def or_mx_gemm(self, found: BoolExpr) -> BoolExpr:
        """True for MX by the kernel of other GEMMs, too, in releases that have it."""
        return found | self.mx_gemm if self.since("2026.09") else found

    def but_mx_gemm(self, found: BoolExpr) -> BoolExpr:
        """True for others than MX by the kernel of other GEMMs, in releases that have it."""
        return found & ~self.mx_gemm if self.since("2026.09") else found

    @cached_property
    def packed_a(self) -> IntExpr:
        """Elements of A that share a byte."""
        return ite(self.dtype == "fp4", 2, 1)

    @cached_property
    def packed_b(self) -> IntExpr:
        """Elements of B that take the bytes of one element of A, or a byte where A has 4 bits."""
        return ite(self.narrow_b, 2 * self.element_bytes, self.packed_a)

    @quantity
    def operand_vgprs(self) -> IntExpr:
        """Registers of a lane that its wave's A and B of one block tile take."""
        a, b = self._packed(self.tile_m // self.wave_m, self.tile_n // self.wave_n)
        a, b = a * self.copies(self.warp_tile_m), b * self.copies(self.warp_tile_n)
        return (a + b) * self.element_bytes // (4 * self.wave_size)

    @property
    def loaded_bytes(self) -> IntExpr:
        """What is loaded of A and B for one block tile, of packed elements as many bytes."""
        a, b = self._packed(self.tile_m, self.tile_n)
        return (a + b) * self.element_bytes

    @quantity_in("instructions")
    def loads(self) -> IntExpr:
        """Instructions by which a lane loads A and B, of packed elements as many bytes at once."""
        a, b = self._packed(self.tile_m, self.tile_n)
        return a // (self.vector_a * self.load_lanes) + b // (self.vector_b * self.load_lanes)

    @property
    def own_register_terms(self) -> dict[str, IntExpr]:
        """gfx950 has instructions that widen fp4; elsewhere it is done element by element.

        Source: llvm/lib/Target/AMDGPU/AMDGPU.td FeatureFP4ConversionScaleInsts.
        """
        columns: IntExpr = ite(self.narrow_b, self.tile_n // self.wave_n, 0)
        widened = columns * self.tile_k * self.element_bytes // (4 * self.wave_size)
        return {
            "operands widened": ite(self.has("scaled_mfma"), 0, widened),
            "staged and padded": ite(self.pad_k, self.staging_vgprs, 0),
        }

    def _packed(self, rows: IntExpr, columns: IntExpr) -> tuple[IntExpr, IntExpr]:
        """How many elements of whole bytes rows of A and columns of B of a block tile take."""
        return rows * self.tile_k // self.packed_a, columns * self.tile_k // self.packed_b

    @cached_property
    def eight_waves(self) -> BoolExpr:
        """True for the pipelines whose two halves of eight waves take turns."""
        return self.pipeline.isin(w.EIGHT_WAVES, w.EIGHT_WEIGHTS)

    @property
    def loads_to_lds(self) -> BoolExpr:
        """True for pipelines that load A and B straight to LDS, through no registers.

        Source: ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_eight_waves_base.hpp: GlobalPrefetchAsync
        (CK 2026.09, read in ROCm/rocm-libraries @ 3299c68).
        """
        return self.eight_waves

    @cached_property
    def scales_in_instructions(self) -> BoolExpr:
        """True where the matrix instructions take the scales of both operands."""
        return self.micro | self.scaled_experts

    @cached_property
    def paired_columns(self) -> BoolExpr:
        """True where a wave has two warp tiles side by side along N, for which scales are packed."""
        return self.micro | self.narrow_b | self.scaled_experts

    @cached_property
    def scaled_experts(self) -> BoolExpr:
        """True for experts' 4-bit weights that meet 8 or 4 bits in instructions with scales."""
        return (self.variant == w.EXPERTS) & self.dtype.isin(*w.SCALED)

    @cached_property
    def narrow_b(self) -> BoolExpr:
        """True where B has 4 bits, two elements to a byte."""
        return self.dtype.isin(*w.NARROW)

    @quantity_in("bytes")
    def output_bytes(self) -> IntExpr:
        """Size of an element of C."""
        node: IntExpr = lookup(self.facts["output_bytes"], self.dtype_c)
        return node

    @quantity
    def vector_a(self) -> IntExpr:
        """Elements of A that a thread loads at once."""
        return ite(self.flat, 16 // self.element_bytes, self.computed_vector_a)

    @quantity
    def vector_b(self) -> IntExpr:
        """Elements of B that a thread loads at once."""
        return self.computed_vector_b

    @quantity
    def vector_c(self) -> IntExpr:
        """Elements of C that a thread stores at once."""
        return minimum(self.warp_tile_n * self.wave_n, 16 // self.output_bytes)

    @cached_property
    def from_registers(self) -> BoolExpr:
        """Where results go from registers to memory: those of flatmm's permuted columns."""
        return all_of(self.variant == "flatmm", self.permute_n, self.epilogue == "cshuffle")

    @quantity
    def store_width(self) -> IntExpr:
        """Elements of C that the argument check counts as stored at once."""
        plain: IntExpr = ite(self.transpose_c, self.lane_rows, 1)
        return ite(self.epilogue == "cshuffle", self.vector_c, plain)

    @property
    def adds_by_address(self) -> BoolExpr:
        """Where results are not added through the tensor's buffer, which leaves out rows beyond it."""
        return (self.dtype_c == "bf16") & ~self.has("bf16_buffer_atomics")

    @quantity
    def splits_k(self) -> BoolExpr:
        """Whether the kernel is built for sums in parts, whose results are added to memory."""
        # permuted columns go from registers, as many of a lane's warp tiles as divide their number
        pairs = ite(self.from_registers, self.repeat_n % 2 == 0, self.store_width.isin(2, 4, 8))
        # the raw form of the addition takes windows that no epilogue makes
        raw = (self.epilogue == "default") & (self.pad_m | self.pad_n)
        # those for experts are asked to be
        built = self.or_mx_gemm(self.variant.isin("flatmm", w.MX)) | self.split_k
        return all_of(self.flat, built, self.or_mx_gemm(~self.persistent), pairs, ~raw)

    @property
    def known_warp_tile(self) -> BoolExpr:
        """Where the headers have the warp GEMM."""
        return rel(
            self.facts["header_warp_tiles"], self.dtype, self.transpose_c,
            self.warp_tile_m, self.warp_tile_n, self.warp_tile_k,
        )  # fmt: skip

    @quantity
    def steps_k(self) -> IntExpr:
        """Warp tiles along K of the block tile."""
        return self.tile_k // self.warp_tile_k

    @quantity_in("instructions")
    def loads_awaited(self) -> IntExpr:
        """Loads of B and of scales that a wave has under way in a block tile (MX)."""
        pieces, steps = 2 // self.packed_b, self.steps_k
        scales = self.repeat_n * steps // 4 + self.repeat_m * steps // 4
        return self.repeat_n * pieces * steps + scales

    @quantity
    def lanes_k(self) -> IntExpr:
        """Lanes side by side along a row of A, which each load 16 bytes (flatmm).

        Where instructions take scales they have 128 bytes of a row, whatever tile_k is, and of
        experts with a tile_m of 16 each lane loads 4 bytes.
        """
        whole = self.tile_k // (16 // self.element_bytes * self.packed_a)
        if self.ck == "2025.11":
            return whole
        few = self.scaled_experts & (self.tile_m == 16)
        return ite(self.scales_in_instructions, ite(few, 32, 8), whole)

    @quantity
    def lane_bytes(self) -> IntExpr:
        """Bytes of A's warp tile that a lane reads from LDS (flatmm)."""
        elements = self.warp_tile_m * self.warp_tile_k * self.element_bytes
        return elements // self.packed_a // self.wave_size

    @quantity_in("bytes")
    def a_stage(self) -> IntExpr:
        """LDS of A's tile (flatmm); other warp tiles than 16x16 pad it by a row less its last 16 bytes.

        Where instructions take scales, 64 bytes lie between 8 rows, of every 128 bytes or of all
        but one.
        """
        small = (self.warp_tile_m == 16) & (self.warp_tile_n == 16)
        row_bytes = self.tile_k * self.element_bytes
        whole: IntExpr = self.tile_m * row_bytes + ite(small, 0, row_bytes - 16)
        if self.ck == "2025.11":
            return whole
        row = row_bytes // self.packed_a
        pads = ite(self.micro, 4 * (row // 128), 8 * (row // 128 - 1))
        return ite(self.scales_in_instructions, self.tile_m * (row + pads), whole)

    @quantity_in("bytes")
    def pipeline_lds(self) -> IntExpr:
        """LDS that the pipeline asks for, of flatmm for one of its two arrays."""
        staged = self.stage_bytes
        if self.since("2026.06"):
            a = self.tile_m * self.tile_k * self.element_bytes
            staged = ite(self.eight_waves, self._turns_lds, ite(self.shuffled_b, 2 * a, staged))
        return ite(self.flat, self.a_stage, staged)

    @property
    def _turns_lds(self) -> IntExpr:
        """Two tiles of A and B each; of what is not pre-shuffled 16 rows have 64 bytes between them.

        Source: ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_async_eight_waves_policy.hpp: GetSmemSize,
        MakeABLdsBlockDescriptor_ (CK 2026.09, read in ROCm/rocm-libraries @ 0187bb9).
        """
        row = self.tile_k * self.element_bytes
        padded = ite(self.pipeline == w.EIGHT_WEIGHTS, row, row + 4)
        return 2 * (self.tile_m * (row + 4) + self.tile_n * padded)

    @quantity_in("bytes")
    def lds_bytes(self) -> IntExpr:
        """LDS of a workgroup: flatmm has A's tile twice, whatever double_smem_buffer says.

        The second was an array of its own, which the epilogue left unused, until 2026.09:
        ops/flatmm/kernel/{flatmm,moe_flatmm}_kernel.hpp: GetSmemSize, operator() (CK 2026.09, read
        in ROCm/rocm-libraries @ 705d00c), mx_flatmm_kernel.hpp likewise (@ c908e84).
        """
        second = ite(self.flat, self.a_stage, 0)
        if self.since("2026.09"):
            return maximum(self.pipeline_lds + second, self.epilogue_lds)
        return maximum(self.pipeline_lds, self.epilogue_lds) + second
