"""Tensors of quantised GEMMs: references against plain loops, scales in memory, problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.quant.device.tensors import QuantTensors
from ckrules.constraints.quant.problems import QuantProblems
from ckrules.constraints.quant.vocabulary import BASELINE
from ckrules.device.tensors import samples, to_memory
from ckrules.kernels import problem_books
from ckrules.kernels.families import families
from ckrules.runtime.padding import corner, embedded

B: dict[str, Any] = {"variant": "bquant", "group_k": 32}
SHUFFLED: dict[str, Any] = {
    **B, "pipeline": "preshufflev2", "double_smem_buffer": True, "warp_tile_m": 16,
    "warp_tile_n": 16, "tile_n": 64,
}  # fmt: skip
KERNELS: list[dict[str, Any]] = [
    {"group_k": 32},
    {"group_k": 32, "preshuffle_quant": True, "tile_k": 64},
    {"group_k": 32, "layout": "rcc", "epilogue": "default", "dtype_scale": "fp8"},
    B,
    {**B, "group_n": 16},
    SHUFFLED,
    {**SHUFFLED, "permute_n": True, "tile_n": 16, "wave_n": 1},
    {"variant": "rowcol_quant", "group_k": 1, "layout": "crr"},
    {"variant": "tensor_quant", "group_k": 1},
]


def _scale(config: dict[str, Any], data: Any, m: int, n: int, k: int) -> float:
    """The factor of a product of the sum of an element of C, as the README of upstream tells."""
    groups = config["group_k"]
    if config["variant"] == "aquant":
        return float(data["aq"].reshape(len(data["aq"]), -1)[m, k // groups])
    if config["variant"] == "bquant":
        scales = data["bq"].reshape(-1, data["bq"].shape[-1])
        return float(scales[n // config["group_n"], k // groups])
    if config["variant"] == "rowcol_quant":
        return float(data["aq"][m, 0]) * float(data["bq"][n, 0])
    return float(data["aq"][0, 0]) * float(data["bq"][0, 0])


@pytest.mark.parametrize("changed", KERNELS)
def test_references_are_those_of_loops(changed: dict[str, Any]) -> None:
    config = {**BASELINE, **changed}
    problem = MatrixProduct(7, 48, 128)
    tensors = QuantTensors(problem, config)
    data = samples(tensors)
    found = tensors.reference(data)["c"]
    b = data["b"].reshape(48, 128)
    for m, n in ((0, 0), (6, 47), (3, 17)):
        terms = [
            float(data["a"][m, k]) * float(b[n, k]) * _scale(config, data, m, n, k)
            for k in range(128)
        ]
        assert found[m, n] == pytest.approx(sum(terms))
        np.testing.assert_allclose(tensors.products("c", data, (m, n)), terms)


@pytest.mark.parametrize("variant", ["aquant", "bquant"])
def test_shuffled_scales_lie_by_block_tile(variant: str) -> None:
    """Tile by tile along K, within one row by row (MakeGemmTensorViews: aq_y rows)."""
    config = {**BASELINE, "variant": variant, "group_k": 32, "tile_k": 64, "preshuffle_quant": True}
    tensors = QuantTensors(MatrixProduct(3, 3, 256), config)
    scales = tensors.all[2]
    values = np.arange(24.0).reshape(scales.shape)  # row m, groups 8 m to 8 m + 7
    memory = to_memory(scales, values).ravel()
    for m in range(3):
        for group in range(8):
            tile, inside = divmod(group, 2)
            assert memory[tile * 3 * 2 + m * 2 + inside] == 8 * m + group


def test_scales_of_permuted_columns_lie_as_the_columns_do() -> None:
    """As shuffle_b_permuteN and shuffle_bq_permuteN of the headers view them."""
    config = {**BASELINE, **SHUFFLED, "permute_n": True, "tile_n": 128, "wave_n": 2, "wave_m": 1}
    tensors = QuantTensors(MatrixProduct(16, 256, 128), config)
    bq = next(t for t in tensors.all if t.name == "bq")
    values = np.repeat(np.arange(256.0), 4).reshape(bq.shape)  # column n
    memory = to_memory(bq, values).reshape(256, 4)[:, 0]
    repeat = 128 // (2 * 16)
    for n in range(256):
        tile, inside = divmod(n, 128)
        wave, rest = divmod(inside, 16 * repeat)
        lane, number = divmod(rest, repeat)
        assert memory[tile * 128 + number * 32 + wave * 16 + lane] == n


def test_kernels_with_other_scales_have_other_data() -> None:
    keys = {
        QuantTensors(MatrixProduct(64, 128, 512), {**BASELINE, **changed}).key()
        for changed in KERNELS
    }
    assert len(keys) == len(KERNELS)


def test_scales_of_a_sum_that_ends_within_a_group() -> None:
    tensors = QuantTensors(MatrixProduct(5, 16, 200), {**BASELINE, "group_k": 128})
    assert next(t.shape for t in tensors.all if t.name == "aq") == (5, 2)
    assert tensors.reference(samples(tensors))["c"].shape == (5, 16)


@pytest.mark.parametrize("changed", [KERNELS[0], KERNELS[3], KERNELS[4], *KERNELS[7:]])
def test_padded_products_have_the_result_in_their_corner(changed: dict[str, Any]) -> None:
    config = {**BASELINE, **changed}
    small = QuantTensors(MatrixProduct(7, 40, 120), config)
    data = samples(small)
    expected = small.reference(data)["c"]
    seen = 0
    for problem in families()["quant"].padding.larger(small.problem, config):
        large = QuantTensors(problem, config)
        padded = {t.name: embedded(data[t.name], t.shape) for t in large.all if t.direction == "in"}
        found = large.reference(padded)["c"]
        np.testing.assert_allclose(corner(found, expected.shape), expected)
        seen += 1
    assert seen >= 8


def test_smoke_problems() -> None:
    problems = QuantProblems().smoke(BASELINE)
    assert {p.k_batch for p in problems} == {1}
    assert {p.batch for p in problems} == {1}
    assert any(p.m == 1 for p in problems)
    assert [p.strides[1] > 0 for p in problems if any(p.strides)] == [True]
    shuffled = QuantProblems().smoke({**BASELINE, **SHUFFLED})
    assert [p.strides[1] for p in shuffled if any(p.strides)] == [0]


def test_strides_of_shuffled_weights_are_refused() -> None:
    rules = problem_books.book("bquant", ck="2025.11")

    def codes(**changed: Any) -> set[str]:
        return {v.code for v in rules.violations({**rules.vocabulary.baseline, **changed})}

    assert codes(stride_a=520, stride_b=520) == set()
    assert codes(stride_a=256) == {"GPROB013"}
    assert codes(**{**SHUFFLED, "tile_m": 128}, stride_b=520) == {"GPROB014"}
