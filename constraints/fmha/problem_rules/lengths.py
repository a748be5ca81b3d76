"""FPROB: lengths and head dimensions that an attention kernel computes right.

No kernel of attention tests its arguments (there is no ``IsSupportedArgument``): the tests are
conditions in upstream's generator, which are read here beside what the pipelines do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha.examples import ASYNC, HEADS, SPLITS
from ckrules.constraints.fmha.problem_fields import AttentionFit
from ckrules.engine.expr import BoolExpr, all_of, any_of, implies, ite, maximum
from ckrules.engine.rules import rule

_KERNEL = "ops/fmha/kernel/fmha_fwd_kernel.hpp: pad_tensor_view of Q, K, V and O"
_PIPELINES = (
    "ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs{,_async}.hpp: set_tile_if by kPadSeqLenK"
)
_API = "example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py: FmhaFwdApiTrait {}(CK 2025.11)"
_TRLOAD: Mapping[str, Any] = {"arch": "gfx950", "pipeline": "qr_async_trload", "trload": True}
_SHORT: Mapping[str, Any] = {
    **_TRLOAD, "hdim": 256, "tile_k0max": 256, "tile_n1": 256, "p_hdim": 256, "p_hdim_v": 256, "tile_m0": 16,
    "wave_m0": 1, "wave_m1": 1, **{f"warp_tile_{x}{p}": 16 for x in "mnk" for p in "01"},
}  # fmt: skip
_BIAS: Mapping[str, Any] = {"mask": "mask", "p_mask": 1, "bias": "bias", "p_bias": 1}
_PAGED: Mapping[str, Any] = {
    "variant": "fmha_fwd_splitkv", "paged_kv": True, "lse": True, "pad_s": True, "pad_sk": True,
}  # fmt: skip
_PREFILL: Mapping[str, Any] = {
    **ASYNC, "variant": "fmha_batch_prefill", "paged_kv": True, "pad_sk": True, "mask": "mask",
    "p_mask": 1,
}  # fmt: skip
_LOGARITHMS: Mapping[str, Any] = {
    **ASYNC, "pad_sk": True, "mask": "mask", "p_mask": 1, "lse": True, "p_lse": 1,
}  # fmt: skip
_GROUP: Mapping[str, Any] = {"mode": "group", "p_mode": 1, "pad_s": True, "pad_sk": True}
_STAGED: Mapping[str, Any] = {**_GROUP, "pipeline": "qs", "p_batch": 4}


@rule(
    "FPROB001", "queries-not-padded", kind="wrong-result", since="2026.06",
    applies=lambda c: (c.pipeline == "qr_async_trload") & ~c.pad_s & ~c.grouped,
    says="the kernel pads no rows of Q: seqlen_q = {p_seqlen_q} is not a multiple of tile_m0 = {tile_m0}",
    source=[_KERNEL, _API.format("scheck ")],
    accepts=[_TRLOAD], rejects=[{**_TRLOAD, "p_seqlen_q": 1000}],
    issue="https://github.com/ROCm/composable_kernel/pull/3747",
)  # fmt: skip
def queries_are_whole_tiles(c: AttentionFit) -> BoolExpr:
    """Without pad_s the length of Q is a multiple of tile_m0 for qr_async_trload.

    Why: an MI350X met a memory fault in such a kernel of June 2026. In CK 2025.11, and in the other
    pipelines, rows behind the sequence lie behind the end that loads and stores are told of, as
    runs of kernels without pad_s show: nothing is wrong. The texts of 2026 that could be read say
    the same, so that the report is all there is.

    Fix: use a kernel with pad_s.
    """
    return c.p_seqlen_q % c.tile_m0 == 0


@rule(
    "FPROB002", "keys-not-padded", kind="wrong-result",
    applies=lambda c: ~c.masks_tail & ~c.several,
    says="the kernel pads no rows of K: seqlen_k = {p_seqlen_k} is not a multiple of tile_n0 = {tile_n0}",
    source=[_KERNEL, _PIPELINES, _API.format("skcheck ")],
    accepts=[{}, {**ASYNC, "p_seqlen_q": 100}], rejects=[{"p_seqlen_k": 1000}],
    issue="https://github.com/ROCm/composable_kernel/pull/3747",
)  # fmt: skip
def keys_are_whole_tiles(c: AttentionFit) -> BoolExpr:
    """Without pad_sk the length of K is a multiple of tile_n0, unless scores are masked.

    Why (of several sequences of a group FPROB003 says it): scores of rows behind the sequence are not set to minus infinity, so that they count in
    the softmax: a few values are wrong by little, which tests with large tolerances miss. A mask
    does it as well, and so do split-KV and, in CK 2025.11, qr_async_trload, which always look at
    the last tile. Its text of 2026 does so, too, but a fault was reported of it. The generator's
    dispatch asks for whole tiles, but of qr_async_trload, whose test is the word true.

    Fix: use a kernel with pad_sk.
    """
    return c.p_seqlen_k % c.tile_n0 == 0


def _narrow_bias(c: AttentionFit) -> BoolExpr:
    """Whether two elements of the bias share a dword; that of other types is fp32."""
    return (c.bias == "bias") & c.dtype.isin("fp16", "bf16")


@rule(
    "FPROB003", "group-lengths-not-padded", kind="wrong-result",
    applies=lambda c: c.several,
    says=["sequences of a group have any length, and scores behind them count: pad_sk = {pad_sk}, batch = {p_batch}",
          "the bias of a sequence of a group ends within a vector: pad_sk = {pad_sk}, dtype = {dtype}, batch = {p_batch}"],
    source=["example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py: \"in group mode, spad/skpad must be true\" (CK 2025.11)",
            _PIPELINES],
    accepts=[{**_GROUP, "p_batch": 4}, {**_GROUP, "pad_s": False, "p_batch": 4}],
    rejects=[{**_GROUP, "pad_sk": False, "p_batch": 4}, {**_GROUP, **_BIAS, "pad_sk": False, "p_batch": 4}],
)  # fmt: skip
def groups_are_padded(c: AttentionFit) -> BoolExpr:
    """Of several sequences K's are padded, unless scores are masked and no bias has 16 bits.

    Why: the lengths are known on the GPU alone, one by one; that of a single sequence FPROB002
    asks for. The generator pads Q as well, which does not change what is computed. An element of a
    bias of fp32 is a dword.

    Fix: use a kernel with pad_sk.
    """
    return all_of(c.masks_tail, c.pad_sk | ~_narrow_bias(c))


@rule(
    "FPROB004", "head-dimension-not-padded", kind="wrong-result",
    applies=lambda c: ~c.pad_d,
    says="the kernel pads no head dimension of Q and K: hdim = {p_hdim}, tile_k0max = {tile_k0max}, seqlen_q = {p_seqlen_q}",
    source=[_KERNEL, _API.format("dcheck ")],
    accepts=[{}, {"hdim": 96, "tile_k0max": 96, "p_hdim": 96}, {"p_hdim": 80, "p_seqlen_q": 1}],
    rejects=[{"p_hdim": 80}, {"p_hdim": 81, "p_seqlen_q": 1},
             {"p_hdim": 80, "p_seqlen_q": 1, "p_stride_k": 1024}],
)  # fmt: skip
def head_is_whole(c: AttentionFit) -> BoolExpr:
    """Without pad_d the head dimension of Q and K is what a block holds of it, if Q has several rows.

    Why: columns behind the head are those of the next one. A head's Q ends with its last row, so
    that zeros are read behind a single one; where nothing lies between the rows of K, what they are
    multiplied by is a number. The generator's dispatch asks for a multiple of the qualified length
    instead (128 for a tile_k0max of 96), and calls no kernel without pad_d for a head of 96, which
    runs show to be right.

    Fix: use a kernel with pad_d.
    """
    vectors = c.p_hdim % (16 // c.element_bytes) == 0
    single = all_of(c.p_seqlen_q == 1, vectors, c.follows("k"), ~c.paged_kv)
    return (c.p_hdim % c.tile_k0max == 0) | single


@rule(
    "FPROB005", "value-dimension-not-padded", kind="wrong-result",
    applies=lambda c: ~c.pad_dv,
    says="the kernel pads no head dimension of V: hdim_v = {p_hdim_v} is not a multiple of tile_n1 = {tile_n1}",
    source=[_KERNEL, _API.format("dvcheck ")],
    accepts=[{}], rejects=[{"p_hdim_v": 80}],
)  # fmt: skip
def value_head_is_whole(c: AttentionFit) -> BoolExpr:
    """Without pad_dv the head dimension of V is a multiple of tile_n1.

    Why: columns of O behind the head would be written, and V's read.

    Fix: use a kernel with pad_dv.
    """
    return c.p_hdim_v % c.tile_n1 == 0


@rule(
    "FPROB006", "head-beyond-kernel", kind="wrong-result",
    says="the kernel holds tile_k0max = {tile_k0max} of the head dimension: hdim = {p_hdim}",
    source="ops/fmha/kernel/fmha_fwd_kernel.hpp: windows of kQKHeaddim columns",
    accepts=[{}, {"p_hdim": 64}], rejects=[{"p_hdim": 160}],
)  # fmt: skip
def head_fits(c: AttentionFit) -> BoolExpr:
    """The head dimension of Q and K is not larger than what a block holds.

    Why: the rest is never read.

    Fix: use a kernel with a larger tile_k0max.
    """
    return c.p_hdim <= c.tile_k0max


@rule(
    "FPROB046", "value-head-beyond-kernel", kind="wrong-result",
    says="the kernel computes tile_n1 = {tile_n1} columns of V, and those again for the rest: hdim_v = {p_hdim_v}",
    source=["ops/fmha/pipeline/block_fmha_*_pipeline_*.hpp: make_tile_window of V at {0, seqlen_k_start} for every block (CK 2025.11, run; CK 2026.09, read)",
            "ops/fmha/kernel/fmha_{fwd,fwd_splitkv,fwd_pagedkv,batch_prefill}_kernel.hpp: GetTileIndex, \"assume that num_tile_n1 is always 1\""],
    accepts=[{}, {"p_hdim_v": 128}], rejects=[{"p_hdim_v": 256}],
)  # fmt: skip
def value_head_fits(c: AttentionFit) -> BoolExpr:
    """The head dimension of V is not larger than what a block computes.

    Why: blocks are launched for the rest and store there, but all read the first columns of V; with
    a mask their numbers are counted from the end as if there were none of them, so that rows stay
    unwritten.

    Fix: use a kernel with a larger tile_n1.
    """
    return c.p_hdim_v <= c.tile_n1


@rule(
    "FPROB007", "heads-not-in-vectors", kind="wrong-result",
    applies=lambda c: c.pipeline.isin("qr_async", *c.hpad) if c.hpad else c.asynchronous,
    says=["{pipeline} loads {16 // element_bytes} elements at once: hdim = {p_hdim}",
          "{pipeline} loads {16 // element_bytes} elements at once: hdim_v = {p_hdim_v}"],
    source=[_API.format("dcheck, dvcheck: a.hdim_q % vec == 0 "),
            "example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py: dcheck, dvcheck of qr_hpad (CK 2026.09, read in ROCm/rocm-libraries @ 014d097)",
            "ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async.hpp: kAlignmentQ, \"support multiple of vector(like 8x)\""],
    accepts=[{**ASYNC, "p_hdim": 80}, {**HEADS, "@ck": "2026.06", "p_hdim": 80}],
    rejects=[{**ASYNC, "p_hdim": 81}, {**ASYNC, "p_hdim_v": 4}, {**HEADS, "@ck": "2026.06", "p_hdim": 84}],
)  # fmt: skip
def heads_are_vectors(c: AttentionFit) -> BoolExpr:
    """Head dimensions of qr_async and qr_hpad are multiples of 16 bytes.

    Why: padding is asked for by the vector, not by the element, so that a vector at the end of a
    head holds elements of the next.

    Fix: use qr with pad_d and pad_dv.
    """
    vector = 16 // c.element_bytes
    return all_of(c.p_hdim % vector == 0, c.p_hdim_v % vector == 0)


@rule(
    "FPROB008", "trload-on-partial-heads", kind="wrong-result",
    applies=lambda c: c.pipeline == "qr_async_trload",
    says=["qr_async_trload loads {16 // element_bytes} elements at once: hdim = {p_hdim}",
          "qr_async_trload loads {16 // element_bytes} elements at once: hdim_v = {p_hdim_v}"],
    source="ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async_trload.hpp: kPadHeadDimQ, \"support multiple of vector(like 8x)\"",
    accepts=[{"arch": "gfx950", "pipeline": "qr_async_trload", "trload": True, "pad_d": True, "p_hdim": 80}],
    rejects=[{"arch": "gfx950", "pipeline": "qr_async_trload", "trload": True, "pad_d": True, "p_hdim": 81}],
)  # fmt: skip
def transposing_heads_are_vectors(c: AttentionFit) -> BoolExpr:
    """Head dimensions of qr_async_trload are multiples of 16 bytes.

    Why: as of qr_async. The generator's dispatch does not ask for it: dcheck and dvcheck of padded
    kernels are the word true.

    Fix: use qr with pad_d and pad_dv.
    """
    vector = 16 // c.element_bytes
    return all_of(c.p_hdim % vector == 0, c.p_hdim_v % vector == 0)


@rule(
    "FPROB048", "blocks-of-q-that-begin-at-other-rows", kind="wrong-result",
    applies=lambda c: all_of(c.pipeline == "qr_async_trload", c.element_bytes == 2),
    says="blocks of Q behind the first begin at rows whose columns LDS changes about otherwise: seqlen_q = {p_seqlen_q}, tile_m0 = {tile_m0}, {q_columns // 8=}",
    source=["ops/fmha/kernel/fmha_fwd_kernel.hpp: run_, q_dram, make_xor_transform over seqlen_q (run; so in ROCm/rocm-libraries @ 07c8e14, read)",
            "ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async_trload_policy.hpp: MakeQLdsBlockDescriptor"],
    accepts=[_TRLOAD, {**_SHORT, "p_seqlen_q": 16}], rejects=[_SHORT],
)  # fmt: skip
def blocks_of_q_begin_at_whole_turns(c: AttentionFit) -> BoolExpr:
    """Blocks of Q behind the first begin at multiples of a row's groups of 8 columns.

    Why: as of K (FMHA072): memory changes columns about by the row of the sequence, LDS by the row
    of the block. The first block has both alike, which is all that kernels for few rows are for.

    Fix: use a larger tile_m0.
    """
    return (c.p_seqlen_q <= c.tile_m0) | (c.tile_m0 % maximum(c.q_columns // 8, 1) == 0)


@rule(
    "FPROB009", "queries-of-several-heads", kind="launch",
    says="heads = {p_heads} is not a multiple of heads_k = {p_heads_k}",
    source="ops/fmha/kernel/fmha_fwd_kernel.hpp: nhead_ratio_qk = num_head_q / nhead_k",
    accepts=[{}, {"p_heads_k": 2}], rejects=[{"p_heads_k": 3}],
)  # fmt: skip
def heads_are_shared_evenly(c: AttentionFit) -> BoolExpr:
    """The heads of Q are a multiple of those of K and V.

    Why: head i reads K and V of head i / ratio, and the ratio is a truncating division.

    Fix: none; repeat K and V.
    """
    return c.p_heads % c.p_heads_k == 0


@rule(
    "FPROB010", "bias-ends-within-a-vector", kind="wrong-result",
    applies=lambda c: all_of(_narrow_bias(c), ~c.pad_sk, ~c.several),
    says=["{bias_vector} elements of the bias are loaded at once: seqlen_k = {p_seqlen_k}",
          "the last split of K begins at an odd place and ends within a dword of the bias: {last_split} of seqlen_k = {p_seqlen_k} columns in {p_splits} splits"],
    source=["ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs.hpp: kAlignmentBias = kPadSeqLenK ? 1 : GetAlignmentBias",
            "ops/fmha/pipeline/block_fmha_pipeline_qx_ks_vs_custom_policy.hpp: GetAlignmentBias (kCM1PerLane)",
            "ops/fmha/block/block_masking.hpp: GetTileRangeAlongX, x_per_split (rounded to no tile; run)"],
    accepts=[{**_BIAS}, {**_BIAS, "p_seqlen_k": 1000}, {**_BIAS, **SPLITS, "p_splits": 3}],
    rejects=[{**_BIAS, "p_seqlen_k": 1001}, {**_BIAS, **SPLITS, "p_splits": 6}],
)  # fmt: skip
def bias_is_vectors(c: AttentionFit) -> BoolExpr:
    """Without pad_sk a row of the bias has whole vectors.

    Why: the last vector of a head reaches behind the tensor, and all of it that shares a dword
    with what lies behind is taken for zero. The bias of other types is fp32, of which an element
    is a dword: three kernels with part vectors were run, and are right. Splits begin anywhere, so
    that of the last one an odd number of columns may be left.

    Fix: use a kernel with pad_sk, or another number of splits.
    """
    return all_of(c.p_seqlen_k % c.bias_vector == 0, c.last_split % 2 == 0)


@rule(
    "FPROB011", "pages-of-part-tiles", kind="launch",
    applies=lambda c: c.paged_kv & c.variant.isin("fmha_fwd_splitkv", "fmha_fwd_pagedkv"),
    says="a page has {p_page} rows, which are not a multiple of tile_n0 = {tile_n0}",
    source="ops/fmha/pipeline/block_fmha_fwd_{splitkv,pagedkv}_pipeline_qr_ks_vs.hpp: page-block size should be divisible by kN0",
    accepts=[_PAGED], rejects=[{**_PAGED, "p_page": 64}, {**_PAGED, "p_page": 192}],
)  # fmt: skip
def pages_are_whole_tiles(c: AttentionFit) -> BoolExpr:
    """The rows of a page of K and V are a multiple of tile_n0.

    Why: a tile is read from one page.

    Fix: use larger pages, or a kernel with a smaller tile_n0.
    """
    return c.p_page % c.tile_n0 == 0


@rule(
    "FPROB012", "windows-of-listed-rows", kind="wrong-result", until="2026.06",
    applies=lambda c: c.variant == "fmha_batch_prefill",
    says="batch prefill begins with the first listed row of K, and a window with a later one: mask of the problem = {p_mask}",
    source="ops/fmha/pipeline/block_fmha_batch_prefill_pipeline_qr_ks_vs_async.hpp: k_offsets and v_offsets of page_idx, which seqlen_k_start does not move (CK 2025.11)",
    accepts=[_PREFILL], rejects=[{**_PREFILL, "p_mask": 2}],
)  # fmt: skip
def windows_begin_with_the_list(c: AttentionFit) -> BoolExpr:
    """Batch prefill computes no windows.

    Why: the tiles of K before a window are skipped, but rows are looked up from the first of the
    list on. Windows are right whose first tile is the first of K in every block. In 2026 the number
    of a row is looked up from where the window begins (read).

    Fix: use fmha_fwd_pagedkv.
    """
    return ~c.asks("mask", "window")


@rule(
    "FPROB050", "pages-of-other-rows", kind="wrong-result", since="2026.06",
    applies=lambda c: c.variant == "fmha_batch_prefill",
    says=["a page of the problem has {p_page} rows, not a multiple of page_size = {page_size}",
          "a page of the problem has {p_page} rows, and one of vectors in the kernel page_size = {page_size}: kv_vectors = {kv_vectors}"],
    source=["ops/fmha/kernel/fmha_batch_prefill_kernel.hpp: k_dram of page_block_size, max_page_table_idx of kPageBlockSize (CK 2026.09, read in ROCm/rocm-libraries @ 20e4392)",
            "example/ck_tile/01_fmha/codegen/ops/fmha_batch_prefill.py: t.page_size == F_page_size (CK 2026.09, read in ROCm/rocm-libraries @ 0fcb74e)"],
    accepts=[_PREFILL, {**_PREFILL, "page_size": 16}, {**_PREFILL, "page_size": 1024, "p_page": 1024, "kv_vectors": True}],
    rejects=[{**_PREFILL, "page_size": 1024}, {**_PREFILL, "page_size": 16, "kv_vectors": True}],
)  # fmt: skip
def pages_are_the_problems(c: AttentionFit) -> BoolExpr:
    """Pages of the problem are a number of whole pages of the kernel; of vectors they are the same.

    Why: a page is a template parameter. A longer page that lies row by row can be listed in parts,
    as rows of every page can by pages of one row. In one of vectors all rows of a column lie
    together. Upstream's dispatch calls kernels of the same size alone.

    Fix: use a kernel with pages of the problem's size.
    """
    whole = c.p_page % c.page_size == 0
    return all_of(whole, implies(c.kv_vectors, c.p_page == c.page_size))


@rule(
    "FPROB045", "sequences-without-keys-in-qs", kind="wrong-result",
    applies=lambda c: all_of(c.grouped, c.pipeline == "qs", c.mask == "no"),
    says="a sequence has no rows of K, and O is not a number there: batch = {p_batch}, seqlen_k = {p_seqlen_k}, total_k = {p_total_k}",
    source="ops/fmha/pipeline/block_fmha_pipeline_qs_ks_vs.hpp: num_total_loop <= 0 if FmhaMask::IsMasking alone (run; CK 2026.09, read)",
    accepts=[_STAGED, {**_STAGED, "p_total_k": 2048}], rejects=[{**_STAGED, "p_total_k": 1026}],
)  # fmt: skip
def sequences_have_keys(c: AttentionFit) -> BoolExpr:
    """In qs without a mask every sequence of a group has rows of K.

    Why: only kernels with a mask end where there is nothing to see; the others divide 0 by 0. The
    other pipelines end with pad_sk, too, which groups have (FPROB003). Lengths are known on the
    GPU alone: what is asked is whether the rows that the longest sequence leaves are enough for
    the others.

    Fix: use a kernel with a mask, or qr.
    """
    return c.rows_for_all("k")


@rule(
    "FPROB044", "masked-blocks-with-logarithms", kind="wrong-result", severity="warning", until="2026.06",
    applies=lambda c: all_of(c.asynchronous, c.lse, any_of(c.asks("mask", "causal"), c.asks("mask", "window"))),
    says="blocks that see no column store LSE while Q is loaded into the same registers, it may be: seqlen_q = {p_seqlen_q}, seqlen_k = {p_seqlen_k}, tile_m0 = {tile_m0}, right = {p_right}",
    source=["ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async.hpp: store_tile of lse before buffer_load_fence(0) where num_total_loop <= 0 (CK 2025.11)",
            "ops/fmha/pipeline/block_fmha_batch_prefill_pipeline_qr_ks_vs_async.hpp: the same",
            "ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async.hpp: buffer_load_fence(0), then LSE (CK 2026.09, read)"],
    accepts=[_LOGARITHMS, {**_LOGARITHMS, "p_seqlen_k": 897}],
    rejects=[{**_LOGARITHMS, "p_seqlen_k": 896}],
    issue="https://github.com/ROCm/composable_kernel/pull/3623",
)  # fmt: skip
def blocks_with_logarithms_see_columns(c: AttentionFit) -> BoolExpr:
    """Blocks of qr_async that store LSE see a column of K, whatever the mask hides.

    Why: Q is loaded by assembly, for which the compiler does not wait. A block whose rows see
    nothing stores its LSE at once, and waits behind that: what is loaded may arrive in the
    registers that hold the value or its address. Whether they are the same is the compiler's
    choice, so this is a warning; one of the kernels that were run had it so. Upstream saw wrong
    results with ROCm 7.1.1, and waits before since January 2026.

    Fix: use qr.
    """
    right = ite(c.asks("mask", "window"), c.p_right, 0)
    seen = c.p_seqlen_q < c.p_seqlen_k + c.tile_m0 + right
    return seen | (right < 0)
