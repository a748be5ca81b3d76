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
from ckrules.constraints.fmha.tiles import TILES
from ckrules.constraints.fmha.vocabulary import TILE, WARP_TILES, WAVES, AttentionQuantities
from ckrules.engine.expr import BoolExpr, all_of, any_of, implies, ite, rel
from ckrules.engine.rules import rule

_OPS = "example/ck_tile/01_fmha/codegen/ops/*.py (CK 2025.11)"
_ALL = w.profiles()

FWD, SPLIT, PAGED, PREFILL = w.VARIANTS
_ASYNC: Mapping[str, Any] = {"pipeline": "qr_async", "pad_s": True, "pad_d": True, "pad_dv": True}
_SPLIT: Mapping[str, Any] = {
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
    source=f"{_OPS}: get_factory",
    accepts=[{}, {"arch": "gfx950"}], rejects=[{"arch": "gfx1100"}],
)  # fmt: skip
def target_is_known(c: AttentionQuantities) -> BoolExpr:
    """The generator has a factory for GPUs whose names begin with gfx9 or gfx12.

    Why: it raises for other targets; batch prefill does not ask for the target.

    Fix: none; another generator has to make the kernel.
    """
    return c.target != "none"


@rule(
    "FGEN002", "tile-not-listed", kind="profile", profiles=_ALL,
    applies=lambda c: (c.target != "none") | (c.variant == PREFILL),
    says="the generator has no such tile for {dtype} with head dimension {hdim} on {arch}",
    source=f"{_OPS}: get_hdim_tile_size_dict",
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
    source=f"{_OPS}: get_*_blobs, \"in group mode, spad/skpad must be true\"",
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
    source=f"{_OPS}: get_*_blobs, \"logits_soft_cap is only allowed if no bias\"",
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

    Fix: none; another generator has to make the kernel.
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
    source=f"{_OPS}: get_pipelines",
    accepts=[{"bias": "bias"}, _ASYNC, {**_SPLIT}],
    rejects=[{}, {**_ASYNC, "pad_d": False}, {**_ASYNC, "trload": True}, {**_SPLIT, "lse": False}],
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
    accepts=[_ASYNC, {"pad_s": True, "pad_sk": True, "pad_d": True, "pad_dv": True}], rejects=[{}],
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
    source=f"{_OPS}: get_pipelines, squant",
    accepts=[{}], rejects=[{"squant": True}],
)  # fmt: skip
def quantised_by_type(c: AttentionQuantities) -> BoolExpr:
    """Static quantisation is for 8-bit types: in fwd with and without, for caches always with.

    Why: 16-bit types need no scales.

    Fix: set squant as the type wants it.
    """
    wide = c.dtype.isin("fp32", *w.HALVES)
    return ite(wide, ~c.squant, (c.variant == FWD) | c.squant)


_FLASH = (w.profile(2), w.profile(3))


@rule(
    "FGEN011", "receipt-2-leaves-out", kind="profile", profiles=_FLASH,
    applies=lambda c: (c.variant != SPLIT),
    says=["flash attention takes fp16 and bf16, not {dtype}",
          "flash attention takes no bias and alibi, not {bias}",
          "flash attention skips no sequences: skip = {skip}"],
    source=f"{_OPS}: get_*_blobs, receipt in (2, 3)",
    accepts=[{}, {"bias": "alibi"}], rejects=[{"dtype": "fp8"}, {"bias": "bias"}, {"skip": True}],
)  # fmt: skip
def flash_attention_takes(c: AttentionQuantities) -> BoolExpr:
    """Receipts 2 and 3 take 16-bit types without elementwise bias and skipping.

    Why: flash attention has no such functions.

    Fix: none; another receipt has the kernel.
    """
    return all_of(c.dtype.isin(*w.HALVES), c.bias.isin("no", "alibi"), ~c.skip)


@rule(
    "FGEN012", "receipt-2-leaves-splits-out", kind="profile", profiles=(w.profile(2),),
    applies=lambda c: c.variant == SPLIT,
    says=["flash attention takes fp16 and bf16, not {dtype}",
          "flash attention takes no bias and alibi, not {bias}"],
    source="example/ck_tile/01_fmha/codegen/ops/fmha_fwd_splitkv.py: get_fwd_splitkv_blobs, receipt == 2",
    accepts=[_SPLIT], rejects=[{**_SPLIT, "bias": "bias"}],
)  # fmt: skip
def flash_attention_splits(c: AttentionQuantities) -> BoolExpr:
    """Receipt 2 takes split-KV kernels of 16-bit types without elementwise bias.

    Why: as for fwd; receipt 3 is not asked about here and lists all.

    Fix: none; another receipt has the kernel.
    """
    return c.dtype.isin(*w.HALVES) & c.bias.isin("no", "alibi")


