"""BGEN: which kernels of attention backward upstream's generator of November 2025 lists, by receipt.

As in `ckrules.constraints.fmha.generator`, every receipt is a rule set of its own. Facts:
``get_factory`` and ``get_bwd_blobs`` of example/ck_tile/01_fmha/codegen/ops/fmha_bwd.py.
"""

from __future__ import annotations

from ckrules.constraints.fmha import generator as forward
from ckrules.constraints.fmha import receipts
from ckrules.constraints.fmha.words import profile, profiles
from ckrules.constraints.fmha_bwd.tiles import TILES
from ckrules.constraints.fmha_bwd.vocabulary import (
    TILE,
    TRLOAD,
    WARP_TILES,
    WAVES,
    BackwardQuantities,
)
from ckrules.engine.expr import BoolExpr, all_of, implies, ite, rel
from ckrules.engine.rules import rule

_SOURCE = "example/ck_tile/01_fmha/codegen/ops/fmha_bwd.py (CK 2025.11)"
_BLOBS = f"{_SOURCE}: get_bwd_blobs"
_ALL = profiles()
_NO_STORE = ("no", "dropout_wg32", "dropout_wg16")


@rule(
    "BGEN001", "target-without-backward-generator", kind="profile", profiles=_ALL,
    says="upstream's generator refuses {arch}: \"Unsupported device target\"",
    source=f"{_SOURCE}: get_factory", accepts=[{}], rejects=[{"arch": "gfx1100"}],
)  # fmt: skip
def target_is_known(c: BackwardQuantities) -> BoolExpr:
    """The generator has a factory for GPUs whose names begin with gfx9 or gfx12.

    Why: it raises for other targets.
    """
    return c.target != "none"


@rule(
    "BGEN002", "backward-tile-not-listed", kind="profile", profiles=_ALL,
    applies=lambda c: c.target != "none",
    says="the generator has no such tile for {dtype} with head dimension {hdim} on {arch}, trload = {trload}",
    source=f"{_SOURCE}: get_dq_dk_dv_tiles", accepts=[{}, TRLOAD],
    rejects=[{"tile_m0": 32}, {**TRLOAD, "arch": "gfx942"}],
)  # fmt: skip
def tile_is_listed(c: BackwardQuantities) -> BoolExpr:
    """Tile, waves, warp tiles, launch bound and longest Q are a row of the generator's tables.

    Why: it has one tile for each head dimension and type, and five of gfx950 that load transposed.

    Fix: use a listed tile (`ckrules enumerate --profile receipt_0`).
    """
    waves = [getattr(c, n) for group in WAVES for n in group]
    warps = [getattr(c, n) for group in WARP_TILES for n in group]
    key = (c.target, c.trload, c.dtype, c.hdim, c.tile_m0, c.tile_n0)
    return all_of(
        rel(TILES[0], *key, *(getattr(c, n) for n in TILE[2:])),
        rel(TILES[1], *key, *waves),
        rel(TILES[2], *key, *warps, c.block_per_cu, c.max_seqlen_q),
    )


mask_is_simplified = forward.mask_is_simplified.under(
    "BGEN003", "backward-masks-of-generic-kernels",
    accepts=[{}, {"mask": "mask"}], rejects=[{"mask": "causal"}],
)  # fmt: skip


@rule(
    "BGEN004", "short-queries-with-mask", kind="profile", profiles=_ALL,
    applies=lambda c: c.max_seqlen_q != 0,
    says=["kernels for short Q are listed in batch mode: mode = {mode}",
          "kernels for short Q are listed without mask: mask = {mask}"],
    source=_BLOBS, accepts=[{"max_seqlen_q": 16}], rejects=[{"max_seqlen_q": 16, "mode": "group"}],
)  # fmt: skip
def short_queries_are_plain(c: BackwardQuantities) -> BoolExpr:
    """Kernels for short sequences of Q are listed in batch mode without mask.

    Why: no others are made for decoding.

    Fix: use max_seqlen_q = 0.
    """
    return all_of(c.mode == "batch", c.mask == "no")


