"""Tensors whose rows lie apart in memory."""

from __future__ import annotations

import numpy as np
import pytest

from ckrules.device.tensors import between, equal_bytes, from_memory, size, to_memory
from ckrules.kernels.parts import Tensor


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("dtype", ["fp16", "int8", "fp32"])
def test_rows_come_back(order: tuple[int, int], dtype: str) -> None:
    tensor = Tensor("c", "out", (3, 5), dtype, order, pitch=7)
    values = np.arange(15.0).reshape(3, 5)
    data = to_memory(tensor, values).tobytes()
    assert len(data) == size(tensor)
    assert np.array_equal(from_memory(tensor, data), values)
    gaps = between(tensor, data)
    rows, row = (3, 5) if order == (0, 1) else (5, 3)
    assert gaps.size == (rows - 1) * (7 - row) * (size(tensor) // ((rows - 1) * 7 + row))
    assert (gaps == 0xFF).all()  # such as NaN, which no sum forgives


def test_what_is_between_is_not_the_tensors() -> None:
    tensor = Tensor("c", "out", (2, 2), "int8", (0, 1), pitch=4)
    data = bytes([1, 2, 9, 8, 3, 4])
    assert from_memory(tensor, data).tolist() == [[1, 2], [3, 4]]
    assert between(tensor, data).tolist() == [9, 8]
    assert equal_bytes(tensor, data, 3).tolist() == [[False, False], [True, False]]
    assert between(Tensor("c", "out", (2, 2), "int8", (0, 1)), data[:4]).size == 0
