"""What the dispatcher of June 2026 writes of attention backward and of the steps: our own walk.

It goes through the loops of ``_expand_bwd``, ``_expand_splitkv`` and ``_expand_appendkv`` as they
stand, over their lists and the defaults of fields that nobody sets; written apart from the rules.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from itertools import product

import pytest

from ckrules.constraints import book
from ckrules.constraints.fmha_steps.vocabulary import ABSENT
from ckrules.engine.expr import Value
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules.region import Region
from ckrules.reasoning.difference import diff
from ckrules.support.errors import HardSpaceWarning

GPUS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
WITH_FP8 = ("gfx942", "gfx950", "gfx1201")
BOTH = (False, True)
#: Tiles by the two heads of their key; a second list has a tag, and whether they are of batch mode.
MAIN = {
    (32, 32): (32, 128, 32, 32, 32, 32, 64, 32, 32),
    (64, 64): (32, 128, 64, 32, 64, 32, 32, 64, 64),
    (96, 128): (32, 128, 96, 32, 96, 32, 32, 96, 96),
    (128, 128): (16, 128, 128, 16, 128, 16, 32, 128, 128),
    (256, 256): (16, 64, 256, 16, 256, 16, 32, 256, 256),
}
FURTHER = (
    (64, (32, 128, 64, 32, 64, 32, 32, 64, 64), "trload", False),
    (64, (32, 16, 64, 32, 64, 32, 16, 64, 64), "small", True),
    (128, (16, 16, 128, 16, 128, 16, 16, 128, 128), "small", True),
    (128, (16, 192, 128, 16, 128, 16, 32, 128, 128), "bn192", False),
    (128, (32, 128, 128, 32, 128, 32, 32, 128, 128), "trload", False),
)
#: Waves and K of the second warp tile, by the first three sizes and whether loads are transposed.
WAVES = {
    (16, 16, 128, True): ((1,) * 9, 16),
    (16, 64, 256, False): ((1, 4, 1, 4, 1, 1, 1, 4, 1), 16),
    (16, 128, 128, False): ((1, 4, 1, 4, 1, 1, 1, 4, 1), 16),
    (16, 192, 128, True): ((1, 4, 1, 4, 1, 1, 1, 4, 1), 16),
    (32, 16, 64, True): ((1,) * 9, 16),
    (32, 128, 32, False): ((1, 4, 1, 4, 1, 1, 2, 2, 1), 16),
    (32, 128, 64, False): ((1, 4, 1, 4, 1, 1, 1, 4, 1), 16),
    (32, 128, 64, True): ((1, 4, 1, 4, 1, 1, 1, 4, 1), 32),
    (32, 128, 96, False): ((1, 4, 1, 4, 1, 1, 2, 2, 1), 16),
    (32, 128, 128, True): ((1, 4, 1, 4, 1, 1, 1, 4, 1), 32),
}
PADS = {
    True: ((0, 0), (0, 1), (0, 8), (1, 0), (1, 1), (1, 8), (8, 8)),
    False: ((0, 0), (8, 8)),
}
DROPOUTS = ("no", "dropout_wg16", "dropout_wg16_storerandval")
MASKS = ("no", "mask", "generic")
TILE = ("m0", "n0", "k0", "k1", "k2", "k3", "k4", "hdq", "hdv")
ROPES = {"none": "no", "interleaved": "inter", "half_rotated": "halves"}
HEADS = {
    "fp16": ((32, 32), (64, 64), (80, 96), (96, 128), (128, 128), (160, 160), (192, 128),
             (192, 192), (256, 256)),
    "fp8": ((64, 64), (128, 128), (192, 128), (256, 256)),
}  # fmt: skip
Point = dict[str, Value]


def tiled(tile: tuple[int, ...], trload: bool) -> Point:
    """Sizes, waves and warp tiles; a tile that its loads do not have takes the others' row."""
    waves, deep = WAVES.get((*tile[:3], trload)) or WAVES[*tile[:3], not trload]
    names = [f"wave_{x}{p}" for p in (0, 1, 2) for x in "mnk"]
    warps = {"m0": 16, "n0": 16, "k0": 32, "m1": 16, "n1": 16, "k1": deep}
    return {
        **{f"tile_{n}": size for n, size in zip(TILE, tile, strict=True)},
        **dict(zip(names, waves, strict=True)),
        **{f"warp_tile_{n}": size for n, size in warps.items()},
        "trload": trload, "hdim": tile[7], "block_per_cu": -1, "max_seqlen_q": 0,
    }  # fmt: skip