@rule(
    "BGEN005", "gradient-of-no-bias", kind="profile", profiles=_ALL,
    says="the gradient of a bias needs an elementwise bias: bias = {bias}",
    source=_BLOBS, accepts=[{"bias": "bias", "dbias": True}], rejects=[{"dbias": True}],
)  # fmt: skip
def gradient_has_a_bias(c: BackwardQuantities) -> BoolExpr:
    """The gradient of the bias is listed with elementwise bias only.

    Why: slopes and no bias have none.

    Fix: set bias = bias, or clear dbias.
    """
    return implies(c.dbias, c.bias == "bias")


@rule(
    "BGEN006", "dropout-of-large-warp-tiles", kind="profile", profiles=_ALL,
    says="the generator leaves {dropout} out",
    source=f"{_BLOBS}, \"wg32\" in dropout", accepts=[{}, {"dropout": "dropout_wg16"}],
    rejects=[{"dropout": "dropout_wg32"}],
)  # fmt: skip
def dropout_is_of_small_warp_tiles(c: BackwardQuantities) -> BoolExpr:
    """Dropout is listed for warp tiles of 16 rows.

    Why: every listed warp tile has 16 rows.

    Fix: use dropout_wg16.
    """
    return c.dropout.isin("no", "dropout_wg16", "dropout_wg16_storerandval")


@rule(
    "BGEN007", "paddings-apart", kind="profile", profiles=_ALL,
    says="the generator does not join pad_d = {pad_d} with pad_dv = {pad_dv} where trload = {trload}",
    source=_BLOBS, accepts=[{}, {"pad_dv": 8}, {"pad_d": 1}],
    rejects=[{"pad_d": 8}, {**TRLOAD, "pad_d": 1, "pad_dv": 1}],
)  # fmt: skip
def paddings_are_joined(c: BackwardQuantities) -> BoolExpr:
    """pad_d = 8 comes with pad_dv = 8; transposed loads have both 0 or both 8.

    Why: transposed loads take 8 elements at once; of the others the generator saves the mixed ones.

    Fix: use the same padding for both.
    """
    same = c.pad_d == c.pad_dv
    return ite(c.trload, same & (c.pad_d != 1), same | (c.pad_d != 8))


single_precision_is_apart = receipts.single_precision_is_apart.under(
    "BGEN008", "backward-fp32-not-listed", source=_BLOBS, accepts=[{}], rejects=[{"dtype": "fp32"}]
)


@rule(
    "BGEN009", "paddings-differ", kind="profile", profiles=tuple(map(profile, (2, 3, 4, 800, 801))),
    says="this receipt has one padding: pad_d = {pad_d}, pad_dv = {pad_dv}", source=_BLOBS,
    accepts=[{}], rejects=[{"pad_dv": 1}],
)  # fmt: skip
def paddings_are_the_same(c: BackwardQuantities) -> BoolExpr:
    """Receipts 2, 3, 4, 800 and 801 take the same padding for both head dimensions.

    Why: their callers have one head dimension.

    Fix: use the same padding, or another receipt.
    """
    return c.pad_d == c.pad_dv


@rule(
    "BGEN010", "receipt-without-random-values", kind="profile",
    profiles=tuple(map(profile, (2, 4, 300, 400))),
    says="this receipt stores no random values: {dropout}", source=_BLOBS,
    accepts=[{}], rejects=[{"dropout": "dropout_wg16_storerandval"}],
)  # fmt: skip
def random_values_are_not_stored(c: BackwardQuantities) -> BoolExpr:
    """Receipts 2, 4, 300 and 400 store no random values of dropout.

    Why: only tests read them.

    Fix: use dropout_wg16.
    """
    return c.dropout.isin(*_NO_STORE)