@rule(
    "FGEN013", "receipt-4-leaves-out", kind="profile", profiles=(w.profile(4),),
    applies=lambda c: c.variant != SPLIT,
    says=["PyTorch takes fp16 and bf16, not {dtype}", "PyTorch takes no bias and elementwise bias, not {bias}",
          "PyTorch skips no sequences: skip = {skip}", "PyTorch takes batch mode of fwd: mode = {mode}",
          "PyTorch caps no scores of fwd: logits = {logits}"],
    source=f"{_OPS}: get_*_blobs, receipt == 4",
    accepts=[{}, {"bias": "bias"}],
    rejects=[{"bias": "alibi"}, {"logits": True}, {"mode": "group"}],
)  # fmt: skip
def pytorch_takes(c: AttentionQuantities) -> BoolExpr:
    """Receipt 4 takes 16-bit types without alibi and skipping, of fwd in batch mode without cap.

    Why: PyTorch has no such functions.

    Fix: none; another receipt has the kernel.
    """
    forward = c.variant == FWD
    return all_of(
        c.dtype.isin(*w.HALVES), c.bias.isin("no", "bias"), ~c.skip,
        implies(forward, c.mode == "batch"), implies(forward, ~c.logits),
    )  # fmt: skip


@rule(
    "FGEN014", "receipt-4-without-splits", kind="profile", profiles=(w.profile(4),),
    says="receipt 4 lists no {variant}: its test has \"fp16, bf16\" as one type",
    source="example/ck_tile/01_fmha/codegen/ops/fmha_fwd_splitkv.py: get_fwd_splitkv_blobs, receipt == 4",
    accepts=[{}], rejects=[_SPLIT],
)  # fmt: skip
def pytorch_splits_nothing(c: AttentionQuantities) -> BoolExpr:
    """Receipt 4 lists no split-KV kernels.

    Why: a quotation mark is missing: dtype in ["fp16, bf16"] is never true. Its combine kernels
    are listed.

    Fix: none; another receipt has the kernel.
    """
    return c.variant != SPLIT


def _aiter(c: AttentionQuantities) -> BoolExpr:
    """What aiter's receipts take: 16-bit types, and fp8bf16 of fwd with head dimension 128."""
    eight = (c.variant == FWD) & (c.dtype == "fp8bf16") & (c.hdim == 128)
    return c.dtype.isin(*w.HALVES) | eight


@rule(
    "FGEN015", "receipt-100-leaves-out", kind="profile", profiles=(w.profile(100),),
    applies=lambda c: c.variant != SPLIT,
    says=["aiter takes fp16, bf16 and of fwd fp8bf16 of head dimension 128, not {dtype}",
          "mha_fwd has one length: mode = {mode}"],
    source=f"{_OPS}: get_*_blobs, receipt == 100",
    accepts=[{}], rejects=[{"dtype": "fp8"}, {"mode": "group"}],
)  # fmt: skip
def aiter_takes_batches(c: AttentionQuantities) -> BoolExpr:
    """Receipt 100 takes batch mode of 16-bit types and of fp8bf16 with head dimension 128.

    Why: aiter's mha_fwd; split-KV kernels are not asked about.

    Fix: none; another receipt has the kernel.
    """
    return all_of(_aiter(c), c.mode == "batch")


@rule(
    "FGEN016", "receipt-200-leaves-out", kind="profile", profiles=(w.profile(200),),
    says=["aiter takes fp16, bf16 and of fwd fp8bf16 of head dimension 128, not {dtype}",
          "mha_varlen_fwd has lengths of their own: mode = {mode}"],
    source=f"{_OPS}: get_*_blobs, receipt == 200",
    accepts=[{"mode": "group"}], rejects=[{}],
)  # fmt: skip
def aiter_takes_groups(c: AttentionQuantities) -> BoolExpr:
    """Receipt 200 takes group mode of 16-bit types and of fp8bf16 with head dimension 128.

    Why: aiter's mha_varlen_fwd and mha_batch_prefill.

    Fix: none; another receipt has the kernel.
    """
    return all_of(_aiter(c), c.mode == "group")