def featured(dropouts: tuple[str, ...], pads: tuple[tuple[int, int], ...]) -> Iterator[Point]:
    """The features of backward, multiplied out."""
    rows = product(MASKS, ("no", "bias", "alibi"), BOTH, dropouts, BOTH, pads)
    for mask, bias, dbias, dropout, fixed, (pad_d, pad_dv) in rows:
        if bias == "bias" or not dbias:
            yield {
                "mask": mask, "bias": bias, "dbias": dbias, "dropout": dropout,
                "deterministic": fixed, "pad_d": pad_d, "pad_dv": pad_dv,
            }  # fmt: skip


def backward(gpu: str) -> Iterator[Point]:
    """All kernels of dQ, dK and dV."""
    for dtype in ("bf16", "fp16"):
        start = {"variant": "fmha_bwd", "arch": gpu, "dtype": dtype}
        for tile, mode in product(MAIN.values(), ("batch", "group")):
            for features in featured(DROPOUTS, PADS[True]):
                yield {**start, **tiled(tile, trload=False), **features, "mode": mode}
        for _, tile, tag, alone in FURTHER:
            for mode in ("batch",) if alone else ("batch", "group"):
                for features in featured(DROPOUTS[:1] if alone else DROPOUTS, PADS[False]):
                    yield {**start, **tiled(tile, tag == "trload"), **features, "mode": mode}


def steps(gpu: str) -> Iterator[Point]:
    """All kernels before and after attention, with those that are the same code once."""
    types = ("bf16", "fp16", *(("fp8",) if gpu in WITH_FP8 else ()))
    for dtype in types:
        start = {**ABSENT, "arch": gpu, "dtype": dtype, "block_per_cu": -1}
        heads = (64, 128, 256) if dtype == "fp8" else (32, 64, 96, 128, 256)
        rows = product(heads, ("batch", "group"), BOTH, BOTH, BOTH)
        for head, mode, pad_s, pad, third in rows:
            own = {**start, "hdim": head, "mode": mode, "pad_s": pad_s}
            if mode == "group" and not pad_s:
                continue
            if not (dtype == "fp8" and third):
                combined = {"variant": "fmha_fwd_splitkv_combine", "tile_dv": 32}
                yield {**own, **combined, "pad_dv": pad, "lse": third}
            if dtype == "fp8":
                continue
            if third:
                yield {**own, "variant": "fmha_bwd_dot_do_o", "tile_s": 64, "pad_dv": pad}
            converted = {"variant": "fmha_bwd_convert_dq", "tile_s": 64, "tile_sk": 128}
            yield {**own, **converted, "pad_d": pad, "deterministic": third}
        yield from appended(start, dtype)


def appended(start: Mapping[str, Value], dtype: str) -> Iterator[Point]:
    """Kernels that append, of all heads."""
    for head, value in HEADS["fp8" if dtype == "fp8" else "fp16"]:
        own = {
            **start, "variant": "fmha_fwd_appendkv", "hdim": head, "tile_s": 64, "tile_sk": 64,
            "tile_d": head, "tile_dv": value, "pad_sk": True,
        }  # fmt: skip
        every = {"pad_s": True, "pad_d": True, "pad_dv": True}
        if dtype == "fp8":
            yield {**own, **every}
            continue
        for paged, rope in product(BOTH, ROPES.values()):
            yield {**own, **every, "paged_kv": paged, "rope": rope}
            yield {**own, "pad_d": rope != "no", "paged_kv": paged, "rope": rope}


