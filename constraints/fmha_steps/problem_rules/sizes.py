"""KPROB: sizes that the kernels before and after attention are made for.

Rows without padding are right, whole blocks or not, as runs show: what lies behind the sequence is
behind the end that loads and stores are told of, but in a second page (KPROB007).
"""

from __future__ import annotations

from ckrules.constraints.fmha.problem_rules import functions
from ckrules.constraints.fmha_steps.generator import A_CONVERT, A_DOT, AN_APPEND
from ckrules.constraints.fmha_steps.problem_fields import StepFit
from ckrules.constraints.fmha_steps.words import APPEND, COMBINE, CONVERT, DOT
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, ite, minimum
from ckrules.engine.rules import rule

_BWD = "ops/fmha/kernel/fmha_bwd_kernel.hpp: FmhaBwdOGradDotOKernel, FmhaBwdConvertQGradKernel, pad_tensor_view"
_APPEND = "ops/fmha/kernel/fmha_fwd_appendkv_kernel.hpp"
_ROPE = "ops/fmha/block/block_rotary_embedding.hpp: BlockRotaryEmbedding::apply"
_ROTATED = {**AN_APPEND, "pad_d": True, "rope": "inter", "p_rope": 1}
_PAGED = {**AN_APPEND, "paged_kv": True}
_BARE = {**_PAGED, "pad_sk": False}
_SUMMED = {
    **A_CONVERT,
    "tile_sk": 64,
    "deterministic": True,
    "mode": "group",
    "p_mode": 1,
    "p_batch": 4,
}
_PARTS = "ops/fmha/kernel/fmha_bwd_kernel.hpp: FmhaBwdConvertQGradKernel"
_JOIN = "ops/fmha/kernel/fmha_fwd_splitkv_combine_kernel.hpp: pad_tensor_view"


@rule(
    "KPROB002", "step-head-not-padded", kind="wrong-result",
    applies=lambda c: c.variant.isin(DOT, CONVERT),
    says=["the kernel pads no columns: hdim_v = {p_hdim_v}, expected {hdim}",
          "the kernel pads no columns: hdim = {p_hdim}, expected {hdim}"],
    source=_BWD,
    accepts=[A_DOT, {**A_DOT, "pad_dv": True, "p_hdim_v": 80}],
    rejects=[{**A_DOT, "p_hdim_v": 80}, {**A_CONVERT, "pad_d": False, "p_hdim": 80}],
)  # fmt: skip
def columns_are_whole(c: StepFit) -> BoolExpr:
    """Without padding the head dimension is the kernel's, with it not larger.

    Why: columns behind the head are those of the next one; columns beyond are never read.

    Fix: use a kernel of the head dimension, or one with padding.
    """
    value = ite(c.variant == CONVERT, c.hdim, c.p_hdim_v)
    head = ite(c.variant == CONVERT, c.p_hdim, c.hdim)
    return all_of(
        (value == c.hdim) | (c.pad_dv & (value < c.hdim)),
        (head == c.hdim) | (c.pad_d & (head < c.hdim)),
    )


@rule(
    "KPROB025", "columns-of-part-blocks", kind="wrong-result",
    applies=lambda c: (c.variant == COMBINE) & ~c.pad_dv,
    says="the kernel pads no columns: hdim_v = {p_hdim_v} is not a multiple of tile_dv = {tile_dv}",
    source=[_JOIN, "ops/fmha/kernel/fmha_fwd_splitkv_combine_kernel.hpp: GridSize, hdim_v / kN1"],
    accepts=[{}, {"p_hdim_v": 64}, {"p_hdim_v": 256}], rejects=[{"p_hdim_v": 80}],
)  # fmt: skip
def combined_columns_are_whole(c: StepFit) -> BoolExpr:
    """A kernel that joins splits and pads no columns has whole blocks of them.

    Why: columns behind the head are those of the next row. Heads of any number of whole blocks are
    right, whatever the kernel is called after: there is a block for each.

    Fix: use a kernel with pad_dv.
    """
    return c.p_hdim_v % c.tile_dv == 0


