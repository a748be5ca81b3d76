"""Estimated times of quantised GEMMs: a GEMM's, and what scales and narrow operands cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from ckrules.arch import load
from ckrules.constraints.gemm.problem import parse
from ckrules.constraints.quant.problems import QuantProblems
from ckrules.constraints.quant.vocabulary import BASELINE
from ckrules.constraints.quant.words import OUTPUTS
from ckrules.constraints.tile_gemm.device.terms import GEMMS
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_mapping
from ckrules.kernels.problem_books import book as problem_book
from ckrules.kernels.selection import select
from ckrules.kernels.timing import Estimate
from ckrules.ranking.best import best, comparable
from ckrules.ranking.kernels import KernelTable
from ckrules.support.errors import UsageError

BOOKS = Books("2025.11")
LARGE = "M=8192,N=8192,K=8192"
A: dict[str, Any] = {}
B: dict[str, Any] = {"variant": "bquant"}
ROWCOL: dict[str, Any] = {"variant": "rowcol_quant", "group_k": 1}
TENSOR: dict[str, Any] = {"variant": "tensor_quant", "group_k": 1}
#: The same kernel without scales.
PLAIN: dict[str, Any] = {
    **{k: v for k, v in BASELINE.items() if k not in ("group_m", "group_n", "group_k")},
    "variant": "standard", "num_wave_groups": 1, "num_d": 0,
}  # fmt: skip
for _word in ("dtype_scale", "preshuffle_quant"):
    del PLAIN[_word]


def table(*changes: Mapping[str, Any]) -> KernelTable:
    points = [config_from_mapping({**BASELINE, **c}, BOOKS).point for c in changes]
    return KernelTable.of_points(points, BOOKS)


def estimate(problem: str, *changes: Mapping[str, Any]) -> Estimate:
    return table(*changes).estimate(parse(problem))


def plain(problem: str) -> Estimate:
    point = config_from_mapping(PLAIN, BOOKS).point
    return KernelTable.of_points([point], BOOKS).estimate(parse(problem))


def test_without_scales_it_is_a_gemm() -> None:
    """One scale for a whole tensor costs nothing that counts."""
    for line in (LARGE, "M=64,N=4096,K=4096", "M=1,N=512,K=1024"):
        quantised, own = estimate(line, TENSOR), plain(line)
        assert quantised.microseconds == pytest.approx(own.microseconds, rel=1e-12)
        assert {k: v[0] for k, v in quantised.bounds.items()} == {
            k: pytest.approx(v[0]) for k, v in own.bounds.items()
        }


@pytest.mark.parametrize("scaled", [A, B, ROWCOL])
def test_scales_take_time(scaled: dict[str, Any]) -> None:
    """Where reading takes longest; else what takes longer hides most of it."""
    for line in ("M=65536,N=64,K=1024", "M=64,N=65536,K=1024"):
        assert plain(line).limits() == ["memory"]
        assert estimate(line, scaled).microseconds[0] > plain(line).microseconds[0]


def test_smaller_groups_take_longer() -> None:
    small = dict.fromkeys(("group_k", "warp_tile_k"), 32)
    for variant in (A, B):
        found = [
            estimate(LARGE, {**variant, **small, "group_k": k}).bounds["vector units"][0]
            for k in (128, 64, 32)
        ]
        assert found[1] == pytest.approx(2 * found[0])
        assert found[2] == pytest.approx(4 * found[0])


def test_scales_are_read() -> None:
    """Bytes of all tensors, by the shapes that the tensors have."""
    m, n, k = 4096, 2048, 1024
    line, card = f"M={m},N={n},K={k}", load("gfx942").performance
    assert card is not None

    def scales(change: dict[str, Any]) -> float:
        moved = estimate(line, change).bounds["memory"][0] - plain(line).bounds["memory"][0]
        return float(moved * card.product().memory_gbs * GEMMS.memory * 1e3)

    assert scales(A) == pytest.approx(m * k // 128 * 4)
    assert scales({**A, "group_k": 64, "dtype_scale": "fp8"}) == pytest.approx(m * k // 64)
    assert scales(B) == pytest.approx(n * k // 128 * 4)
    assert scales({**B, "group_n": 32}) == pytest.approx(n // 32 * k // 128 * 4)
    assert scales(ROWCOL) == pytest.approx((m + n) * 4)


def test_scales_of_rows_are_asked_of_lanes() -> None:
    """Not with transposed C, where a lane has results of one row."""
    turned = {"transpose_c": True, "warp_tile_k": 16}
    asking, own = (estimate(LARGE, {"warp_tile_k": 16, **c}).bounds["LDS"][0] for c in ({}, turned))
    assert asking > own
    assert own == pytest.approx(estimate(LARGE, {**B, "warp_tile_k": 16}).bounds["LDS"][0])


def test_operands_of_four_bits_move_half_and_are_widened() -> None:
    wide, narrow = (estimate("M=64,N=14336,K=4096", {**B, "dtype": d}) for d in ("fp8", "fp8_i4"))
    assert narrow.bounds["memory"][0] < 0.6 * wide.bounds["memory"][0]
    assert narrow.bounds["vector units"][0] > wide.bounds["vector units"][0]
    assert narrow.bounds["matrix rate"][0] == wide.bounds["matrix rate"][0]
    of_a = estimate(LARGE, {"dtype": "i4_fp8"})
    assert of_a.bounds["matrix rate"][0] == estimate(LARGE, A).bounds["matrix rate"][0]


def test_no_kernel_is_faster_than_the_gpu() -> None:
    product, card = parse(LARGE), load("gfx942").performance
    assert card is not None
    rate = dict(card.matrix_flops)["fp8"]
    for change in (A, B, ROWCOL, TENSOR, {**B, "dtype": "fp8_i4"}):
        found = estimate(LARGE, change)
        assert found.microseconds[0] > product.flops / (rate * 304 * 2100)
        assert found.figures["of_peak"][0] < 1
        assert all(np.isfinite(v).all() for v in found.features.values())


def test_gpus_without_eight_bits_have_no_times() -> None:
    with pytest.raises(UsageError, match="no rate of matrix instructions is known for fp8"):
        estimate(LARGE, {"arch": "gfx90a", **ROWCOL})


def test_the_fastest_are_legal_and_take_the_product() -> None:
    given = {"variant": "bquant", "arch": "gfx942", "dtype": "fp8", "layout": "rcr"}
    only = {"dtype_c": "fp16", "dtype_scale": "fp32", "group_k": 128, "group_n": 1, "tile_k": 128}
    region = select(BOOKS, {**given, **only}, ["tile_m == 64 & tile_n == 128"])
    problem = parse("M=64,N=4096,K=4096")
    found = best(region, BOOKS, 3, problem, sample=500)
    assert len(found.points) == 3
    rules = problem_book("bquant", ck="2025.11")
    for ranked in found.kernels:
        both = {**ranked.point, **QuantProblems().values(problem)}
        assert rules.violations(both) == []
        again = KernelTable.of_points([ranked.point], BOOKS).estimate(problem)
        assert ranked.microseconds == pytest.approx(again.microseconds[0])


def test_kinds_without_kernels_are_not_searched() -> None:
    """tensor_quant has one kind for each type of C, whatever groups and scales there might be."""
    given = {"variant": "tensor_quant", "arch": "gfx942", "dtype": "fp8", "layout": "rcr"}
    parts = list(comparable(select(BOOKS, given)))
    assert [p.fixed["dtype_c"] for p in parts] == [(d,) for d in OUTPUTS]
    assert all(p.fixed["group_k"] == (1,) and p.space.count() for p in parts)
    empty = select(BOOKS, given, ["warp_tile_m == 64"])
    assert list(comparable(empty)) == [empty]
