"""FMHA: what the pipelines of attention ask of paddings, loads and LDS."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.constraints.fmha.examples import ASYNC, HEADS, NARROW, PREFILL, WIDE
from ckrules.constraints.fmha.vocabulary import AttentionQuantities
from ckrules.engine.expr import TRUE, BoolExpr, IntExpr, Value, all_of, any_of, implies
from ckrules.engine.rules import rule

_POLICY = "ops/fmha/pipeline/block_fmha_pipeline_qx_ks_vs_custom_policy.hpp"
#: A kernel of fp8 for a GPU that only compilers from LLVM 20 on know.
_NEWEST: Mapping[str, Value] = {**NARROW, "arch": "gfx950"}


@rule(
    "FMHA021", "cap-beside-bias", kind="compile",
    says="scores are capped without bias only: bias = {bias}",
    source="ops/fmha/pipeline/block_fmha_pipeline_*.hpp: static_assert on kHasLogitsSoftCap and BiasEnum",
    accepts=[{"logits": True}], rejects=[{"logits": True, "bias": "bias"}],
)  # fmt: skip
def cap_has_no_bias(c: AttentionQuantities) -> BoolExpr:
    """Scores are capped only without bias.

    Why: asserted. Where CK_TILE_FMHA_FWD_FAST_EXP2 is 0, no scores can be capped.

    Fix: drop the bias or the cap.
    """
    return implies(c.logits, c.bias == "no")


@rule(
    "FMHA022", "qr-async-without-padding", kind="compile",
    applies=lambda c: c.asynchronous,
    says=["qr_async always pads Q's sequence: pad_s = {pad_s}",
          "qr_async always pads the head dimension of Q and K: pad_d = {pad_d}",
          "qr_async always pads that of V: pad_dv = {pad_dv}"],
    source=["ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async.hpp: static_assert kPadSeqLenQ && kPadHeadDimQ && kPadHeadDimV",
            "ops/fmha/pipeline/block_fmha_batch_prefill_pipeline_qr_ks_vs_async.hpp: the same"],
    accepts=[ASYNC], rejects=[{"pipeline": "qr_async"}],
)  # fmt: skip
def async_pads(c: AttentionQuantities) -> BoolExpr:
    """qr_async pads Q's sequence and both head dimensions.

    Why: asserted; it costs nothing there. Head dimensions still have to be a multiple of the
    vector that is loaded.

    Fix: set pad_s, pad_d and pad_dv.
    """
    return all_of(c.pad_s, c.pad_d, c.pad_dv)


@rule(
    "FMHA023", "no-loads-to-lds", kind="hardware",
    applies=lambda c: c.pipeline.isin("qr_async", "qr_async_trload"),
    says="{arch} has no loads from memory straight to LDS",
    source="core/arch/amd_buffer_addressing_builtins.hpp: amd_async_buffer_load; arch/features.toml direct_to_lds",
    accepts=[ASYNC], rejects=[{**ASYNC, "arch": "gfx1201"}],
)  # fmt: skip
def gpu_loads_to_lds(c: AttentionQuantities) -> BoolExpr:
    """qr_async and qr_async_trload run on GPUs whose loads can write LDS.

    Why: the pipelines stage K by such loads. The generator lists qr_async of batch prefill for
    every target, those without the instruction as well.

    Fix: use qr.
    """
    return c.has("direct_to_lds")


def _covered(c: AttentionQuantities) -> BoolExpr:
    return all_of(c.asynchronous, c.tile_k1 >= c.k_vector, c.tile_k1 // c.k_vector <= c.wave_size)


def _rows_of_a_turn(c: AttentionQuantities) -> IntExpr:
    """Rows of K's step that all waves load at once."""
    return c.wave_size // (c.tile_k1 // c.k_vector) * c.waves