@rule(
    "BGEN011", "receipt-without-determinism", kind="profile",
    profiles=tuple(map(profile, (3, 4, 801))),
    says="this receipt has no such kernels: deterministic = {deterministic}", source=_BLOBS,
    accepts=[{}], rejects=[{"deterministic": True}],
)  # fmt: skip
def order_is_free(c: BackwardQuantities) -> BoolExpr:
    """Receipts 3, 4 and 801 have no deterministic kernels.

    Why: their callers do not ask for them.

    Fix: use receipt 0 or 2.
    """
    return ~c.deterministic


@rule(
    "BGEN012", "receipt-without-the-bias", kind="profile",
    profiles=(profile(2), profile(3)),
    says="flash attention takes no bias and alibi, not {bias}", source=_BLOBS,
    accepts=[{"bias": "alibi"}], rejects=[{"bias": "bias"}],
)  # fmt: skip
def flash_attention_takes(c: BackwardQuantities) -> BoolExpr:
    """Receipts 2 and 3 take no elementwise bias.

    Why: flash attention has none.
    """
    return c.bias.isin("no", "alibi")


@rule(
    "BGEN013", "receipt-without-alibi", kind="profile", profiles=(profile(4),),
    says="PyTorch takes no bias and elementwise bias, not {bias}", source=_BLOBS, accepts=[{}], rejects=[{"bias": "alibi"}],
)  # fmt: skip
def pytorch_takes(c: BackwardQuantities) -> BoolExpr:
    """Receipt 4 takes no alibi.

    Why: PyTorch has none.
    """
    return c.bias.isin("no", "bias")


@rule(
    "BGEN014", "receipt-of-other-mode", kind="profile", profiles=(profile(300), profile(801)),
    says="this receipt has batch mode: mode = {mode}", source=_BLOBS,
    accepts=[{}], rejects=[{"mode": "group"}],
)  # fmt: skip
def mode_is_batch(c: BackwardQuantities) -> BoolExpr:
    """Receipts 300 and 801 take batch mode.

    Why: 300 is aiter's mha_bwd.

    Fix: use receipt 400.
    """
    return c.mode == "batch"


@rule(
    "BGEN015", "receipt-of-batch-mode", kind="profile", profiles=(profile(400),),
    says="this receipt has group mode: mode = {mode}", source=_BLOBS,
    accepts=[{"mode": "group"}], rejects=[{}],
)  # fmt: skip
def mode_is_group(c: BackwardQuantities) -> BoolExpr:
    """Receipt 400 takes group mode.

    Why: it is aiter's mha_varlen_bwd.

    Fix: use receipt 300.
    """
    return c.mode == "group"


@rule(
    "BGEN016", "receipt-of-other-types", kind="profile",
    profiles=tuple(map(profile, (800, 801))),
    says="receipts 800 and 801 have fp32, not {dtype}", source=_BLOBS,
    accepts=[{"dtype": "fp32"}], rejects=[{}],
)  # fmt: skip
def single_precision_only(c: BackwardQuantities) -> BoolExpr:
    """Receipts 800 and 801 take fp32.

    Why: they are for tests of it.
    """
    return c.dtype == "fp32"


@rule(
    "BGEN017", "receipt-801-leaves-backward-out", kind="profile", profiles=(profile(801),),
    says=["receipt 801 has head dimensions 64 and 128, not {hdim}", "receipt 801 has no bias: bias = {bias}",
          "receipt 801 has no dropout: dropout = {dropout}", "receipt 801 has no mask: mask = {mask}"], source=_BLOBS,
    accepts=[{}], rejects=[{"bias": "alibi"}],
)  # fmt: skip
def few_kernels_of_single_precision(c: BackwardQuantities) -> BoolExpr:
    """Receipt 801 takes the plainest kernels of head dimensions 64 and 128.

    Why: for quick tests of fp32.

    Fix: use receipt 800.
    """
    return all_of(c.hdim.isin(64, 128), c.bias == "no", c.dropout == "no", c.mask == "no")
