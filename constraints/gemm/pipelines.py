"""GEMM: which pipelines GEMM kernels take, and what they ask beside what they ask of every GEMM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.citations import BOTH, LATER
from ckrules.constraints.gemm.quantities import ONE_TYPE, GemmQuantities
from ckrules.constraints.tile_gemm.pipelines import widths_are_direct
from ckrules.engine.expr import FALSE, BoolExpr, all_of, ite
from ckrules.engine.rules import rule

_DIR = "ops/gemm/pipeline"
_KERNEL = "ops/gemm/kernel/universal_gemm_kernel.hpp"
_WEIGHTS: Mapping[str, Any] = {
    "variant": "preshuffle",
    "pipeline": "preshufflev2",
    "double_smem_buffer": True,
}
#: The window of pre-shuffled weights has the lengths of a plain one.
_BY_CHANCE: Mapping[str, Any] = {
    "layout": "rrr", "tile_m": 32, "tile_n": 256, "tile_k": 16, "wave_m": 1, "wave_n": 16,
    "warp_tile_m": 16, "warp_tile_n": 16,
}  # fmt: skip
_MIXED: Mapping[str, Any] = {"dtype": "fp8_bf8"}
#: The half of an instruction of gfx1250.
_SHORT: Mapping[str, Any] = {
    "arch": "gfx1250", "dtype": "fp8", "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 32,
}  # fmt: skip


@rule(
    "GEMM020", "pipeline-not-for-gemm", kind="compile",
    says="no GEMM kernel takes {pipeline}",
    source=[f"{_DIR}/gemm_pipeline_agmem_bgmem_creg_v2.hpp: block GEMM of the universal policy has no such operator()",
            "dispatcher/codegen/unified_gemm_codegen.py: the pipelines that upstream generates (CK 2026.06, read)"],
    accepts=[{}, {"pipeline": "basic_v1"}],
    rejects=[{"pipeline": "basic_v2"}, {"pipeline": "wavelet"}],
)  # fmt: skip
def pipeline_takes_gemm(c: GemmQuantities) -> BoolExpr:
    """The pipeline is one that GEMM kernels compile with.

    Why: basic_v2 calls its block GEMM in a way that the universal policy's has not, and
    basic_async_v1 and wavelet belong to convolution.

    Fix: use mem or compv3.
    """
    return ~c.pipeline.isin("basic_v2", "basic_async_v1", "wavelet")


def _plain_fits(c: GemmQuantities) -> BoolExpr:
    """Where the window of pre-shuffled weights has the lengths of a plain one, by chance."""
    shuffled = (c.wave_n, c.warp_tile_k * c.warp_tile_n)
    plain = (ite(c.b_transposed, c.tile_k, c.tile_n), ite(c.b_transposed, c.tile_n, c.tile_k))
    return all_of(*(a == b for a, b in zip(shuffled, plain, strict=True)))


@rule(
    "GEMM052", "shuffled-weights-read-plainly", kind="compile",
    applies=lambda c: (c.variant == "preshuffle") & ~c.shuffled_b,
    says="{variant} with {pipeline}: the pipeline asserts a window of plain rows of B",
    source=[f"{_DIR}/gemm_pipeline_ag*.hpp: static_assert 'B block window has incorrect lengths for defined BLayout!'",
            f"{_KERNEL}: MakeGemmTileWindows (GemmPipeline::Preshuffle: flatNPerWarp, flatKPerWarp)",
            f"{_KERNEL}: MakeBBlockWindows {LATER}"],
    accepts=[{"variant": "preshuffle", **_BY_CHANCE}],
    rejects=[{"variant": "preshuffle"}, {"variant": "preshuffle", "pipeline": "basic_v1"},
             {"variant": "preshuffle", "@ck": "2026.06"}],
)  # fmt: skip
def shuffled_weights_are_not_plain(c: GemmQuantities) -> BoolExpr:
    """Kernels of the variant preshuffle use the pipeline preshufflev2.

    Why: the kernel gives the pipeline a window of pre-shuffled weights, and every other pipeline
    asserts that its lengths are those of the tile.

    Fix: use preshufflev2, or the variant standard.
    """
    return _plain_fits(c)


@rule(
    "GEMM021", "weights-and-pipeline-apart", kind="wrong-result",
    applies=lambda c: (c.variant != "preshuffle") | c.shuffled_b | _plain_fits(c),
    says="{variant} with {pipeline}: preshufflev2 alone reads pre-shuffled weights, and reads no others",
    source=[f"{_KERNEL}: MakeGemmTensorViews (GemmPipeline::Preshuffle)",
            f"{_DIR}/wp_pipeline_agmem_bgmem_creg_v2.hpp: WeightPreshufflePipelineAGmemBGmemCRegV2"],
    accepts=[{}, _WEIGHTS],
    rejects=[{"pipeline": "preshufflev2", "double_smem_buffer": True},
             {"variant": "preshuffle", **_BY_CHANCE}],
)  # fmt: skip
def weights_have_their_pipeline(c: GemmQuantities) -> BoolExpr:
    """Kernels of the variant preshuffle use the pipeline preshufflev2, and no others do.

    Why: the pipeline takes B in the order of its registers. Without the kernel's trait, or with
    another pipeline, one side reads B as the other did not write it. Other pipelines assert the
    window of B (GEMM052), which few tiles have by chance.

    Fix: change the variant or the pipeline.
    """
    return (c.variant == "preshuffle") == c.shuffled_b


@rule(
    "GEMM022", "buffers-of-gemm-pipeline", kind="compile", until="2026.06",
    applies=lambda c: c.pipeline.isin("compv6", "preshufflev2") & ~c.one_buffer,
    says=["{pipeline} needs double_smem_buffer = false",
          "{pipeline} needs double_smem_buffer = true"],
    source=f"{_KERNEL}: RunGemm and RunGemm2LDS (no matching operator())",
    accepts=[{"pipeline": "compv6"}, _WEIGHTS],
    rejects=[{"pipeline": "compv6", "double_smem_buffer": True},
             {**_WEIGHTS, "double_smem_buffer": False}],
)  # fmt: skip
def pipeline_takes_its_buffers(c: GemmQuantities) -> BoolExpr:
    """compv6 has double_smem_buffer off, and preshufflev2 has it on.

    Why: the kernel passes one LDS pointer or two, and each pipeline takes only one of the forms.
    Since 2026.06 all of them take one. (GEMM023 says what preshufflev2 asks then.)

    Fix: change double_smem_buffer.
    """
    return all_of(
        (c.pipeline != "compv6") | ~c.double_smem_buffer, ~c.shuffled_b | c.double_smem_buffer
    )


@rule(
    "GEMM023", "weights-without-double-buffer", kind="wrong-result", since="2026.06",
    applies=lambda c: c.shuffled_b,
    says="{pipeline} needs double_smem_buffer = true",
    source=["dispatcher/codegen/unified_gemm_codegen.py: DoubleSmemBuffer of preshufflev2 (CK 2026.06, read)",
            f"{_DIR}/wp_pipeline_agmem_bgmem_creg_v2.hpp: GetSmemSize, a_lds_blocks (CK 2026.09, read in ROCm/rocm-libraries @ 498ed36)"],
    accepts=[_WEIGHTS], rejects=[{**_WEIGHTS, "double_smem_buffer": False}],
)  # fmt: skip
def weights_take_two_buffers(c: GemmQuantities) -> BoolExpr:
    """preshufflev2 has double_smem_buffer on.

    Why: it alternates between two LDS buffers for A, whatever the field says, and asks for the
    second only where it is on. Nothing asserts it.

    Fix: set double_smem_buffer to true.
    """
    return c.double_smem_buffer


@rule(
    "GEMM024", "persistence-not-honoured", kind="wrong-result",
    applies=lambda c: c.persistent,
    says="{pipeline} does not pass the trait persistent on: most of C would never be computed",
    source=[f"{_KERNEL}: has_persistent_kernel (GemmPipeline::UsePersistentKernel)",
            f"{_DIR}/gemm_pipeline_ag_bg_cr_{{mem,comp_v3,comp_v4}}.hpp: UsePersistentKernel (others run)",
            f"{_DIR}/wp_pipeline_agmem_bgmem_creg_v2.hpp: UsePersistentKernel",
            f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_async.hpp: UsePersistentKernel (CK 2026.09, read in ROCm/rocm-libraries @ 01c432e)"],
    accepts=[{"persistent": True},
             {"persistent": True, "pipeline": "comp_async", "double_smem_buffer": True,
              "arch": "gfx950", "@ck": "2026.09"}],
    rejects=[{"persistent": True, "pipeline": "compv6"},
             {"persistent": True, "pipeline": "comp_async", "double_smem_buffer": True,
              "arch": "gfx950", "@ck": "2026.06"}],
)  # fmt: skip
def persistence_is_honoured(c: GemmQuantities) -> BoolExpr:
    """Persistent kernels use mem, compv3, compv4 or preshufflev2, since 2026.09 comp_async, too.

    Why: other pipelines lack the member that the kernel asks, so it computes one tile a block,
    while hosts launch as many blocks as run at once.

    Fix: turn persistent off or use another pipeline.
    """
    named = c.pipeline.isin("mem", "compv3", "compv4", "preshufflev2")
    return (named | (c.pipeline == "comp_async")) if c.since("2026.09") else named


@rule(
    "GEMM026", "mixed-types-read-as-one", kind="wrong-result", until="2026.06",
    applies=lambda c: c.mixed,
    says="{pipeline} computes {dtype} as if B had the type of A",
    source=f"{_DIR}/gemm_universal_pipeline_ag_bg_cr_policy.hpp: GetBlockGemm (ComputeDataType twice; compv3 and mem: run)",
    accepts=[{**_MIXED, "pipeline": "compv4", "double_smem_buffer": True}], rejects=[_MIXED],
)  # fmt: skip
def mixed_types_stay_apart(c: GemmQuantities) -> BoolExpr:
    """Mixed 8-bit types are used with a pipeline whose block GEMM knows both.

    Why: that of mem, compv3 and basic_v1 is built for the compute type, which is A's, on both
    sides; the bits of B are then read as the other 8-bit float. Since 2026.06 each operand has a
    compute type of its own.

    Fix: use compv4.
    """
    return ~c.pipeline.isin(*ONE_TYPE)


@rule(
    "GEMM088", "mixed-types-read-transposing", kind="compile", until="2026.06",
    applies=lambda c: c.mixed & c.pipeline.isin("mem", "compv3"),
    says="{pipeline} has no registers for B of {dtype} where LDS reads transpose it: layout = {layout}",
    source="ops/gemm/block/block_universal_gemm_as_bs_cr.hpp: LocalPrefetch, b_warp_tile_ = load_tile_transpose (no viable overloaded '=', seen with clang 22)",
    accepts=[{**_MIXED, "arch": "gfx950"}], rejects=[{**_MIXED, "arch": "gfx950", "layout": "rrr"}],
)  # fmt: skip
def mixed_types_are_not_transposed(c: GemmQuantities) -> BoolExpr:
    """mem and compv3 compute mixed 8-bit types where LDS reads do not transpose B.

    Why: the registers for B have the compute type, which is A's. A plain read leaves B's bits there
    (GEMM026); one that transposes hands over registers of B's own type.

    Fix: keep K contiguous in B, or use compv4.
    """
    return ~c.b_transpose_load


@rule(
    "GEMM030", "mixed-types-transposed", kind="compile",
    applies=lambda c: c.mixed & c.transpose_c,
    says="{pipeline} with a transposed C takes the registers of A for B's: {dtype} has two types",
    source=["ops/gemm/block/block_gemm_areg_breg_creg_v1.hpp: no viable overloaded '=' (seen with clang 19)",
            f"ops/gemm/warp/warp_gemm_attribute_mfma.hpp: WarpGemmAttributeMfmaTransposedCDistribution {BOTH}",
            f"ops/gemm/block/block_universal_gemm_as_bs_cr.hpp: ATypeToUse, BTypeToUse {LATER}"],
    accepts=[{**_MIXED, "transpose_c": True, "@ck": "2025.11"},
             {**_MIXED, "transpose_c": True, "arch": "gfx1201", "@ck": "2026.06"}],
    rejects=[{**_MIXED, "transpose_c": True, "pipeline": "compv4", "double_smem_buffer": True},
             {**_MIXED, "transpose_c": True, "@ck": "2026.06"}],
)  # fmt: skip
def transposed_types_are_one(c: GemmQuantities) -> BoolExpr:
    """A transposed C is computed from operands of one type where both come from registers.

    Why: transposing swaps the operands of the warp GEMM, and with them their types; the block
    GEMM of these pipelines hands each its own. That of mem, compv3 and basic_v1 had one type for
    both until 2026.06. WMMA does not swap types.

    Fix: turn transpose_c off.
    """
    one: BoolExpr = c.pipeline.isin(*ONE_TYPE)
    return one & (c.wave_size == 32) if c.since("2026.06") else one


@rule(
    "GEMM027", "access-of-transposing-reads", kind="compile", until="2026.06",
    applies=lambda c: ((c.a_transpose_load | c.b_transpose_load) & c.known_warp_tile
                       & (c.warp_tile_m == c.warp_tile_n) & (c.pipeline != "compv5")
                       & ~c.shuffled_b),
    says=("{arch} reads transposed operands 8 bytes at a time, and warp tile {warp_tile} of "
          "{dtype} has no form for {lane_operand} elements a lane: {lane_operand=}"),
    source=[f"{_DIR}/gemm_universal_pipeline_ag_bg_cr_policy.hpp: GetBlockGemm (wg_attr_num_access)",
            "ops/gemm/warp/warp_gemm_dispatcher.hpp: WGAttrNumAccessEnum Single, Double, Quad"],
    accepts=[{"arch": "gfx950", "layout": "rrr"}],
    rejects=[{"arch": "gfx950", "layout": "rrr", "dtype": "fp8", "warp_tile_k": 32}],
)  # fmt: skip
def transposing_reads_have_form(c: GemmQuantities) -> BoolExpr:
    """Where LDS reads transpose an operand, the warp tile has a form for their number.

    Why: a lane's elements divided by those that one read gives select the form, and the headers
    have one access, two or four for some of the warp tiles.

    Fix: take another warp tile, or keep K contiguous.
    """
    return c.accessible_warp_tile


@rule(
    "GEMM035", "access-of-each-transposing-read", kind="compile", since="2026.06",
    applies=lambda c: ((c.a_transpose_load | c.b_transpose_load) & c.known_warp_tile
                       & (c.warp_tile_m == c.warp_tile_n) & (c.pipeline != "compv5")
                       & ~c.shuffled_b & (c.wave_size == 64)),
    says=("{arch} reads transposed operands 8 bytes at a time, and warp tile {warp_tile} of "
          "{dtype} has no form for {lane_operand} elements a lane of layout {layout}: "
          "transpose_c = {transpose_c}, {lane_operand=}"),
    source=[f"{_DIR}/gemm_universal_pipeline_ag_bg_cr_policy.hpp: GetBlockGemm (wg_attr_num_access_a, wg_attr_num_access_b) {LATER}",
            f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_{{v4,v6}}_default_policy.hpp: GetBlockGemm (wg_attr_num_access; CK 2026.09, read in ROCm/rocm-libraries @ 2b27723 and @ 925db99)",
            f"ops/gemm/warp/warp_gemm_dispatcher.hpp: Dispatcher, AttrNumAccessA and AttrNumAccessB {LATER}"],
    issue="ROCm/rocm-libraries#10921",
    accepts=[{"arch": "gfx950", "layout": "rrr"},
             {"arch": "gfx950", "layout": "crr", "transpose_c": True},
             {"arch": "gfx950", "layout": "rrr", "transpose_c": True, "pipeline": "compv4",
              "double_smem_buffer": True}],
    rejects=[{"arch": "gfx950", "layout": "rrr", "transpose_c": True},
             {"arch": "gfx950", "layout": "rrr", "dtype": "fp8", "warp_tile_m": 16,
              "warp_tile_n": 16, "warp_tile_k": 64, "transpose_c": True}],
)  # fmt: skip
def each_transposing_read_has_form(c: GemmQuantities) -> BoolExpr:
    """Where LDS reads transpose an operand, the warp tile has a form for its reads and the other's.

    Why: since 2026.06 A and B have numbers of accesses of their own. A transposed C has forms for
    equal ones only, and so needs both operands transposed where a lane reads more than once. compv4
    and compv6 still take one number for both. On gfx1250, with waves of 32, kernels of every layout
    were built and right.

    Fix: turn transpose_c off, take another warp tile, or keep K contiguous.
    """
    return c.accessible_warp_tile


@rule(
    "GEMM084", "short-bytes-transposed", kind="compile", since="2026.09",
    applies=lambda c: (c.own_warp_tile & (c.wave_size == 32) & (c.element_bytes == 1)
                       & (c.warp_tile_m == 16) & (c.warp_tile_n == 16) & (c.warp_tile_k == 32)),
    says=("{arch} computes warp tile {warp_tile} of {dtype} with half of a longer instruction, which has "
          "no form for transpose_c"),
    source=["ops/gemm/warp/warp_gemm_dispatcher.hpp: Dispatcher of 16x16x32 on __gfx125__, static_assert (CK 2026.09, read in ROCm/rocm-libraries @ 0149199)",
            "ops/gemm/warp/warp_gemm_wmma_logical_k32.hpp: WarpGemmWmmaLogicalK32 (CK 2026.09, read in ROCm/rocm-libraries @ 10fead7)"],
    accepts=[_SHORT], rejects=[{**_SHORT, "transpose_c": True}],
)  # fmt: skip
def short_bytes_are_not_transposed(c: GemmQuantities) -> BoolExpr:
    """On gfx1250 warp tiles 16x16x32 of 8-bit floats go without transpose_c.

    Why: the instruction takes 64 products, of which the header fills the upper half with zeros. It
    is written for C as computed, and every other form of the tile is asserted against.

    Fix: turn transpose_c off, or take a warp tile with a K of 64 or 128.
    """
    return ~c.transpose_c


@rule(
    "GEMM029", "registers-that-nobody-loads", kind="wrong-result", until="2026.06",
    applies=lambda c: c.pipeline == "basic_v1",
    says="{pipeline} with {scheduler} multiplies registers that nobody loaded",
    source=["ops/gemm/block/block_universal_gemm_as_bs_cr.hpp: BlockGemmImpl<Intrawave> reads LDS in LocalPrefetch only",
            f"{_DIR}/gemm_pipeline_agmem_bgmem_creg_v1.hpp"],
    issue="https://github.com/ROCm/composable_kernel/pull/3611",
    accepts=[{"pipeline": "basic_v1", "scheduler": "default"}],
    rejects=[{"pipeline": "basic_v1"}],
)  # fmt: skip
def basic_v1_reads_lds(c: GemmQuantities) -> BoolExpr:
    """basic_v1 of 2025.11 has the scheduler default or interwave.

    Why: with intrawave the block GEMM takes its operands from registers that a call of the
    pipeline has to fill before, and this pipeline never makes that call: every result is zero.
    Since 2026.06 it does.

    Fix: use default.
    """
    return c.scheduler != "intrawave"


def _told_by_pipe010(c: GemmQuantities) -> BoolExpr:
    plain: BoolExpr = ~c.a_transposed & ~c.b_transposed
    return c.has("async_pipelines") & plain


@rule(
    "GEMM028", "direct-load-of-other-width", kind="compile",
    applies=lambda c: ((c.pipeline == "comp_async") & c.a.sound & c.b.sound
                       & ~(_told_by_pipe010(c) if c.since("2026.06") else FALSE)),
    says=[("{pipeline} loads A straight to LDS: of bytes a lane {arch} has {table direct_to_lds}, "
           "not {a_width * element_bytes=}"),
          ("{pipeline} loads B straight to LDS: of bytes a lane {arch} has {table direct_to_lds}, "
           "not {b_width * element_bytes=}")],
    source=["core/arch/amd_buffer_addressing.hpp: amd_async_buffer_load static_assert on bytes",
            f"core/arch/amd_buffer_addressing_builtins.hpp: async_buffer_load_dwordxn_v {BOTH}"],
    accepts=[{"pipeline": "comp_async", "double_smem_buffer": True, "arch": "gfx950", "@ck": "2025.11"},
             {"pipeline": "comp_async", "double_smem_buffer": True, "arch": "gfx950",
              "layout": "rrr", "@ck": "2026.06"}],
    rejects=[{"pipeline": "comp_async", "double_smem_buffer": True}],
)  # fmt: skip
def direct_loads_have_width(c: GemmQuantities) -> BoolExpr:
    """comp_async loads as many bytes a lane as the GPU moves straight to LDS.

    Why: the instruction exists for 4 bytes, and on gfx950 also for 12 and 16. (Of gfx950 with K
    contiguous in both PIPE010 says it since 2026.06.)

    Fix: use compv4.
    """
    return widths_are_direct(c)