@rule(
    "FMHA025", "rows-of-k-not-covered", kind="compile",
    applies=lambda c: c.asynchronous,
    says=["a wave loads fewer elements than a row of K has: {wave_size * k_vector=}, tile_k1 = {tile_k1}",
          "{wave_size * k_vector=} is not a multiple of tile_k1 = {tile_k1}"],
    source=f"{_POLICY}: MakeKDramTileDistribution static_assert WarpSize * KVector % kKPerBlock == 0",
    accepts=[ASYNC], rejects=[{**ASYNC, "tile_n0": 96, "tile_k1": 48}],
)  # fmt: skip
def rows_of_k_are_covered(c: AttentionQuantities) -> BoolExpr:
    """The lanes of a wave cover whole rows of K's step (qr_async).

    Why: asserted. The step has tile_k1 columns here, as the buffers are shared with V.

    Fix: use a power of two for tile_k1.
    """
    loaded = c.wave_size * c.k_vector
    return all_of(loaded >= c.tile_k1, loaded % c.tile_k1 == 0)


@rule(
    "FMHA026", "step-of-k-below-a-turn", kind="compile", applies=_covered,
    says=("K's step has fewer rows than the waves load at once: tile_n0 = {tile_n0}, "
          "tile_k1 = {tile_k1}, {threads * k_vector=}"),
    source=f"{_POLICY}: MakeKLdsStoreBlockDescriptor, MakeKLdsLoadBlockDescriptor (lengths of NumIssues = 0)",
    accepts=[ASYNC], rejects=[{**ASYNC, "tile_k1": 16, "arch": "gfx950", "tile_n0": 64}],
)  # fmt: skip
def rows_of_k_are_a_turn(c: AttentionQuantities) -> BoolExpr:
    """K's step has as many rows as the waves load at once, or more (qr_async).

    Why: else there are 0 turns, and a descriptor cannot have a length of 0.

    Fix: use fewer waves or a larger tile_n0.
    """
    return c.tile_n0 >= _rows_of_a_turn(c)


@rule(
    "FMHA085", "rows-of-k-left-out", kind="wrong-result",
    applies=lambda c: all_of(_covered(c), c.tile_n0 >= _rows_of_a_turn(c)),
    says=("the waves do not load K's step in whole turns: tile_n0 = {tile_n0}, "
          "tile_k1 = {tile_k1}, {threads * k_vector=}"),
    source=f"{_POLICY}: MakeKDramTileDistribution, NumIssues, rounded down on both sides of the static_assert (run)",
    accepts=[ASYNC], rejects=[{**ASYNC, "tile_k1": 16, "arch": "gfx950", "tile_n0": 192}],
)  # fmt: skip
def issues_of_k_are_whole(c: AttentionQuantities) -> BoolExpr:
    """The rows of K's step are loaded in whole turns of all waves (qr_async).

    Why: turns are counted by a division that is rounded down, and the assert on it rounds, too, so
    that the rows of the last turn are not loaded.

    Fix: use fewer waves or another tile_n0.
    """
    return c.tile_n0 % _rows_of_a_turn(c) == 0


@rule(
    "FMHA078", "more-issues-than-are-counted", kind="hardware",
    applies=lambda c: c.asynchronous,
    says="a wave waits for more than 63 loads of K: tile_n0 = {tile_n0}, tile_k1 = {tile_k1}, {threads * k_vector=}",
    source=["ops/fmha/pipeline/block_fmha_{pipeline_qr,batch_prefill_pipeline_qr}_ks_vs_async.hpp: buffer_load_fence(k_dram_window.get_num_of_access()) (CK 2026.09 the same, read in ROCm/rocm-libraries @ 036dc48)",
            f"{_POLICY}: MakeKDramTileDistribution, NumIssues"],
    accepts=[ASYNC], rejects=[{**ASYNC, "tile_m0": 32, "wave_m0": 1, "wave_m1": 1, "tile_k1": 64}],
)  # fmt: skip
def issues_of_k_are_counted(c: AttentionQuantities) -> BoolExpr:
    """The loads of K's step that a wave of qr_async waits for can be counted.

    Why: the counter has 6 bits. Nothing asserts it, and the assembler refuses the kernel late (the
    same for qr_async_trload is FMHA056).

    Fix: use a smaller tile_n0 or tile_k1, or more waves.
    """
    return c.tile_n0 * c.tile_k1 <= 63 * c.threads * c.k_vector


