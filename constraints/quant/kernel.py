"""QUANT: which kernels there are: variants with their types, layouts, pipelines and buffers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.citations import BOTH, LATER
from ckrules.constraints.quant import words as w
from ckrules.constraints.quant.quantities import QuantQuantities
from ckrules.engine.expr import BoolExpr, all_of, implies, ite
from ckrules.engine.rules import rule

_DIR = "ops/gemm_quant"
_KERNEL = f"{_DIR}/kernel/gemm_quant_kernel.hpp: QuantGemmKernel"
_AQUANT = f"{_DIR}/pipeline/gemm_aquant_pipeline_ag_bg_cr_{{v3,mem}}.hpp"
_BQUANT = f"{_DIR}/pipeline/gemm_bquant_pipeline_ag_bg_cr_v3.hpp"
_BLOCK = f"{_DIR}/block/block_universal_gemm_as_{{aquant_bs,bs_bquant}}_cr.hpp"
_WEIGHTS = f"{_DIR}/pipeline/gemm_wp_bquant_pipeline_ag_bg_cr_v2.hpp"

B: Mapping[str, Any] = {"variant": "bquant"}
SHUFFLED: Mapping[str, Any] = {
    "variant": "bquant", "pipeline": "preshufflev2", "double_smem_buffer": True, "warp_tile_k": 32,
}  # fmt: skip
ROWCOL: Mapping[str, Any] = {"variant": "rowcol_quant", "group_k": 1}
TENSOR: Mapping[str, Any] = {"variant": "tensor_quant", "group_k": 1}
_BASIC: Mapping[str, Any] = {
    **ROWCOL, "dtype": "i4_fp8", "pipeline": "basic_v1", "scheduler": "default",
}  # fmt: skip
_READ_TURNED: Mapping[str, Any] = {
    **ROWCOL, "arch": "gfx950", "dtype": "i4_fp8", "layout": "crr", "warp_tile_k": 32,
}  # fmt: skip


@rule(
    "QUANT001", "pipeline-without-scales", kind="compile",
    says="kernels of {variant} have no pipeline {pipeline}",
    source=[f"{_DIR}/pipeline/gemm_{{aquant,bquant,wp_bquant}}_pipeline_ag_bg_cr_*.hpp: the pipelines that there are",
            f"{_KERNEL}::RunGemm (rows and columns, and whole tensors: a window each of A and B)",
            "ops/gemm/pipeline/gemm_pipeline_ag*.hpp: the operator() for single inputs"],
    accepts=[{}, {"pipeline": "mem"}, B, SHUFFLED, ROWCOL, TENSOR, {**ROWCOL, "pipeline": "mem"}],
    rejects=[{"pipeline": "compv4"}, {**B, "pipeline": "mem"}, {**ROWCOL, "pipeline": "compv6"}],
)  # fmt: skip
def pipeline_has_scales(c: QuantQuantities) -> BoolExpr:
    """Groups have pipelines of their own; rowcol_quant and tensor_quant have those with one LDS buffer.

    Why: pipelines for groups are classes of their own. The others get a window each of A and B,
    where GEMM kernels pass tuples of them, and an LDS pointer; compv6 and basic_v2 have no form
    for that, and pipelines with two buffers want two pointers. Upstream names compv3 alone for
    them: headers of 2026 have such a form of compv4, compv6 and comp_async, too, which these rules
    do not let through, and preshufflev2 compiles there and reads weights that nobody shuffled.

    Fix: use compv3.
    """
    return all_of(
        *(implies(c.variant == v, c.pipeline.isin(*known)) for v, known in w.PIPELINES.items())
    )


def _mem_of_aquant(c: QuantQuantities) -> BoolExpr:
    return (c.variant == "aquant") & (c.pipeline == "mem")


@rule(
    "QUANT002", "scheduler-of-block-gemm", kind="compile",
    applies=lambda c: c.grouped & ~c.shuffled_b & ~_mem_of_aquant(c),
    says="the block GEMM of {variant} has no scheduler {scheduler}",
    source=[f"{_BLOCK}: BlockGemmImpl<GemmPipelineScheduler::Intrawave> is the only one",
            "ops/gemm_quant/pipeline/gemm_aquant_pipeline_ag_bg_cr_v3.hpp: PipelineImpl<Intrawave> is the only one, of 2026, too"],
    accepts=[{}, B], rejects=[{"scheduler": "interwave"}, {**B, "scheduler": "interwave"}],
)  # fmt: skip
def scheduler_is_intrawave(c: QuantQuantities) -> BoolExpr:
    """Kernels with groups have the scheduler intrawave; pre-shuffled weights do not look at it.

    Why: the block GEMM of bquant, and compv3 around that of aquant, know no other. QUANT038 is for
    aquant with mem.

    Fix: use intrawave.
    """
    return c.scheduler == "intrawave"


@rule(
    "QUANT038", "mem-without-interwave", kind="compile", until="2026.06", applies=_mem_of_aquant,
    says="the block GEMM of {variant} has no scheduler {scheduler}",
    source=[f"{_BLOCK}: BlockGemmImpl<GemmPipelineScheduler::Intrawave> is the only one",
            f"{_AQUANT}: mem runs PipelineImpl<Interwave> whatever the scheduler is",
            "ops/gemm_quant/block/block_universal_gemm_as_aquant_bs_cr.hpp: BlockGemmImpl<GemmPipelineScheduler::Interwave> of ROCm/composable_kernel#3540 (CK 2026.06, read)"],
    issue="ROCm/rocm-libraries#9980",
    accepts=[{"pipeline": "mem"}], rejects=[{"pipeline": "mem", "scheduler": "interwave"}],
)  # fmt: skip
def mem_of_scales_is_intrawave(c: QuantQuantities) -> BoolExpr:
    """mem of aquant has the scheduler intrawave before 2026.06.

    Why: its block GEMM was written for intrawave alone, though the pipeline is one for interwave.

    Fix: use intrawave.
    """
    return c.scheduler == "intrawave"


@rule(
    "QUANT003", "operand-of-four-bits", kind="compile",
    says=["aquant has no int4 B: {dtype}",
          "bquant has no int4 A: {dtype}"],
    source=f"{_BLOCK}: GemmTraits_ static_assert on the types of A, B and the scales",
    accepts=[{}, {"dtype": "i4_fp8"}, {**B, "dtype": "fp8_i4"}],
    rejects=[{"dtype": "fp8_i4"}, {**B, "dtype": "i4_fp8"}],
)  # fmt: skip
def scaled_operand_is_narrow(c: QuantQuantities) -> BoolExpr:
    """Of 4 bits is the operand that has scales: A of aquant, B of bquant.

    Why: asserted in the block GEMMs.

    Fix: use the other variant.
    """
    return all_of(
        implies(c.variant == "aquant", ~c.narrow_b),
        implies(c.variant == "bquant", ~c.narrow_a),
    )


@rule(
    "QUANT004", "operand-with-groups-transposed", kind="compile", until="2026.06",
    applies=lambda c: c.grouped,
    says=["{variant} reads rows of A: layout {layout}",
          "{variant} reads columns of B: layout {layout}"],
    source=[f"{_AQUANT}, {_BQUANT}: make_shuffled_2d_static_tile_distribution and the like (the policy has no such member)",
            f"{_WEIGHTS}: static_assert on is_a_col_major, is_b_row_major"],
    accepts=[{}, B, {"layout": "rcc", "epilogue": "default"}],
    rejects=[{"layout": "ccr"}, {**B, "layout": "rrr"}, {**SHUFFLED, "layout": "rrr"}],
)  # fmt: skip
def groups_lie_along_k(c: QuantQuantities) -> BoolExpr:
    """With groups of scales K is contiguous in A and B.

    Why: the code that would transpose an operand in registers calls functions that the headers do
    not have; pre-shuffled weights assert it.

    Fix: use a layout that begins with rc.
    """
    return all_of(~c.a_transposed, ~c.b_transposed)


@rule(
    "QUANT040", "shuffled-weights-transposed", kind="compile", since="2026.06",
    applies=lambda c: c.grouped & c.shuffled_b,
    says=["{pipeline} reads rows of A: layout {layout}",
          "{pipeline} reads columns of B: layout {layout}"],
    source=f"{_WEIGHTS}: static_assert on is_a_col_major, is_b_row_major (ROCm/rocm-libraries of 2026)",
    accepts=[{**SHUFFLED, "@ck": "2026.06"}],
    rejects=[{**SHUFFLED, "@ck": "2026.06", "layout": "rrr"}],
)  # fmt: skip
def shuffled_groups_lie_along_k(c: QuantQuantities) -> BoolExpr:
    """With groups of scales and pre-shuffled weights K is contiguous in A and B.

    Why: asserted; only the other pipelines transpose an operand on its way to LDS since 2026.06.

    Fix: use a layout that begins with rc, or compv3.
    """
    return all_of(~c.a_transposed, ~c.b_transposed)


@rule(
    "QUANT005", "default-epilogue-without-scales", kind="compile",
    applies=lambda c: ~c.grouped,
    says="the scales of {variant} are applied by cshuffle, not by epilogue {epilogue}",
    source=[f"{_KERNEL}::RunGemm (six arguments)",
            "ops/epilogue/default_2d_epilogue.hpp: DefaultGemm2DEpilogue::operator() (four)"],
    accepts=[ROWCOL, TENSOR], rejects=[{**ROWCOL, "epilogue": "default"}],
)  # fmt: skip
def epilogue_applies_scales(c: QuantQuantities) -> BoolExpr:
    """Scales of rows and columns and of whole tensors need the CShuffle epilogue.

    Why: it takes them as arguments; the default epilogue has none for them.

    Fix: use cshuffle.
    """
    return c.epilogue != "default"


@rule(
    "QUANT011", "default-epilogue-of-four-bits", kind="compile",
    applies=lambda c: c.narrow_a,
    says="epilogue {epilogue} asks for a warp GEMM of an int4 A, which no header has: {dtype}",
    source=["ops/epilogue/default_2d_epilogue.hpp: DefaultGemm2DEpilogue::WG (ADataType as it is)",
            "ops/epilogue/cshuffle_epilogue.hpp: ATypeToUse (B's type where A is pk_int4_t)"],
    accepts=[{"dtype": "i4_fp8"}], rejects=[{"dtype": "i4_fp8", "epilogue": "default"}],
)  # fmt: skip
def epilogue_widens_a(c: QuantQuantities) -> BoolExpr:
    """An int4 A is not used with the default epilogue.

    Why: it asks for the warp GEMM of A's own type; CShuffle takes B's instead.

    Fix: use cshuffle.
    """
    return c.epilogue != "default"


@rule(
    "QUANT012", "four-bit-rows-in-plain-pipelines", kind="compile",
    applies=lambda c: c.narrow_a & ~c.grouped,
    says=["{pipeline} does not widen an int4 A: {dtype}",
          "an int4 A is not transposed on its way to LDS: layout {layout}"],
    source=["ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_mem.hpp: operator() for single inputs (the function of B takes A's type)",
            "ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v5_default_policy.hpp: GetBlockGemm (ADataType)",
            f"core/container/thread_buffer.hpp: get_as static_assert {BOTH}",
            f"ops/gemm/block/block_gemm_areg_breg_creg_v1.hpp: operator() static_assert on ABlockTensor {BOTH}"],
    accepts=[{**ROWCOL, "dtype": "i4_fp8"}],
    rejects=[{**ROWCOL, "dtype": "i4_fp8", "pipeline": "mem", "@ck": "2025.11"},
             {**ROWCOL, "dtype": "i4_fp8", "pipeline": "compv5", "@ck": "2026.06"},
             {**ROWCOL, "dtype": "i4_fp8", "layout": "crr"},
             {**ROWCOL, "dtype": "i4_fp8", "layout": "ccr", "pipeline": "basic_v1", "@ck": "2025.11"}],
)  # fmt: skip
def plain_pipeline_widens_a(c: QuantQuantities) -> BoolExpr:
    """Without groups an int4 A is used with compv3 or basic_v1, and has K contiguous.

    Why: mem converts B with a function of A's type, compv5 multiplies the types as they are, and
    the transposition in registers counts an element to a byte. Since 2026.06 mem has a function
    for each operand. Where reads of LDS transpose, QUANT045 and QUANT046 speak of it.

    Fix: use compv3 and a layout that begins with r.
    """
    later = c.since("2026.06")
    plain = c.pipeline != "compv5" if later else ~c.pipeline.isin("mem", "compv5")
    turning = c.pipeline.isin("basic_v1", "compv3", *(("mem",) if later else ()))
    return all_of(plain, ~(c.a_shuffled & turning))


@rule(
    "QUANT045", "four-bits-read-as-bytes", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.narrow_a | c.narrow_b) & ~c.grouped,
    says=[("{arch} transposes A as it is read from LDS, by bytes, of which each holds two elements of "
           "{dtype}: layout {layout}"),
          ("{arch} transposes B as it is read from LDS, by bytes, of which each holds two elements of "
           "{dtype}: layout {layout}")],
    source=["ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp: is_a_load_tr, is_b_load_tr (run)",
            "core/tensor/load_tile_transpose.hpp: DefaultTranspose"],
    accepts=[{**_READ_TURNED, "layout": "rcr"}, {**_READ_TURNED, "dtype": "fp8_i4", "layout": "ccr"}],
    rejects=[_READ_TURNED, {**_READ_TURNED, "dtype": "fp8_i4", "layout": "rrr"}],
)  # fmt: skip
def narrow_operands_are_read_as_they_lie(c: QuantQuantities) -> BoolExpr:
    """Where LDS reads transpose, int4 operands have K contiguous.

    Why: the reads transpose single bytes of the type that is multiplied, and a byte holds two
    neighbours along M or N. Since 2026.06 int4 operands are left to the registers (QUANT012,
    GEMM031).

    Fix: use layout rcr.
    """
    return all_of(~(c.narrow_a & c.a_read_turned), ~(c.narrow_b & c.b_read_turned))


@rule(
    "QUANT046", "four-bits-stored-in-sixty-fours", kind="compile", until="2026.06",
    applies=lambda c: (c.narrow_a | c.narrow_b) & ~c.grouped,
    says=["{vector_a} elements of an int4 A are stored in LDS at once, expected 32 at most: layout {layout}",
          "{vector_b} elements of an int4 B are stored in LDS at once, expected 32 at most: layout {layout}"],
    source="core/tensor/buffer_view.hpp: buffer_view<address_space_enum::lds>::set_raw static_assert on int8_t",
    accepts=[_READ_TURNED], rejects=[{**_READ_TURNED, "tile_k": 256},
                                     {**_READ_TURNED, "tile_k": 256, "dtype": "fp8_i4", "layout": "rrr"}],
)  # fmt: skip
def narrow_stores_fit(c: QuantQuantities) -> BoolExpr:
    """Where LDS reads transpose, int4 operands that are transposed are loaded 32 at once at most.

    Why: they are stored in LDS as they were loaded, and no store has more than 16 bytes.

    Fix: use layout rcr.
    """
    a, b = c.narrow_a & c.a_read_turned, c.narrow_b & c.b_read_turned
    return all_of(~a | (c.vector_a <= 32), ~b | (c.vector_b <= 32))


@rule(
    "QUANT013", "four-bit-rows-one-by-one", kind="wrong-result", since="2026.06",
    applies=lambda c: c.narrow_a,
    says="{pipeline} takes a byte for an element of A in LDS, and of {dtype} it holds two",
    source=f"ops/gemm/pipeline/gemm_pipeline_agmem_bgmem_creg_v1.hpp: a_lds_block_space_size_aligned {LATER}",
    accepts=[{"dtype": "i4_fp8"}], rejects=[{**ROWCOL, "dtype": "i4_fp8", "pipeline": "basic_v1"}],
)  # fmt: skip
def rows_are_placed_by_byte(c: QuantQuantities) -> BoolExpr:
    """An int4 A is not used with basic_v1.

    Why: since 2026.06 it places B behind A in LDS as if A had bytes, and so beyond what it has of
    LDS. That of 2025.11 computes right.

    Fix: use compv3.
    """
    return c.pipeline != "basic_v1"


@rule(
    "QUANT037", "four-bit-rows-loaded-singly", kind="compile", until="2026.06",
    applies=lambda c: c.narrow_a,
    says=[("a lane loads an odd number of elements of A, of which a byte of {dtype} holds two: "
           "{tile_m * tile_k // threads=}"),
          ("{pipeline} loads a padded A by single elements, of which a byte of {dtype} holds two: "
           "layout {layout}, {pad_m=}, {pad_k=}")],
    source=["core/tensor/tile_window.hpp: load (static_for in steps of PackedSize)",
            "core/utility/functional.hpp: static_for static_assert on Increment",
            "ops/gemm/pipeline/gemm_pipeline_problem.hpp: VectorSizeA (1 where kPadK, or kPadM)"],
    accepts=[{"dtype": "i4_fp8"}, {**ROWCOL, "dtype": "i4_fp8", "pad_k": True}, _BASIC],
    rejects=[{**ROWCOL, "dtype": "i4_fp8", "tile_m": 16, "tile_k": 32, "wave_m": 1, "wave_n": 8,
              "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 32},
             {**_BASIC, "pad_k": True}],
)  # fmt: skip
def narrow_rows_are_loaded_in_pairs(c: QuantQuantities) -> BoolExpr:
    """A lane loads an even number of elements of an int4 A of a block tile, two or more at once.

    Why: a byte holds two of them, and loads go in steps of two. basic_v1 loads single elements
    where the contiguous dimension of A is padded.

    Fix: use fewer waves, a larger tile, no padding or compv3.
    """
    padded = ite(c.a_transposed, c.pad_m, c.pad_k)
    return all_of(c.tile_m * c.tile_k // c.threads % 2 == 0, ~((c.pipeline == "basic_v1") & padded))


@rule(
    "QUANT006", "buffers-of-quantised-pipeline", kind="compile", until="2026.06",
    applies=lambda c: c.variant == "bquant",
    says=["{pipeline} of bquant needs double_smem_buffer = false",
          "{pipeline} of bquant needs double_smem_buffer = true"],
    source=f"{_KERNEL}::RunGemm and RunGemm2LDS (no matching operator())",
    accepts=[B, SHUFFLED],
    rejects=[{**B, "double_smem_buffer": True}, {**SHUFFLED, "double_smem_buffer": False}],
)  # fmt: skip
def buffers_are_the_pipelines(c: QuantQuantities) -> BoolExpr:
    """bquant has two LDS buffers with pre-shuffled weights, and one with compv3.

    Why: the kernel passes one LDS pointer or two, and each pipeline takes one of the forms. Since
    2026.06 it passes one (GEMM023 has what pre-shuffled weights need then).

    Fix: change double_smem_buffer.
    """
    return all_of(c.shuffled_b | ~c.double_smem_buffer, ~c.shuffled_b | c.double_smem_buffer)


@rule(
    "QUANT007", "nothing-stored-from-two-buffers", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.variant != "bquant") & (c.pipeline != "basic_v1"),
    says="with two LDS buffers kernels of {variant} with {pipeline} return without storing anything",
    source=[f"{_KERNEL}::RunGemm2LDS returns where kQuantType is not BQuantGrouped (run)",
            "ops/gemm/pipeline/gemm_pipeline_agmem_bgmem_creg_v1.hpp: DoubleSmemBuffer (false; run)"],
    accepts=[{}, ROWCOL], rejects=[{"double_smem_buffer": True}, {**ROWCOL, "double_smem_buffer": True}],
)  # fmt: skip
def results_are_stored(c: QuantQuantities) -> BoolExpr:
    """aquant, rowcol_quant and tensor_quant have one LDS buffer, unless basic_v1 takes one anyway.

    Why: the form for two is written for bquant; for others it has an empty branch, so that the
    kernel compiles, runs, and leaves C as it was. basic_v1 takes one whatever it is told. Since
    2026.06 there is one form, which asks for as much LDS as the pipeline wants.

    Fix: set double_smem_buffer to false.
    """
    return ~c.double_smem_buffer


@rule(
    "QUANT010", "wave-groups-for-compv5", kind="wrong-result",
    says="{pipeline} joins the sums of two wave groups, and quantised kernels have one",
    source=["ops/gemm_quant/pipeline/tile_gemm_quant_traits.hpp: TileGemmQuantTraits::NumWaveGroups",
            "ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v5.hpp: the waves of each group (run)"],
    accepts=[{}], rejects=[{**ROWCOL, "pipeline": "compv5"}],
)  # fmt: skip
def one_wave_group(c: QuantQuantities) -> BoolExpr:
    """Quantised kernels do not use compv5.

    Why: it wants two wave groups, and the traits of these kernels fix one.

    Fix: use compv3.
    """
    return c.pipeline != "compv5"


@rule(
    "QUANT008", "transposed-results-of-bquant", kind="wrong-result",
    applies=lambda c: (c.variant == "bquant") & (c.epilogue != "default"),
    says="the pipelines of bquant do not transpose C, and an epilogue that takes it for transposed mixes rows and columns up",
    source=[f"{_DIR}/pipeline/gemm_quant_pipeline_problem.hpp: GemmBQuantPipelineProblem (no TransposeC; run)"],
    accepts=[B], rejects=[{**B, "epilogue": "cshuffle", "transpose_c": True}],
)  # fmt: skip
def bquant_transposes_nothing(c: QuantQuantities) -> BoolExpr:
    """bquant with cshuffle has no transposed C.

    Why: its problem fixes the pipeline's to false, while the epilogue has a parameter of its own.
    The default epilogue stores as the pipeline's results lie, whatever it is told (four kernels were
    run).

    Fix: turn transpose_c off.
    """
    return ~c.transpose_c


@rule(
    "QUANT009", "permuted-columns-of-plain-weights", kind="wrong-result",
    applies=lambda c: c.permute_n,
    says=["{epilogue} stores columns as those of pre-shuffled weights, and {pipeline} reads plain ones: a wave has {repeat_n} warp tiles along N",
          "only cshuffle stores permuted columns, not {epilogue}: a wave has {repeat_n} warp tiles along N"],
    source="ops/epilogue/cshuffle_epilogue.hpp: operator() for TiledMMAPermuteN (run)",
    accepts=[{**SHUFFLED, "permute_n": True, "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 32},
             {"permute_n": True, "tile_n": 64}, {"permute_n": True, "epilogue": "default"}],
    rejects=[{"permute_n": True}, {**SHUFFLED, "permute_n": True, "epilogue": "default"}],
)  # fmt: skip
def permuted_columns_have_weights(c: QuantQuantities) -> BoolExpr:
    """permute_n has pre-shuffled weights and CShuffle, or neither, where a wave has several tiles.

    Why: the host shuffles such weights in another order then, and this epilogue undoes it. The
    default epilogue does not look at the switch, nor the host at plain weights. With one warp tile
    along N for each wave there is nothing to undo.

    Fix: turn permute_n off.
    """
    stored, one = c.epilogue == "cshuffle", c.repeat_n == 1
    return all_of(implies(stored, c.shuffled_b | one), implies(~stored, ~c.shuffled_b | one))


@rule(
    "QUANT034", "row-scales-of-first-warp-tile", kind="wrong-result",
    applies=lambda c: (c.variant == "rowcol_quant") & c.from_registers,
    says=("results from registers have the row scales of the first of {repeat_m} warp tiles along M: "
          "{repeat_m=}, expected 1"),
    source="ops/epilogue/cshuffle_epilogue.hpp: operator() for TiledMMAPermuteN (scale_m_window is not moved; run)",
    accepts=[{**ROWCOL, "permute_n": True}],
    rejects=[{**ROWCOL, "permute_n": True, "tile_m": 128}],
)  # fmt: skip
def registers_have_their_row_scales(c: QuantQuantities) -> BoolExpr:
    """rowcol_quant stores from registers where a wave has one warp tile along M.

    Why: with permute_n the epilogue moves on along M from one warp tile to the next, but not in the
    scales of rows.

    Fix: turn permute_n off, or use more waves along M.
    """
    return c.repeat_m == 1
