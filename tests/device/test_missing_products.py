"""A sum of 8-bit operands that lacks one product is wrong, as one of wider operands is."""

from __future__ import annotations

import pytest

from ckrules.constraints.gemm.device.tensors import GemmTensors
from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.device.tolerance import thresholds

_POINT = {
    "variant": "standard", "layout": "rcr", "arch": "gfx942", "num_d": 0, "dtype_c": "fp32",
    "tile_k": 16, "warp_tile_n": 16, "warp_tile_k": 16,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["fp8", "bf8", "fp16", "bf16", "fp32"])
def test_the_type_of_the_operands_makes_no_sum_less_exact(dtype: str) -> None:
    """Rounding steps of fp8 were allowed, 6 % of the largest sum: more than many a product."""
    tensors = GemmTensors(MatrixProduct(64, 64, 64), {**_POINT, "dtype": dtype})
    found = thresholds(tensors, "c", 8.0)
    assert found.rtol == 64 * 2**-24
    assert found.atol == 8 * 64 * 2**-24
