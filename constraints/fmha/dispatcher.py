"""FDSP: which attention kernels upstream's dispatcher writes since June 2026 (profile `dispatcher`).

Its sweep goes over sizes of tiles, and a filter in Python restates what the C++ asks: more loosely
in places, as its comments say. Receipt 0 is meant, and the sweep by rules. Facts:
dispatcher/codegen/fmha/{validation,instance_gen,symbol_map}.py and fmha_arch_specs.json,
ROCm/composable_kernel of June 2026, and of September what changed (read; not installed anywhere to
be run).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from ckrules.constraints.fmha import words as w
from ckrules.constraints.fmha.examples import ASYNC
from ckrules.constraints.fmha.examples import PREFILL as A_PREFILL
from ckrules.constraints.fmha.generator import FWD, PAGED, PREFILL, SPLIT, SPLIT_KERNEL, padded
from ckrules.constraints.fmha.vocabulary import WARP_TILES, WAVES, AttentionQuantities
from ckrules.engine.expr import BoolExpr, IntExpr, all_of, any_of, implies, ite, maximum, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.rules import rule

_PROFILE = ("dispatcher",)
_FILTER = "dispatcher/codegen/fmha/validation.py (CK 2026.06, read)"
INSTANCES = "dispatcher/codegen/fmha/instance_gen.py (CK 2026.06, read)"
SPECS = "dispatcher/codegen/fmha/fmha_arch_specs.json (CK 2026.06, read)"
CONFIG = "dispatcher/python/fmha_utils.py (CK 2026.06, read): FmhaKernelConfig"

_BIASED: Mapping[str, Any] = {"bias": "bias"}
_TRLOAD: Mapping[str, Any] = {
    "arch": "gfx950", "pipeline": "qr_async_trload", "trload": True, "tile_n0": 64,
}  # fmt: skip
_FP8: Mapping[str, Any] = {
    **ASYNC, "dtype": "fp8bf16", "warp_tile_k0": 32, "warp_tile_k1": 32,
}  # fmt: skip
_WHOLE: Mapping[str, Any] = {
    "hdim": 256, "tile_n1": 256, "tile_k0max": 256, "bias": "no", "tile_k0": 32,
}  # fmt: skip
#: The dispatcher's warp tile of kernels for caches is 16x16x16.
_SPLIT: Mapping[str, Any] = {**SPLIT_KERNEL, "warp_tile_k0": 16, "warp_tile_k1": 16}

#: ``supported_dtypes`` by GPU.
DTYPES: Mapping[str, tuple[str, ...]] = {
    "gfx90a": (*w.HALVES, "fp32"),
    "gfx942": (*w.HALVES, "fp32", "fp8", "fp8fp16", "fp8bf16", "fp8fp32"),
    "gfx950": (*w.HALVES, "fp32", "fp8", "fp8fp16", "fp8bf16", "fp8fp32"),
    "gfx1100": w.HALVES,
    "gfx1201": (*w.HALVES, "fp8", "fp8bf16"),
}
#: The types that a kernel has features of, with receipt 0, which leaves fp32 out.
_OF_KERNEL: Mapping[str, tuple[str, ...]] = {
    FWD: (*w.HALVES, "fp8", "fp8bf16", "fp8fp32"),
    SPLIT: (*w.HALVES, "fp8"), PAGED: (*w.HALVES, "fp8"), PREFILL: (*w.HALVES, "fp8bf16"),
}  # fmt: skip
_HALVES = ((32, 32), (64, 64), (80, 96), (96, 128), (128, 128), (160, 160), (192, 128), (192, 192),
           (256, 256))  # fmt: skip
_NARROW = ((64, 64), (128, 128), (192, 128), (256, 256))
#: ``supported_hdims``: head dimensions of Q and V by type.
HDIMS: Mapping[str, tuple[tuple[int, int], ...]] = {
    "fp16": _HALVES, "bf16": _HALVES, "fp8": _NARROW, "fp8bf16": _NARROW, "fp8fp32": ((128, 128),),
}  # fmt: skip
#: ``k0max_map``; the generator of November 2025 keeps 96.
K0MAX: Mapping[int, int] = {
    32: 32, 48: 48, 64: 64, 80: 96, 96: 128, 128: 128, 160: 256, 192: 192, 256: 256,
}  # fmt: skip
#: ``tile_sweep_ranges``.
SWEEP: Mapping[str, tuple[int, ...]] = {
    "tile_m0": (16, 32, 64, 128, 192, 256), "tile_n0": (16, 32, 64, 96, 128, 192, 256, 384),
    "tile_k0": (16, 32, 64, 96, 128, 256),
}  # fmt: skip
_W16, _W16_32, _W32, _W32_32 = (16, 16, 16), (16, 16, 32), (32, 32, 16), (32, 32, 32)


def _warp_tiles() -> Iterator[tuple[str | int, ...]]:
    """``fmha_warp_tiles`` of fwd, and the one tile by type of kernels for caches: of both products."""
    for variant in w.VARIANTS:
        for dtype in _OF_KERNEL[variant]:
            wide = dtype in w.HALVES
            forward = (_W32, _W16_32) if wide else (_W32_32,)
            for tile in forward if variant == FWD else (_W16 if wide else _W32_32,):
                yield variant, dtype, *tile, *tile


_GPU_TYPES = Table.relation(
    "dispatcher_attention_dtypes", ("arch", "dtype"),
    [(gpu, dtype) for gpu, types in DTYPES.items() for dtype in types], source=SPECS,
)  # fmt: skip
_KERNEL_TYPES = Table.relation(
    "dispatcher_kernel_dtypes", ("variant", "dtype"),
    [(variant, dtype) for variant, types in _OF_KERNEL.items() for dtype in types], source=INSTANCES,
)  # fmt: skip
_HEADS = Table.relation(
    "dispatcher_hdims", ("dtype", "hdim", "tile_n1", "tile_k0max"),
    [(d, q, v, K0MAX[q]) for d, pairs in HDIMS.items() for q, v in pairs], source=SPECS,
)  # fmt: skip
_WARPS = Table.relation(
    "dispatcher_attention_warp_tiles", ("variant", "dtype", *WARP_TILES[0], *WARP_TILES[1]),
    list(_warp_tiles()), source=f"{SPECS}; {INSTANCES}: generate_splitkv_tiles",
)  # fmt: skip
_TILES = Table.relation(
    "dispatcher_sweep", tuple(SWEEP), list(product(*SWEEP.values())), source=SPECS
)
_WAVES = Table.relation(
    "dispatcher_attention_waves", (*WAVES[0], *WAVES[1]),
    [(n, 1, 1, n, 1, 1) for n in range(1, 17)], source=f"{INSTANCES}: FmhaTileConfig",
)  # fmt: skip


def _all(c: AttentionQuantities, names: Iterable[str]) -> Iterator[Any]:
    return (getattr(c, name) for name in names)


def _forward(c: AttentionQuantities) -> BoolExpr:
    return c.variant == FWD


def _half(c: AttentionQuantities) -> BoolExpr:
    return c.dtype.isin(*w.HALVES)


def _gfx9(c: AttentionQuantities) -> BoolExpr:
    return c.arch.isin("gfx90a", "gfx942", "gfx950")


def _is_head(c: AttentionQuantities, size: int) -> BoolExpr:
    return (c.hdim == size) & (c.tile_n1 == size)


@rule(
    "FDSP001", "type-beyond-dispatcher", kind="profile", profiles=_PROFILE,
    says=["the dispatcher has no attention of {dtype} on {arch}",
          "the dispatcher's receipt 0 has no {variant} of {dtype}",
          "the dispatcher has no heads of {hdim} and {tile_n1} with tile_k0max = {tile_k0max} for {dtype}"],
    source=[f"{SPECS}: supported_dtypes, supported_hdims, k0max_map",
            f"{INSTANCES}: get_*_pipelines", f"{_FILTER}: RECEIPT_FILTERS"],
    accepts=[_BIASED, _FP8], rejects=[{**_BIASED, "arch": "gfx90a", "dtype": "fp8"},
                                      {**_BIASED, "hdim": 96, "tile_k0max": 96}],
)  # fmt: skip
def attention_is_known(c: AttentionQuantities) -> BoolExpr:
    """GPU, type and head dimensions are in the dispatcher's tables.

    Why: five GPUs are listed, and heads of Q and V in pairs. A head of 96 is padded to 128, which
    the generator keeps at 96.
    """
    return all_of(
        rel(_GPU_TYPES, c.arch, c.dtype),
        rel(_KERNEL_TYPES, c.variant, c.dtype),
        rel(_HEADS, c.dtype, c.hdim, c.tile_n1, c.tile_k0max),
    )


@rule(
    "FDSP002", "tile-beyond-sweep", kind="profile", profiles=_PROFILE,
    says=["the dispatcher's sweep has no tile of {tile_m0}x{tile_n0}x{tile_k0}",
          "the dispatcher's steps are no longer than a head: tile_k0 = {tile_k0}, hdim = {hdim}",
          "the dispatcher has no such warp tiles for {dtype} in {variant}, or other ones in product 1",
          "the dispatcher wants whole warp tiles: tile_m0 = {tile_m0}, warp_tile_m0 = {warp_tile_m0}",
          "the dispatcher wants whole warp tiles: tile_n0 = {tile_n0}, warp_tile_n0 = {warp_tile_n0}",
          "the dispatcher wants whole warp tiles: tile_k0 = {tile_k0}, warp_tile_k0 = {warp_tile_k0}",
          "the dispatcher has waves along rows alone, as many in both products",
          "the dispatcher has a wave for each warp tile of rows: {tile_m0 // warp_tile_m0=}, wave_m0 = {wave_m0}",
          "the dispatcher leaves launch bounds to the pipeline: block_per_cu = {block_per_cu}"],
    source=[f"{SPECS}: tile_sweep_ranges, fmha_warp_tiles",
            f"{INSTANCES}: generate_fwd_tiles, generate_splitkv_tiles, expand_sweep"],
    accepts=[_BIASED, _SPLIT],
    rejects=[{**_BIASED, "wave_m0": 2}, {**_BIASED, "block_per_cu": 2}, {**SPLIT_KERNEL, "tile_k0": 48}],
)  # fmt: skip
def tile_is_swept(c: AttentionQuantities) -> BoolExpr:
    """The tile is one of the sweep, with as many waves as it has warp tiles of rows.

    Why: sizes are multiplied out; waves follow from them, up to 16 of 16 rows.

    Fix: use another tile, or the waves that follow from it.
    """
    return all_of(
        rel(_TILES, *_all(c, SWEEP)),
        c.tile_k0 <= c.hdim,
        rel(_WARPS, c.variant, c.dtype, *_all(c, (*WARP_TILES[0], *WARP_TILES[1]))),
        c.tile_m0 % c.warp_tile_m0 == 0, c.tile_n0 % c.warp_tile_n0 == 0,
        c.tile_k0 % c.warp_tile_k0 == 0,
        rel(_WAVES, *_all(c, (*WAVES[0], *WAVES[1]))),
        c.wave_m0 == c.tile_m0 // c.warp_tile_m0,
        c.block_per_cu == -1,
    )  # fmt: skip


@rule(
    "FDSP003", "step-of-values-derived", kind="profile", profiles=_PROFILE,
    says="the dispatcher derives tile_k1 from the tile, and not as {tile_k1}",
    source=f"{INSTANCES}: derive_bk1, derive_bk1_fp8, generate_splitkv_tiles, _bp_bk1",
    accepts=[_BIASED, {**_BIASED, "tile_n0": 64, "tile_k1": 16}], rejects=[{**_BIASED, "tile_k1": 16}],
)  # fmt: skip
def values_step_is_derived(c: AttentionQuantities) -> BoolExpr:
    """The steps of product 1 have 32 rows, but for 8-bit types and a few tiles.

    Why: 8-bit types take tile_k0; two tiles of halves have 16, as in the generator's tables; one
    of batch prefill has 64.

    Fix: use the tile_k1 that the message's tile has in `ckrules enumerate --profile dispatcher`.
    """
    short = any_of(*(
        all_of(c.tile_m0 == m, c.tile_n0 == n, c.tile_k0 == 32, c.hdim == 128)
        for m, n in ((128, 64), (32, 128))
    ))  # fmt: skip
    long = all_of(c.tile_m0 == 64, c.tile_n0 == 128, c.tile_k0 == 64, c.hdim == 128)
    halves: IntExpr = ite(_forward(c) & short, 16, 32)
    usual: IntExpr = ite(c.element_bytes == 1, c.tile_k0, halves)
    prefill: IntExpr = ite(long, 64, 32)
    return c.tile_k1 == ite(c.variant == PREFILL, prefill, usual)


def _staged_straight(c: AttentionQuantities) -> IntExpr:
    """Bytes of three buffers of K or V, with a step of V of 32 rows whatever tile_k1 is."""
    size, pack = c.element_bytes, 16 // c.element_bytes
    row = c.fact("lds_banks") * 4 // size
    values = 32 // pack * (c.tile_n1 // (row // pack)) * (row + pack)
    vector = c.k_vector
    lanes = 64 // maximum(c.tile_k0 // vector, 1) * c.wave_m0
    turns: IntExpr = ite(lanes > 0, c.tile_n0 // maximum(lanes, 1), 0)
    keys = turns * c.wave_m0 * (64 * vector + pack)
    return maximum(keys, values) * size * 3


@rule(
    "FDSP004", "attention-staging-over-limit", kind="profile", profiles=_PROFILE,
    says=["the dispatcher allows 65536 bytes of a step of Q and K: {(tile_m0 + tile_n0) * tile_k0 * element_bytes=}",
          "the dispatcher allows 163840 bytes of three buffers, on every GPU"],
    source=f"{_FILTER}: tile_passes_all_constraints, LDS_LIMITS",
    accepts=[_BIASED, ASYNC],
    rejects=[{**_BIASED, "tile_m0": 256, "wave_m0": 8, "wave_m1": 8, "tile_n0": 256, "tile_k0": 128}],
)  # fmt: skip
def attention_staging_fits(c: AttentionQuantities) -> BoolExpr:
    """A step of Q and K fits 64 KB, or three buffers of K and V the 160 KB of gfx950.

    Why: Q is counted, which qr keeps in registers, and gfx942's qr_async is given gfx950's LDS.

    Fix: use a smaller step.
    """
    straight = _forward(c) & c.pipeline.isin("qr_async", "qr_async_trload")
    plain = (c.tile_m0 + c.tile_n0) * c.tile_k0 * c.element_bytes
    return all_of(
        implies(~straight, plain <= 65536), implies(straight, _staged_straight(c) <= 163840)
    )


@rule(
    "FDSP005", "steps-not-as-dispatched", kind="profile", profiles=_PROFILE, applies=_forward,
    says=["the dispatcher wants whole steps of a head: hdim = {hdim}, tile_k0 = {tile_k0}",
          "the dispatcher wants qr_async to load K in whole turns: {tile_n0 * tile_k0=}",
          "the dispatcher has tiles of 128 columns for heads of 128, not {tile_n0}",
          "the dispatcher has tiles of 128 rows for qr_async with heads of 128, not {tile_m0}",
          "the dispatcher has no qr with heads of 128 in steps of 64",
          "the dispatcher has no tile of {tile_m0} rows for other heads than 128"],
    source=[f"{_FILTER}: tile_passes_all_constraints, check_gfx9_tile_constraints",
            f"{INSTANCES}: tile_compatible"],
    accepts=[_BIASED, ASYNC],
    rejects=[{**_BIASED, "tile_n0": 64}, {**_BIASED, "tile_k0": 64}, {**ASYNC, "tile_k0": 96}],
)  # fmt: skip
def steps_are_dispatched(c: AttentionQuantities) -> BoolExpr:
    """Heads of 128 have tiles of their own, and other heads 64 rows at least.

    Why: restated from the generator's factory of gfx9, with more rows than it has; the last filter
    asks it of RDNA as well.

    Fix: use a tile that the message names.
    """
    large, plain = _is_head(c, 128), c.pipeline.isin("qr", "qr_async", "qs")
    straight = c.pipeline == "qr_async"
    turn = c.wave_m0 * 64 * c.k_vector
    return all_of(
        c.hdim % c.tile_k0 == 0,
        implies(straight & _gfx9(c), c.tile_n0 * c.tile_k0 % turn == 0),
        implies(plain & large, c.tile_n0 == 128),
        implies(straight & large, c.tile_m0 == 128),
        implies(all_of(plain, large, ~straight), c.tile_k0 != 64),
        implies(plain & ~large, c.tile_m0.isin(64, 128, 192, 256)),
    )


@rule(
    "FDSP006", "instructions-not-by-eight", kind="profile", profiles=_PROFILE,
    applies=lambda c: all_of(c.pipeline == "qr", c.hdim == 256, _gfx9(c)),
    says=["the dispatcher wants a multiple of 8 matrix instructions with heads of 256",
          "the dispatcher counts instructions of 32x32x16 with heads of 256, whatever the warp tile: tile_n0 = {tile_n0}, tile_k0 = {tile_k0}"],
    source=[f"{_FILTER}: check_qr_mfma_insts, validate_config", f"{INSTANCES}: tile_compatible"],
    accepts=[_WHOLE], rejects=[{**_WHOLE, "tile_n0": 64}],
)  # fmt: skip
def instructions_come_by_eight(c: AttentionQuantities) -> BoolExpr:
    """With heads of 256 qr has a multiple of eight matrix instructions in a step.

    Why: the pipeline asserts it. fwd is counted twice, the second time with the type's first warp
    tile, so that tiles of 16x16 are left out that compile.

    Fix: use a larger tile_n0 or tile_k0.
    """
    own = (c.tile_n0 // c.warp_tile_n0) * (c.tile_k0 // c.warp_tile_k0) % 8 == 0
    first: IntExpr = ite(_half(c), 16, 32)
    return own & implies(_forward(c), (c.tile_n0 // 32) * (c.tile_k0 // first) % 8 == 0)


@rule(
    "FDSP007", "transposing-beyond-dispatcher", kind="profile", profiles=_PROFILE,
    applies=lambda c: c.pipeline == "qr_async_trload",
    says=["the dispatcher has qr_async_trload on gfx950, not on {arch}",
          "the dispatcher has qr_async_trload of 16-bit types, not of {dtype}",
          "the dispatcher has qr_async_trload for heads of 64 or 128, not {hdim}",
          "the dispatcher has no 128 columns with qr_async_trload for heads of 128",
          "the dispatcher has qr_async_trload of the plainest kernels only: no cap, bias, dropout or skipping",
          "the dispatcher pads no sequences with qr_async_trload: {pad_s}, {pad_sk}, {pad_d}, {pad_dv}"],
    source=[f"{INSTANCES}: _fwd_specs_gfx950_extra", f"{_FILTER}: check_gfx950_tile_constraints"],
    accepts=[_TRLOAD], rejects=[{**_TRLOAD, "lse": True, "tile_n0": 128}, {**_TRLOAD, "bias": "alibi"}],
)  # fmt: skip
def transposing_is_plain(c: AttentionQuantities) -> BoolExpr:
    """qr_async_trload is for gfx950, 16-bit types, heads of 64 and 128, and the plainest kernels.

    Why: as in the generator, but with every tile of the sweep.

    Fix: use qr_async.
    """
    return all_of(
        c.arch == "gfx950", _half(c), _is_head(c, 64) | _is_head(c, 128),
        implies(_is_head(c, 128), c.tile_n0 != 128),
        ~any_of(c.logits, c.bias != "no", c.dropout, c.skip),
        padded(c, "ffff", "fftt"),
    )  # fmt: skip


def _other_forward(c: AttentionQuantities) -> BoolExpr:
    """Pipelines and paddings of fwd but for qr_async_trload."""
    biased = all_of(c.pipeline == "qr", padded(c, "ffff", "tttt"))
    straight = all_of(c.pipeline == "qr_async", padded(c, "tftt", "tttt"))
    whole = all_of(c.pipeline == "qr", padded(c, "ffff", "ttff", "tttt"))
    halves = ite(_is_head(c, 256), whole, ite(c.bias == "bias", biased, straight))
    narrow = all_of(
        c.pipeline == ite(c.hdim == 64, "qr", "qr_async"), padded(c, "tftt", "tttt"),
        c.bias == "no", ~c.lse, ~c.dropout, ~c.skip,
    )  # fmt: skip
    return ite(_half(c), halves & ~c.squant, narrow)


def _for_caches(c: AttentionQuantities) -> BoolExpr:
    """Pipelines, paddings and features of the kernels for caches."""
    half = _half(c)
    split = all_of(
        c.pipeline == "qr", c.lse, ~c.dropout, ~c.squant, c.mask != "generic",
        ite(half, padded(c, "ftff", "tfff", "ttff", "tttt"), padded(c, "ffff", "ttff") & ~c.paged_kv),
    )  # fmt: skip
    paged = all_of(
        c.pipeline == "qr_pagedkv", ~c.lse, ~c.dropout, ~c.squant, c.paged_kv,
        ite(half, padded(c, "tfff", "ttff"), padded(c, "ffff", "ttff")),
    )  # fmt: skip
    narrow = all_of(c.bias == "no", ~c.lse, ~c.dropout, c.squant)
    prefill = all_of(
        c.pipeline == "qr_async", c.paged_kv, c.mode == "group", padded(c, "tttt"),
        ite(half, ~c.squant & (c.mask != "generic"), narrow),
    )  # fmt: skip
    return ite(c.variant == SPLIT, split, ite(c.variant == PAGED, paged, prefill)) & ~c.skip


@rule(
    "FDSP008", "traits-not-dispatched", kind="profile", profiles=_PROFILE,
    says="the dispatcher does not join {pipeline}, paddings {pad_s}, {pad_sk}, {pad_d}, {pad_dv} and these traits for {dtype} in {variant}",
    source=f"{INSTANCES}: get_pipelines_for_config, get_splitkv_pipelines, get_pagedkv_pipelines, get_batch_prefill_pipelines",
    accepts=[_BIASED, ASYNC, _SPLIT, _FP8], rejects=[{}, {**ASYNC, "pad_d": False}, {**_SPLIT, "lse": False}],
)  # fmt: skip
def traits_are_dispatched(c: AttentionQuantities) -> BoolExpr:
    """Pipeline, paddings and features are a row that the dispatcher lists for type and kernel.

    Why: it copied the generator's rows; qr_async is listed for every GPU, and FDSP009 takes it
    back.

    Fix: use another pipeline or other paddings.
    """
    transposing = (c.pipeline == "qr_async_trload") & ~c.squant
    forward = all_of(transposing | _other_forward(c), ~c.paged_kv)
    return all_of(
        ite(_forward(c), forward, _for_caches(c)),
        c.trload == (c.pipeline == "qr_async_trload"),
        c.v_layout == "row", c.mask != "causal",
    )  # fmt: skip


@rule(
    "FDSP009", "pipeline-beyond-dispatcher", kind="profile", profiles=_PROFILE,
    says="the dispatcher has no {pipeline} on {arch}",
    source=[f"{SPECS}: supported_pipelines", f"{_FILTER}: validate_config"],
    accepts=[ASYNC], rejects=[{**ASYNC, "arch": "gfx1201"}],
)  # fmt: skip
def pipeline_is_the_gpus(c: AttentionQuantities) -> BoolExpr:
    """qr_async is for gfx9; RDNA has qr and qr_pagedkv.

    Why: the table of pipelines by GPU; batch prefill is qr_async, so that RDNA has none.

    Fix: use qr.
    """
    return c.pipeline.isin("qr", "qr_pagedkv") | _gfx9(c)


@rule(
    "FDSP010", "lengths-not-padded-in-groups", kind="profile", profiles=_PROFILE,
    says=["the dispatcher pads both sequences of groups: pad_s = {pad_s}, pad_sk = {pad_sk}",
          "the dispatcher caps scores without bias only: bias = {bias}"],
    source=f"{_FILTER}: check_group_mode_padding, check_logits_bias",
    accepts=[_BIASED, {**ASYNC, "mode": "group", "pad_sk": True}],
    rejects=[{**ASYNC, "mode": "group"}, {**_BIASED, "logits": True}],
)  # fmt: skip
def groups_are_padded(c: AttentionQuantities) -> BoolExpr:
    """Kernels of groups pad both sequences, and those that cap scores have no bias.

    Why: as in the generator.

    Fix: set pad_s and pad_sk; drop the bias or the cap.
    """
    return implies(c.mode == "group", c.pad_s & c.pad_sk) & implies(c.logits, c.bias == "no")


@rule(
    "FDSP012", "prefill-steps-not-dispatched", kind="profile", profiles=_PROFILE, since="2026.09",
    applies=lambda c: c.variant == PREFILL,
    says="the dispatcher has one step for both products of batch prefill: tile_k0 = {tile_k0}, tile_k1 = {tile_k1}",
    source="dispatcher/codegen/fmha/instance_gen.py: _expand_batch_prefill (CK 2026.09, read in Reis-McMillan/rocm-libraries @ beb4d85, as in sammysun0711/rocm-libraries @ 69b1e0f)",
    issue="https://github.com/ROCm/rocm-libraries/pull/12103",
    accepts=[A_PREFILL], rejects=[{**A_PREFILL, "tile_k0": 16}],
)  # fmt: skip
def prefill_steps_are_one(c: AttentionQuantities) -> BoolExpr:
    """Batch prefill is written with the same step along the head dimension and along K's sequence.

    Why: other tiles are left out, since the pipeline asserts it (FMHA062).

    Fix: use the same for both.
    """
    return c.tile_k0 == c.tile_k1
