"""What a GEMM kernel is to the shared rules: layouts, types, and where it differs.

The widths of loads and stores are not fields: every kernel computes them (``FixedVectorSize`` is
false). With pre-shuffled weights only A goes through LDS, in a load pattern of its own.
"""

from __future__ import annotations

from functools import cached_property

from ckrules.constraints.gemm.weight_tiles import WeightTiles
from ckrules.constraints.gemm.words import ONE_BUFFER
from ckrules.constraints.tile_gemm.tiles import widest
from ckrules.engine.expr import (
    FALSE,
    BoolExpr,
    EnumExpr,
    IntExpr,
    all_of,
    any_of,
    ceil_div,
    ite,
    lookup,
    maximum,
    minimum,
    rel,
    round_up,
)
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules.book import quantity, quantity_in

#: Pipelines whose block GEMM is built for A's type on both sides.
ONE_TYPE = ("mem", "compv3", "basic_v1", "basic_v2")


class GemmQuantities(WeightTiles):
    """Fields, facts and quantities of a GEMM kernel."""

    variant: EnumExpr
    layout: EnumExpr
    dtype_acc: EnumExpr
    dtype_c: EnumExpr
    persistent: BoolExpr
    transpose_c: BoolExpr
    permute_n: BoolExpr
    num_d: IntExpr
    elementwise_op: EnumExpr
    k_block_per_cu: IntExpr
    streamk: EnumExpr

    # -- layouts and types -------------------------------------------------------------------

    @property
    def archs(self) -> tuple[str, ...]:
        """The GPUs that points may name."""
        return tuple(domain_of(self.arch).values)

    def letter(self, place: int, word: str) -> BoolExpr:
        """Where a letter of the layout is this one; places count A, B, C, D."""
        known = domain_of(self.layout).values
        fit = [text for text in known if len(text) > place and text[place] == word]
        return self.layout.isin(*fit)

    @cached_property
    def a_transposed(self) -> BoolExpr:
        """True where M, not K, is contiguous in A."""
        return self.letter(0, "c")

    @cached_property
    def b_transposed(self) -> BoolExpr:
        """True where N, not K, is contiguous in B."""
        return self.letter(1, "r")

    @property
    def reads_interwave(self) -> BoolExpr:
        """Where the block GEMM is that of scheduler interwave; pre-shuffled weights have their own."""
        return super().reads_interwave & ~self.shuffled_b

    @cached_property
    def c_row(self) -> BoolExpr:
        """True where N is contiguous in C."""
        return self.letter(2, "r")

    @cached_property
    def has_d(self) -> BoolExpr:
        """True where the kernel applies D tensors: always in multi_d, in grouped if it has any."""
        return (self.variant == "multi_d") | ((self.variant == "grouped") & (self.num_d >= 1))

    @cached_property
    def d_row(self) -> BoolExpr:
        """True where rows of every D are contiguous."""
        return self.has_d & self.letter(3, "r")

    @cached_property
    def d_column(self) -> BoolExpr:
        """True where columns of every D are contiguous."""
        return self.has_d & self.letter(3, "c")

    @cached_property
    def one_buffer(self) -> BoolExpr:
        """True where the kernel hands the pipeline one LDS buffer whatever double_smem_buffer is."""
        return self.variant.isin(*ONE_BUFFER)

    @cached_property
    def shuffled_b(self) -> BoolExpr:
        """True where the pipeline reads weights that were shuffled beforehand."""
        return self.pipeline == "preshufflev2"

    @property
    def truncated(self) -> BoolExpr:
        """Pre-shuffled weights have a block GEMM without the assertion, too (GEMM047).

        CShuffle asserts it of rows of permuted columns where a shuffle would take several warp tiles.
        """
        single = self.lane_elements >= self.vector_c
        return super().truncated | self.unchecked(self.from_registers & single)

    @property
    def truncated_n(self) -> BoolExpr:
        """The same, of columns, of which permuted ones go from registers to memory."""
        return super().truncated | self.unchecked(self.from_registers)

    def unchecked(self, permuted: BoolExpr) -> BoolExpr:
        """Where no epilogue goes over the tile of pre-shuffled weights: of permuted ones in 2025.11."""
        default = self.epilogue == "default"
        return self.shuffled_b & (default | permuted if self.ck == "2025.11" else default)

    @cached_property
    def mixed(self) -> BoolExpr:
        """True where A and B have different 8-bit types."""
        return self.dtype.isin("fp8_bf8", "bf8_fp8")

    @cached_property
    def narrow_b(self) -> BoolExpr:
        """True where B has 4 bits, two elements to a byte."""
        return self.dtype.isin("fp16_i4", "bf16_i4")

    @cached_property
    def narrow_a(self) -> BoolExpr:
        """Never: A has 4 bits in quantised kernels only."""
        return FALSE

    @property
    def neighbouring_results(self) -> BoolExpr:
        """As of the GPU, and of int4 operands everywhere."""
        return super().neighbouring_results | self.narrow_a | self.narrow_b

    @quantity_in("bytes")
    def b_element_bytes(self) -> IntExpr:
        """Size of an element of B, of which int4 weights hold two."""
        return ite(self.narrow_b, 1, self.element_bytes)

    @property
    def b_bytes(self) -> IntExpr:
        """Size of an element of B."""
        return self.b_element_bytes

    @quantity_in("bytes")
    def output_bytes(self) -> IntExpr:
        """Size of an element of C."""
        node: IntExpr = lookup(self.facts["output_bytes"], self.dtype_c)
        return node

    # -- widths ------------------------------------------------------------------------------

    @quantity
    def computed_vector_b(self) -> IntExpr:
        """Elements of B that the pipeline itself would load at once."""
        extent = ite(self.b_transposed, self.tile_n, self.tile_k)
        plain = self.computed_width(extent, self.tile_n, self.element_bytes)
        return ite(self.narrow_b, self.narrow_width(extent, self.tile_n), plain)

    def narrow_width(self, extent: IntExpr, tile_mn: IntExpr) -> IntExpr:
        """`computed_width` of int4 elements: 32, 16 and 8 bytes are tried, and one is taken."""
        return widest((16, 32, 64), extent, tile_mn * self.tile_k // self.threads, otherwise=2)

    def width_for(self, extent: IntExpr, per_thread: IntExpr, size: IntExpr) -> IntExpr:
        """The widest of 16, 8 and, for larger elements, 4 bytes that divides both numbers."""
        one, two, four = (widest(w, extent, per_thread) for w in ((8, 16), (4, 8), (2, 4)))
        return ite(size == 1, one, ite(size == 2, two, four))

    @quantity
    def vector_a(self) -> IntExpr:
        """Elements of A that a thread loads at once."""
        return self.computed_vector_a

    @quantity
    def vector_b(self) -> IntExpr:
        """Elements of B that a thread loads at once."""
        return self.computed_vector_b

    @quantity
    def vector_c(self) -> IntExpr:
        """Elements of C that a thread of the CShuffle epilogue stores at once."""
        side = ite(self.c_row, self.warp_tile_n * self.wave_n, self.warp_tile_m * self.wave_m)
        return minimum(side, 16 // self.output_bytes)

    # -- warp GEMMs --------------------------------------------------------------------------

    def _has(self, table: str) -> BoolExpr:
        return rel(
            self.facts[table], self.dtype, self.transpose_c,
            self.warp_tile_m, self.warp_tile_n, self.warp_tile_k,
        )  # fmt: skip

    @cached_property
    def known_warp_tile(self) -> BoolExpr:
        """Where the headers have the warp GEMMs that epilogue and pipeline ask for."""
        pair = self._has("header_warp_tiles")
        known = pair & (
            ~(self.mixed & self.pipeline.isin(*ONE_TYPE)) | self._has("block_warp_tiles")
        )
        return (known | self._turned_fp32) if self.since("2026.06") else known

    @property
    def bytes_of_mfma(self) -> BoolExpr:
        """Where an 8-bit warp tile has a warp GEMM of MFMA: 16x16x16 has that of WMMA alone."""
        return any_of(self.warp_tile_m != 16, self.warp_tile_n != 16, self.warp_tile_k != 16)

    @property
    def _turned_fp32(self) -> BoolExpr:
        """Where fp32 has a warp GEMM for a transposed C that MFMA has not: a WMMA has one for both."""
        own = self.own_warp_tile & (self.wave_size == 32)
        return own & (self.dtype == "fp32") & self.transpose_c

    @quantity
    def lane_operand(self) -> IntExpr:
        """Elements of B's warp tile that a lane holds."""
        return self.warp_tile_n * self.warp_tile_k // self.wave_size

    @cached_property
    def accessible_warp_tile(self) -> BoolExpr:
        """Where a warp GEMM has the accesses that transposing reads of 8 bytes make."""
        step = 8 // self.element_bytes
        return (
            ((self.lane_operand == step) & self.known_warp_tile)
            | ((self.lane_operand == 2 * step) & self._has_access("double"))
            | ((self.lane_operand == 4 * step) & self._has_access("quad"))
        )

    @cached_property
    def _lane_b(self) -> IntExpr:
        """Elements of a warp tile's B that a lane holds, with those that others hold, too."""
        return ite(self.warp_tile_n == 4, self.warp_tile_k, self.lane_operand)

    def _has_access(self, times: str) -> BoolExpr:
        both = self.a_transpose_load & self.b_transpose_load
        if self.since("2026.06"):  # these count one number of accesses for both operands
            both = both | self.pipeline.isin("compv4", "compv6")
        apart = self._has(f"{times}_apart_tiles")
        return (both & self._has(f"{times}_access_tiles")) | (~both & apart)

    @quantity
    def widened_b(self) -> IntExpr:
        """Elements of int4 weights that a lane widens at once."""
        warp_tiles = self.repeat_n * (self.tile_k // self.warp_tile_k)
        tile = warp_tiles * self._lane_b
        return tile if self.widens_tile else ite(self.shuffled_b, self._lane_b, tile)

    @property
    def widens_tile(self) -> bool:
        """Whether pre-shuffled weights, too, are widened by the block tile, not by the warp tile."""
        return self.since("2026.06")

    @quantity
    def neighbours_b(self) -> IntExpr:
        """Elements of B side by side along K that a lane holds."""
        turned = self.a_transpose_load | self.b_transpose_load
        return ite(turned, minimum(8 // self.element_bytes, self._lane_b), self._lane_b)

    # -- sums ------------------------------------------------------------------------------

    @property
    def own_register_terms(self) -> dict[str, IntExpr]:
        """What is transposed or widened has a place for both; weights go straight to registers."""
        a: IntExpr = ite(self.a_shuffled, self.tile_m * self.a_bytes, 0)
        b: IntExpr = ite(self.b_shuffled, self.tile_n * self.b_bytes, 0)
        rows: IntExpr = ite(self.narrow_a, self.tile_m // self.wave_m, 0)
        columns: IntExpr = ite(self.narrow_b, self.tile_n // self.wave_n, 0)
        widened = (rows + columns) * self.tile_k * self.element_bytes
        return {
            "operands widened": widened // (4 * self.wave_size),
            "operands of weights": ite(self.pipeline == "preshufflev2", self.operand_vgprs, 0),
            "staged and padded": ite(self.pad_k, self.staging_vgprs, 0),
            "staged and turned": (a + b) * self.tile_k // (4 * self.load_lanes),
        }

    @quantity
    def mem_stages(self) -> IntExpr:
        """Block tiles that pipeline mem has under way at once."""
        a: IntExpr = ite(self.narrow_a, self.tile_m // 2, self.tile_m * self.a_bytes)
        b: IntExpr = ite(self.narrow_b, self.tile_n // 2, self.tile_n * self.b_bytes)
        tile = (a + b) * self.tile_k
        blocks = maximum(4 // self.waves, 1)
        return minimum(maximum(ceil_div(32768 // blocks, tile), 2), 8)

    @quantity
    def store_width(self) -> IntExpr:
        """Elements of C that the argument check counts as stored at once."""
        rows: IntExpr = ite(self.transpose_c, self.lane_rows, 1)
        columns: IntExpr = ite(self.transpose_c, 1, self.lane_rows)
        plain = ite(self.c_row, rows, columns)
        return ite(self.epilogue == "cshuffle", self.vector_c, plain)

    @quantity_in("bytes")
    def stored_bytes(self) -> IntExpr:
        """What of C the argument check counts as stored at once."""
        return self.store_width * self.output_bytes

    @quantity
    def splits_k(self) -> BoolExpr:
        """Whether the kernel is built for sums in parts, whose results are added to memory."""
        plain = self.variant.isin("standard", "batched") | (
            (self.variant == "grouped") & (self.num_d == 0)
        )
        # an integer of each part loses its fraction, and 8-bit floats are added by address
        kept = self.dtype_c.isin("fp16", "bf16", "fp32") | ~self.fp32_sums
        return all_of(plain, self.adds_results, kept, ~self.dtype_c.isin("fp8", "bf8"))

    @property
    def adds_by_address(self) -> BoolExpr:
        """Where results are not added through the tensor's buffer, which leaves out rows beyond it."""
        floats = (self.dtype_c == "bf16") & ~self.has("bf16_buffer_atomics")
        return self.c_row & (self.dtype_c.isin("fp8", "bf8") | floats)

    @cached_property
    def adds_results(self) -> BoolExpr:
        """True where results of their type and width can be added to memory."""
        # a C with columns contiguous is viewed by element (MakeGemmTensorViews)
        width: IntExpr = ite(self.c_row, self.store_width, 1)
        # permuted columns go from registers, as many of a lane's warp tiles as divide their number
        kept, together = self.from_registers, self.repeat_n
        singles = kept | width.isin(1, 2, 4)
        pairs = ite(kept, together % 2 == 0, width.isin(2, 4, 8))
        fours = ite(kept, together % 4 == 0, width.isin(4, 8, 16))
        added = any_of(
            self.dtype_c.isin("fp32", "int32") & singles,
            self.dtype_c.isin("fp16", "bf16") & pairs,
            self.dtype_c.isin("fp8", "bf8") & fours,
        )
        # the raw form of the addition takes windows that no epilogue makes
        raw = (self.epilogue == "default") & (self.pad_m | self.pad_n)
        return added & ~raw

    @property
    def fp32_sums(self) -> BoolExpr:
        """Where sums have type fp32."""
        return self.dtype_acc == "fp32"

    @property
    def holds_eight(self) -> BoolExpr:
        """Where a lane has 8 results of a row of transposed products: of a gfx12's warp GEMM.

        That is the warp GEMM of 8-bit floats on every GPU with waves of 32. Of fp32, and of warp
        tiles that gfx11 and gfx12 do not have, it is an MFMA's.
        """
        square = (self.warp_tile_m == 16) & (self.warp_tile_k == 16)
        floats = square & (self.element_bytes == 1) & self.fp32_sums
        own = self.own_warp_tile & ~self.has("result_rows_apart")
        return (self.wave_size == 32) & (own | floats)

    @property
    def whole_stores(self) -> BoolExpr:
        """Where stores of results are not split: those of int32."""
        return self.dtype_c == "int32"

    @property
    def shares_tiles(self) -> BoolExpr:
        """Where blocks leave the sums of a tile's parts in memory."""
        return self.streamk == "linear"

    @cached_property
    def keeps_fp32(self) -> BoolExpr:
        """Where results are converted one by one: from registers, or by the operation on D."""
        return self.from_registers | self.operates_on_sums

    @cached_property
    def operates_on_sums(self) -> BoolExpr:
        """Where the operation on D takes sums as numbers of fp32."""
        operated = self.elementwise_op.isin("add", "multiply") & (self.epilogue == "default")
        return operated & (self.num_d > 0)

    @cached_property
    def from_registers(self) -> BoolExpr:
        """Where results go from registers to memory: those of permuted columns."""
        return self.permute_n & (self.epilogue == "cshuffle")

    @property
    def whole_tile(self) -> BoolExpr:
        """Where the block tile is a multiple of waves and warp tiles along M, N and K."""
        return all_of(
            self.tile_m % (self.wave_m * self.warp_tile_m) == 0,
            self.tile_n % (self.wave_n * self.warp_tile_n) == 0,
            self.tile_k % (self.wave_k * self.warp_tile_k) == 0,
        )

    @property
    def launch_blocks(self) -> IntExpr:
        """The launch bound: k_block_per_cu."""
        return self.k_block_per_cu

    # -- LDS ---------------------------------------------------------------------------------

    @quantity_in("bytes")
    def pipeline_lds(self) -> IntExpr:
        """LDS that the pipeline asks for; with pre-shuffled weights B is not staged."""
        stage = self.stage_bytes
        double = self.pipeline.isin("compv4", "comp_async")
        alone = self.tile_m * self.tile_k * self.a_bytes
        if self.since("2026.06"):
            alone, staged = 2 * alone, ite(double, 2 * stage, stage)
        else:
            staged = stage
        # compv5 adds the partial sums of its two waves through LDS
        summed = maximum(stage, round_up(4 * self.tile_m * self.tile_n, 16))
        return ite(self.shuffled_b, alone, ite(self.pipeline == "compv5", summed, staged))

    @property
    def lds_arrays(self) -> IntExpr:
        """Arrays in LDS: kernels that know one buffer declare one."""
        return ite(self.one_buffer, 1, super().lds_arrays)
