"""Tensors of flatmm: weights as upstream's host code lays them, and sums with their scales."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ckrules.constraints.gemm.problem import MatrixProduct, parse
from ckrules.constraints.scaled.device.tensors import ScaledTensors
from ckrules.constraints.scaled.problems import ScaledProblems
from ckrules.constraints.scaled.vocabulary import BASELINE
from ckrules.kernels import problem_books

N, K = 256, 512


def _shuffled(point: dict[str, Any], size: int) -> Any:
    """B's elements, numbered by column and then along K, as shuffle_b and shuffle_b_v1 lay them."""
    wide, deep = int(point["warp_tile_n"]), int(point["warp_tile_k"])
    piece = min(16 // size, deep // (64 // wide))
    numbers = np.arange(N * K)
    if not point["permute_n"]:
        return numbers.reshape(N // wide, wide, K // piece, piece).transpose(0, 2, 1, 3).ravel()
    waves = int(point["wave_n"])
    repeat = int(point["tile_n"]) // wide // waves
    view = numbers.reshape(N // int(point["tile_n"]), waves, wide, repeat, K // piece, piece)
    return view.transpose(0, 3, 1, 4, 2, 5).ravel()


@pytest.mark.parametrize(
    ("changed", "size"),
    [
        ({}, 1),
        ({"arch": "gfx950", "warp_tile_k": 128}, 1),
        ({"warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 32}, 1),
        ({"dtype": "bf16", "warp_tile_k": 32, "tile_k": 64}, 2),
        ({"permute_n": True, "scales": "no"}, 1),
        ({"permute_n": True, "scales": "no", "arch": "gfx950", "warp_tile_k": 128}, 1),
    ],
)
def test_weights_lie_as_upstreams_host_code_lays_them(changed: dict[str, Any], size: int) -> None:
    point = {**BASELINE, **changed}
    b = next(t for t in ScaledTensors(MatrixProduct(64, N, K), point).all if t.name == "b")
    laid = np.arange(N * K).reshape(b.shape).transpose(b.order).ravel()
    assert (laid == _shuffled(point, size)).all()


def test_a_sum_has_the_scales_of_its_row_and_column() -> None:
    tensors = ScaledTensors(MatrixProduct(2, 16, 64), {**BASELINE, "dtype": "bf16"})
    shapes = {t.name: t.shape for t in tensors.all}
    data = {n: np.ones(s) for n, s in shapes.items()}
    data["aq"] = np.array([[2.0], [3.0]])
    data["bq"] = np.arange(16.0).reshape(16, 1)
    found = tensors.reference(data)["c"]
    assert found[1, 5] == 64 * 3 * 5
    assert tensors.products("c", data, (1, 5)).sum() == 64 * 3 * 5


def test_what_kernels_are_tried_on() -> None:
    problems = ScaledProblems().smoke(BASELINE)
    book = problem_books.book("flatmm", ck="2025.11")
    taken = [p for p in problems if not book.violations({**BASELINE, **ScaledProblems().values(p)})]
    assert len(taken) >= 12
    assert {p.k_batch for p in taken} >= {1, 2}
    assert any(p.strides[0] for p in taken)
    assert ScaledProblems().smoke({**BASELINE, "variant": "abquant"}) == []


def test_other_kernels_have_no_tensors() -> None:
    point = {**BASELINE, "variant": "abquant"}
    with pytest.raises(Exception, match="kernels of abquant are not generated"):
        ScaledProblems().tensors(parse("M=1,N=1,K=1"), point)
