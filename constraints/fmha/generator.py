"""FGEN: which attention kernels upstream's generator of November 2025 lists, by receipt.

Every receipt is a rule set of its own, `receipt_0` and so on. What all of them share is a rule of
all; what a receipt takes of that is its own rule. The generator's ``-m simplified`` is meant, and
no filter. Facts: ``get_factory``, ``get_pipelines`` and ``get_*_blobs`` of
example/ck_tile/01_fmha/codegen/ops/fmha_{fwd,fwd_splitkv,pagedkv_prefill,batch_prefill}.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha import words as w
from ckrules.constraints.fmha.examples import ASYNC
from ckrules.constraints.fmha.tiles import TILES
from ckrules.constraints.fmha.vocabulary import TILE, WARP_TILES, WAVES, AttentionQuantities
from ckrules.engine.expr import BoolExpr, all_of, any_of, implies, ite, rel
from ckrules.engine.rules import rule

OPS = "example/ck_tile/01_fmha/codegen/ops/*.py (CK 2025.11)"
_ALL = w.profiles()

FWD, SPLIT, PAGED, PREFILL = w.VARIANTS
SPLIT_KERNEL: Mapping[str, Any] = {
    "variant": SPLIT, "tile_m0": 64, "warp_tile_m0": 16, "warp_tile_n0": 16, "warp_tile_m1": 16,
    "warp_tile_n1": 16, "pad_s": True, "lse": True,
}  # fmt: skip


def padded(c: AttentionQuantities, *words: str) -> BoolExpr:
    """Whether the paddings are one of some, each a letter t or f for s, sk, d and dv."""
    pads = (c.pad_s, c.pad_sk, c.pad_d, c.pad_dv)
    return any_of(*(
        all_of(*(p if on == "t" else ~p for p, on in zip(pads, word, strict=True)))
        for word in words
    ))  # fmt: skip


@rule(
    "FGEN001", "target-without-generator", kind="profile", profiles=_ALL,
    applies=lambda c: c.variant != PREFILL,
    says="upstream's generator refuses {arch}: \"Unsupported device target\"",
    source=f"{OPS}: get_factory",
    accepts=[{}, {"arch": "gfx950"}], rejects=[{"arch": "gfx1100"}],
)  # fmt: skip
def target_is_known(c: AttentionQuantities) -> BoolExpr:
    """The generator has a factory for GPUs whose names begin with gfx9 or gfx12.

    Why: it raises for other targets; batch prefill does not ask for the target.
    """
    return c.target != "none"


@rule(
    "FGEN002", "tile-not-listed", kind="profile", profiles=_ALL,
    applies=lambda c: (c.target != "none") | (c.variant == PREFILL),
    says="the generator has no such tile for {dtype} with head dimension {hdim} on {arch}",
    source=f"{OPS}: get_hdim_tile_size_dict",
    accepts=[{}, {"dtype": "bf16"}], rejects=[{"tile_m0": 64}, {"hdim": 64}, {"block_per_cu": 2}],
)  # fmt: skip
def tile_is_listed(c: AttentionQuantities) -> BoolExpr:
    """Tile, waves, warp tiles and launch bound are a row of the generator's tables.

    Why: it has a few tiles for each head dimension and type.

    Fix: use a listed tile (`ckrules enumerate --profile receipt_0`).
    """
    purpose = (c.variant, c.tiles_target, c.dtype, c.hdim)
    waves = [getattr(c, n) for group in WAVES for n in group]
    warps = [getattr(c, n) for group in WARP_TILES for n in group]
    tile = [getattr(c, n) for n in TILE]
    key = (*purpose, c.tile_m0, c.tile_n0, c.tile_n1)
    return all_of(
        rel(TILES[0], *purpose, *tile),
        rel(TILES[1], *key, *waves),
        rel(TILES[2], *key, *warps),
        rel(TILES[3], *key, c.block_per_cu),
    )


@rule(
    "FGEN003", "other-kernels-tile", kind="profile", profiles=_ALL,
    applies=lambda c: (c.variant == FWD) & c.target.isin("gfx9", "gfx950") & (c.dtype != "fp32"),
    says="the generator does not join {pipeline} with {tile_m0}x{tile_n0} for head dimension {hdim}",
    source="example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py: get_fwd_blobs (CK 2025.11)",
    accepts=[{}],
    rejects=[{"tile_n0": 64, "tile_k1": 16}, {"pipeline": "qr_async_trload", "arch": "gfx950"}],
)  # fmt: skip
def tile_is_the_pipelines(c: AttentionQuantities) -> BoolExpr:
    """Small tiles are for qr_async_trload, the others for the rest.

    Why: of the tiles of a head dimension the generator gives qr_async_trload those whose tile_n0
    is not 128 (128), or all (64); others take tile_n0 = 128 (128), or tile_m0 = 128.

    Fix: use another tile of the head dimension.
    """
    large = (c.hdim == 128) & (c.tile_n1 == 128)
    medium = (c.hdim == 64) & (c.tile_n1 == 64)
    return ite(
        c.pipeline == "qr_async_trload",
        medium | (large & (c.tile_n0 != 128)),
        ite(large, c.tile_n0 == 128, c.tile_m0 == 128),
    )


@rule(
    "FGEN004", "masks-of-generic-kernels", kind="profile", profiles=_ALL,
    says="the generator lists mask {mask} only where it is run with -m generic",
    source="example/ck_tile/01_fmha/generate.py: --mask (default: simplified) (CK 2025.11)",
    accepts=[{}, {"mask": "mask"}], rejects=[{"mask": "causal"}],
)  # fmt: skip
def mask_is_simplified(c: AttentionQuantities) -> BoolExpr:
    """Masks are none or simplified.

    Why: the build asks for the simplified masks, which decide causal and window at run time.

    Fix: use mask.
    """
    return c.mask.isin("no", "mask")


@rule(
    "FGEN005", "group-without-padding", kind="profile", profiles=_ALL,
    applies=lambda c: c.mode == "group",
    says=["group mode is listed with padding: pad_s = {pad_s}", "group mode is listed with padding: pad_sk = {pad_sk}"],
    source=f"{OPS}: get_*_blobs, \"in group mode, spad/skpad must be true\"",
    accepts=[{"mode": "group", "pad_s": True, "pad_sk": True}],
    rejects=[{"mode": "group", "pad_sk": True}],
)  # fmt: skip
def group_is_padded(c: AttentionQuantities) -> BoolExpr:
    """Kernels of group mode pad both sequences.

    Why: nobody knows the lengths of the sequences beforehand.

    Fix: set pad_s and pad_sk.
    """
    return c.pad_s & c.pad_sk


@rule(
    "FGEN006", "cap-with-bias", kind="profile", profiles=_ALL,
    says="the generator caps scores without bias only: bias = {bias}",
    source=f"{OPS}: get_*_blobs, \"logits_soft_cap is only allowed if no bias\"",
    accepts=[{"logits": True}], rejects=[{"logits": True, "bias": "alibi"}],
)  # fmt: skip
def cap_has_no_bias(c: AttentionQuantities) -> BoolExpr:
    """Scores are capped only without bias.

    Why: the pipelines assert it.

    Fix: drop the bias or the cap.
    """
    return implies(c.logits, c.bias == "no")


@rule(
    "FGEN007", "training-of-192-128", kind="profile", profiles=_ALL,
    applies=lambda c: (c.variant == FWD) & (c.hdim == 192) & (c.tile_n1 == 128),
    says=["head dimensions 192 and 128 are listed without bias, not {bias}",
          "head dimensions 192 and 128 are listed without dropout: dropout = {dropout}"],
    source="example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py: get_fwd_blobs (CK 2025.11)",
    accepts=[{"hdim": 192, "tile_k0max": 192}],
    rejects=[{"hdim": 192, "tile_k0max": 192, "dropout": True}],
)  # fmt: skip
def prefill_has_no_training(c: AttentionQuantities) -> BoolExpr:
    """Head dimensions of 192 and 128 come without bias and dropout.

    Why: they are meant for prefill only.
    """
    return all_of(c.bias == "no", ~c.dropout)


def _halves_of_gfx9(c: AttentionQuantities) -> BoolExpr:
    """Pipelines and paddings of 16-bit types on gfx9."""
    whole = (c.hdim == 256) & (c.tile_n1 == 256)
    usual = ite(
        c.bias == "bias",
        (c.pipeline == "qr") & padded(c, "ffff", "tttt"),
        (c.pipeline == "qr_async") & padded(c, "tftt", "tttt"),
    )
    return ite(whole, (c.pipeline == "qr") & padded(c, "ffff", "ttff", "tttt"), usual)


def _more_halves(c: AttentionQuantities) -> BoolExpr:
    """What receipt 1 has beside those."""
    return all_of(
        c.dtype.isin(*w.HALVES), c.target.isin("gfx9", "gfx950"),
        ~((c.hdim == 256) & (c.tile_n1 == 256)), c.bias != "bias", c.pipeline == "qr",
        ~c.trload, padded(c, "tttt"),
    )  # fmt: skip


def _transposing(c: AttentionQuantities) -> BoolExpr:
    """What gfx950 has beside the pipelines of gfx9."""
    return all_of(
        c.target == "gfx950", c.pipeline == "qr_async_trload", c.trload,
        c.hdim == c.tile_n1, c.hdim.isin(64, 128), ~c.logits, c.bias == "no",
        ~c.dropout, ~c.skip, padded(c, "ffff", "fftt"),
    )  # fmt: skip


def _forward(c: AttentionQuantities) -> BoolExpr:
    """Pipelines and paddings of fwd."""
    gfx9 = c.target.isin("gfx9", "gfx950")
    plain = (c.pipeline == "qr") & ~c.trload
    return ite(
        c.dtype.isin(*w.HALVES),
        ite(
            gfx9,
            any_of(_halves_of_gfx9(c) & ~c.trload, _transposing(c)),
            plain & padded(c, "ffff", "tttt"),
        ),
        ite(
            c.dtype == "fp32",
            plain & padded(c, "ffff", "ftff", "tttt"),
            all_of(plain, padded(c, "ffff", "ttff"), ~c.logits, ~c.lse, ~c.dropout, ~c.skip),
        ),
    )


def _caches(c: AttentionQuantities) -> BoolExpr:
    """Pipelines and paddings of the kernels for caches."""
    half = c.dtype.isin(*w.HALVES)
    none = ~c.trload & ~c.skip
    split = all_of(
        c.pipeline == "qr", none, ~c.dropout, c.lse,
        ite(half, padded(c, "ftff", "tfff", "ttff", "tttt"), padded(c, "ffff", "ttff") & ~c.paged_kv),
    )  # fmt: skip
    paged = all_of(
        c.pipeline == "qr_pagedkv", none, ~c.dropout, ~c.lse, c.paged_kv,
        ite(half, padded(c, "tfff", "ttff"), padded(c, "ffff", "ttff")),
    )  # fmt: skip
    prefill = all_of(c.pipeline == "qr_async", none, c.paged_kv, padded(c, "tftt", "tttt"))
    return ite(c.variant == SPLIT, split, ite(c.variant == PAGED, paged, prefill))


@rule(
    "FGEN008", "pipeline-not-listed", kind="profile", profiles=w.profiles(but=(1,)),
    says="the generator does not join {pipeline}, paddings {pad_s}, {pad_sk}, {pad_d}, {pad_dv} and these traits for {dtype}",
    source=f"{OPS}: get_pipelines",
    accepts=[{"bias": "bias"}, ASYNC, {**SPLIT_KERNEL}],
    rejects=[{}, {**ASYNC, "pad_d": False}, {**ASYNC, "trload": True}, {**SPLIT_KERNEL, "lse": False}],
)  # fmt: skip
def pipeline_is_listed(c: AttentionQuantities) -> BoolExpr:
    """Pipeline and paddings are a pair that the generator lists for type, GPU and bias.

    Why: it gives every type a few pairs, elementwise bias qr in place of qr_async, and gfx950
    qr_async_trload for the plainest kernels.

    Fix: use another pipeline or other paddings.
    """
    return _listed(c, _forward(c))


def _listed(c: AttentionQuantities, forward: BoolExpr) -> BoolExpr:
    return ite(c.variant == FWD, forward & ~c.paged_kv, _caches(c)) & (c.v_layout == "row")


@rule(
    "FGEN009", "pipeline-not-listed-for-all-dimensions", kind="profile", profiles=(w.profile(1),),
    says="the generator does not join {pipeline}, paddings {pad_s}, {pad_sk}, {pad_d}, {pad_dv} and these traits for {dtype}",
    source="example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py: get_pipelines, receipt 1 (CK 2025.11)",
    accepts=[ASYNC, {"pad_s": True, "pad_sk": True, "pad_d": True, "pad_dv": True}], rejects=[{}],
)  # fmt: skip
def more_pipelines_are_listed(c: AttentionQuantities) -> BoolExpr:
    """Receipt 1 lists padded qr kernels beside qr_async, for head dimensions of any size.

    Why: qr_async wants head dimensions that are a multiple of 16 bytes.

    Fix: use another pipeline or other paddings.
    """
    return _listed(c, _forward(c) | _more_halves(c))


@rule(
    "FGEN010", "quantised-other-types", kind="profile", profiles=_ALL,
    says="the generator does not list squant = {squant} for {dtype} in {variant}",
    source=f"{OPS}: get_pipelines, squant",
    accepts=[{}], rejects=[{"squant": True}],
)  # fmt: skip
def quantised_by_type(c: AttentionQuantities) -> BoolExpr:
    """Static quantisation is for 8-bit types: in fwd with and without, for caches always with.

    Why: 16-bit types need no scales.

    Fix: set squant as the type wants it.
    """
    wide = c.dtype.isin("fp32", *w.HALVES)
    return ite(wide, ~c.squant, (c.variant == FWD) | c.squant)