mode_is_the_problems = functions.mode_is_the_problems.under(
    "KPROB021", "step-mode-of-other-problems",
    source="example/ck_tile/01_fmha/codegen/ops/{fmha_bwd,fmha_fwd_splitkv}.py: mode (CK 2025.11)",
    accepts=[{}], rejects=[{"p_mode": 1}],
)  # fmt: skip


@rule(
    "KPROB003", "appended-head-not-padded", kind="wrong-result",
    applies=lambda c: c.variant == APPEND,
    says=["a block holds tile_d = {tile_d} of a head and pads no columns: hdim = {p_hdim}",
          "a block holds tile_dv = {tile_dv} of a head and pads no columns: hdim_v = {p_hdim_v}"],
    source=f"{_APPEND}: pad_tensor_view of Q, K and V",
    accepts=[AN_APPEND, {**AN_APPEND, "pad_d": True, "p_hdim": 80}, {**AN_APPEND, "p_hdim": 80}],
    rejects=[{**AN_APPEND, "p_hdim": 83}, {**AN_APPEND, "pad_dv": True, "hdim": 128, "p_hdim_v": 160},
             {**_PAGED, "p_hdim": 80}],
)  # fmt: skip
def appended_columns_are_whole(c: StepFit) -> BoolExpr:
    """Without padding a head is what a block holds of it or whole vectors; it is never longer.

    Why: columns behind the head are those of the next one, which two blocks copy alike, but not
    where one of them rotates it or where the next row lies in another page. A part of a vector is
    behind the end of the last row and not stored; columns beyond the block are not copied.

    Fix: use a kernel of the head dimension, or one with padding.
    """
    vector: IntExpr = 16 // c.element_bytes
    k_alike = all_of(c.rope == "no", ~c.paged_kv, c.p_hdim % vector == 0)
    v_alike = all_of(c.v_layout == "row", ~c.paged_kv, c.p_hdim_v % vector == 0)
    return all_of(
        (c.p_hdim == c.tile_d) | ((c.pad_d | k_alike) & (c.p_hdim < c.tile_d)),
        (c.p_hdim_v == c.tile_dv) | ((c.pad_dv | v_alike) & (c.p_hdim_v < c.tile_dv)),
    )


@rule(
    "KPROB004", "new-rows-beyond-two-pages", kind="wrong-result",
    applies=lambda c: (c.variant == APPEND) & c.paged_kv,
    says="a block of new rows lies in two pages at most: appended = {p_appended}, tile_sk = {tile_sk}, page = {p_page}, seqlen_k = {p_seqlen_k}, batch = {p_batch}",
    source="ops/fmha/pipeline/block_fmha_fwd_appendkv_pipeline.hpp: is_cross_block, move_to_block(i_page_block_k + 1)",
    accepts=[_PAGED, {**_PAGED, "p_page": 16, "p_appended": 17}, {**_PAGED, "p_page": 32}],
    rejects=[{**_PAGED, "p_page": 16}, {**_PAGED, "p_page": 62}, {**_PAGED, "p_page": 32, "p_batch": 2}],
)  # fmt: skip
def new_rows_are_in_two_pages(c: StepFit) -> BoolExpr:
    """The new rows of a block are one more than those of a page at most.

    Why: a block stores its rows in the page where they begin and once more in the next. Where they
    begin at the last row of a page, those of a third page are never stored. Of a single sequence
    it is known where they begin, if blocks are whole pages.

    Fix: use larger pages, or a kernel with a smaller tile_sk.
    """
    rows, before = minimum(c.p_appended, c.tile_sk), c.p_seqlen_k - c.p_appended
    known = all_of(
        c.p_batch == 1, c.tile_sk % c.p_page == 0, before % c.p_page + rows <= 2 * c.p_page
    )
    return (rows <= c.p_page + 1) | known


