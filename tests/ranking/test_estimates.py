"""Estimates of times: they never beat the peaks, and go the way that hardware goes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ckrules
from ckrules.constraints.tile_gemm.device.terms import Elements, terms
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_mapping
from ckrules.kernels.families import problems_of
from ckrules.kernels.selection import select
from ckrules.ranking.kernels import KernelTable, timing
from ckrules.support.errors import UsageError

BOOKS = Books("2026.06")
KERNEL: Mapping[str, Any] = {
    "variant": "forward", "arch": "gfx950", "dtype": "bf16", "ndim": 2,
    "tile_m": 128, "tile_n": 128, "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1,
    "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16, "pipeline": "compv3",
    "scheduler": "intrawave", "epilogue": "cshuffle",
    "vector_a": 8, "vector_b": 8, "vector_c": 8,
}  # fmt: skip
LARGE = "N=64,C=512,K=512,H=56,W=56,Y=3,X=3,pad=1"


def table(*changes: Mapping[str, Any], product: str | None = None) -> KernelTable:
    points = [config_from_mapping({**KERNEL, **c}, BOOKS).point for c in changes]
    return KernelTable.of_points(points, BOOKS, product)


def times(text: str, *changes: Mapping[str, Any], product: str | None = None) -> Any:
    made = table(*changes, product=product)
    variant = str(changes[0].get("variant", "forward"))
    return made.estimate(problems_of(variant).parse(text)).microseconds


@given(
    st.integers(1, 64), st.integers(1, 600), st.integers(1, 600), st.integers(1, 100),
    st.sampled_from([1, 3]), st.sampled_from(["compv3", "mem", "compv4", "basic_v1"]),
    st.sampled_from([(128, 128), (16, 64), (64, 64)]),
)  # fmt: skip
def test_no_kernel_beats_the_peaks(
    n: int, c: int, k: int, h: int, y: int, pipeline: str, tile: tuple[int, int]
) -> None:
    change = {
        "pipeline": pipeline, "tile_m": tile[0], "tile_n": tile[1], "warp_tile_m": 16,
        "warp_tile_n": 16, "warp_tile_k": 32, "wave_m": 1, "wave_n": 4,
        "double_smem_buffer": pipeline == "compv4",
    }  # fmt: skip
    made = table(change)
    problem = problems_of("forward").parse(
        f"N={n},C={c},K={k},H={h},W={h},Y={y},X={y},pad={y // 2}"
    )
    found = made.estimate(problem)
    assert np.isfinite(found.microseconds).all()
    assert (found.microseconds > 0).all()
    assert (found.figures["of_peak"] < 1).all()
    assert (found.figures["useful"] <= 1).all()
    assert (found.figures["busy"] <= 1).all()
    memory = (n * c * h * h + k * c * y * y + n * k * h * h) * 2 / 8e6
    assert (found.microseconds >= memory).all()
    assert all(np.isfinite(v).all() for v in found.features.values())
    assert all(np.isfinite(v) for v in found.situation.values())


def test_more_work_takes_longer() -> None:
    few, many = (times(f"N={n},C=512,K=512,H=56,W=56,Y=3,X=3,pad=1", {})[0] for n in (8, 64))
    assert few * 4 < many < few * 16


@pytest.mark.parametrize(
    ("variant", "arch", "dtype", "problem", "rest"),
    [
        ("standard", "gfx942", "fp16", "M={n}", "N=10000,K=4096"),
        ("standard", "gfx942", "fp32", "N={n}", "M=4096,K=1000"),
        ("bwd_weight", "gfx908", "fp16", "K={n}", "N=1,C=16,H=14,W=14,Y=3,X=3,pad=1"),
        ("rowcol_quant", "gfx950", "bf8", "M={n}", "N=7,K=4096"),
        ("fmha_fwd", "gfx942", "fp16", "batch={n}", "heads=8,seqlen_q=1000,hdim=128,mask=causal"),
    ],
)
def test_twice_the_product_is_not_faster(
    variant: str, arch: str, dtype: str, problem: str, rest: str
) -> None:
    """Blocks with few waves, or that wait for each step, are not faster beside others."""
    region = select(BOOKS, {"variant": (variant,), "arch": (arch,), "dtype": (dtype,)}, ())
    points = region.space.sample(300, seed=1)
    made = KernelTable.of_points(points, BOOKS)
    parse = problems_of(variant).parse
    sizes = [made.estimate(parse(f"{problem.format(n=1 << i)},{rest}")) for i in range(12)]
    for few, many in pairwise(sizes):
        assert (many.microseconds >= few.microseconds * (1 - 1e-9)).all()


@pytest.mark.parametrize(
    ("slow", "fast"),
    [
        ({"vector_a": 1, "vector_b": 1}, {}),
        ({"tile_m": 16, "tile_n": 64, "wave_m": 1, "wave_n": 4, "warp_tile_m": 16,
          "warp_tile_n": 16, "warp_tile_k": 32}, {}),
        ({"pipeline": "basic_v1"}, {}),
    ],
)  # fmt: skip
def test_what_is_slow_on_large_problems(slow: dict[str, Any], fast: dict[str, Any]) -> None:
    a, b = times(LARGE, slow, fast)
    assert a > b


def test_registers_beyond_the_launch_bound_cost() -> None:
    """With two waves on a SIMD a lane has 256 of 512 registers; block_per_cu asks for one wave."""
    small = {"tile_m": 64, "tile_n": 64, "warp_tile_m": 16, "warp_tile_n": 16}
    big = {"wave_m": 2, "wave_n": 1}
    made = table(small, big, {**big, "block_per_cu": 1})
    slower = terms(made.columns, made.gpu, Elements.alike(2)).slower
    assert slower[0] == slower[2] == 1.0
    assert slower[1] > 1.2


def test_a_slower_product_is_slower() -> None:
    assert times(LARGE, {}, product="MI350X")[0] > times(LARGE, {}, product="MI355X")[0]


def test_small_problems_take_small_tiles() -> None:
    small = {"tile_m": 16, "tile_n": 64, "wave_m": 1, "wave_n": 4, "warp_tile_m": 16,
             "warp_tile_n": 16, "warp_tile_k": 32}  # fmt: skip
    a, b = times("N=1,C=512,K=128,H=14,W=14,Y=3,X=3,pad=1", {}, small)
    assert b < a


def test_merged_groups_compute_what_is_thrown_away() -> None:
    made = table({"num_groups_to_merge": 2})
    found = made.estimate(problems_of("forward").parse("N=8,G=8,C=64,K=64,H=28,W=28,Y=3,X=3,pad=1"))
    assert found.figures["blocks"][0] > 0


def test_unknown_speeds_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="speeds of gfx1250"):
        table({"arch": "gfx1250", "dtype": "fp16"})
    with pytest.raises(UsageError, match="one variant"):
        table({}, {"variant": "bwd_data"})
    with pytest.raises(UsageError, match="depthwise"):
        KernelTable.of_points([{"variant": "forward_depthwise", "arch": "gfx942"}], BOOKS)


@pytest.mark.parametrize("variant", ["standard", "bquant", "flatmm", "fmha_fwd"])
def test_models_learn_from_finite_numbers(variant: str) -> None:
    """A scheduler or epilogue of another word was no number, and nothing could be trained."""
    space = ckrules.kernel_space(variant, "gfx942", ck="2025.11")
    known = timing(variant)
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for point in space.sample(40, seed=3):
        groups.setdefault(tuple(point.get(n) for n in known.apart), []).append(point)
    for points in groups.values():
        table = KernelTable.of_points([{**p, "arch": "gfx942"} for p in points], Books("2025.11"))
        (problem, *_) = known.usual({n: c.used() for n, c in table.columns.items()})
        features = table.estimate(problem).features
        assert not [n for n, v in features.items() if not np.isfinite(v).all()]


@pytest.mark.filterwarnings("error")
def test_a_block_that_no_simd_has_registers_for_has_a_time() -> None:
    """Illegal kernels are ranked, too; one of 512 waves leaves a lane no register."""
    many = {"tile_m": 512, "tile_n": 512, "wave_m": 16, "wave_n": 32, "warp_tile_m": 16,
            "warp_tile_n": 16}  # fmt: skip
    made = table(many)
    assert made.columns["bound_vgprs"].rows() == [0]
    assert np.isfinite(times(LARGE, many)).all()
