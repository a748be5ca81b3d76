"""Derived quantities of a kernel that is a GEMM: threads, operand tiles, LDS bytes.

A is M x K, B is N x K and C is M x N; a family says which operands are contiguous in M or N
instead of K (`TileGemmTiles.a_transposed`, `TileGemmTiles.b_transposed`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

from ckrules.constraints.tile_gemm.fields import TileGemmFields
from ckrules.constraints.tile_gemm.pattern import TileDistribution, extent_of
from ckrules.engine.expr import (
    FALSE,
    BoolExpr,
    IntExpr,
    const,
    ite,
    lookup,
    maximum,
    minimum,
    rel,
    round_up,
)
from ckrules.engine.rules.book import quantity, quantity_in

#: Pipelines whose block GEMM takes A and B from registers, and asserts nothing about the tile.
_FROM_REGISTERS = ("compv4", "compv5", "compv6", "comp_async", "basic_async_v1")


def widest(
    widths: Sequence[int], extent: IntExpr, per_thread: IntExpr, otherwise: int = 1
) -> IntExpr:
    """The last of ascending widths that divides both numbers of elements."""
    out: IntExpr = const(otherwise)
    for width in widths:
        out = ite((extent % width == 0) & (per_thread % width == 0), width, out)
    return out


class TileGemmTiles(TileGemmFields, ABC):
    """Fields, facts, and what of threads, tiles and LDS several rules share.

    Args:
        variables: The fields, in the order in which points show them.
        facts: The tables of `ckrules.constraints.tile_gemm.facts`, and the family's own.
    """

    def has(self, feature: str) -> BoolExpr:
        """True where the GPU has the feature (`ckrules.arch.features`)."""
        return rel(self.facts[feature], self.arch)

    # -- what a family says, or says differently --------------------------------------------

    @property
    @abstractmethod
    def a_transposed(self) -> BoolExpr:
        """True where M, not K, is contiguous in A."""

    @property
    @abstractmethod
    def b_transposed(self) -> BoolExpr:
        """True where N, not K, is contiguous in B."""

    @property
    def shuffles_singly(self) -> BoolExpr:
        """True where the epilogue is told of two LDS buffers, and then shuffles single warp tiles.

        That is an argument of its own, which no generator of GEMMs passes: upstream's do not, and
        their kernels with two buffers shuffle as others do (ROCm/rocm-libraries#9684).

        Source: ops/epilogue/cshuffle_epilogue.hpp, CShuffleEpilogueProblem DoubleSmemBuffer_ = false
        (CK 2026.06); tile_engine/ops/gemm/gemm_instance_builder.py, EpilogueProblem (CK 2026.06).
        """
        return FALSE

    @property
    def a_bytes(self) -> IntExpr:
        """Size of an element of A."""
        return self.element_bytes

    @property
    def b_bytes(self) -> IntExpr:
        """Size of an element of B."""
        return self.element_bytes

    @property
    def reads_interwave(self) -> BoolExpr:
        """Where the block GEMM is that of scheduler interwave."""
        return self.scheduler == "interwave"

    @property
    def swizzled_layout(self) -> BoolExpr:
        """True for pipelines that since 2026.06 take an LDS layout of the family's own.

        It swizzles, and neither folds nor pads.
        """
        return FALSE

    @property
    def gemm_layout(self) -> BoolExpr:
        """True for pipelines that since 2026.06 take the LDS layout of plain GEMMs.

        (UniversalGemmPipelineAgBgCrPolicy)
        """
        return self.pipeline.isin("mem", "compv3", "compv4", "compv5", "compv6")

    # -- waves and threads ----------------------------------------------------------------

    @quantity
    def wave_size(self) -> IntExpr:
        """Lanes of a wave."""
        node: IntExpr = lookup(self.facts["wave_size"], self.arch)
        return node

    @quantity
    def waves(self) -> IntExpr:
        """Waves of a block that compute."""
        return self.wave_m * self.wave_n * self.wave_k

    @quantity
    def threads(self) -> IntExpr:
        """Threads of a block that compute."""
        return self.waves * self.wave_size

    @quantity
    def launch_threads(self) -> IntExpr:
        """Threads of a block as launched: wavelet adds 4 waves that only load."""
        total: IntExpr = ite(self.pipeline == "wavelet", self.waves + 4, self.waves)
        return total * self.wave_size

    @quantity
    def load_waves(self) -> IntExpr:
        """Waves that load A and B from global memory."""
        return ite(self.pipeline == "wavelet", 4, self.waves)

    # -- types ----------------------------------------------------------------------------

    @quantity_in("bytes")
    def element_bytes(self) -> IntExpr:
        """Size of an element of A and B."""
        node: IntExpr = lookup(self.facts["element_bytes"], self.dtype)
        return node

    @quantity_in("bytes")
    def output_bytes(self) -> IntExpr:
        """Size of an element that the epilogue stores."""
        return self.element_bytes

    @cached_property
    def stores_floats(self) -> BoolExpr:
        """True where results are stored as fp32, fp16 or bf16."""
        return self.output_bytes >= 2

    @cached_property
    def odd_halves(self) -> BoolExpr:
        """True where 16-bit results are stored an odd number at a time: atomics take pairs."""
        return (self.output_bytes == 2) & (self.vector_c % 2 == 1)

    @quantity
    def adds_atomically(self) -> BoolExpr:
        """Whether CShuffle has an atomic addition of its width, which split-K needs."""
        width: BoolExpr = ite(
            self.output_bytes == 2, self.c.width.isin(2, 4, 8), self.c.width.isin(1, 2, 4)
        )
        return (self.epilogue == "cshuffle") & width

    # -- thread distributions of the three operands ----------------------------------------

    @cached_property
    def a(self) -> TileDistribution:
        """How the block tile of A is loaded."""
        return self._load("a", *self._a_tile, self.vector_a)

    @cached_property
    def b(self) -> TileDistribution:
        """How the block tile of B is loaded."""
        return self._load("b", *self._b_tile, self.vector_b)

    @property
    def _a_tile(self) -> tuple[IntExpr, IntExpr]:
        """A's elements along its contiguous dimension, and along the other."""
        extent: IntExpr = ite(self.a_transposed, self.tile_m, self.tile_k)
        return extent, ite(self.a_transposed, self.tile_k, self.tile_m)

    @property
    def _b_tile(self) -> tuple[IntExpr, IntExpr]:
        extent: IntExpr = ite(self.b_transposed, self.tile_n, self.tile_k)
        return extent, ite(self.b_transposed, self.tile_k, self.tile_n)

    def _load(self, name: str, extent: IntExpr, rows: IntExpr, vector: IntExpr) -> TileDistribution:
        return TileDistribution(
            name, extent, rows, vector, self.load_waves, self.wave_size, self.num_wave_groups,
            several_passes=self.since("2026.06"),
        )  # fmt: skip

    @cached_property
    def c(self) -> TileDistribution:
        """How the CShuffle epilogue stores one slice of the block tile."""
        return TileDistribution(
            "c", self.shuffle_n, self.shuffle_m, self.vector_c, self.wave_m * self.wave_n,
            self.wave_size, self.num_wave_groups, several_passes=self.since("2026.06"),
        )  # fmt: skip

    def computed_width(self, extent: IntExpr, tile_mn: IntExpr, size: IntExpr) -> IntExpr:
        """The vector width that the pipeline computes for itself (GetGlobalVectorLoadSize).

        Args:
            extent: Elements of the tile along its contiguous dimension.
            tile_mn: Elements of the tile along M or N.
            size: Bytes of an element.
        """
        per_thread = tile_mn * self.tile_k // self.threads
        # 16, 8 and, for elements of 4 bytes, 4 bytes are tried; fp16 never gets 2 elements
        tried = {1: (8, 16), 2: (4, 8), 4: (2, 4)}
        smallest, *larger = sorted(set(self.facts["element_bytes"].rows.values()))
        node = widest(tried[smallest], extent, per_thread)
        for known in larger:
            node = ite(size == known, widest(tried[known], extent, per_thread), node)
        return node

    @quantity
    def computed_vector_a(self) -> IntExpr:
        """Elements of A that the pipeline itself would load at once."""
        return self.computed_width(extent_of("a", self._a_tile[0]), self.tile_m, self.a_bytes)

    @quantity
    def computed_vector_b(self) -> IntExpr:
        """Elements of B that the pipeline itself would load at once."""
        return self.computed_width(extent_of("b", self._b_tile[0]), self.tile_n, self.b_bytes)

    # -- CShuffle epilogue (ops/epilogue/cshuffle_epilogue.hpp) ----------------------------

    @quantity
    def lane_elements(self) -> IntExpr:
        """Accumulator elements of a warp tile that a lane holds."""
        return self.warp_tile_m * self.warp_tile_n // self.wave_size

    @cached_property
    def lane_rows(self) -> IntExpr:
        """Rows of a result that a lane holds side by side (kCM1PerLane)."""
        waves_of_32 = ite(self.has("result_rows_apart"), 1, 8)
        return ite(self.wave_size == 64, 4, waves_of_32)

    @property
    def asserted(self) -> BoolExpr:
        """Where the block GEMM asserts that waves cover the tile, or CShuffle does for it."""
        return ~self.pipeline.isin(_FROM_REGISTERS) | (self.epilogue == "cshuffle")

    @property
    def truncated(self) -> BoolExpr:
        """Where a tile that waves do not cover compiles, if they have a warp tile each."""
        return ~self.asserted

    @property
    def truncated_n(self) -> BoolExpr:
        """The same, of columns."""
        return self.truncated

    @property
    def known_warp_tile(self) -> BoolExpr:
        """Where the headers have a warp GEMM of this shape for the dtype."""
        return rel(
            self.facts["header_warp_tiles"],
            self.dtype, self.warp_tile_m, self.warp_tile_n, self.warp_tile_k,
        )  # fmt: skip

    @property
    def own_warp_tile(self) -> BoolExpr:
        """Where the GPU computes the warp tile with matrix instructions of its own."""
        return rel(
            self.facts["hardware_warp_tiles"],
            self.arch, self.dtype, self.warp_tile_m, self.warp_tile_n, self.warp_tile_k,
        )  # fmt: skip

    @property
    def neighbouring_results(self) -> BoolExpr:
        """Where CShuffle of 2026 stores a wave's warp tiles along N side by side, if told of several."""
        return self.has("eight_wave_pipeline")

    @quantity
    def repeat_m(self) -> IntExpr:
        """Warp tiles that a wave computes along M."""
        return self.tile_m // (self.warp_tile_m * self.wave_m)

    @quantity
    def shuffle_split(self) -> IntExpr:
        """Warp tiles along M that one shuffle wants, before it is limited."""
        big, small = self.lane_elements, self.vector_c
        if not self.since("2026.06"):
            big, small = small, big
        return ite(big <= small, 1, big // small)

    @quantity
    def shuffle_repeat(self) -> IntExpr:
        """Warp tiles along M that one shuffle through LDS takes."""
        wanted = minimum(self.shuffle_split, self.repeat_m)
        if not self.since("2026.06"):
            return wanted
        rows, columns = self.warp_tile_m * self.wave_m, self.warp_tile_n * self.wave_n
        over = rows * wanted * columns * self.output_bytes > lookup(
            self.facts["smem_capacity"], self.arch
        )
        return ite(self.shuffles_singly | over, 1, wanted)

    @quantity
    def shuffle_m(self) -> IntExpr:
        """Rows of the slice that one shuffle stores (the header falls back to one repeat)."""
        unit = self.warp_tile_m * self.wave_m
        slice_m = unit * self.shuffle_repeat
        return ite(self.tile_m % slice_m == 0, slice_m, unit)

    @quantity
    def shuffle_n(self) -> IntExpr:
        """Columns of the slice that one shuffle stores."""
        return self.warp_tile_n * self.wave_n

    # -- LDS (GetSmemSize of the pipelines and of the epilogue) ----------------------------

    @cached_property
    def a_transpose_load(self) -> BoolExpr:
        """True where A is read from LDS with the hardware's transpose load."""
        return self.a_transposed & self._transpose_load

    @cached_property
    def b_transpose_load(self) -> BoolExpr:
        """True where B is read from LDS with the hardware's transpose load."""
        return self.b_transposed & self._transpose_load

    @cached_property
    def a_shuffled(self) -> BoolExpr:
        """True where A is transposed in registers on its way to LDS."""
        return self.a_transposed & ~(self.a_transpose_load & ~self._own_transpose)

    @cached_property
    def b_shuffled(self) -> BoolExpr:
        """True where B is transposed in registers on its way to LDS."""
        return self.b_transposed & ~(self.b_transpose_load & ~self._own_transpose)

    @property
    def _own_transpose(self) -> BoolExpr:
        """Pipelines that transpose in registers whatever the hardware can."""
        return self.pipeline.isin("basic_v1", "compv5")

    @cached_property
    def _transpose_load(self) -> BoolExpr:
        return rel(self.facts["transpose_load"], self.arch, self.dtype, self.warp_tile_k)

    @cached_property
    def a_folded(self) -> BoolExpr:
        """True where A is transposed through registers into folded LDS rows, since 2026.06."""
        return self._folded & self.a_transposed & ~self.a_transpose_load

    @cached_property
    def b_folded(self) -> BoolExpr:
        """True where B is transposed through registers into folded LDS rows, since 2026.06."""
        return self._folded & self.b_transposed & ~self.b_transpose_load

    @cached_property
    def _folded(self) -> BoolExpr:
        return self.gemm_layout & (self.wave_size == 64)

    @quantity_in("bytes")
    def stage_bytes(self) -> IntExpr:
        """LDS of one staged pair of A and B tiles, each rounded up to 16 bytes."""
        a = self._staged(self.tile_m, self.a_bytes, self.a_transpose_load)
        return a + self._staged(self.tile_n, self.b_bytes, self.b_transpose_load)

    @quantity
    def rows_in_banks(self) -> IntExpr:
        """Rows of A that lie side by side in LDS, so that they fill the banks (MLdsLayer)."""
        return self._in_banks(self.tile_k, self.a_bytes)

    def _in_banks(self, extent: IntExpr, size: IntExpr) -> IntExpr:
        banks: IntExpr = lookup(self.facts["lds_banks"], self.arch)
        return maximum(1, banks * 4 // (extent * size))

    def _staged(self, tile_mn: IntExpr, size: IntExpr, transpose_load: BoolExpr) -> IntExpr:
        elements = tile_mn * self.tile_k
        banks: IntExpr = lookup(self.facts["lds_banks"], self.arch)
        # as many rows as fill the banks, then 16 bytes; none after the last
        rows = tile_mn // self._in_banks(self.tile_k, size)
        straight = 16 * maximum(rows - 1, 0)
        # likewise for transpose loads, with 16 elements; a narrow tile needs none
        columns = self.tile_k // self._in_banks(tile_mn, size)
        turned: IntExpr = ite(
            tile_mn * size // 4 * 8 <= banks, 0, 16 * size * maximum(columns - 1, 0)
        )
        padding: IntExpr = ite(
            self.has("lds_row_padding") & ~self.swizzled_layout,
            ite(transpose_load, turned, straight),
            0,
        )
        return round_up(elements * size + padding, 16)

    @quantity_in("bytes")
    def pipeline_lds(self) -> IntExpr:
        """LDS that the pipeline asks for."""
        stage = self.stage_bytes
        double = self.pipeline.isin("compv4", "comp_async")
        twice = 2 * stage if self.since("2026.06") else stage
        # compv5 adds the partial sums of its two waves through LDS
        summed = maximum(stage, round_up(4 * self.tile_m * self.tile_n, 16))
        return ite(double, twice, ite(self.pipeline == "compv5", summed, stage))

    @quantity_in("bytes")
    def epilogue_lds(self) -> IntExpr:
        """LDS that the epilogue asks for."""
        return ite(
            self.epilogue == "cshuffle",
            self.shuffle_m * self.shuffle_n * self.output_bytes,
            0,
        )

    @quantity_in("bytes")
    def lds_bytes(self) -> IntExpr:
        """LDS of a workgroup."""
        most = maximum(self.pipeline_lds, self.epilogue_lds)
        if self.since("2026.06"):
            return most
        return self.lds_arrays * most

    @property
    def lds_arrays(self) -> IntExpr:
        """Arrays that the kernel declares in LDS, until 2026.06: one for each buffer."""
        # the class of basic_v1 has a single one whatever the configuration says
        return ite(self.double_smem_buffer & (self.pipeline != "basic_v1"), 2, 1)
