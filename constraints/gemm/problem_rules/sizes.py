"""GPROB: sizes that a kernel's argument check accepts, and sums that it computes right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.citations import LATER, REPLICATED
from ckrules.constraints.gemm.problem_fields import GemmProblem
from ckrules.constraints.tile_gemm.offsets import VIEW, within_offsets
from ckrules.engine.expr import BoolExpr, all_of, ceil_div, implies
from ckrules.engine.rules import rule

_CHECK = "ops/gemm/kernel/universal_gemm_kernel.hpp: UniversalGemmKernel::IsSupportedArgument"
_SPLIT = "ops/gemm/kernel/universal_gemm_kernel.hpp: SplitKBatchOffset"
_D: Mapping[str, Any] = {
    "variant": "multi_d", "layout": "rcrr", "num_d": 1, "elementwise_op": "add",
}  # fmt: skip
_WEIGHTS: Mapping[str, Any] = {
    "variant": "preshuffle", "pipeline": "preshufflev2", "double_smem_buffer": True,
}  # fmt: skip
_FOURTH: Mapping[str, Any] = {"pipeline": "compv4", "double_smem_buffer": True}
_ASYNC: Mapping[str, Any] = {"arch": "gfx950", "pipeline": "comp_async", "double_smem_buffer": True}
_PADDED: Mapping[str, Any] = {"pad_m": True, "pad_n": True, "pad_k": True}
_PAIRS: Mapping[str, Any] = {
    "variant": "batched", "wave_m": 2, "wave_n": 1, "num_wave_groups": 2
}  # fmt: skip


@rule(
    "GPROB001", "k-not-whole-tiles", kind="launch",
    applies=lambda c: ~c.pad_k & (~c.a_transposed | ~c.b_transposed),
    says="K = {K} is not a multiple of {tile_k * k_batch=}, and the kernel does not pad K",
    source=_CHECK, accepts=[{}, {"k_batch": 2}], rejects=[{"K": 520}, {"K": 576, "k_batch": 2}],
)  # fmt: skip
def k_is_whole(c: GemmProblem) -> BoolExpr:
    """K is a multiple of tile_k for every part of the sum, unless it is padded.

    Why: asked where K is contiguous in A or in B.

    Fix: use a kernel with pad_k.
    """
    return c.K % (c.tile_k * c.k_batch) == 0


@rule(
    "GPROB002", "m-not-whole-tiles", kind="launch",
    applies=lambda c: ~c.pad_m & (c.a_transposed | ~c.c_row | c.d_column),
    says="M = {M} is not a multiple of tile_m = {tile_m}, and the kernel does not pad M",
    source=_CHECK, accepts=[{"layout": "ccr"}], rejects=[{"layout": "ccr", "M": 520}],
)  # fmt: skip
def m_is_whole(c: GemmProblem) -> BoolExpr:
    """M is a multiple of tile_m where M is contiguous in a tensor, unless it is padded.

    Why: rows that lie apart are guarded by the end of the tensor.

    Fix: use a kernel with pad_m.
    """
    return c.M % c.tile_m == 0


@rule(
    "GPROB003", "n-not-whole-tiles", kind="launch",
    applies=lambda c: ~c.pad_n & (c.b_transposed | c.c_row | c.d_row),
    says="N = {N} is not a multiple of tile_n = {tile_n}, and the kernel does not pad N",
    source=_CHECK, accepts=[{}], rejects=[{"N": 520}],
)  # fmt: skip
def n_is_whole(c: GemmProblem) -> BoolExpr:
    """N is a multiple of tile_n where N is contiguous in a tensor, unless it is padded.

    Why: the padding of a tensor's rows is a matter of the kernel.

    Fix: use a kernel with pad_n.
    """
    return c.N % c.tile_n == 0


@rule(
    "GPROB004", "rows-not-whole-loads-of-a", kind="launch",
    says=["K = {K} is not a multiple of A's vector width {checked_vector_a}",
          "M = {M} is not a multiple of A's vector width {checked_vector_a}"],
    source=_CHECK, accepts=[{}, {"layout": "ccr"}],
    rejects=[{**_PADDED, "K": 516}, {**_PADDED, "layout": "ccr", "M": 516}],
)  # fmt: skip
def a_is_loaded_whole(c: GemmProblem) -> BoolExpr:
    """A's contiguous dimension is a multiple of what a thread loads at once.

    Why: padding does not narrow the loads.

    Fix: use a kernel with a tile that computes a narrower width, or pad the tensor.
    """
    return all_of(
        implies(~c.a_transposed, c.K % c.checked_vector_a == 0),
        implies(c.a_transposed, c.M % c.checked_vector_a == 0),
    )


@rule(
    "GPROB005", "rows-not-whole-loads-of-b", kind="launch",
    says=["K = {K} is not a multiple of B's vector width {checked_vector_b}",
          "N = {N} is not a multiple of B's vector width {checked_vector_b}"],
    source=_CHECK, accepts=[{}, {"layout": "rrr"}],
    rejects=[{**_PADDED, "K": 516}, {**_PADDED, "layout": "rrr", "N": 516}],
)  # fmt: skip
def b_is_loaded_whole(c: GemmProblem) -> BoolExpr:
    """B's contiguous dimension is a multiple of what a thread loads at once.

    Why: padding does not narrow the loads.

    Fix: use a kernel with a tile that computes a narrower width, or pad the tensor.
    """
    return all_of(
        implies(~c.b_transposed, c.K % c.checked_vector_b == 0),
        implies(c.b_transposed, c.N % c.checked_vector_b == 0),
    )


@rule(
    "GPROB006", "rows-not-whole-stores", kind="launch",
    says=["N = {N} is not a multiple of C's store width {store_width}",
          "M = {M} is not a multiple of C's store width {store_width}"],
    source=[_CHECK, "ops/epilogue/{cshuffle,default_2d}_epilogue.hpp: GetVectorSizeC"],
    accepts=[{}], rejects=[{**_PADDED, "N": 516},
                           {**_PADDED, "layout": "rcc", "epilogue": "default", "M": 514}],
)  # fmt: skip
def c_is_stored_whole(c: GemmProblem) -> BoolExpr:
    """C's contiguous dimension is a multiple of what is stored at once.

    Why: padding does not narrow the stores. The default epilogue stores rows by element.

    Fix: use the default epilogue, or pad the tensor.
    """
    return all_of(
        implies(c.c_row, c.N % c.store_width == 0), implies(~c.c_row, c.M % c.store_width == 0)
    )


@rule(
    "GPROB007", "rows-not-whole-loads-of-d", kind="launch",
    applies=lambda c: c.has_d,
    says=["N = {N} is not a multiple of D's vector width {checked_vector_d}",
          "M = {M} is not a multiple of D's vector width {checked_vector_d}"],
    source=[_CHECK, "ops/epilogue/{cshuffle,default_2d}_epilogue.hpp: GetVectorSizeD"],
    accepts=[_D], rejects=[{**_D, **_PADDED, "N": 516}],
)  # fmt: skip
def d_is_loaded_whole(c: GemmProblem) -> BoolExpr:
    """The contiguous dimension of every D is a multiple of what is loaded at once.

    Why: as for C.

    Fix: use the default epilogue, or pad the tensor.
    """
    return all_of(
        implies(c.d_row, c.N % c.checked_vector_d == 0),
        implies(c.d_column, c.M % c.checked_vector_d == 0),
    )


@rule(
    "GPROB008", "sum-not-split-here", kind="launch",
    applies=lambda c: c.k_batch > 1,
    says=["{variant} does not split sums: k_batch = {k_batch}",
          "results of {dtype_c} that are stored one by one are not added: k_batch = {k_batch}"],
    source=[_CHECK, "ops/gemm/kernel/gemm_multi_d_kernel.hpp: IsSupportedArgument",
            "ops/gemm/kernel/streamk_gemm_kernel.hpp: StreamKHostArgs (k_batch is 1)"],
    accepts=[{"k_batch": 2}],
    rejects=[{**_D, "k_batch": 2}, {"epilogue": "default", "k_batch": 2},
             {"@ck": "2026.06", "variant": "stream_k", "streamk": "atomic", "k_batch": 2}],
)  # fmt: skip
def sums_can_be_split(c: GemmProblem) -> BoolExpr:
    """Sums are split by kernels without D tensors that store an even number of 16-bit results.

    Why: the parts are added atomically, 16-bit results in pairs; D would be added by every part.
    Stream-K splits sums itself (until 2026.06 GPROB009 says so).

    Fix: use k_batch = 1.
    """
    halves = c.dtype_c.isin("fp16", "bf16")
    whole = ("multi_d", "stream_k") if c.since("2026.06") else ("multi_d",)
    return all_of(~c.variant.isin(*whole), implies(halves, c.store_width % 2 == 0))


@rule(
    "GPROB009", "built-without-split", kind="launch", until="2026.06",
    applies=lambda c: (c.k_batch > 1) & (c.variant != "multi_d"),
    says=("kernels of {variant} with results of {dtype_c} in stores of {store_width} are built "
          "without split-K: k_batch = {k_batch}"),
    source="core/arch/amd_buffer_addressing.hpp: amd_buffer_atomic_add static_assert on type and width",
    accepts=[{"k_batch": 2}],
    rejects=[{**_WEIGHTS, "k_batch": 2},
             {"k_batch": 2, "epilogue": "default", "layout": "rcc"}],
)  # fmt: skip
def kernels_have_split(c: GemmProblem) -> BoolExpr:
    """The kernel is built with parts of sums that are added atomically.

    Why: `ckrules generate` leaves them out where nothing of the results' type and width can be
    added, for pre-shuffled weights and D tensors of groups, whose parts would be wrong, and for
    stream-K, which splits sums itself. Since 2026.06 kernels hold both forms (GPROB027 and
    GPROB029).

    Fix: use k_batch = 1.
    """
    return c.splits_k


@rule(
    "GPROB020", "part-beyond-sum", kind="wrong-result", until="2026.06",
    applies=lambda c: c.k_batch > 1,
    says=("the {k_batch} parts of {part_length} products are more than K = {K}: {last_part} are "
          "left for the last one"),
    source=f"{_SPLIT} (splitted_k of the last part; run)",
    accepts=[{"k_batch": 2}, {**_PADDED, "K": 16, "k_batch": 2}],
    rejects=[{**_PADDED, "K": 16, "k_batch": 3}],
)  # fmt: skip
def parts_lie_within_sum(c: GemmProblem) -> BoolExpr:
    """The parts of a split sum before the last one do not reach beyond it.

    Why: parts are whole warp tiles along K. Where there are too many of them, those before the
    last begin behind the sum and read what is not theirs; the last may be empty. Since 2026.06
    warp tiles are dealt out (GPROB047).

    Fix: use a smaller k_batch.
    """
    return c.last_part >= 0


@rule(
    "GPROB047", "parts-without-warp-tile", kind="launch", since="2026.06",
    says="K = {K} has no warp tile for each of {k_batch} parts of a sum: expected at least {warp_tile_k * k_batch=}",
    source=f"{_CHECK} (read in ROCm/rocm-libraries @ 639119b; K of the deal of SplitKBatchOffset)",
    issue="ROCm/composable_kernel#3387",
    accepts=[{"k_batch": 2}, {**_PADDED, "K": 40}, {**_PADDED, "K": 40, "k_batch": 2}],
    rejects=[{**_PADDED, "K": 8}, {**_PADDED, "K": 40, "k_batch": 3}],
)  # fmt: skip
def parts_have_warp_tiles(c: GemmProblem) -> BoolExpr:
    """Each part of a sum has a warp tile along K at least, and so has a sum that is not split.

    Why: since 2026.06 the warp tiles of K are dealt out to the parts, the first ones having one
    more where they are not all alike, and the check refuses a part without any.

    Fix: use a smaller k_batch, or a warp tile with a smaller K.
    """
    return c.warp_tile_k * c.k_batch <= c.K


@rule(
    "GPROB048", "tensor-beyond-offsets", kind="wrong-result",
    applies=lambda c: ~c.finds_rows_by_64_bits,
    says=["A reaches over {reach_a} elements, beyond offsets of 32 bits: M = {M}, K = {K}, stride_a = {stride_a}",
          "B reaches over {reach_b} elements, beyond offsets of 32 bits: N = {N}, K = {K}, stride_b = {stride_b}",
          "C reaches over {reach_c} elements, beyond offsets of 32 bits: M = {M}, N = {N}, stride_c = {stride_c}"],
    source=[*VIEW, "ops/gemm/kernel/universal_gemm_kernel.hpp: MakeGemmTensorViews (the whole tensor; read, not run)"],
    issue="ROCm/composable_kernel#3722, ROCm/rocm-libraries#11603",
    accepts=[{}, {"M": 131072, "N": 8192}],
    rejects=[{"M": 131072, "N": 16384}, {"M": 65536, "K": 65536}, {"M": 2, "stride_a": 2147483647}],
)  # fmt: skip
def tensors_are_within_offsets(c: GemmProblem) -> BoolExpr:
    """A, B and C have fewer than 2**31 elements each, and less than 4 GiB.

    Why: a block views a whole tensor, whose size and offsets headers count in 32 bits. Of 4 GiB
    nothing is left of the size, so that all loads give zero and all stores are dropped.

    Fix: compute parts of M or N on their own.
    """
    return all_of(
        within_offsets(c.reach_a, c.a_bytes),
        within_offsets(c.reach_b, c.b_bytes),
        within_offsets(c.reach_c, c.output_bytes),
    )


def _reads_beyond_k(c: GemmProblem) -> BoolExpr:
    """Whether what lies behind K is the next row of A and column of B, and not padding."""
    return ~c.pad_k & ~c.a_transposed & ~c.b_transposed


@rule(
    "GPROB025", "three-tiles-in-compv4", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.pipeline == "compv4") & _reads_beyond_k(c),
    says=("{pipeline} sums two tiles too many where a sum has exactly three: {part_length} products "
          "with tile_k = {tile_k}"),
    source="ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v4.hpp: hot loop (iCounter) and TailNumber::Three (run)",
    issue="ROCm/composable_kernel#3307",
    accepts=[_FOURTH], rejects=[{**_FOURTH, "K": 192}],
)  # fmt: skip
def compv4_has_not_three_tiles(c: GemmProblem) -> BoolExpr:
    """compv4 does not sum exactly three tiles of rows of A and columns of B without padding.

    Why: for three it runs its loop once, two tiles, and then a tail of three. What lies behind K
    is the next row of A and column of B. With pad_k, and where K is not contiguous in one of
    them, zeros are read there. Since 2026.06 it has no loop for three.

    Fix: use a kernel with pad_k, another tile_k, or compv3.
    """
    return ceil_div(c.part_length, c.tile_k) != 3


@rule(
    "GPROB049", "three-tiles-in-comp-async", kind="wrong-result", until="2026.06",
    applies=lambda c: (c.pipeline == "comp_async") & _reads_beyond_k(c),
    says=("{pipeline} sums two tiles too many where a sum has exactly three: {part_length} products "
          "with tile_k = {tile_k}"),
    source="ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_async.hpp: BlockHasHotloop, hot loop (i_global_read) and TailNumber::Three (run)",
    accepts=[_ASYNC], rejects=[{**_ASYNC, "K": 192}],
)  # fmt: skip
def comp_async_has_not_three_tiles(c: GemmProblem) -> BoolExpr:
    """comp_async does not sum exactly three tiles of rows of A and columns of B without padding.

    Why: as of compv4 (GPROB025), from which it was made: it runs its loop once, two tiles, and then
    a tail of three. Since 2026.06 it has no loop for three.

    Fix: use a kernel with pad_k, another tile_k, or compv3.
    """
    return ceil_div(c.part_length, c.tile_k) != 3


@rule(
    "GPROB026", "one-tile-in-compv6", kind="wrong-result",
    applies=lambda c: (c.pipeline == "compv6") & _reads_beyond_k(c),
    says=("{pipeline} sums tiles too many where a sum has a single one: {part_length} products with "
          "tile_k = {tile_k}"),
    source=["ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v6.hpp: GetBlockLoopTailNum (Odd for one tile; run)",
            f"ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v6.hpp: GetBlockLoopTailNum {LATER}"],
    accepts=[{"pipeline": "compv6"}], rejects=[{"pipeline": "compv6", "K": 64}],
)  # fmt: skip
def compv6_has_two_tiles(c: GemmProblem) -> BoolExpr:
    """compv6 sums at least two tiles of rows of A and columns of B without padding.

    Why: its shortest tails take two and three tiles. What lies behind K is the next row of A and
    column of B; padding is zero.

    Fix: use a kernel with pad_k, a smaller tile_k, or compv3.
    """
    return ceil_div(c.part_length, c.tile_k) >= 2


@rule(
    "GPROB030", "loads-under-way-in-epilogue", kind="wrong-result",
    applies=lambda c: (c.pipeline == "comp_async") & (c.epilogue == "cshuffle") & (c.waves > 1),
    says=("{pipeline} leaves loads to LDS under way where the epilogue writes: parts of {part_length} products, "
          "the last one of {last_part}, with tile_k = {tile_k} in {waves} waves"),
    source=["ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_async.hpp: GlobalPrefetchAsync to window 0, TailNumber::One and Two (run)",
            f"ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_async.hpp: the same behind a loop {LATER}"],
    accepts=[{**_ASYNC, "K": 192}, {"@ck": "2026.06", **_ASYNC, "K": 128}],
    rejects=[{**_ASYNC, "K": 256}],
)  # fmt: skip
def loads_end_before_epilogue(c: GemmProblem) -> BoolExpr:
    """comp_async with cshuffle and several waves sums an odd number of tiles, three at least.

    Why: it always loads one tile more, beyond the sum, straight to the LDS that cshuffle writes
    then. Only the tail of three waits for these loads; a wave that is ahead is overwritten by
    those of another. Since 2026.06 it does so in sums of four tiles and more.

    Fix: use the epilogue default, one wave, compv4, or another tile_k.
    """
    tiles = tuple(ceil_div(part, c.tile_k) for part in c.parts)
    if c.since("2026.06"):
        return all_of(*((t % 2 == 1) | (t == 2) for t in tiles))
    return all_of(*((t % 2 == 1) & (t > 1) for t in tiles))


@rule(
    "GPROB042", "parts-added-by-every-group", kind="wrong-result",
    applies=lambda c: (
        (c.num_wave_groups > 1) & (c.epilogue == "cshuffle") & ~c.permute_n
        & (c.pipeline != "compv5")
    ),
    says="each of {num_wave_groups} wave groups adds all of a tile to C: k_batch = {k_batch}, expected 1",
    source=REPLICATED,
    accepts=[_PAIRS], rejects=[{**_PAIRS, "k_batch": 2}],
)  # fmt: skip
def one_group_adds_parts(c: GemmProblem) -> BoolExpr:
    """Kernels with several wave groups and CShuffle do not split sums.

    Why: every group stores the whole tile (GEMM078), and parts of a split sum are added.

    Fix: use k_batch = 1.
    """
    return c.k_batch == 1


@rule(
    "GPROB027", "parts-stored-over-each-other", kind="wrong-result", since="2026.06",
    applies=lambda c: c.k_batch > 1,
    says="epilogue {epilogue} stores each of {k_batch} parts of a sum over the others",
    source=f"ops/epilogue/default_2d_epilogue.hpp: storeOrUpdateTile (the condition is true, that on DstInMemOp is taken out) {LATER}",
    accepts=[{"k_batch": 2}],
    rejects=[{"k_batch": 2, "epilogue": "default", "dtype_c": "fp32"}],
)  # fmt: skip
def parts_are_added(c: GemmProblem) -> BoolExpr:
    """Sums are split by kernels with the epilogue cshuffle.

    Why: the default epilogue stores since 2026.06, whatever the window of C asks for.

    Fix: use k_batch = 1, or cshuffle.
    """
    return c.epilogue != "default"


def _scheduled_for_eight(c: GemmProblem) -> BoolExpr:
    found = (c.pipeline == "compv3") & (c.waves == 8) & (c.variant != "stream_k")
    return found & ~c.has("four_wave_schedule") if c.since("2026.09") else found


@rule(
    "GPROB028", "tiles-in-compv3-of-eight-waves", kind="wrong-result", since="2026.06",
    applies=_scheduled_for_eight,
    says=("{pipeline} of eight waves sums wrong where a sum has three block tiles, or, without "
          "padding, one or an even number above two: parts of {part_length} products, the last one of {last_part}, with tile_k = {tile_k}"),
    source=[f"ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v3.hpp: BlockHasHotloop and GetBlockLoopTailNum for NumWarps == 8 {LATER}",
            "ops/gemm/pipeline/gemm_pipeline_ag_bg_cr_comp_v3.hpp: Use8WarpSchedule (CK 2026.09, as ROCm/rocm-libraries#11175 shows it)"],
    issue="ROCm/rocm-libraries#7669, ROCm/rocm-libraries#11161, ROCm/rocm-libraries#11175",
    accepts=[{"wave_m": 4, "K": 320}, {**_PADDED, "wave_m": 4}],
    rejects=[{"wave_m": 4}, {**_PADDED, "wave_m": 4, "K": 192},
             {**_PADDED, "wave_m": 4, "K": 400, "k_batch": 2}],
)  # fmt: skip
def compv3_of_eight_waves_has_its_tiles(c: GemmProblem) -> BoolExpr:
    """compv3 with eight waves has no sum of three block tiles, and none with a tile too many.

    Why: for eight waves it takes tails that belong to another pipeline. Three tiles skip the loop,
    and only one is summed. A single one and even numbers from four on get one tile too many: zeros
    with pad_k, and where K is not contiguous in A or in B, but else the next row and column.
    Since 2026.09 GPUs of the gfx12 family loop over eight waves as over four.

    Fix: use another number of waves, another tile_k, or compv4.
    """
    tiles = ceil_div(c.part_length, c.tile_k)  # without padding all parts are alike
    whole = all_of(*(ceil_div(part, c.tile_k) != 3 for part in c.parts))
    kept = (tiles == 2) | ((tiles % 2 == 1) & (tiles > 1))
    return whole & implies(~c.pad_k & ~c.a_transposed & ~c.b_transposed, kept)


@rule(
    "GPROB029", "d-in-every-part", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.k_batch > 1) & (c.variant == "grouped"),
    says="each of {k_batch} parts of a sum applies the D tensors: num_d = {num_d}, expected 0",
    source=f"ops/gemm/kernel/grouped_gemm_kernel.hpp: IsSupportedArgument, RunGemm (d_block_window of every part) {LATER}",
    accepts=[{"variant": "grouped", "k_batch": 2}],
    rejects=[{"variant": "grouped", "layout": "rcrr", "num_d": 1, "elementwise_op": "add",
              "k_batch": 2}],
)  # fmt: skip
def d_is_applied_once(c: GemmProblem) -> BoolExpr:
    """Sums of groups with D tensors are not split.

    Why: every part would add or multiply D. The kernel for multi_d refuses it.

    Fix: use k_batch = 1.
    """
    return c.num_d == 0


@rule(
    "GPROB022", "weights-not-whole", kind="wrong-result",
    applies=lambda c: c.shuffled_b,
    says=["N = {N} is not a multiple of warp_tile_n = {warp_tile_n}",
          "K = {K} is not a multiple of warp_tile_k = {warp_tile_k}",
          "pre-shuffled weights are not split along K: k_batch = {k_batch}",
          "columns are permuted within whole tiles: N = {N}, tile_n = {tile_n}"],
    source=["host/tensor_shuffle_utils.hpp: shuffle_b_permuteN (n_ / N_Tile)",
            "ops/gemm/kernel/universal_gemm_kernel.hpp: MakeGemmTensorViews (kFlatK of a part, kFlatN; read, not run)",
            "dispatcher/python/ctypes_utils.py: preshuffle_weight_matrix (CK 2026.06)"],
    accepts=[_WEIGHTS],
    rejects=[{**_WEIGHTS, "k_batch": 2}, {**_WEIGHTS, **_PADDED, "N": 520},
             {**_WEIGHTS, **_PADDED, "permute_n": True, "N": 576}],
)  # fmt: skip
def weights_are_whole(c: GemmProblem) -> BoolExpr:
    """Pre-shuffled weights have whole warp tiles along N and K, and are not split along K.

    Why: B is viewed as rows of whole warp tiles, whose length follows from the K of a part: with
    parts it is not that of the shuffled tensor (of quantised weights it is since 2026.09). Permuted
    columns have whole block tiles along N.

    Fix: pad the weights, and use k_batch = 1.
    """
    return all_of(
        c.N % c.warp_tile_n == 0,
        c.K % c.warp_tile_k == 0,
        (c.k_batch == 1) | c.splits_shuffled_b,
        ~c.permute_n | (c.N % c.tile_n == 0),
    )
