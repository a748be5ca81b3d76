"""GEMM: what int4 weights ask, of which a byte holds two and eight are widened at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.citations import BOTH, LATER
from ckrules.constraints.gemm.quantities import GemmQuantities
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import rule

_DIR = "ops/gemm/pipeline"
_WEIGHTS: Mapping[str, Any] = {
    "variant": "preshuffle",
    "pipeline": "preshufflev2",
    "double_smem_buffer": True,
}


@rule(
    "GEMM025", "four-bit-weights-not-widened", kind="compile",
    applies=lambda c: c.narrow_b,
    says="{pipeline} does not widen the int4 weights of {dtype}",
    source=f"{_DIR}/gemm_pipeline_ag_bg_cr_{{mem,comp_v4,comp_v6,comp_async}}.hpp: static_assert on pk_int4_t",
    accepts=[{"dtype": "fp16_i4"}],
    rejects=[{"dtype": "fp16_i4", "pipeline": "mem"}],
)  # fmt: skip
def narrow_weights_are_widened(c: GemmQuantities) -> BoolExpr:
    """int4 weights are used with a pipeline that widens them.

    Why: mem, compv4, compv6 and comp_async assert that they do not. basic_v1 loads B by element,
    of which a byte holds two.

    Fix: use compv3.
    """
    return ~c.pipeline.isin("mem", "compv4", "compv6", "comp_async", "basic_v1")


@rule(
    "GEMM031", "four-bit-weights-in-rows", kind="compile",
    applies=lambda c: c.narrow_b & ~c.shuffled_b & ~c.pipeline.isin("basic_v1", "compv5"),
    says="int4 weights of {dtype} are not transposed on their way to LDS: layout {layout}",
    source=[f"core/tensor/transpose_tile.hpp: transpose_tile2d_impl_in_thread {BOTH}",
            f"core/container/thread_buffer.hpp: get_as, _get_as {BOTH}",
            "core/tensor/load_tile_transpose.hpp: DefaultTranspose::ValidationTraits"],
    accepts=[{"dtype": "fp16_i4"}, {"dtype": "fp16_i4", "layout": "ccr"}],
    rejects=[{"dtype": "fp16_i4", "layout": "rrr"},
             {"dtype": "bf16_i4", "layout": "crr", "arch": "gfx950"}],
)  # fmt: skip
def narrow_weights_keep_k_contiguous(c: GemmQuantities) -> BoolExpr:
    """int4 weights have K contiguous in B.

    Why: a row-major B is transposed in registers, in vectors that hold two elements to a byte where
    the buffer counts one; a single element is not transposed either, since the steps are of two.
    The LDS reads of gfx950 that transpose have no form for them, and since 2026.06 leave them to
    the registers.

    Fix: use a layout whose second letter is c.
    """
    return ~c.b_transposed


@rule(
    "GEMM032", "four-bit-weights-not-multiplied", kind="compile",
    applies=lambda c: c.narrow_b,
    says="{pipeline} asks for a warp GEMM of the int4 weights of {dtype}, which no header has",
    source=[f"{_DIR}/gemm_pipeline_ag_bg_cr_comp_v5_default_policy.hpp: GetBlockGemm (BDataType)",
            f"ops/gemm/block/block_gemm_areg_breg_creg_v1.hpp: operator() static_assert on BBlockTensor {BOTH}",
            "ops/gemm/warp/warp_gemm_dispatcher.hpp: WarpGemmDispatcher"],
    accepts=[{"dtype": "fp16_i4"}], rejects=[{"dtype": "fp16_i4", "pipeline": "compv5"}],
)  # fmt: skip
def narrow_weights_are_multiplied(c: GemmQuantities) -> BoolExpr:
    """int4 weights are not used with compv5.

    Why: its block GEMM multiplies the types of A and B as they are, and does not widen.

    Fix: use compv3.
    """
    return c.pipeline != "compv5"


@rule(
    "GEMM033", "four-bit-weights-not-in-eights", kind="compile",
    applies=lambda c: c.narrow_b & (c.pipeline.isin("compv3", "preshufflev2")),
    says="int4 weights are widened eight at a time: a lane has {widened_b} of them at once",
    source=["ops/common/load_interleaved_pk_type.hpp: InterleavedPKTypeLoader static_assert on UnaryOpSize",
            f"ops/common/load_and_convert_tile.hpp: ConverterLoader, the same {LATER}",
            "ops/gemm/block/block_universal_gemm_as_bs_cr.hpp: LocalPrefetch",
            f"{_DIR}/wp_pipeline_agmem_bgmem_creg_v2.hpp: load_int4_tile"],
    accepts=[{"dtype": "fp16_i4"}],
    rejects=[{"dtype": "fp16_i4", **_WEIGHTS, "warp_tile_k": 8, "@ck": "2025.11"},
             {"dtype": "fp16_i4", "warp_tile_m": 16, "warp_tile_n": 16, "tile_n": 96, "tile_k": 16,
              "@ck": "2026.06"}],
)  # fmt: skip
def narrow_weights_come_in_eights(c: GemmQuantities) -> BoolExpr:
    """A lane reads int4 weights in a multiple of eight.

    Why: they are widened eight at a time, which is asserted. compv3 widens all that a wave has of
    B's tile at once, preshufflev2 a warp tile; since 2026.06 it widens its part of B's tile, too.

    Fix: take a warp tile with a larger K, or a larger tile.
    """
    return c.widened_b % 8 == 0


@rule(
    "GEMM034", "four-bit-weights-loaded-singly", kind="compile",
    applies=lambda c: c.narrow_b & ~c.shuffled_b,
    says=("a lane loads an odd number of int4 weights, of which a byte holds two: "
          "{tile_n * tile_k // threads=}"),
    source=["core/tensor/tile_window.hpp: load (static_for in steps of PackedSize)",
            "core/utility/functional.hpp: static_for static_assert on Increment (read for 2025.11 only)"],
    accepts=[{"dtype": "fp16_i4"}],
    rejects=[{"dtype": "fp16_i4", "tile_n": 16, "tile_k": 16, "warp_tile_m": 16, "warp_tile_n": 16,
              "wave_m": 4, "wave_n": 1}],
)  # fmt: skip
def narrow_weights_are_loaded_in_pairs(c: GemmQuantities) -> BoolExpr:
    """A lane loads an even number of int4 weights of a block tile.

    Why: a byte holds two of them, and loads go in steps of two.

    Fix: use fewer waves, or a larger tile.
    """
    return c.tile_n * c.tile_k // c.threads % 2 == 0


@rule(
    "GEMM036", "four-bit-weights-torn-apart", kind="wrong-result", until="2026.06",
    applies=lambda c: c.narrow_b & ~c.shuffled_b,
    says=("int4 weights are widened in eights of neighbours along K, and a lane has {neighbours_b} "
          "side by side: warp_tile_n = {warp_tile_n}, warp_tile_k = {warp_tile_k}"),
    source=["ops/elementwise/unary_element_wise_operation.hpp: PassThroughPack8, i4_to_half4",
            "host/permute_pk_int4.hpp: permute_vectors_i4x4_b",
            "ops/gemm/warp/warp_gemm_impl.hpp: kKPerThread",
            f"{_DIR}/gemm_universal_pipeline_ag_bg_cr_policy.hpp: GetBlockGemm (wg_attr_num_access; run)"],
    accepts=[{"dtype": "fp16_i4"}, {"dtype": "fp16_i4", "layout": "ccr"}],
    rejects=[{"dtype": "fp16_i4", "warp_tile_k": 8},
             {"dtype": "fp16_i4", "layout": "ccr", "arch": "gfx950"}],
)  # fmt: skip
def narrow_weights_stay_together(c: GemmQuantities) -> BoolExpr:
    """A lane holds int4 weights in eights that are neighbours along K.

    Why: the host turns every eight of them so that one word widens to eight in order. A lane with
    four at a time widens halves of two words together. Where gfx950 transposes A on its way from
    LDS, lanes hold K in pieces of 8 bytes of the wider type.

    Fix: take a warp tile with a larger K, and on gfx950 a layout whose first letter is r.
    """
    return c.neighbours_b % 8 == 0


@rule(
    "GEMM037", "four-bit-weights-shared-out", kind="wrong-result", until="2026.06",
    applies=lambda c: c.variant == "stream_k",
    says="{variant} counts a byte for each of the int4 weights of {dtype} that a part leaves out",
    source="ops/gemm/kernel/streamk_gemm_kernel.hpp: reboot::StreamKKernel::StreamKGemm (i_k_b without PackedSize; run)",
    accepts=[{"variant": "stream_k", "streamk": "atomic"}],
    rejects=[{"variant": "stream_k", "streamk": "atomic", "dtype": "fp16_i4"}],
)  # fmt: skip
def narrow_weights_are_not_shared_out(c: GemmQuantities) -> BoolExpr:
    """Stream-K kernels have no int4 weights.

    Why: a part that begins within the sum reads B from twice as far behind, since its offset is
    one of elements and is added to a pointer to bytes that hold two.

    Fix: use a kernel without stream-K.
    """
    return ~c.narrow_b
