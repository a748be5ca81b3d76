"""Types, layouts and alignments of operands and results."""

from __future__ import annotations

from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import rule
from ckrules_cutlass.vocabulary import HopperGemm
from ckrules_cutlass.words import AUTO, NONE

_FLOATS = ("fp32", "fp16", "bf16", "fp8", "bf8")
_WHOLE = ("int8", "int32")


@rule(
    "CUTD001", "no-instruction-for-types", kind="compile",
    profiles=("legal", "library"),
    source="cute/arch/mma_sm90.hpp: ss_op_selector",
    accepts=[{}, {"acc": "fp16"}, {"dtype": "int8", "acc": "int32", "align": 16,
             "d_dtype": "int32"}],
    rejects=[{"acc": "int32"}, {"dtype": "bf16", "acc": "fp16"}, {"dtype": "int8", "align": 16}],
    says="no warp-group MMA multiplies {dtype} into {acc}",
)  # fmt: skip
def instructions_have_the_types(c: HopperGemm) -> BoolExpr:
    """A warp-group MMA multiplies the operands' type into that of the sums.

    Why: integers are summed in int32, floats in fp32, and fp16, fp8 and bf8 also in fp16.

    Fix: sum floats in fp32 and int8 in int32.
    """
    half = (c.acc == "fp16") & c.dtype.isin("fp16", "fp8", "bf8")
    whole = (c.acc == "int32") & (c.dtype == "int8")
    return half | whole | ((c.acc == "fp32") & (c.dtype != "int8"))


@rule(
    "CUTD002", "slow-fp8-sums-in-fp16", kind="profile",
    profiles=("legal", "library"),
    source="gemm/collective/fp8_accumulation.hpp: GmmaFP8Accumulation",
    applies=lambda c: c.dtype.isin("fp8", "bf8"),
    accepts=[{"dtype": "fp8", "align": 16, "tile_k": 128}],
    rejects=[{"dtype": "fp8", "align": 16, "tile_k": 128, "acc": "fp16"}],
)  # fmt: skip
def fp8_sums_are_fp32(c: HopperGemm) -> BoolExpr:
    """fp8 and bf8 are summed in fp32.

    Why: no generator makes kernels with other sums of them, and nothing is known of these.

    Fix: set acc to fp32.
    """
    return c.acc == "fp32"


@rule(
    "CUTD003", "mixed-integers-and-floats", kind="profile",
    profiles=("legal", "library"),
    source="cutlass_library/generator.py: GenerateSM90_TensorOp_int8_WGMMA_gemm",
    accepts=[{}, {"dtype": "int8", "acc": "int32", "align": 16, "d_dtype": "int8",
             "c_dtype": "int8"}],
    rejects=[{"d_dtype": "int8"}, {"c_dtype": "int32"},
             {"dtype": "int8", "acc": "int32", "align": 16}],
)  # fmt: skip
def results_are_of_a_kind(c: HopperGemm) -> BoolExpr:
    """C and D are integers just where A and B are.

    Why: no generator makes other kernels, and nothing is known of what they round to.

    Fix: store int8 kernels as int8 or int32, others as floats.
    """
    whole = c.d_dtype.isin(*_WHOLE) & c.c_dtype.isin(NONE, *_WHOLE)
    floats = c.d_dtype.isin(*_FLOATS) & c.c_dtype.isin(NONE, *_FLOATS)
    return ((c.dtype == "int8") & whole) | ((c.dtype != "int8") & floats)


@rule(
    "CUTD004", "operands-through-registers", kind="profile",
    profiles=("legal", "library"),
    source="gemm/collective/builders/sm90_common.inl: is_use_rmem_A",
    applies=lambda c: c.operand_bytes != 2,
    accepts=[{"dtype": "tf32", "align": 4}],
    rejects=[{"dtype": "tf32", "align": 4, "layout": "ntn"}, {"dtype": "fp8", "align": 16,
             "tile_k": 128, "layout": "ttt"}],
    says="{layout=}, expected A row-major and B column-major for {dtype}",
)  # fmt: skip
def operands_are_contiguous_in_k(c: HopperGemm) -> BoolExpr:
    """Operands of 1 and 4 bytes are contiguous along K.

    Why: A goes through registers otherwise, by another mainloop, of which these rules say nothing.

    Fix: take a layout that begins with tn.
    """
    return c.layout.isin("tnn", "tnt")


@rule(
    "CUTD005", "operands-not-aligned-for-tma", kind="compile",
    source="gemm/collective/builders/sm90_gmma_builder.inl: is_aligned static_assert",
    applies=lambda c: c.schedule != AUTO,
    accepts=[{}, {"align": 16}], rejects=[{"align": 4}],
)  # fmt: skip
def operands_are_aligned(c: HopperGemm) -> BoolExpr:
    """A and B are aligned to 16 bytes.

    Why: the tensor memory accelerator takes no others.

    Fix: take an align of 16 bytes.
    """
    return c.align * c.operand_bytes % 16 == 0


@rule(
    "CUTD006", "loads-by-threads", kind="profile",
    source="gemm/collective/builders/sm90_gmma_builder.inl: KernelScheduleAuto, IsTmaCompatible",
    applies=lambda c: c.schedule == AUTO,
    accepts=[{"schedule": AUTO, "epilogue": AUTO}],
    rejects=[{"schedule": AUTO, "epilogue": AUTO, "align": 4}],
)  # fmt: skip
def automatic_kernels_use_tma(c: HopperGemm) -> BoolExpr:
    """A and B of the automatic schedule are aligned to 16 bytes.

    Why: threads load them otherwise, by a mainloop of which these rules say nothing.

    Fix: take an align of 16 bytes.
    """
    return c.align * c.operand_bytes % 16 == 0


@rule(
    "CUTD007", "fast-sums-without-fp8", kind="compile",
    profiles=("legal", "library"),
    source="gemm/collective/builders/sm90_gmma_builder.inl: is_input_fp8 static_assert",
    applies=lambda c: c.fast_accum & (c.schedule != AUTO),
    accepts=[{"dtype": "fp8", "align": 16, "tile_k": 128, "fast_accum": True}],
    rejects=[{"fast_accum": True}],
    says="fast_accum is set, expected only with fp8 or bf8 operands, not {dtype}",
)  # fmt: skip
def fast_sums_are_of_fp8(c: HopperGemm) -> BoolExpr:
    """Fast accumulation is for fp8 and bf8.

    Why: sums of other types need no promotion.

    Fix: unset fast_accum.
    """
    return c.dtype.isin("fp8", "bf8")


@rule(
    "CUTD008", "fast-sums-of-the-automatic-schedule", kind="profile",
    profiles=("legal", "library"),
    source="gemm/collective/builders/sm90_gmma_builder.inl: KernelScheduleAuto",
    applies=lambda c: c.fast_accum,
    accepts=[{"dtype": "fp8", "align": 16, "tile_k": 128, "fast_accum": True}],
    rejects=[{"dtype": "fp8", "align": 16, "tile_k": 128, "fast_accum": True,
              "schedule": AUTO, "epilogue": AUTO}],
)  # fmt: skip
def fast_sums_have_a_schedule(c: HopperGemm) -> BoolExpr:
    """Fast accumulation is said only with a schedule that is named.

    Why: the tag of a schedule says it, and the automatic one has none, so that two names would be
    one kernel.

    Fix: name the schedule, or unset fast_accum.
    """
    return c.schedule != AUTO
