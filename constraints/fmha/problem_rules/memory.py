"""FPROB: orders of tensors in memory, strides and sizes with which a kernel computes right.

Callers say three strides of each tensor: from a row to the next, from a head and from a sequence.
Problems say an order, and the first two of them or what follows from it. No kernel looks at them.
Rows may begin at any element: vectors are loaded by buffer instructions, which take every address
in the mode that ROCm sets (LLVM: AMDGPUUsage, unaligned-access-mode of amdhsa).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ckrules.constraints.fmha.examples import ASYNC, PREFILL, SPLITS
from ckrules.constraints.fmha.problem_fields import AttentionFit, ProblemSizes
from ckrules.engine.expr import BoolExpr, IntExpr, Value, all_of, implies, ite
from ckrules.engine.rules import rule

#: Heads of 80, of which qr_async holds 128 columns.
_PART: Mapping[str, Value] = {**ASYNC, "p_hdim": 80}
#: The same of batch prefill, with pages of several tiles.
_PAGES: Mapping[str, Value] = {
    **PREFILL,
    "p_mode": 1,
    "p_hdim": 80,
    "page_size": 1024,
    "p_page": 1024,
}
_ARGUMENTS = "ops/fmha/kernel/fmha_fwd_kernel.hpp: MakeKargs, stride_q, nhead_stride_q, batch_stride_q (index_t)"
_BIASED: Mapping[str, Any] = {"bias": "bias", "p_bias": 1}
_COLUMNS: Mapping[str, Any] = {"v_layout": "col", "mask": "mask", "p_mask": 1}
_PARTS: Mapping[str, Any] = {**SPLITS, "p_heads": 32, "p_heads_k": 32, "p_seqlen_q": 8192}
_PLACES = [
    {"x": x, "X": x.upper(), "s": "q" if x in "qo" else "k", "h": "heads" if x in "qo" else "heads_k",
     "d": "hdim" if x in "qk" else "hdim_v", "columns": " or columns" * (x == "v")}
    for x in "qkvo"
]  # fmt: skip
_ROWS = "rows of {X}{columns} overlap: stride_{x} = {{p_stride_{x}}}, {d} = {{p_{d}}}, {h} = {{p_{h}}} (order_{x} = {{p_order_{x}}})"
_HEADS = "heads of {X} overlap: head_stride_{x} = {{p_head_stride_{x}}}, stride_{x} = {{p_stride_{x}}}, seqlen_{s} = {{p_seqlen_{s}}}, {h} = {{p_{h}}}, {d} = {{p_{d}}} (order_{x} = {{p_order_{x}}})"
OVERLAPPING = [text.format(**where) for text in (_ROWS, _HEADS) for where in _PLACES]
_FAR = "from a {n} of {X} to the next there are more than 2**31 - 1 elements: stride_{x} = {{p_stride_{x}}}, seqlen_{s} = {{p_seqlen_{s}}}, {h} = {{p_{h}}}"
_REACHING = "a head of {X} reaches over more bytes than offsets: stride_{x} = {{p_stride_{x}}}, seqlen_{s} = {{p_seqlen_{s}}}, {h} = {{p_{h}}}, {d} = {{p_{d}}}"


def with_heads(sentences: Sequence[str]) -> list[str]:
    """Sentences with strides from row to row, then the same with those from head to head as well.

    >>> with_heads(["stride_q = {p_stride_q}"])[1]
    'stride_q = {p_stride_q}, head_stride_q = {p_head_stride_q}'
    """
    both = r"\g<0>, head_stride_\1 = {p_head_stride_\1}"
    apart = (re.sub(r"\bstride_(\w) = \{p_stride_\w\}", both, text) for text in sentences)
    return [*sentences, *apart]


DISTANT = with_heads(
    [_FAR.format(n=n, **where) for where in _PLACES for n in ("head", "sequence or page")]
)
#: Bytes that an offset of 32 bits reaches, and half of it, or elements that index_t counts.
REACH, _HALF = 2**32, 2**31


def scores_within_offsets(c: ProblemSizes, head: IntExpr, reach: IntExpr) -> BoolExpr:
    """Whether tensors with a number for each score have strides and offsets of 32 bits.

    Args:
        head: Elements from a head of such a tensor to the next.
        reach: Bytes of a head of a sequence that have offsets.
    """
    return all_of(
        implies(c.p_heads > 1, head < _HALF),
        implies(~c.grouped & (c.p_batch > 1), c.p_heads * head < _HALF),
        reach < REACH,
    )


@rule(
    "FPROB031", "rows-in-each-other", kind="launch",
    says=OVERLAPPING,
    source=_ARGUMENTS,
    accepts=[{}, {"p_stride_q": 3072, "p_stride_k": 3073}, {"p_order_q": 1, "p_stride_q": 128},
             {"p_head_stride_q": 384, "p_head_stride_k": 129, "p_stride_k": 1031}, {"p_order_o": 1, "p_head_stride_o": 131072}],
    rejects=[{"p_stride_q": 128}, {"p_order_o": 1, "p_stride_o": 64}, {"v_layout": "col", "p_stride_v": 512},
             {"p_head_stride_q": 127}, {"p_head_stride_k": 129, "p_stride_k": 1030}, {"p_order_o": 1, "p_head_stride_o": 131071}],
)  # fmt: skip
def rows_lie_apart(c: AttentionFit) -> BoolExpr:
    """A stride is at least as long as what it is between: a row or column, the rows of a head.

    Why: rows of O would overwrite each other, and what lies behind a tensor's end is found by its
    last row. The kernels look at no stride; our host libraries refuse.

    Fix: use a larger stride, or none for packed tensors.
    """
    return c.rows_apart()


@rule(
    "FPROB032", "v-of-other-problems", kind="launch",
    says="the kernel takes V with v_layout {v_layout}, the problem has another one ({p_v_layout})",
    source="example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py: FMHA_FWD_API_INNER_DISPATCH, t.is_v_rowmajor == {F_vlayout} (CK 2025.11)",
    accepts=[{}, {"p_v_layout": 1}, {"v_layout": "col", "p_v_layout": 2}],
    rejects=[{"p_v_layout": 2}, {"v_layout": "col", "p_v_layout": 1}],
)  # fmt: skip
def v_is_the_problems(c: AttentionFit) -> BoolExpr:
    """Rows of V are contiguous for kernels of row-major V, its columns for the others.

    Why: it is a template parameter; a stride from row to row is one from column to column there.

    Fix: use a kernel of the other layout, or transpose V.
    """
    return c.v_as_asked()


@rule(
    "FPROB033", "steps-beyond-32-bits", kind="launch",
    says=DISTANT,
    source=[_ARGUMENTS, "ops/fmha/kernel/fmha_fwd_kernel.hpp: static_cast<long_index_t>(i_batch) * kargs.batch_stride_q"],
    accepts=[{}, {"p_batch": 2, "p_seqlen_q": 1048576}, {"p_seqlen_q": 2097152}],
    rejects=[{"p_batch": 2, "p_seqlen_q": 2097152}, {"p_batch": 2, "p_seqlen_k": 2097152, "p_order_k": 1},
             {"p_order_o": 1, "p_stride_o": 2097152}],
)  # fmt: skip
def steps_are_short(c: AttentionFit) -> BoolExpr:
    """From a head, and from a sequence of a batch, to the next there are less than 2**31 elements.

    Why: the product with the number of the sequence, page or head has 64 bits, but its stride is
    handed over in 32. Listed rows, and groups, have no step from a sequence to the next.

    Fix: call the kernel for each sequence or head, or use group mode.
    """
    return c.short_steps()


@rule(
    "FPROB034", "heads-beyond-offsets", kind="wrong-result",
    says=with_heads([_REACHING.format(**where) + " (pad_s = {pad_s})" * (where["x"] == "o") for where in _PLACES]),
    source=["core/arch/amd_buffer_addressing.hpp: amd_buffer_load_invalid_element_return_zero, index_t src_thread_addr_offset and uint32_t size of make_wave_buffer_resource",
            "ops/epilogue/default_2d_epilogue.hpp: store_tile_raw where rows or columns are padded, store_tile else",
            "ops/fmha/pipeline/block_fmha_batch_prefill_pipeline_qr_ks_vs_async.hpp: k_offsets[n0] = page_idx[...] * stride_k (index_t)",
            "ops/fmha/pipeline/block_fmha_batch_prefill_pipeline_qr_ks_vs_async.hpp: kv_offset_array_transform, kNeedFullOffset (CK 2026.06, read in ROCm/rocm-libraries @ 06fa4bd)"],
    accepts=[{}, {"p_stride_q": 2097152}, {"p_stride_o": 2097152}, {"p_order_k": 1, "p_order_v": 1, "p_seqlen_k": 8388608}],
    rejects=[{"p_stride_q": 4194304}, {"p_stride_o": 2097152, "p_seqlen_q": 1025},
             {"p_stride_k": 2097152, "p_seqlen_k": 1048576, "p_heads_k": 1}],
)  # fmt: skip
def heads_are_within_offsets(c: AttentionFit) -> BoolExpr:
    """A head of a sequence reaches over less than 4 GiB; of O without pad_s, with its last tile.

    Why: heads and sequences are found with 64 bits, but what is within has offsets of 32, as buffer
    instructions do. Where rows of O are not padded those of the last tile are stored behind the
    tensor's end, which forbids it, and beyond 4 GiB offsets begin again at 0. Batch prefill looks
    its rows up with such offsets, all sequences one tensor. Since 2026.06 pages of a tile or more, and
    64-bit loads, have offsets within a page; others reach 2 GiB, beyond which upstream met wrong
    values and faults (ROCm/rocm-libraries#6653).

    Fix: use packed tensors, with rows of a head one behind the other.
    """
    read = ite(c.element_bytes == 1, _HALF, REACH)
    written = ite(c.result_bytes == 1, _HALF, REACH)
    cached = ite(c.listed & ~c.found_by_page, _HALF, read) if c.since("2026.06") else read
    most = {"q": read, "k": cached, "v": cached, "o": written}
    return c.of_each(lambda x: [c.reach(x) < most[x]])


@rule(
    "FPROB049", "biases-beyond-32-bits", kind="wrong-result",
    applies=lambda c: c.bias == "bias",
    says=["from a head of biases to the next there are more than 2**31 - 1 elements: heads = {p_heads}, seqlen_q = {p_seqlen_q}, seqlen_k = {p_seqlen_k}",
          "from a sequence of biases to the next there are more than 2**31 - 1 elements: batch = {p_batch}, heads = {p_heads}, seqlen_q = {p_seqlen_q}, seqlen_k = {p_seqlen_k}",
          "a head of biases reaches over more bytes than offsets: seqlen_q = {p_seqlen_q}, seqlen_k = {p_seqlen_k}"],
    source=["ops/fmha/kernel/fmha_fwd_kernel.hpp: FmhaFwdCommonBiasKargs, FmhaFwdBatchModeBiasKargs (nhead_stride_bias, batch_stride_bias, index_t; read, not run)",
            "core/arch/amd_buffer_addressing.hpp: make_wave_buffer_resource, uint32_t size"],
    accepts=[_BIASED, {**_BIASED, "p_heads": 32, "p_heads_k": 32, "p_seqlen_q": 8192, "p_seqlen_k": 8192}],
    rejects=[{**_BIASED, "p_batch": 2, "p_heads": 32, "p_heads_k": 32, "p_seqlen_q": 8192, "p_seqlen_k": 8192},
             {**_BIASED, "p_heads": 1, "p_heads_k": 1, "p_seqlen_q": 65536, "p_seqlen_k": 32768},
             {**_BIASED, "p_seqlen_q": 65536, "p_seqlen_k": 32768}],
)  # fmt: skip
def biases_are_within_offsets(c: AttentionFit) -> BoolExpr:
    """Biases with a number for each score have strides and offsets of 32 bits.

    Why: strides from head to head and from sequence to sequence are handed over as index_t, though
    products with them have 64 bits; offsets within a head have 32 bits (FPROB034). Of a group a
    head has the rows of all sequences.

    Fix: call the kernel for fewer sequences or heads at once.
    """
    head = c.lying_rows("q") * c.p_seqlen_k
    return scores_within_offsets(c, head, c.p_seqlen_q * c.p_seqlen_k * c.element_bytes)


def _gap(c: AttentionFit) -> BoolExpr:
    """Whether something lies between the columns of V."""
    return (c.p_stride_v != 0) & (c.p_stride_v != c.p_seqlen_k)


@rule(
    "FPROB052", "splits-beyond-offsets", kind="wrong-result",
    applies=lambda c: c.variant == "fmha_fwd_splitkv",
    says="from the first part of a head of O to its last there are more bytes than offsets reach: splits = {p_splits}, batch = {p_batch}, heads = {p_heads}, seqlen_q = {p_seqlen_q}, total_q = {p_total_q}, hdim_v = {p_hdim_v}",
    source=["ops/fmha/kernel/fmha_fwd_splitkv_kernel.hpp: o_acc_ptr, i_split * kargs.split_stride_o_acc (index_t; CK 2026.09 the same, read in ROCm/rocm-libraries @ 498ed36)",
            "ops/fmha/kernel/fmha_fwd_splitkv_combine_kernel.hpp: o_acc_dram_naive, make_tuple(num_splits, seqlen_q, hdim_v)"],
    accepts=[{**_PARTS, "p_splits": 8}, {**_PARTS, "p_batch": 5, "p_splits": 1}],
    rejects=[{**_PARTS, "p_batch": 5, "p_splits": 8}],
)  # fmt: skip
def splits_are_within_offsets(c: AttentionFit) -> BoolExpr:
    """Parts of O that splits leave, and a kernel joins, reach over less than 4 GiB.

    Why: the joining kernel has offsets of 32 bits in what a head has of all parts (KPROB034); from
    8 GiB on split-KV itself finds its part with a product of 32 bits. Read, not run.

    Fix: use fewer splits, or fewer sequences or heads at once.
    """
    return c.parts_reach(c.p_splits, c.p_hdim_v) < REACH


@rule(
    "FPROB035", "columns-of-v-not-padded", kind="wrong-result",
    applies=lambda c: (c.v_layout == "col") & ~c.pad_sk,
    says=["columns of V end within a dword: seqlen_k = {p_seqlen_k}, {last_split} of them in the last split, {element_bytes} bytes each (pad_sk = {pad_sk})",
          "what lies between columns of V is multiplied by 0: stride_v = {p_stride_v}, seqlen_k = {p_seqlen_k} in splits of {split_length}, tile_n0 = {tile_n0}",
          "sequences of a group have any length, and columns of V end within a dword: mode = {mode}, batch = {p_batch}, {element_bytes} bytes each"],
    source=["ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs.hpp: kAlignmentV = kPadSeqLenK ? 1 : GetAlignmentV",
            "ops/fmha/kernel/fmha_fwd_kernel.hpp: v_dram of column-major V, sequence<kPadHeadDimV_, kPadSeqLenK>",
            "ops/fmha/block/block_masking.hpp: GetTileRangeAlongX, x_per_split (rounded to no tile; run)"],
    accepts=[_COLUMNS, {**_COLUMNS, "p_seqlen_k": 1002}, {**_COLUMNS, "p_stride_v": 1040},
             {**_COLUMNS, "mode": "group", "p_mode": 1}, {**_COLUMNS, **SPLITS, "p_splits": 3}],
    rejects=[{**_COLUMNS, "p_seqlen_k": 1001}, {**_COLUMNS, "p_seqlen_k": 1000, "p_stride_v": 1040},
             {**_COLUMNS, "mode": "group", "p_mode": 1, "p_batch": 4}, {**_COLUMNS, **SPLITS, "p_splits": 6},
             {**_COLUMNS, **SPLITS, "p_splits": 3, "p_stride_v": 1040}],
)  # fmt: skip
def columns_are_padded(c: AttentionFit) -> BoolExpr:
    """Without pad_sk columns of V have whole dwords, and nothing lies between those of part tiles.

    Why: rows of V behind the sequence are the next column's beginning, or what lies between. Their
    probabilities are 0, but 0 times NaN is NaN; and of the last column's last vector what shares a
    dword with what lies behind the tensor is taken for zero. Splits begin anywhere, so that their
    last tiles are parts unless a split has whole ones.

    Fix: use a kernel with pad_sk, or another number of splits.
    """
    whole = (c.last_split % c.tile_n0 == 0) & (c.split_length % c.tile_n0 == 0)
    return all_of(
        c.last_split * c.element_bytes % 4 == 0,
        whole | ~_gap(c),
        ~c.several | (c.element_bytes == 4),
    )


@rule(
    "FPROB043", "columns-behind-heads-of-k", kind="wrong-result",
    applies=lambda c: c.asynchronous & (c.p_hdim < c.tile_k0max),
    says="what lies between heads or rows of K is multiplied by 0: hdim = {p_hdim}, tile_k0max = {tile_k0max}, heads_k = {p_heads_k}, stride_k = {p_stride_k}, head_stride_k = {p_head_stride_k}, order_k = {p_order_k}",
    source=["core/tensor/buffer_view.hpp: async_get_raw, bool is_valid_element that nothing reads",
            "ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async.hpp: async_load_tile_raw of k_dram_window"],
    accepts=[_PART, {**_PART, "p_stride_k": 640}, {**_PART, "p_order_k": 1}],
    rejects=[{**_PART, "p_stride_k": 1024}, {**_PART, "p_order_k": 1, "p_stride_k": 96}, {**_PART, "p_head_stride_k": 96}],
)  # fmt: skip
def nothing_lies_behind_heads_of_k(c: AttentionFit) -> BoolExpr:
    """K's heads and rows follow each other where qr_async holds more columns than a head has.

    Why: loads straight to LDS are cut off at the end of the tensor alone, so that columns behind a
    head are the next one's, or what lies between. Q is 0 there, but 0 times NaN is NaN. What is
    finite does no harm, such as V of a tensor that holds Q, K and V together.

    Fix: use qr with pad_d, or a kernel whose tile_k0max is the head dimension.
    """
    return c.follows("k")


@rule(
    "FPROB051", "columns-behind-the-last-page", kind="wrong-result", severity="warning", since="2026.06",
    applies=lambda c: c.found_by_page & (c.p_hdim < c.tile_k0max),
    says="what lies behind the last head of all pages may be multiplied by 0: hdim = {p_hdim}, tile_k0max = {tile_k0max}, heads_k = {p_heads_k}, kv_global = {kv_global}, page_size = {page_size}",
    source=["core/tensor/tile_scatter_gather.hpp: async_load_raw if kUseGlobalLoad_ (CK 2026.09, read in ROCm/rocm-libraries @ 44b5f7c)",
            "ops/fmha/pipeline/block_fmha_batch_prefill_pipeline_qr_ks_vs_async.hpp: rebase_k_window, set_bottom_tensor_view_buffer_size(page_stride_k) (CK 2026.09, read in ROCm/rocm-libraries @ 06fa4bd)"],
    accepts=[{**_PAGES, "p_heads_k": 1}], rejects=[_PAGES, {**_PAGES, "p_heads_k": 1, "page_size": 16, "kv_global": True}],
)  # fmt: skip
def nothing_lies_behind_pages(c: AttentionFit) -> BoolExpr:
    """Heads of K are as long as what is loaded of them where pages have addresses of their own.

    Why: a page's loads end a page behind the head's first element, which is behind the last page
    but of a single head, and loads by 64-bit addresses have no end. Q is 0 there, but 0 times NaN
    is NaN, and there may be no memory. Pages shorter than a tile are cut off with the tensor.

    Fix: use a kernel whose tile_k0max is the head dimension, or leave memory behind the last page.
    """
    return all_of(c.p_heads_k == 1, ~c.kv_global)
