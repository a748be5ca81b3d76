"""SGEN: which kernels before and after attention upstream's generator lists, by receipt.

As in `ckrules.constraints.fmha.generator`, every receipt is a rule set of its own. Facts:
``get_fwd_splitkv_combine_blobs``, ``get_fwd_appendkv_blobs`` and ``get_bwd_blobs`` of
example/ck_tile/01_fmha/codegen/ops/fmha_{fwd_splitkv,fwd_appendkv,bwd}.py, CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha.words import HALVES, profile, profiles
from ckrules.constraints.fmha_bwd import generator as backward
from ckrules.constraints.fmha_bwd.tiles import CONVERTED, HEADS
from ckrules.constraints.fmha_steps.vocabulary import BASELINE, StepQuantities
from ckrules.constraints.fmha_steps.words import APPEND, COMBINE, CONVERT, DOT
from ckrules.engine.expr import BoolExpr, all_of, any_of, implies, ite, rel
from ckrules.engine.rules import rule

_OPS = "example/ck_tile/01_fmha/codegen/ops/fmha_{fwd_splitkv,fwd_appendkv,bwd}.py (CK 2025.11)"
_ALL = profiles()
AN_APPEND: Mapping[str, Any] = {
    "variant": APPEND, "tile_s": 64, "tile_sk": 64, "tile_d": 128, "tile_dv": 128, "pad_sk": True,
}  # fmt: skip
A_DOT: Mapping[str, Any] = {"variant": DOT, "tile_s": 64, "tile_dv": 0, "block_per_cu": 2}
A_CONVERT: Mapping[str, Any] = {**A_DOT, "variant": CONVERT}
assert BASELINE["variant"] == COMBINE

_BACKWARD = (DOT, CONVERT)
_BLOBS = f"{_OPS}: get_bwd_blobs"


def _of_backward(c: StepQuantities) -> BoolExpr:
    return c.variant.isin(*_BACKWARD)


target_is_known = backward.target_is_known.under(
    "SGEN001", "target-without-step-generator", source=f"{_OPS}: get_factory",
    accepts=[{}], rejects=[{"arch": "gfx1100"}],
)  # fmt: skip


def _head_dimension(c: StepQuantities) -> BoolExpr:
    """Types and head dimensions of the forward kernels."""
    half = c.dtype.isin(*HALVES)
    eight = (c.dtype == "fp8") & c.hdim.isin(64, 128, 256)
    combined = half & c.hdim.isin(32, 64, 96, 128, 256)
    appended = half & c.hdim.isin(32, 64, 128, 256)
    return eight | ite(c.variant == COMBINE, combined, appended)


@rule(
    "SGEN002", "head-dimension-not-listed", kind="profile", profiles=_ALL,
    applies=lambda c: c.target != "none",
    says="the generator has no {variant} of {dtype} with head dimension {hdim} on {arch}",
    source=f"{_OPS}: get_combine_hdim_tile_size_dict, get_hdim_tile_size_dict, get_dq_dk_dv_tiles",
    accepts=[{}, AN_APPEND, A_DOT, {**A_DOT, "hdim": 96}],
    rejects=[{"hdim": 48}, {"dtype": "fp32"}, {**A_DOT, "hdim": 96, "arch": "gfx1201"}],
)  # fmt: skip
def head_dimension_is_listed(c: StepQuantities) -> BoolExpr:
    """Type and head dimension are listed: backward those of the large kernel, forward a few.

    Why: the steps of backward are made for the tiles of dQ, dK and dV.

    Fix: use a listed head dimension.
    """
    backward = rel(HEADS, c.target, c.dtype, c.hdim)
    return ite(c.variant.isin(*_BACKWARD), backward, _head_dimension(c))


@rule(
    "SGEN003", "step-tile-not-listed", kind="profile", profiles=_ALL,
    applies=lambda c: c.target != "none",
    says="the generator has no such tile or launch bound of {variant} for head dimension {hdim}",
    source=f"{_OPS}: FmhaFwdSplitKVCombineTileSize, FmhaFwdAppendKVTileSize, M0_1D, convert_dq_bn0",
    accepts=[{}, AN_APPEND, A_DOT, A_CONVERT, {**A_CONVERT, "deterministic": True, "tile_sk": 128}],
    rejects=[{"tile_dv": 16}, {**A_CONVERT, "tile_sk": 128}, {**A_DOT, "block_per_cu": 1}],
)  # fmt: skip
def tile_is_listed(c: StepQuantities) -> BoolExpr:
    """Combining takes 32 columns, appending 64 rows of whole heads, the others 64 rows.

    Why: the generator has one tile of each; after deterministic kernels tile_sk is theirs.

    Fix: use the listed tile.
    """
    parts = ite(
        c.deterministic, rel(CONVERTED, c.target, c.dtype, c.hdim, c.tile_sk), c.tile_sk == 0
    )
    return any_of(
        all_of(c.variant == COMBINE, c.tile_dv == 32, c.block_per_cu == -1),
        all_of(c.variant == APPEND, c.tile_s == 64, c.tile_sk == 64, c.tile_d == c.hdim,
               c.tile_dv == c.hdim, c.block_per_cu == -1),
        all_of(c.variant == DOT, c.tile_s == 64, c.block_per_cu == 2),
        all_of(c.variant == CONVERT, c.tile_s == 64, c.block_per_cu == 2, parts),
    )  # fmt: skip


@rule(
    "SGEN004", "step-group-without-padding", kind="profile", profiles=_ALL,
    says="group mode is listed with padding: pad_s = {pad_s}",
    source=f"{_OPS}: get_*_blobs",
    accepts=[{"mode": "group", "pad_s": True}], rejects=[{"mode": "group"}],
)  # fmt: skip
def group_is_padded(c: StepQuantities) -> BoolExpr:
    """Kernels of group mode pad Q's sequence.

    Why: nobody knows the lengths of the sequences beforehand.

    Fix: set pad_s.
    """
    return implies(c.mode == "group", c.pad_s)


def appended_traits(c: StepQuantities) -> BoolExpr:
    """Traits and paddings of kernels that append, which generator and dispatcher list alike."""
    every = all_of(c.pad_s, c.pad_sk, c.pad_d, c.pad_dv)
    few = all_of(~c.pad_s, c.pad_sk, c.pad_d == (c.rope != "no"), ~c.pad_dv)
    append = ite(c.dtype == "fp8", all_of(every, c.rope == "no", ~c.paged_kv), every | few)
    return append & (c.v_layout == "row")


@rule(
    "SGEN005", "traits-not-listed", kind="profile", profiles=_ALL,
    applies=lambda c: c.variant.isin(COMBINE, APPEND),
    says="the generator does not list this {variant} of {dtype}: its paddings or traits are not joined",
    source=f"{_OPS}: get_combine_pipelines, get_pipelines",
    accepts=[{}, AN_APPEND, {"dtype": "fp8", "squant": True}],
    rejects=[{"squant": True}, {**AN_APPEND, "pad_d": True},
             {**AN_APPEND, "dtype": "fp8"}, {"dtype": "fp8", "squant": True, "lse": True}],
)  # fmt: skip
def traits_are_listed(c: StepQuantities) -> BoolExpr:
    """Traits and paddings are joined as the generator does.

    Why: 8-bit types are quantised and store no LSE; appending has few paddings, with rotary
    embedding always of the head dimension, and of 8-bit types neither pages nor embedding.

    Fix: use listed traits.
    """
    eight = c.dtype == "fp8"
    combine = ite(eight, c.squant & ~c.lse, ~c.squant)
    return ite(c.variant == COMBINE, combine, appended_traits(c))


single_precision_is_apart = backward.single_precision_is_apart.under(
    "SGEN006", "step-fp32-not-listed", source=_BLOBS, accepts=[{}],
    rejects=[{**A_DOT, "dtype": "fp32"}],
)  # fmt: skip


single_precision_only = backward.single_precision_only.under(
    "SGEN007", "step-of-other-types", source=f"{_OPS}: get_*_blobs",
    accepts=[{**A_DOT, "dtype": "fp32"}], rejects=[A_DOT],
)  # fmt: skip


order_is_free = backward.order_is_free.under(
    "SGEN008", "step-without-determinism", source=_BLOBS, accepts=[A_CONVERT],
    rejects=[{**A_CONVERT, "deterministic": True, "tile_sk": 128}],
)  # fmt: skip


mode_is_batch = backward.mode_is_batch.under(
    "SGEN009", "step-of-group-mode", applies=_of_backward, source=_BLOBS, accepts=[A_DOT],
    rejects=[{**A_DOT, "mode": "group", "pad_s": True}],
    fact="Receipts 300 and 801 take batch mode of backward.",
)  # fmt: skip


mode_is_group = backward.mode_is_group.under(
    "SGEN010", "step-of-batch-mode", applies=_of_backward, source=_BLOBS,
    accepts=[{**A_DOT, "mode": "group", "pad_s": True}], rejects=[A_DOT],
    fact="Receipt 400 takes group mode of backward.",
)  # fmt: skip


@rule(
    "SGEN011", "receipt-200-combines-groups", kind="profile", profiles=(profile(200),),
    applies=lambda c: c.variant == COMBINE,
    says=["aiter combines fp16 and bf16, not {dtype}", "mha_varlen_fwd has group mode: mode = {mode}"],
    source=f"{_OPS}: get_fwd_splitkv_combine_blobs, receipt == 200",
    accepts=[{"mode": "group", "pad_s": True}], rejects=[{}],
)  # fmt: skip
def aiter_combines_groups(c: StepQuantities) -> BoolExpr:
    """Receipt 200 combines 16-bit types in group mode.

    Why: it is aiter's mha_varlen_fwd.

    Fix: use receipt 600.
    """
    return all_of(c.dtype.isin(*HALVES), c.mode == "group")


@rule(
    "SGEN012", "receipt-without-narrow-types", kind="profile", profiles=(profile(600),),
    applies=lambda c: c.variant == COMBINE,
    says="aiter combines fp16 and bf16, not {dtype}",
    source=f"{_OPS}: get_fwd_splitkv_combine_blobs, receipt == 600",
    accepts=[{}], rejects=[{"dtype": "fp8", "squant": True}],
)  # fmt: skip
def aiter_combines_halves(c: StepQuantities) -> BoolExpr:
    """Receipt 600 combines 16-bit types.

    Why: aiter's C++ functions have no others.
    """
    return c.dtype.isin(*HALVES)


@rule(
    "SGEN013", "receipt-appends-halves", kind="profile", profiles=(profile(2), profile(4)),
    applies=lambda c: c.variant == APPEND,
    says="this receipt appends fp16 and bf16, not {dtype}",
    source=f"{_OPS}: get_fwd_appendkv_blobs, receipt == 2, 4",
    accepts=[AN_APPEND], rejects=[{**AN_APPEND, "dtype": "fp8"}],
)  # fmt: skip
def halves_are_appended(c: StepQuantities) -> BoolExpr:
    """Receipts 2 and 4 append K and V of 16-bit types.

    Why: flash attention and PyTorch have no others.
    """
    return c.dtype.isin(*HALVES)


@rule(
    "SGEN014", "receipt-801-leaves-steps-out", kind="profile", profiles=(profile(801),),
    applies=_of_backward,
    says="receipt 801 has head dimensions 64 and 128, not {hdim}",
    source=f"{_OPS}: get_bwd_blobs, receipt == 801",
    accepts=[A_DOT], rejects=[{**A_DOT, "hdim": 32}],
)  # fmt: skip
def few_heads_of_single_precision(c: StepQuantities) -> BoolExpr:
    """Receipt 801 takes head dimensions 64 and 128 of backward.

    Why: for quick tests of fp32.

    Fix: use receipt 800.
    """
    return c.hdim.isin(64, 128)