@rule(
    "FGEN017", "receipt-600-leaves-out", kind="profile", profiles=(w.profile(600),),
    says=["aiter takes fp16, bf16 and of fwd fp8bf16 of head dimension 128, not {dtype}",
          "aiter takes batch prefill in group mode: mode = {mode}"],
    source=f"{_OPS}: get_*_blobs, receipt == 600",
    accepts=[{}], rejects=[{"dtype": "fp8"}],
)  # fmt: skip
def aiter_takes_both(c: AttentionQuantities) -> BoolExpr:
    """Receipt 600 takes 16-bit types, fp8bf16 with head dimension 128, and prefill in group mode.

    Why: aiter's C++ functions.

    Fix: none; another receipt has the kernel.
    """
    return all_of(_aiter(c), implies(c.variant == PREFILL, c.mode == "group"))


@rule(
    "FGEN018", "receipt-888-leaves-out", kind="profile", profiles=(w.profile(888),),
    applies=lambda c: c.variant == FWD,
    says=["receipt 888 has 8-bit types, not {dtype}", "receipt 888 has head dimension 128, not {hdim}"],
    source="example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py: get_fwd_blobs, receipt == 888 (CK 2025.11)",
    accepts=[{"dtype": "fp8"}], rejects=[{}],
)  # fmt: skip
def narrow_types_only(c: AttentionQuantities) -> BoolExpr:
    """Receipt 888 takes 8-bit types of head dimension 128.

    Why: for tests of these types.

    Fix: none; another receipt has the kernel.
    """
    return all_of(c.dtype.isin("fp8", "fp8bf16", "fp8fp32"), c.hdim == 128)


@rule(
    "FGEN019", "fp32-not-listed", kind="profile", profiles=w.profiles(but=(800, 801)),
    says="only receipts 800 and 801 list {dtype}",
    source=f"{_OPS}: get_*_blobs, \"Don't build fp32 by default\"",
    accepts=[{}], rejects=[{"dtype": "fp32"}],
)  # fmt: skip
def single_precision_is_apart(c: AttentionQuantities) -> BoolExpr:
    """fp32 is listed by receipts 800 and 801 alone.

    Why: it is for tests.

    Fix: use receipt 800.
    """
    return c.dtype != "fp32"


@rule(
    "FGEN020", "receipt-800-leaves-out", kind="profile", profiles=(w.profile(800), w.profile(801)),
    says=["receipts 800 and 801 have fp32, not {dtype}", "receipts 800 and 801 skip no sequences: skip = {skip}",
          "receipts 800 and 801 cap no scores: logits = {logits}"],
    source=f"{_OPS}: get_*_blobs, receipt == 800",
    accepts=[{"dtype": "fp32"}], rejects=[{}, {"dtype": "fp32", "logits": True}],
)  # fmt: skip
def single_precision_only(c: AttentionQuantities) -> BoolExpr:
    """Receipts 800 and 801 take fp32, without cap and skipping.

    Why: they are for tests of fp32; kernels for caches have no tiles of it.

    Fix: none; another receipt has the kernel.
    """
    return all_of(c.dtype == "fp32", ~c.skip, ~c.logits)


@rule(
    "FGEN021", "receipt-801-leaves-out", kind="profile", profiles=(w.profile(801),),
    says=["receipt 801 has head dimensions 48 and 128, not {hdim}",
          "receipt 801 has batch mode: mode = {mode}", "receipt 801 has no bias: bias = {bias}",
          "receipt 801 stores no LSE: lse = {lse}", "receipt 801 has no dropout: dropout = {dropout}", "receipt 801 has no mask: mask = {mask}"],
    source="example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py: get_fwd_blobs, receipt == 801 (CK 2025.11)",
    accepts=[{"dtype": "fp32"}], rejects=[{"lse": True}],
)  # fmt: skip
def few_kernels_of_single_precision(c: AttentionQuantities) -> BoolExpr:
    """Receipt 801 takes the plainest kernels of head dimensions 48 and 128.

    Why: for quick tests of fp32.

    Fix: use receipt 800.
    """
    return all_of(
        c.hdim.isin(48, 128), c.mode == "batch", c.bias == "no", ~c.lse, ~c.dropout, c.mask == "no"
    )