@rule(
    "FMHA027", "step-wider-than-staged", kind="wrong-result",
    applies=lambda c: c.asynchronous,
    says="qr_async stages {tile_k1} columns of K and reads {tile_k0}: tile_k1 = {tile_k1}, tile_k0 = {tile_k0}",
    source=f"{_POLICY}: MakeKLdsLoadBlockDescriptor, kKPerBlock = kK1",
    accepts=[ASYNC, {**ASYNC, "tile_k0": 16}], rejects=[{**ASYNC, "tile_k0": 64}],
)  # fmt: skip
def step_is_staged(c: AttentionQuantities) -> BoolExpr:
    """The step of product 0 is not wider than that of product 1 (qr_async).

    Why: K's step is loaded into LDS with tile_k1 columns, and tile_k0 of them are read.

    Fix: use the same for both.
    """
    return c.tile_k0 <= c.tile_k1


@rule(
    "FMHA031", "attention-lds-overflow", kind="hardware",
    applies=lambda c: c.staged & (c.v_elements >= 1),
    says="LDS: {lds_bytes} bytes, more than the {table lds_capacity} of {arch}: {k_stage} and {v_stage} elements a step of K and V",
    source=[f"{_POLICY}: GetSmemSize, GetSmemSizeKV, GetSmemSizeDropout", "arch/data/*.toml [lds] bytes"],
    accepts=[{}, ASYNC], rejects=[{"tile_n1": 256, "tile_n0": 256, "tile_k1": 256, "tile_k0": 16}],
)  # fmt: skip
def attention_lds_fits(c: AttentionQuantities) -> BoolExpr:
    """The steps of K and V, and the random numbers of dropout, fit the LDS.

    Why: K and V share one buffer, or three of qr_async.

    Fix: use smaller steps.
    """
    return c.lds_bytes <= c.fact("lds_capacity")


@rule(
    "FMHA037", "prefill-loads-v-otherwise", kind="compile",
    applies=lambda c: (c.variant == "fmha_batch_prefill") & (c.v_elements >= c.v_least),
    says=["batch prefill reads pages of V with the head dimension contiguous: v_layout = {v_layout}",
          "batch prefill does not load V in pairs: a thread has {v_elements} elements of V's step, tile_n1 = {tile_n1}, tile_k1 = {tile_k1}"],
    source=["ops/fmha/pipeline/block_fmha_batch_prefill_pipeline_qr_ks_vs_async.hpp: V_KRepeat = VDstrEncode::hs_lengthss_ at I1, I3",
            f"{_POLICY}: MakeVDramTileDistribution"],
    accepts=[PREFILL, {**PREFILL, "tile_n1": 192, "@ck": "2026.09"}],
    rejects=[{**PREFILL, "v_layout": "col"}, {**PREFILL, "tile_n1": 192, "@ck": "2025.11"},
             {**PREFILL, "v_layout": "col", "@ck": "2026.09"}],
)  # fmt: skip
def prefill_loads_whole_vectors(c: AttentionQuantities) -> BoolExpr:
    """Batch prefill loads row-major V in whole vectors.

    Why: it looks up a page for each row that a lane loads, the fourth length of V's distribution
    along K's sequence, which other distributions lack. CK 2026.09 takes the last length (read), so
    that pairs compile, too; that V is row-major is asserted there.

    Fix: use powers of two for tile_n1 and tile_k1, and row-major V.
    """
    vectors = TRUE if c.since("2026.09") else ~c.v_in_pairs
    if c.since("2026.06"):
        vectors = any_of(c.in_vectors, vectors)
    return all_of(c.v_layout == "row", vectors)


