"""4-bit integers: two to a byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ckrules.device.dtypes import decode, element, encode, from_bytes, packed, sample
from ckrules.device.tensors import from_memory, size, to_memory
from ckrules.kernels.parts import Tensor
from ckrules.support.errors import UsageError

SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 8).map(lambda n: 2 * n))
VALUES = arrays.arrays(np.float32, SHAPES, elements=st.integers(-8, 7).map(float))


@given(VALUES)
def test_values_survive(values: Any) -> None:
    tensor = Tensor("b", "in", values.shape, "int4", (0, 1))
    memory = to_memory(tensor, values)
    assert memory.nbytes == size(tensor) == values.size // 2
    assert (from_memory(tensor, memory.tobytes()) == values).all()


def test_the_bytes_are_values_plus_eight_lowest_first() -> None:
    assert encode(np.array([-8.0, -1.0, 0.0, 7.0]), "int4").tolist() == [0, 7, 8, 15]
    tensor = Tensor("b", "in", (2, 2), "int4", (1, 0))
    memory = to_memory(tensor, np.array([[-8.0, -7.0], [-6.0, -5.0]]))
    assert memory.tolist() == [[0x20], [0x31]]
    assert from_bytes(b"\x20", "int4").tolist() == [0, 2]
    assert element("int4").packed == 2


def test_other_numbers_become_the_nearest() -> None:
    given = np.array([100.0, -100.0, 1.6, -1.6])
    assert decode(encode(given, "int4"), "int4").tolist() == [7, -8, 2, -2]


def test_samples_are_whole_and_repeatable() -> None:
    found = sample((40, 40), "int4", "x")
    assert sorted(np.unique(found)) == list(range(-8, 8))
    assert (found == sample((40, 40), "int4", "x")).all()
    assert not (found == sample((40, 40), "int4", "y")).all()


def test_rows_are_whole_bytes() -> None:
    with pytest.raises(UsageError, match="3 elements of int4 side by side end within a byte"):
        packed(np.zeros((4, 3), np.uint8), "int4")
    assert size(Tensor("b", "in", (1, 3), "int4", (0, 1))) == 2
