"""Groups of masked rows of flatmm: tensors, sums, and what they are tried on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ckrules.constraints.gemm.problem import parse
from ckrules.constraints.scaled.device.masked import MaskedTensors
from ckrules.constraints.scaled.problems import ScaledProblems
from ckrules.constraints.scaled.vocabulary import BASELINE
from ckrules.kernels import problem_books

POINT: dict[str, Any] = {**BASELINE, "grouping": "masked", "dtype": "bf16", "wave_n": 1}


def _codes(problem: str) -> list[str]:
    values = ScaledProblems().values(parse(problem))
    point = {**BASELINE, "grouping": "masked", "wave_n": 1, "tile_n": 64, **values}
    return [v.code for v in problem_books.book("flatmm", ck="2025.11").violations(point)]


def test_rows_that_do_not_count_stay() -> None:
    tensors = MaskedTensors(parse("M=2+1,N=16,K=64"), POINT)
    data = {t.name: np.ones(t.shape) for t in tensors.all}
    data["c"] = np.full((2, 2, 16), 7.0)
    data["aq"][1, 0] = 3.0
    data["bq"][1] = np.arange(16.0).reshape(16, 1)
    found = tensors.reference(data)["c"]
    assert found[0].tolist() == [[64.0] * 16] * 2
    assert found[1, 0].tolist() == [64 * 3 * n for n in range(16)]
    assert found[1, 1].tolist() == [7.0] * 16
    assert tensors.products("c", data, (1, 0, 5)).sum() == 64 * 3 * 5


def test_every_group_has_room_for_the_largest() -> None:
    tensors = MaskedTensors(parse("M=1+64+3,N=128,K=512"), POINT)
    shapes = {t.name: t.shape for t in tensors.all}
    assert (shapes["a"], shapes["c"]) == ((3, 64, 512), (3, 64, 128))
    assert next(t for t in tensors.all if t.name == "rows").content == (1, 64, 3)


@pytest.mark.parametrize(
    ("problem", "found"),
    [
        ("M=77+1,N=128,K=512", []),
        ("M=77,N=128,K=512", []),
        ("M=128+256,N=128,K=512,k_batch=2", ["SPROB048"]),
        ("M=77+1,N=128,K=512,stride_a=520", ["SPROB049"]),
        ("M=77+1,N=128+64,K=512", ["SPROB051"]),
        ("M=" + "+".join(["8"] * 33) + ",N=8192,K=8192", ["SPROB050"]),
    ],
)
def test_products_of_groups(problem: str, found: list[str]) -> None:
    assert _codes(problem) == found


def test_what_kernels_of_groups_are_tried_on() -> None:
    point = {**BASELINE, "grouping": "masked", "wave_n": 1, "tile_n": 64}
    book = problem_books.book("flatmm", ck="2025.11")
    every = ScaledProblems().smoke(point)
    taken = [p for p in every if not book.violations({**point, **ScaledProblems().values(p)})]
    assert sum(len(p.groups) > 1 for p in taken) == 5
    assert len(taken) >= 12
