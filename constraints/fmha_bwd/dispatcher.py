"""BDSP: which kernels of attention backward upstream's dispatcher writes since June 2026.

Its backward has no sweep: a table of tiles, the same for every GPU, is multiplied with features,
and the receipt is not asked. Facts: ``_expand_bwd`` of dispatcher/codegen/fmha/instance_gen.py with
fmha_arch_specs.json, FmhaKernelConfig of dispatcher/python/fmha_utils.py, ROCm/composable_kernel of
June 2026 (read; not installed anywhere to be run).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ckrules.constraints.fmha.dispatcher import CONFIG, DTYPES, INSTANCES, SPECS
from ckrules.constraints.fmha.words import HALVES
from ckrules.constraints.fmha_bwd.vocabulary import TILE, WARP_TILES, WAVES, BackwardQuantities
from ckrules.engine.expr import BoolExpr, all_of, implies, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.rules import rule

_PROFILE = ("dispatcher",)

_ONE, _ROW, _SQUARE = (
    (1, 1, 1, 1, 1, 1, 1, 1, 1), (1, 4, 1, 4, 1, 1, 1, 4, 1), (1, 4, 1, 4, 1, 1, 2, 2, 1),
)  # fmt: skip
_MAIN, _EXTRA, _SMALL = "main", "extra", "small"
#: ``dq_dk_dv_fp16`` and ``dq_dk_dv_extra`` with ``bwd_wave_warp``: kind, whether operands are
#: transposed as LDS is read, tile, waves, and K of the warp tiles of products 1 and 3.
TILES: tuple[tuple[str, bool, tuple[int, ...], tuple[int, ...], int], ...] = (
    (_MAIN, False, (32, 128, 32, 32, 32, 32, 64, 32, 32), _SQUARE, 16),
    (_MAIN, False, (32, 128, 64, 32, 64, 32, 32, 64, 64), _ROW, 16),
    (_MAIN, False, (32, 128, 96, 32, 96, 32, 32, 96, 96), _SQUARE, 16),
    (_MAIN, False, (16, 128, 128, 16, 128, 16, 32, 128, 128), _ROW, 16),
    (_MAIN, False, (16, 64, 256, 16, 256, 16, 32, 256, 256), _ROW, 16),
    (_EXTRA, True, (32, 128, 64, 32, 64, 32, 32, 64, 64), _ROW, 32),
    (_SMALL, False, (32, 16, 64, 32, 64, 32, 16, 64, 64), _ONE, 16),
    (_SMALL, False, (16, 16, 128, 16, 128, 16, 16, 128, 128), _ONE, 16),
    (_EXTRA, False, (16, 192, 128, 16, 128, 16, 32, 128, 128), _ROW, 16),
    (_EXTRA, True, (32, 128, 128, 32, 128, 32, 32, 128, 128), _ROW, 32),
)
_KEY = ("trload", "hdim", "tile_m0", "tile_n0")
_SHAPES = tuple(n for group in (*WAVES, *WARP_TILES) for n in group)


def _rows(*kinds: str) -> Iterator[tuple[bool, int, tuple[int, ...], tuple[int, ...], int]]:
    for kind, trload, tile, waves, deep in TILES:
        if kind in kinds:
            yield trload, tile[7], tile, waves, deep


_KINDS = {
    kind: Table.relation(
        f"dispatcher_backward_{kind}", _KEY,
        [(trload, hdim, *tile[:2]) for trload, hdim, tile, _, _ in _rows(kind)], source=SPECS,
    )
    for kind in (_MAIN, _SMALL)
}  # fmt: skip
_ALL = list(_rows(_MAIN, _EXTRA, _SMALL))
_TILE = Table.relation(
    "dispatcher_backward_tiles", (*_KEY, *TILE[2:]),
    [(trload, hdim, *tile) for trload, hdim, tile, _, _ in _ALL], source=f"{SPECS}: bwd_tiles",
)  # fmt: skip
_WAVES = Table.relation(
    "dispatcher_backward_waves", (*_KEY, *_SHAPES),
    [(trload, hdim, *tile[:2], *waves, 16, 16, 32, 16, 16, deep)
     for trload, hdim, tile, waves, deep in _ALL],
    source=f"{SPECS}: bwd_wave_warp; {INSTANCES}: bwd_dq_wave_warp",
)  # fmt: skip
_GPUS = Table.relation("dispatcher_backward_gpus", ("arch",), [(g,) for g in DTYPES], source=SPECS)

_PADDED: Mapping[str, Any] = {"block_per_cu": -1}
_TRANSPOSED: Mapping[str, Any] = {
    **_PADDED, "trload": True, "tile_m0": 32, "tile_k1": 32, "tile_k3": 32, "warp_tile_k1": 32,
}  # fmt: skip
_SHORT: Mapping[str, Any] = {
    **_PADDED, "tile_n0": 16, "tile_k4": 16,
    **{f"wave_{x}{p}": 1 for x in "mn" for p in (0, 1, 2)},
}  # fmt: skip


def _of_kind(c: BackwardQuantities, kind: str) -> BoolExpr:
    return rel(_KINDS[kind], c.trload, c.hdim, c.tile_m0, c.tile_n0)


@rule(
    "BDSP001", "backward-beyond-dispatcher", kind="profile", profiles=_PROFILE,
    says=["the dispatcher has no attention on {arch}", "the dispatcher has no backward of {dtype}"],
    source=[f"{SPECS}: architectures", f"{INSTANCES}: _expand_bwd"],
    accepts=[_PADDED, {**_PADDED, "arch": "gfx1100"}],
    rejects=[{**_PADDED, "dtype": "fp32"}, {**_PADDED, "arch": "gfx908"}],
)  # fmt: skip
def backward_is_known(c: BackwardQuantities) -> BoolExpr:
    """Backward is for fp16 and bf16, on the five GPUs that the dispatcher knows.

    Why: other types are skipped. gfx1100 has them, which upstream's generator refuses.
    """
    return all_of(rel(_GPUS, c.arch), c.dtype.isin(*HALVES))


@rule(
    "BDSP002", "backward-tile-beyond-dispatcher", kind="profile", profiles=_PROFILE,
    says=["the dispatcher has no such tile for head dimension {hdim}, trload = {trload}",
          "the dispatcher has other waves or warp tiles with tile_m0 = {tile_m0}, tile_n0 = {tile_n0}",
          "the dispatcher leaves launch bounds to the pipeline: block_per_cu = {block_per_cu}",
          "the dispatcher names no longest Q: max_seqlen_q = {max_seqlen_q}"],
    source=[f"{SPECS}: bwd_tiles, bwd_wave_warp", f"{INSTANCES}: _expand_bwd, bwd_dq_wave_warp",
            f"{CONFIG}.to_codegen_json (max_seq_len_q)"],
    accepts=[_PADDED, _TRANSPOSED, {**_TRANSPOSED, "arch": "gfx1201"}, _SHORT],
    rejects=[{}, {**_PADDED, "tile_m0": 32}, {**_PADDED, "wave_m2": 2, "wave_n2": 2},
             {**_PADDED, "warp_tile_k0": 16}, {**_SHORT, "max_seqlen_q": 16}],
)  # fmt: skip
def backward_tile_is_the_table(c: BackwardQuantities) -> BoolExpr:
    """The tile is one of ten, with waves and warp tiles that follow from it, on every GPU.

    Why: the tiles of gfx9 and gfx950 are written for all five GPUs; those for short Q have lost
    their longest Q and the transposed loads, and no launch bound is named.

    Fix: use a tile of `ckrules enumerate --profile dispatcher`.
    """
    key = (c.trload, c.hdim, c.tile_m0, c.tile_n0)
    return all_of(
        rel(_TILE, *key, *(getattr(c, n) for n in TILE[2:])),
        rel(_WAVES, *key, *(getattr(c, n) for n in _SHAPES)),
        c.block_per_cu == -1,
        c.max_seqlen_q == 0,
    )


@rule(
    "BDSP003", "backward-paddings-beyond-dispatcher", kind="profile", profiles=_PROFILE,
    says=["the dispatcher does not join pad_d = {pad_d} with pad_dv = {pad_dv}",
          "the dispatcher pads these tiles by whole vectors or not at all: pad_d = {pad_d}, pad_dv = {pad_dv}"],
    source=f"{SPECS}: pad_combos, extra_pad_combos",
    accepts=[_PADDED, {**_PADDED, "pad_dv": 8}, {**_TRANSPOSED, "pad_d": 8, "pad_dv": 8}],
    rejects=[{**_PADDED, "pad_d": 8}, {**_TRANSPOSED, "pad_d": 1, "pad_dv": 1}],
)  # fmt: skip
def backward_paddings_are_joined(c: BackwardQuantities) -> BoolExpr:
    """pad_d = 8 comes with pad_dv = 8, and tiles beside the main ones have both 8 or none.

    Why: as in the generator, whose other tiles load transposed.

    Fix: use the same padding for both.
    """
    return all_of(
        implies(c.pad_d == 8, c.pad_dv == 8),
        _of_kind(c, _MAIN) | ((c.pad_d == c.pad_dv) & (c.pad_d != 1)),
    )


@rule(
    "BDSP004", "backward-features-beyond-dispatcher", kind="profile", profiles=_PROFILE,
    says=["the dispatcher has simplified masks and windows, not {mask}",
          "the dispatcher has the gradient of an elementwise bias only: bias = {bias}",
          "the dispatcher's dropout is of warp tiles of 16 rows: dropout = {dropout}",
          "the dispatcher's tiles for short Q are of batch mode without dropout: mode = {mode}, dropout = {dropout}"],
    source=[f"{INSTANCES}: get_bwd_dq_dk_dv_pipelines, get_bwd_dq_dk_dv_extra_pipelines, _expand_bwd",
            f"{SPECS}: dropouts, small_dropouts, batch_only"],
    accepts=[_PADDED, {**_PADDED, "bias": "bias", "dbias": True}, {**_PADDED, "mask": "generic"},
             {**_SHORT, "mask": "mask"}],
    rejects=[{**_PADDED, "mask": "causal"}, {**_PADDED, "dbias": True},
             {**_PADDED, "dropout": "dropout_wg32"}, {**_SHORT, "mode": "group"}],
)  # fmt: skip
def backward_features_are_dispatched(c: BackwardQuantities) -> BoolExpr:
    """Masks, biases, dropout and determinism are multiplied out, but for tiles for short Q.

    Why: as in the generator, with generic masks beside the simplified ones, and tiles for short Q
    with masks.

    Fix: use features that the message names.
    """
    return all_of(
        c.mask != "causal",
        implies(c.dbias, c.bias == "bias"),
        c.dropout.isin("no", "dropout_wg16", "dropout_wg16_storerandval"),
        implies(_of_kind(c, _SMALL), (c.mode == "batch") & (c.dropout == "no")),
    )