@rule(
    "KPROB007", "part-blocks-in-two-pages", kind="wrong-result",
    applies=lambda c: (c.variant == APPEND) & c.paged_kv & ~c.pad_sk,
    says="the kernel pads no rows, and new rows that are not a whole block may go on in the next page: appended = {p_appended}, tile_sk = {tile_sk}, page = {p_page}, seqlen_k = {p_seqlen_k}, batch = {p_batch}",
    source=["ops/fmha/block/page_block_navigator.hpp: PageBlockNavigator::move_to_block replaces desc_ alone (run; CK 2026.09, read in ROCm/rocm-libraries @ 498ed36)",
            "ops/fmha/pipeline/block_fmha_fwd_appendkv_pipeline.hpp: store_tile after move_to_block"],
    accepts=[{**_BARE, "p_appended": 64}, {**_BARE, "p_appended": 65}, {**_BARE, "p_appended": 20}],
    rejects=[{**_BARE, "p_seqlen_k": 1030, "p_appended": 20}, {**_BARE, "p_batch": 2, "p_appended": 20}],
)  # fmt: skip
def part_blocks_are_in_one_page(c: StepFit) -> BoolExpr:
    """Without pad_sk new rows that are not a whole block lie in one page.

    Why: where a block's rows go on in the next page, the window gets the lengths of that page and
    keeps the end of its buffer, which is that of a whole page. Without padding nothing else hides
    the rows behind the new ones: zeros are stored there, behind the end of the sequence. Of several
    sequences the others have any length up to the longest.

    Fix: use a kernel with pad_sk.
    """
    rest: IntExpr = c.p_appended % c.tile_sk
    before, first = c.p_seqlen_k - c.p_appended, (c.p_appended - rest) % c.p_page
    longest = (c.p_seqlen_k - rest) % c.p_page
    return (rest <= 1) | (ite(c.p_batch == 1, longest, first + before) + rest <= c.p_page)


@rule(
    "KPROB008", "parts-of-sequences-without-keys", kind="wrong-result", until="2026.09",
    applies=lambda c: (c.variant == CONVERT) & c.deterministic & c.grouped,
    says="a sequence has no rows of K, and two parts of dQ are added that it does not have: batch = {p_batch}, seqlen_k = {p_seqlen_k}, total_k = {p_total_k}",
    source=["ops/fmha/pipeline/block_fmha_bwd_convert_dq.hpp: do while(i_total_loops < nsplits - 1), then dq_acc_buf once more (CK 2025.11, run)",
            f"{_PARTS}, nsplits = integer_divide_ceil(seqlen_k, kN0) (CK 2025.11, run; CK 2026.06, read in ROCm/rocm-libraries @ 03b3e57)",
            "ops/fmha/kernel/fmha_bwd_kernel.hpp: FmhaBwdWorkspaceManager, nsplits[b] of 1 at least (CK 2026.09, read in ROCm/rocm-libraries @ 40bda5c)"],
    accepts=[_SUMMED, {**_SUMMED, "p_total_k": 2048}],
    rejects=[{**_SUMMED, "p_total_k": 1026}],
)  # fmt: skip
def parts_have_keys(c: StepFit) -> BoolExpr:
    """Where dQ of a group comes in parts, every sequence has rows of K.

    Why: two parts are added at least. Of a single one the other lies behind the end that loads are
    told of, and is zero. Of none that end is a negative number, so that both are read, from behind
    the sums if these have one part. What is asked is whether the rows that the longest sequence
    leaves are enough for the others.

    Fix: leave out sequences without keys, whose dQ is zero.
    """
    return c.rows_for_all("k")


@rule(
    "KPROB005", "rotation-of-part-vectors", kind="wrong-result",
    applies=lambda c: (c.variant == APPEND) & (c.rope != "no"),
    says=["a lane rotates {16 // element_bytes} elements or none: rotary = {p_rotary}, rope = {rope}",
          "more is rotated than a head has: rotary = {p_rotary}, hdim = {p_hdim}"],
    source=[f"{_ROPE}, thread_end <= rotary_dim and rotary_dim / 2",
            "example/ck_tile/01_fmha/fmha_fwd_runner.hpp: \"only rotary dimensions divisible by 16\" (CK 2025.11)"],
    accepts=[_ROTATED, {**_ROTATED, "p_rotary": 24}, {**_ROTATED, "rope": "halves", "p_rope": 2, "p_rotary": 16}],
    rejects=[{**_ROTATED, "p_rotary": 20}, {**_ROTATED, "rope": "halves", "p_rope": 2, "p_rotary": 24},
             {**_ROTATED, "p_rotary": 256}],
)  # fmt: skip
def rotated_elements_are_vectors(c: StepFit) -> BoolExpr:
    """What is rotated is whole vectors of 16 bytes, in halves two times as many, and of the head.

    Why: a lane holds a vector, and asks whether all of it is rotated, and whether it is of the
    left half. The example asks for a multiple of 16 elements.

    Fix: rotate a multiple of 16 elements.
    """
    vector = 16 // c.element_bytes
    whole = ite(c.rope == "halves", 2 * vector, vector)
    return all_of(c.p_rotary % whole == 0, c.p_rotary <= c.p_hdim)