@rule(
    "FMHA060", "forward-without-q-in-lds", kind="compile", since="2026.06",
    applies=lambda c: c.variant == "fmha_fwd",
    says="fmha_fwd reads kHasSink of its pipeline, which qs lacks: pipeline = {pipeline}",
    source=["ops/fmha/kernel/fmha_fwd_kernel.hpp: kHasSink = FmhaPipeline::kHasSink, sink_value (CK 2026.06, read)",
            "ops/fmha/pipeline/block_fmha_pipeline_qs_ks_vs.hpp: BlockFmhaPipelineQSKSVS has no kHasSink"],
    accepts=[{}], rejects=[{"pipeline": "qs"}],
)  # fmt: skip
def forward_has_sinks(c: AttentionQuantities) -> BoolExpr:
    """Forward has no pipeline qs.

    Why: kernels of 2026 ask the pipeline for sinks and hand it their value; qs was not given them.
    The generator lists no kernel of qs.

    Fix: use qr.
    """
    return c.pipeline != "qs"


@rule(
    "FMHA066", "dropout-that-qs-leaves-out", kind="wrong-result",
    applies=lambda c: c.pipeline == "qs",
    says="qs drops nothing: dropout = {dropout}",
    source="ops/fmha/pipeline/block_fmha_pipeline_qs_ks_vs.hpp: operator(), DropoutType& unused_dropout",
    accepts=[{"pipeline": "qs"}], rejects=[{"pipeline": "qs", "dropout": True}],
)  # fmt: skip
def queries_in_lds_drop_nothing(c: AttentionQuantities) -> BoolExpr:
    """qs has no dropout.

    Why: it takes the random numbers and looks at nothing of them. Of what is asked to be dropped
    everything is added up. The generator lists no kernel of qs.

    Fix: use qr.
    """
    return ~c.dropout


@rule(
    "FMHA067", "splits-without-logarithms", kind="wrong-result",
    applies=lambda c: c.variant == "fmha_fwd_splitkv",
    says="parts are joined by their logarithms, which are not stored: lse = {lse}",
    source=["ops/fmha/pipeline/block_fmha_fwd_splitkv_pipeline_{,nwarp_sshuffle_}qr_ks_vs.hpp: if constexpr(kStoreLSE)",
            "ops/fmha/pipeline/block_fmha_fwd_splitkv_combine_pipeline.hpp: lse_accum"],
    accepts=[{"variant": "fmha_fwd_splitkv", "lse": True}], rejects=[{"variant": "fmha_fwd_splitkv"}],
)  # fmt: skip
def splits_store_logarithms(c: AttentionQuantities) -> BoolExpr:
    """The kernel of split KV stores LSE.

    Why: the second kernel weighs the parts of O by the LSE of each, also where there is one part.
    Without it it reads what nobody wrote. The generator lists such kernels with lse alone; whether
    the LSE of the whole is stored is another kernel's matter.

    Fix: set lse.
    """
    return c.lse


@rule(
    "FMHA061", "prefill-of-equal-sequences", kind="compile", since="2026.06",
    applies=lambda c: c.variant == "fmha_batch_prefill",
    says="batch prefill is compiled in group mode alone: mode = {mode}",
    source="ops/fmha/pipeline/block_fmha_pipeline_problem.hpp: BlockFmhaBatchPrefillPipelineProblem, static_assert kIsGroupMode (CK 2026.06, read)",
    accepts=[PREFILL], rejects=[{**PREFILL, "mode": "batch"}],
)  # fmt: skip
def prefill_has_groups(c: AttentionQuantities) -> BoolExpr:
    """Batch prefill has group mode.

    Why: asserted.

    Fix: set mode = group.
    """
    return c.mode == "group"


@rule(
    "FMHA062", "prefill-of-two-steps", kind="compile", since="2026.09",
    applies=lambda c: c.variant == "fmha_batch_prefill",
    says="batch prefill has one step for both products: tile_k0 = {tile_k0}, tile_k1 = {tile_k1}",
    source="ops/fmha/pipeline/block_fmha_batch_prefill_pipeline_qr_ks_vs_async.hpp: static_assert kK0 == kK1 (CK 2026.09, read)",
    accepts=[PREFILL], rejects=[{**PREFILL, "tile_k0": 16}],
    issue="https://github.com/ROCm/rocm-libraries/pull/8424",
)  # fmt: skip
def prefill_has_one_step(c: AttentionQuantities) -> BoolExpr:
    """Batch prefill has the same step along the head dimension and along K's sequence.

    Why: asserted; K is staged with the columns of the one and read with those of the other.

    Fix: use the same for both.
    """
    return c.tile_k0 == c.tile_k1