#: Kernels on GPUs without fp8, and on those with it.
COUNTS = {
    "fmha_bwd": (12000, 12000), "fmha_bwd_dot_do_o": (60, 60), "fmha_bwd_convert_dq": (120, 120),
    "fmha_fwd_splitkv_combine": (120, 138), "fmha_fwd_appendkv": (144, 148),
}  # fmt: skip


def test_the_walk_is_what_the_rules_list() -> None:
    """Point by point, for every GPU and kernel."""
    for gpu, variant in product(GPUS, COUNTS):
        rules = book(variant, ck="2026.06", profile="dispatcher")
        domains = {name: domain_of(node).values for name, node in rules.fields.items()}
        walked = {
            tuple(point[name] for name in domains)
            for point in (backward(gpu) if variant == "fmha_bwd" else steps(gpu))
            if point["variant"] == variant and all(point[n] in d for n, d in domains.items())
        }
        listed = {
            tuple(point[name] for name in domains)
            for point in rules.space(variant=variant, arch=gpu)
        }
        assert len(listed) == COUNTS[variant][gpu in WITH_FP8]
        assert listed == walked


def test_heads_that_fields_do_not_list_are_taken() -> None:
    """80, 96 and 160 elements of a head that is appended."""
    rules = book("fmha_fwd_appendkv", ck="2026.06", profile="dispatcher")
    walked = [p for p in steps("gfx942") if p["variant"] == "fmha_fwd_appendkv"]
    assert len(walked) == 2 * 12 * 9 + 4
    assert not [p for p in walked if rules.violations(p)]


@pytest.mark.parametrize("gpu", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
def test_what_of_backward_is_not_legal(gpu: str) -> None:
    """Tiles of gfx9 are written for RDNA, and transposed loads for every GPU."""
    legal = book("fmha_bwd", ck="2026.06")
    space = book("fmha_bwd", ck="2026.06", profile="dispatcher").space(variant="fmha_bwd", arch=gpu)
    transposed = space.where("trload").sample(5, seed=1)
    assert len(transposed) == 5
    assert all(legal.violations(point) for point in transposed)
    if gpu.startswith("gfx1"):
        assert all(legal.violations(point) for point in space.sample(40, seed=2))


def test_all_dq_is_converted_by_128_rows() -> None:
    """Its parts after deterministic kernels of heads of 256 are of 64 rows of K."""
    listed = book("fmha_bwd", ck="2026.06", profile="dispatcher")
    heads = listed.space(variant="fmha_bwd", arch="gfx942", deterministic=True, hdim=256)
    assert {k for k, n in heads.counts_by("tile_n0").items() if n} == {64}
    steps = book("fmha_bwd_convert_dq", ck="2026.06", profile="dispatcher")
    converted = steps.space(variant="fmha_bwd_convert_dq", arch="gfx942", hdim=256)
    assert {k for k, n in converted.counts_by("tile_sk").items() if n} == {128}


def test_what_only_the_dispatcher_writes_is_counted_at_once() -> None:
    """A rule of 13 conditions is counted by what fulfils all of them, not by what breaks one."""
    held = {"variant": "fmha_bwd", "arch": "gfx942"}
    sides = [
        Region(book("fmha_bwd", ck="2026.06", profile=name), held)
        for name in ("dispatcher", "legal")
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error", HardSpaceWarning)
        found = diff(*sides)
    assert (found.only_a.count, found.both) == (1728, 10272)
    counted = {r.rule.code: r.count for r in found.only_a.rules}
    assert counted == {"FBWD005": 1152, "FBWD024": 576}
    assert {r.rule.code for r in found.only_b.rules} == {f"BDSP00{n}" for n in (1, 2, 3, 4)}