@rule(
    "KPROB006", "new-columns-not-padded", kind="wrong-result",
    applies=lambda c: (c.variant == APPEND) & (c.v_layout == "col") & ~c.pad_sk,
    says="the kernel pads no rows of V, whose columns lie side by side: appended = {p_appended} is not a multiple of tile_sk = {tile_sk}",
    source=f"{_APPEND}: make_v_dram, pad_tensor_view of V",
    accepts=[{**AN_APPEND, "v_layout": "col", "pad_sk": False}],
    rejects=[{**AN_APPEND, "v_layout": "col", "pad_sk": False, "p_appended": 100}],
)  # fmt: skip
def new_columns_are_whole(c: StepFit) -> BoolExpr:
    """Without pad_sk the rows that are appended to column-major V are whole blocks.

    Why: rows behind them lie in the next column of V, and are written there.

    Fix: use a kernel with pad_sk.
    """
    return c.p_appended % c.tile_sk == 0


@rule(
    "KPROB022", "rotation-of-other-problems", kind="wrong-result",
    applies=lambda c: c.variant == APPEND,
    says="the kernel has rope = {rope}, the problem asks for another one ({p_rope})",
    source="example/ck_tile/01_fmha/codegen/ops/fmha_fwd_appendkv.py: FMHA_FWD_APPENDKV_API_INNER_DISPATCH (CK 2025.11)",
    accepts=[AN_APPEND, _ROTATED], rejects=[{**AN_APPEND, "p_rope": 1}, {**_ROTATED, "p_rope": 2}],
)  # fmt: skip
def rotation_is_the_problems(c: StepFit) -> BoolExpr:
    """Kernel and problem have the same rotary embedding.

    Why: it is a template parameter.

    Fix: use a kernel with the embedding.
    """
    return c.same("rope", "no", "inter", "halves")


@rule(
    "KPROB023", "step-functions-of-other-problems", kind="wrong-result",
    applies=lambda c: c.variant == COMBINE,
    says=["the kernel has lse = {lse}, the problem asks for {p_lse}",
          "the kernel has squant = {squant}, the problem asks for {p_squant}"],
    source="ops/fmha/pipeline/tile_fmha_traits.hpp: TileFmhaFwdSplitKVCombineTraits, kStoreLSE, kDoFp8StaticQuant",
    accepts=[{}, {"lse": True, "p_lse": 1}], rejects=[{"lse": True}, {"p_lse": 1}, {"squant": True}],
)  # fmt: skip
def combined_functions_are_the_problems(c: StepFit) -> BoolExpr:
    """Kernels that join splits have the LSE and the quantisation that the problem asks for.

    Why: they are template parameters.

    Fix: use a kernel with the function.
    """
    return all_of(c.lse == c.asks("lse", "yes"), c.squant == c.asks("squant", "yes"))


@rule(
    "KPROB024", "splits-beyond-step", kind="launch",
    applies=lambda c: c.variant == COMBINE,
    says="the kernel joins at most 8 splits: splits = {p_splits}",
    source="ops/fmha/pipeline/tile_fmha_traits.hpp: TileFmhaFwdSplitKVCombineTraits, kMaxSplits",
    accepts=[{}, {"p_splits": 8}], rejects=[{"p_splits": 9}],
)  # fmt: skip
def splits_have_places(c: StepFit) -> BoolExpr:
    """A kernel that joins splits joins at most 8.

    Why: it has a place for each, and 8 is the fewest that it can have, which a configuration does
    not say. Upstream makes kernels for 16 to 128, too, and chooses by the number of splits.

    Fix: use fewer splits.
    """
    return c.p_splits <= 8