@rule(
    "FMHA038", "matrix-instructions-not-in-eights", kind="compile",
    applies=lambda c: all_of(c.variant == "fmha_fwd", c.pipeline == "qr", c.tile_k0max == 256, c.wave_size == 64),
    says=("a wave has {scores_instructions} matrix instructions of product 0 in a step, not a multiple of 8: "
          "tile_m0 = {tile_m0}, tile_n0 = {tile_n0}, tile_k0 = {tile_k0}"),
    source="ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs.hpp: static_assert NumMfmaInsts % 8 == 0",
    accepts=[WIDE], rejects=[{**WIDE, "tile_n0": 32, "tile_k0": 16}],
)  # fmt: skip
def instructions_are_in_eights(c: AttentionQuantities) -> BoolExpr:
    """With 256 of the head dimension, qr has eights of matrix instructions in product 0.

    Why: asserted where waves have 64 lanes; the schedule is written for eight of them.

    Fix: use larger tiles or fewer waves.
    """
    return c.scores_instructions % 8 == 0


@rule(
    "FMHA079", "vectors-padded-without-padding", kind="compile", since="2026.06",
    applies=lambda c: c.pipeline.isin(*c.hpad),
    says=["qr_hpad pads the head dimension of Q and K: pad_d = {pad_d}", "qr_hpad pads that of V: pad_dv = {pad_dv}"],
    source="ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs.hpp: static_assert !kPaddedVecLoadStore || (kPadHeadDimQ && kPadHeadDimV) (CK 2026.09, read in ROCm/rocm-libraries @ 1805635)",
    accepts=[HEADS], rejects=[{**HEADS, "pad_d": False}, {**HEADS, "pad_dv": False}],
    issue="https://github.com/ROCm/rocm-libraries/pull/6156",
)  # fmt: skip
def padded_vectors_pad(c: AttentionQuantities) -> BoolExpr:
    """qr_hpad pads the head dimensions.

    Why: asserted; it is qr with vectors in place of the single elements that padding makes there.

    Fix: set pad_d and pad_dv, or use qr.
    """
    return all_of(c.pad_d, c.pad_dv)


@rule(
    "FMHA058", "single-bytes-stored", kind="compile",
    applies=lambda c: all_of(c.variant.isin("fmha_fwd", "fmha_fwd_pagedkv"),
                             c.pipeline.isin("qr", "qs", "qr_pagedkv"),
                             TRUE if c.since("2026.06") else c.has("new_compilers")),
    says="O of fp8 is stored a byte at a time: dtype = {dtype}, pad_dv = {pad_dv}",
    source=["core/arch/amd_buffer_addressing_builtins.hpp: buffer_store_if<1>, static_assert sizeof(T) == 4",
            "core/config.hpp: CK_TILE_USE_BUFFER_ADDRESSING_BUILTIN",
            "ops/fmha/pipeline/block_fmha_pipeline_*.hpp: kAlignmentO (1 with padding)"],
    accepts=[{**_NEWEST, "dtype": "fp16"}, _NEWEST, {**_NEWEST, "dtype": "fp8bf16", "pad_dv": True}],
    rejects=[{**_NEWEST, "pad_dv": True}, {**NARROW, "pad_dv": True, "@ck": "2026.06"}],
)  # fmt: skip
def bytes_are_not_stored_alone(c: AttentionQuantities) -> BoolExpr:
    """O of fp8 does not pad the head dimension of V.

    Why: with padding O is stored element by element, and a store of one byte asserts that it has
    four. qr_async stores whole vectors whatever its padding. In November 2025 the header that
    asserts it is that of compilers from LLVM 20 on and waves of 64 lanes: seven kernels of gfx942
    failed so with LLVM 22, and one compiled with LLVM 19; one of gfx1201 was built by both and run.

    Fix: set pad_dv = false, or take fp8bf16 or fp8fp32.
    """
    return any_of(c.dtype != "fp8", ~c.pad_dv)
