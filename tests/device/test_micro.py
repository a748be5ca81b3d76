"""Tensors of 4-bit operands with scales: their order in memory, and sums by definition."""

from __future__ import annotations

from typing import Any

import numpy as np

from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.scaled.device.micro import MicroTensors
from ckrules.constraints.scaled.micro_rules import OF_FOUR_BITS
from ckrules.constraints.scaled.vocabulary import BASELINE

M, N, K = 40, 64, 512
POINT = {**BASELINE, **OF_FOUR_BITS}


def _laid(made: MicroTensors, name: str) -> Any:
    """The numbers of elements, in canonical order, as they lie in memory."""
    tensor = next(t for t in made.all if t.name == name)
    numbers = np.arange(np.prod(tensor.shape)).reshape(tensor.shape)
    return numbers.transpose(tensor.order).ravel()


def test_operands_lie_as_upstreams_host_code_lays_them() -> None:
    """preShuffleWeight and preShuffleScale, place by place; A's scales have 64 rows."""
    made = MicroTensors(MatrixProduct(M, N, K), POINT)
    weights, rows, columns = (_laid(made, n) for n in ("b", "aq", "bq"))
    assert len(rows) == 64 * K // 32
    drawn = np.random.default_rng(3)
    for _ in range(200):
        n, k = drawn.integers(N), drawn.integers(K)
        byte, rest = k // 2 // 64, k // 2 % 64
        at = ((n // 16 * (K // 128) + byte) * 4 + rest // 16) * 256 + n % 16 * 16 + rest % 16
        assert weights[2 * at + k % 2] == n * K + k
        group = k // 32
        at = ((n // 32 * (K // 256) + group // 8) * 4 + group % 4) * 16 + n % 16
        at = (at * 2 + group % 8 // 4) * 2 + n % 32 // 16
        assert rows[at] == columns[at] == n * (K // 32) + group


def test_a_sum_has_the_scales_of_its_32() -> None:
    made = MicroTensors(MatrixProduct(M, N, K), POINT)
    data = {t.name: np.ones(t.shape) for t in made.all}
    scales = {"aq": np.ones((64, K // 32)), "bq": np.ones((N, K // 32))}
    scales["aq"][39, 2] = 4.0
    scales["bq"][5, 2] = 0.5
    for name, each in scales.items():
        data[name] = each.reshape(data[name].shape)
    found = made.reference(data)["c"]
    assert found[39, 5] == K + 32
    assert found[39, 4] == K + 3 * 32
    assert found[0, 5] == K - 16
    assert made.products("c", data, (39, 5)).sum() == K + 32
    assert 0 < made.error("c", data) < K
