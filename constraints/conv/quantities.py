"""Derived quantities of a grouped-convolution kernel: threads, operand tiles, LDS bytes.

GEMM roles (ops/grouped_convolution/utils/grouped_convolution_utils.hpp, GroupedConvTraits):

| variant    | A                          | B                     | C   |
| ---        | ---                        | ---                   | --- |
| forward    | input, K contiguous        | weight, K contiguous  | output |
| bwd_data   | output grad, K contiguous  | weight, N contiguous  | input grad |
| bwd_weight | output grad, M contiguous  | input, N contiguous   | weight grad |

Since 2026.06 forward with merged groups has A with M contiguous.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from ckrules.constraints.conv.pattern import Pattern
from ckrules.engine.book import Vocabulary, quantity, quantity_in
from ckrules.engine.expr import (
    BoolExpr,
    EnumExpr,
    Expr,
    IntExpr,
    const,
    ite,
    lookup,
    maximum,
    minimum,
    rel,
    round_up,
)
from ckrules.engine.rules import version_key
from ckrules.engine.table import Table

#: The estimate of registers: a constant by wave size, and a weight of each term in eighths.
#: Of the kernels of tests/data/vgprs.jsonl (clang 19, -O3, gfx90a, gfx942 and gfx1201), each left
#: out of the fit in turn, half are within 25 %, nine of ten within 60 %, all within a factor of 3.
VGPR_BASE: Mapping[int, int] = {64: 32, 32: 38}
VGPR_WEIGHTS: Mapping[str, Mapping[int, int]] = {
    "accumulator_vgprs": {64: 10, 32: 8},
    "operand_vgprs": {64: 8, 32: 6},
    "staging_vgprs": {64: 24, 32: 32},
}


class Fields(Vocabulary):
    """The fields of a point, typed for rule functions."""

    variant: EnumExpr
    arch: EnumExpr
    dtype: EnumExpr
    ndim: IntExpr
    layout: EnumExpr
    tile_m: IntExpr
    tile_n: IntExpr
    tile_k: IntExpr
    wave_m: IntExpr
    wave_n: IntExpr
    wave_k: IntExpr
    warp_tile_m: IntExpr
    warp_tile_n: IntExpr
    warp_tile_k: IntExpr
    pipeline: EnumExpr
    scheduler: EnumExpr
    epilogue: EnumExpr
    vector_a: IntExpr
    vector_b: IntExpr
    vector_c: IntExpr
    double_smem_buffer: BoolExpr
    num_wave_groups: IntExpr
    num_groups_to_merge: IntExpr
    pad_m: BoolExpr
    pad_n: BoolExpr
    pad_k: BoolExpr
    specialization: EnumExpr
    two_stage: BoolExpr
    explicit_gemm: BoolExpr
    split_image: BoolExpr
    streamk: EnumExpr
    streamk_persistent: BoolExpr


class Quantities(Fields):
    """Fields, GPU facts and the quantities that several rules share."""

    def __init__(self, variables: Iterable[Expr], facts: Mapping[str, Table], ck: str) -> None:
        super().__init__(variables)
        self.facts, self.ck = facts, ck

    def since(self, version: str) -> bool:
        """True if the headers are this version or newer."""
        return version_key(self.ck) >= version_key(version)

    def has(self, feature: str) -> BoolExpr:
        """True where the GPU has the feature (`ckrules.arch.FEATURES`)."""
        return rel(self.facts[feature], self.arch)

    # -- directions -----------------------------------------------------------------------

    @property
    def forward(self) -> BoolExpr:
        """Forward convolution."""
        return self.variant == "forward"

    @property
    def backward(self) -> BoolExpr:
        """Backward data or backward weight."""
        return self.variant.isin("bwd_data", "bwd_weight")

    @property
    def bwd_weight(self) -> BoolExpr:
        """Backward weight."""
        return self.variant == "bwd_weight"

    @cached_property
    def a_transposed(self) -> BoolExpr:
        """True where M, not K, is contiguous in A."""
        merged = self.forward & (self.num_groups_to_merge > 1)
        return self.bwd_weight | merged if self.since("2026.06") else self.bwd_weight

    @cached_property
    def b_transposed(self) -> BoolExpr:
        """True where N, not K, is contiguous in B."""
        return self.backward

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
        node: IntExpr = ite(self.pipeline == "wavelet", 4, self.waves)
        return node

    # -- types ----------------------------------------------------------------------------

    @quantity_in("bytes")
    def element_bytes(self) -> IntExpr:
        """Size of an element of A and B."""
        node: IntExpr = lookup(self.facts["element_bytes"], self.dtype)
        return node

    @quantity_in("bytes")
    def output_bytes(self) -> IntExpr:
        """Size of an element that the epilogue stores: fp32 into a two-stage workspace."""
        node: IntExpr = ite(self.two_stage, 4, self.element_bytes)
        return node

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
    def a(self) -> Pattern:
        """How the block tile of A is loaded."""
        extent: IntExpr = ite(self.a_transposed, self.tile_m, self.tile_k)
        rows: IntExpr = ite(self.a_transposed, self.tile_k, self.tile_m)
        return self._load("a", extent, rows, self.vector_a)

    @cached_property
    def b(self) -> Pattern:
        """How the block tile of B is loaded."""
        extent: IntExpr = ite(self.b_transposed, self.tile_n, self.tile_k)
        rows: IntExpr = ite(self.b_transposed, self.tile_k, self.tile_n)
        return self._load("b", extent, rows, self.vector_b)

    def _load(self, name: str, extent: IntExpr, rows: IntExpr, vector: IntExpr) -> Pattern:
        return Pattern(
            name, extent, rows, vector, self.load_waves, self.wave_size, self.num_wave_groups,
            several_passes=self.since("2026.06"),
        )  # fmt: skip

    @cached_property
    def c(self) -> Pattern:
        """How the CShuffle epilogue stores one slice of the block tile."""
        return Pattern(
            "c", self.shuffle_n, self.shuffle_m, self.vector_c, self.wave_m * self.wave_n,
            self.wave_size, self.num_wave_groups, several_passes=self.since("2026.06"),
        )  # fmt: skip

    def computed_width(self, extent: IntExpr, tile_mn: IntExpr) -> IntExpr:
        """The vector width that the pipeline computes for itself (GetGlobalVectorLoadSize)."""
        per_thread = tile_mn * self.tile_k // self.threads

        def first(widths: tuple[int, ...]) -> IntExpr:
            out: IntExpr = const(1)
            for w in sorted(widths):
                out = ite((extent % w == 0) & (per_thread % w == 0), w, out)
            return out

        # 16, 8 and, for elements of 4 bytes, 4 bytes are tried; fp16 never gets 2 elements
        node: IntExpr = ite(self.element_bytes == 4, first((4, 2)), first((8, 4)))
        return node

    @quantity
    def computed_vector_a(self) -> IntExpr:
        """Elements of A that the pipeline itself would load at once."""
        return self.computed_width(self.a.extent, self.tile_m)

    @quantity
    def computed_vector_b(self) -> IntExpr:
        """Elements of B that the pipeline itself would load at once."""
        return self.computed_width(self.b.extent, self.tile_n)

    # -- CShuffle epilogue (ops/epilogue/cshuffle_epilogue.hpp) ----------------------------

    @quantity
    def lane_elements(self) -> IntExpr:
        """Accumulator elements of a warp tile that a lane holds."""
        return self.warp_tile_m * self.warp_tile_n // self.wave_size

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
        node: IntExpr = ite(big <= small, 1, big // small)
        return node

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
        node: IntExpr = ite(self.double_smem_buffer | over, 1, wanted)
        return node

    @quantity
    def shuffle_m(self) -> IntExpr:
        """Rows of the slice that one shuffle stores (the header falls back to one repeat)."""
        unit = self.warp_tile_m * self.wave_m
        slice_m = unit * self.shuffle_repeat
        node: IntExpr = ite(self.tile_m % slice_m == 0, slice_m, unit)
        return node

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
    def _transpose_load(self) -> BoolExpr:
        return rel(self.facts["transpose_load"], self.arch, self.dtype, self.warp_tile_k)

    @cached_property
    def conv_layout(self) -> BoolExpr:
        """True for pipelines that since 2026.06 take convolution's own LDS layout.

        It swizzles, and neither folds nor pads (GroupedConvUniversalPipelineAgBgCrPolicy).
        """
        return self.pipeline.isin("basic_v1", "basic_v2", "mem", "compv3", "wavelet")

    @cached_property
    def gemm_layout(self) -> BoolExpr:
        """True for pipelines that since 2026.06 take the LDS layout of plain GEMMs."""
        return self.pipeline.isin("compv4", "compv5", "compv6")

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
        a = self._staged(self.tile_m, self.a_transpose_load)
        return a + self._staged(self.tile_n, self.b_transpose_load)

    def _staged(self, tile_mn: IntExpr, transpose_load: BoolExpr) -> IntExpr:
        elements = tile_mn * self.tile_k
        size = self.element_bytes
        banks: IntExpr = lookup(self.facts["lds_banks"], self.arch)
        # as many rows as fill the banks, then 16 bytes; none after the last
        rows = tile_mn // maximum(1, banks * 4 // (self.tile_k * size))
        straight = 16 * maximum(rows - 1, 0)
        # likewise for transpose loads, with 16 elements; a narrow tile needs none
        columns = self.tile_k // maximum(1, banks * 4 // (tile_mn * size))
        turned: IntExpr = ite(
            tile_mn * size // 4 * 8 <= banks, 0, 16 * size * maximum(columns - 1, 0)
        )
        padding: IntExpr = ite(
            self.has("lds_row_padding") & ~self.conv_layout,
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
        node: IntExpr = ite(double, twice, ite(self.pipeline == "compv5", summed, stage))
        return node

    @quantity_in("bytes")
    def epilogue_lds(self) -> IntExpr:
        """LDS that the epilogue asks for."""
        node: IntExpr = ite(
            self.epilogue == "cshuffle",
            self.shuffle_m * self.shuffle_n * self.output_bytes,
            0,
        )
        return node

    @quantity_in("bytes")
    def lds_bytes(self) -> IntExpr:
        """LDS of a workgroup."""
        most = maximum(self.pipeline_lds, self.epilogue_lds)
        if self.since("2026.06"):
            return most
        # two arrays; the class of basic_v1 has a single one whatever the configuration says
        two = self.double_smem_buffer & (self.pipeline != "basic_v1")
        node: IntExpr = ite(two, 2 * most, most)
        return node

    # -- registers (an estimate, fitted by scripts/fit_vgprs.py) ----------------------------

    @quantity
    def accumulator_vgprs(self) -> IntExpr:
        """Registers of a lane that hold its share of the fp32 sums."""
        return self.tile_m * self.tile_n // (self.wave_m * self.wave_n * self.wave_size)

    @quantity
    def operand_vgprs(self) -> IntExpr:
        """Registers of a lane that its wave's A and B of one block tile take."""
        rows = self.tile_m // self.wave_m + self.tile_n // self.wave_n
        return rows * self.tile_k * self.element_bytes // (4 * self.wave_size)

    @quantity
    def staging_vgprs(self) -> IntExpr:
        """Registers of a lane that hold what it loads of A and B for one block tile."""
        elements = (self.tile_m + self.tile_n) * self.tile_k
        return elements * self.element_bytes // (4 * self.load_waves * self.wave_size)

    @quantity
    def vgprs(self) -> IntExpr:
        """Vector registers of a lane, accumulation registers included (estimate: 9 of 10 within 60 %)."""
        wide = self.wave_size == 64
        parts = (
            (self.accumulator_vgprs, VGPR_WEIGHTS["accumulator_vgprs"]),
            (self.operand_vgprs, VGPR_WEIGHTS["operand_vgprs"]),
            (self.staging_vgprs, VGPR_WEIGHTS["staging_vgprs"]),
        )
        total: IntExpr = ite(wide, VGPR_BASE[64], VGPR_BASE[32])
        eighths: IntExpr = const(0)
        for term, weight in parts:
            eighths = eighths + term * ite(wide, weight[64], weight[32])
        return minimum(total + eighths // 8, ite(wide, 512, 256))

    @property
    def quantities(self) -> dict[str, Expr]:
        """Every derived quantity by name, those of the operands' distributions last."""
        return {**super().quantities, **self.a.terms, **self.b.terms, **self.c.terms}
