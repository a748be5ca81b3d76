"""Short sums: the smoke sets reach every entry of every kernel, and uneven sub-GEMMs."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ckrules.compiling.artifacts import Artifact
from ckrules.constraints import book
from ckrules.constraints.conv.device.short_k import short_sums
from ckrules.constraints.conv.device.smoke import smoke
from ckrules.device.hostlib import HostLaunch
from tests.compiling import kernels

BASE: dict[str, Any] = dict(book("forward").vocabulary.baseline)
PARAMS = kernels.convolutions().params()
LAYOUTS = {1: "nwgc", 2: "nhwgc", 3: "ndhwgc"}


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("merged", [1, 4])
@pytest.mark.parametrize("variant", ["forward", "bwd_data", "bwd_weight"])
def test_sums_grow_by_a_tile(variant: str, merged: int, ndim: int) -> None:
    merging = merged if variant != "bwd_data" else 1
    config = {**BASE, "variant": variant, "ndim": ndim, "num_groups_to_merge": merging}
    found = short_sums(config)
    assert {p.ndim for p in found} == {ndim}
    tile = config["tile_k"]
    steps = [math.ceil(p.gemm(variant)[2] / p.split_k / tile) for p in found if max(p.stride) == 1]
    assert steps == [1, 2, 3, 4] * (2 if variant == "bwd_weight" else 1)
    assert all(p.groups % merging == 0 for p in found)


def test_vectors_that_do_not_divide_half_a_tile() -> None:
    config = {**BASE, "tile_k": 8, "vector_a": 8}
    assert [p.gemm("forward")[2] for p in short_sums(config)] == [8, 16, 24, 32]


def test_what_fixes_the_length_itself_has_none() -> None:
    assert short_sums({**BASE, "specialization": "filter3x3"}) == []
    assert len(smoke({**BASE, "specialization": "filter3x3"})) == 7


@pytest.mark.parametrize("tiles", [(64, 64, 16), (128, 128, 32), (128, 128, 64), (16, 16, 16)])
def test_sub_gemms_that_leave_more_over_than_the_whole(tiles: tuple[int, int, int]) -> None:
    """What one tail for a whole launch of CK 2025.11 gets wrong is among the problems."""
    m, n, k = tiles
    config = {**BASE, "variant": "bwd_data", "pipeline": "mem"}
    config |= {"tile_m": m, "tile_n": n, "tile_k": k}
    *_, strided = short_sums(config)
    stages = (len(short_sums(config)) - 1) // 2
    whole, largest = (math.ceil(strided.out_channels * taps / k) for taps in (3, 2))
    assert largest > stages
    assert (largest - 1) % stages > (whole - 1) % stages
    assert strided.stride[-1] == 2


def test_three_stages_have_sub_gemms_too() -> None:
    """There the whole filter always leaves most over: `ckrules validate` ended with a traceback."""
    config = {**BASE, "variant": "bwd_data", "pipeline": "mem", "scheduler": "interwave"}
    config |= {"tile_m": 64, "tile_n": 32, "tile_k": 64, "wave_m": 4, "wave_n": 1}
    assert book("bwd_data").resources(config, ["mem_stages"]) == {"mem_stages": 3}
    *_, strided = short_sums(config)
    whole, largest = (math.ceil(strided.out_channels * taps / 64) for taps in (3, 2))
    assert (largest, (largest - 1) % 3, (whole - 1) % 3) == (4, 0, 2)


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.parametrize("point", PARAMS)
def test_every_entry_of_every_kernel_is_reached(point: dict[str, Any]) -> None:
    library = kernels.convolutions().build(point, (Artifact.HOST,)).library
    problems = [p for p in smoke(point) if library.is_supported(p)]
    plans = [library.plan(p, (1, 2, 3), 4) for p in problems]
    reached = {step.entry for plan in plans for step in plan if isinstance(step, HostLaunch)}
    assert reached == set(library.info.entries)
