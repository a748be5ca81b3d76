"""FMHA: what the pipelines of attention ask of paddings, loads and LDS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha.vocabulary import AttentionQuantities
from ckrules.engine.expr import BoolExpr, all_of, implies, ite, minimum
from ckrules.engine.rules import rule

_POLICY = "ops/fmha/pipeline/block_fmha_pipeline_qx_ks_vs_custom_policy.hpp"
_ASYNC: Mapping[str, Any] = {"pipeline": "qr_async", "pad_s": True, "pad_d": True, "pad_dv": True}
_TRLOAD: Mapping[str, Any] = {
    "arch": "gfx950", "pipeline": "qr_async_trload", "trload": True, "tile_n0": 64, "tile_k1": 16,
}  # fmt: skip


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
    accepts=[_ASYNC], rejects=[{"pipeline": "qr_async"}],
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
    source="core/arch/amd_buffer_addressing_builtins.hpp: amd_async_buffer_load; arch/model.py FEATURES direct_to_lds",
    accepts=[_ASYNC], rejects=[{**_ASYNC, "arch": "gfx1201"}],
)  # fmt: skip
def gpu_loads_to_lds(c: AttentionQuantities) -> BoolExpr:
    """qr_async and qr_async_trload run on GPUs whose loads can write LDS.

    Why: the pipelines stage K by such loads. The generator lists qr_async of batch prefill for
    every target, those without the instruction as well.

    Fix: use qr.
    """
    return c.has("direct_to_lds")


@rule(
    "FMHA024", "no-transposing-loads", kind="hardware",
    applies=lambda c: c.trload,
    says="{arch} does not transpose as LDS is read, so the kernel is empty",
    source="ops/fmha/kernel/fmha_fwd_kernel.hpp: kIsAvailable (true on __gfx950__, else !kUseTrLoad)",
    accepts=[_TRLOAD], rejects=[{**_TRLOAD, "arch": "gfx942"}],
)  # fmt: skip
def gpu_transposes(c: AttentionQuantities) -> BoolExpr:
    """Kernels that transpose V as LDS is read run on gfx950.

    Why: elsewhere their body is empty: they are launched and write nothing.

    Fix: use qr_async.
    """
    return c.transposes


def _covered(c: AttentionQuantities) -> BoolExpr:
    return all_of(c.asynchronous, c.tile_k1 >= c.k_vector, c.tile_k1 // c.k_vector <= c.wave_size)


@rule(
    "FMHA025", "rows-of-k-not-covered", kind="compile",
    applies=lambda c: c.asynchronous,
    says=["a wave loads fewer elements than a row of K has: {wave_size * k_vector=}, tile_k1 = {tile_k1}",
          "{wave_size * k_vector=} is not a multiple of tile_k1 = {tile_k1}"],
    source=f"{_POLICY}: MakeKDramTileDistribution static_assert WarpSize * KVector % kKPerBlock == 0",
    accepts=[_ASYNC], rejects=[{**_ASYNC, "tile_n0": 96, "tile_k1": 48}],
)  # fmt: skip
def rows_of_k_are_covered(c: AttentionQuantities) -> BoolExpr:
    """The lanes of a wave cover whole rows of K's step (qr_async).

    Why: asserted. The step has tile_k1 columns here, as the buffers are shared with V.

    Fix: use a power of two for tile_k1.
    """
    loaded = c.wave_size * c.k_vector
    return all_of(loaded >= c.tile_k1, loaded % c.tile_k1 == 0)


@rule(
    "FMHA026", "issues-of-k-not-whole", kind="compile", applies=_covered,
    says=("the waves do not load K's step in whole turns: tile_n0 = {tile_n0}, "
          "tile_k1 = {tile_k1}, {threads * k_vector=}"),
    source=f"{_POLICY}: MakeKDramTileDistribution static_assert NumIssues == kNPerBlock * kKPerBlock / (kBlockSize * KVector)",
    accepts=[_ASYNC], rejects=[{**_ASYNC, "tile_k1": 16, "arch": "gfx950", "tile_n0": 64}],
)  # fmt: skip
def issues_of_k_are_whole(c: AttentionQuantities) -> BoolExpr:
    """The rows of K's step are loaded in whole turns of all waves (qr_async).

    Why: asserted, and a turn has to load something.

    Fix: use fewer waves or a larger tile_n0.
    """
    rows = c.wave_size // (c.tile_k1 // c.k_vector) * c.waves
    return all_of(c.tile_n0 % rows == 0)


@rule(
    "FMHA027", "step-wider-than-staged", kind="wrong-result",
    applies=lambda c: c.asynchronous,
    says="qr_async stages {tile_k1} columns of K and reads {tile_k0}: tile_k1 = {tile_k1}, tile_k0 = {tile_k0}",
    source=f"{_POLICY}: MakeKLdsLoadBlockDescriptor, kKPerBlock = kK1",
    accepts=[_ASYNC, {**_ASYNC, "tile_k0": 16}], rejects=[{**_ASYNC, "tile_k0": 64}],
)  # fmt: skip
def step_is_staged(c: AttentionQuantities) -> BoolExpr:
    """The step of product 0 is not wider than that of product 1 (qr_async).

    Why: K's step is loaded into LDS with tile_k1 columns, and tile_k0 of them are read.

    Fix: use the same for both.
    """
    return c.tile_k0 <= c.tile_k1


@rule(
    "FMHA028", "rows-of-v-in-lds", kind="compile",
    applies=lambda c: c.staged & (c.v_elements >= 1),
    says=["tile_n1 = {tile_n1} does not fill rows of all LDS banks",
          "tile_k1 = {tile_k1} is not a multiple of the {16 // element_bytes} elements that are read at once",
          "packs of {v_pack} elements do not fill a row of all LDS banks",
          "tile_k1 = {tile_k1} is not a multiple of the {v_pack} elements that a thread stores",
          "tile_n1 = {tile_n1} does not fill rows of all LDS banks with packs of {v_pack}"],
    source=f"{_POLICY}: GetSingleSmemElementSpaceSize, MakeVLdsBlockDescriptor static_assert PixelsPerRow % kKPack == 0, kNPerBlock % NPerRow == 0, kKPerBlock % kKPack == 0",
    accepts=[{}], rejects=[{"dtype": "fp8", "tile_k1": 8}, {"tile_n1": 48}],
)  # fmt: skip
def v_fills_rows(c: AttentionQuantities) -> BoolExpr:
    """V's step fills rows of all LDS banks, in packs of 16 bytes along K's sequence.

    Why: asserted.

    Fix: use multiples of 16 for tile_n1 and tile_k1.
    """
    pack = 16 // c.element_bytes
    row = c.fact("lds_banks") * 4 // c.element_bytes
    return all_of(
        c.tile_n1 % (row // pack) == 0, c.tile_k1 % pack == 0, row % c.v_pack == 0,
        c.tile_k1 % c.v_pack == 0, c.tile_n1 % (row // c.v_pack) == 0,
    )  # fmt: skip


@rule(
    "FMHA029", "threads-beyond-v", kind="compile",
    applies=lambda c: c.staged,
    says="{threads} threads load V's step of {tile_n1 * tile_k1=} elements: {v_elements=}",
    source=f"{_POLICY}: GetSmemKPackV, total_pixels",
    accepts=[{}], rejects=[{"tile_n1": 32, "tile_k1": 16, "wave_m0": 16, "wave_m1": 16, "tile_m0": 512}],
)  # fmt: skip
def v_feeds_all_threads(c: AttentionQuantities) -> BoolExpr:
    """Every thread loads an element of V's step at least.

    Why: the vector of a thread would have no elements.

    Fix: use fewer waves or a larger tile_k1.
    """
    return c.v_elements >= 1


def _rows(c: AttentionQuantities) -> BoolExpr:
    return all_of(c.staged, c.v_layout == "row", c.v_elements >= 4)


@rule(
    "FMHA030", "lanes-do-not-cover-v", kind="compile", applies=_rows,
    says="lanes and waves do not cover V's step: tile_n1 = {tile_n1}, tile_k1 = {tile_k1}, {threads} threads",
    source=f"{_POLICY}: MakeVDramTileDistribution static_assert kKPerBlock == K0 * K1 * K2 * K3",
    accepts=[{}, {"tile_n1": 64}], rejects=[{"tile_n1": 48}],
)  # fmt: skip
def lanes_cover_v(c: AttentionQuantities) -> BoolExpr:
    """Lanes and waves cover V's step, which lies with the head dimension contiguous.

    Why: asserted where the elements of a thread are whole vectors; other steps are loaded in
    pairs, which wants a tile_n1 that is a multiple of 16.

    Fix: use powers of two.
    """
    most = minimum(c.v_elements, 16 // c.element_bytes)
    least = ite(c.element_bytes >= 4, 1, 4 // c.element_bytes)
    vector = ite(c.v_elements // most >= least, most, c.v_elements // least)
    across = c.tile_n1 // vector
    deep = c.v_elements // vector
    pairs = (c.v_elements % vector != 0) | (most % deep != 0)
    packs = most // deep
    lanes = packs * across
    inside = c.wave_size % lanes == 0
    rows = c.waves * (c.wave_size // lanes) * packs * deep
    beside = lanes // c.wave_size
    wide = c.waves // beside * beside * (packs // beside) * deep
    return ite(
        pairs, c.tile_n1 % 16 == 0,
        ite(inside, c.tile_k1 == rows, all_of(beside >= 1, c.tile_k1 == wide)),
    )  # fmt: skip


@rule(
    "FMHA031", "attention-lds-overflow", kind="hardware",
    applies=lambda c: c.staged & (c.v_elements >= 1),
    says="LDS: {lds_bytes} bytes, more than the {table lds_capacity} of {arch}: {k_stage} and {v_stage} elements a step of K and V",
    source=[f"{_POLICY}: GetSmemSize, GetSmemSizeKV, GetSmemSizeDropout", "arch/data/*.toml [lds] bytes"],
    accepts=[{}, _ASYNC], rejects=[{"tile_n1": 256, "tile_n0": 256, "tile_k1": 256, "tile_k0": 16}],
)  # fmt: skip
def attention_lds_fits(c: AttentionQuantities) -> BoolExpr:
    """The steps of K and V, and the random numbers of dropout, fit the LDS.

    Why: K and V share one buffer, or three of qr_async.

    Fix: use smaller steps.
    """
    return c.lds_bytes <= c.fact("lds_capacity")
