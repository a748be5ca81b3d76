"""bf16 and fp16: the bits that go to a device."""

from __future__ import annotations

import fractions
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.device.dtypes import decode, encode, from_bytes, rounded, sample
from ckrules.device.tensors import from_memory, size, to_memory
from ckrules.kernels.families import problems_of
from ckrules.kernels.parts import Tensor
from ckrules.support.errors import UnknownNameError, UsageError

finite = st.floats(width=64, allow_nan=False, allow_infinity=False)


def value(bits: int) -> fractions.Fraction:
    return fractions.Fraction(float(np.array([bits << 16], np.uint32).view(np.float32)[0]))


@given(st.one_of(finite, st.floats(-4, 4), st.integers(-600, 600).map(lambda n: n / 256)))
def test_bf16_is_the_nearest_and_even_in_a_tie(number: float) -> None:
    bits = int(encode(np.array([number]), "bf16")[0])
    magnitude = bits & 0x7FFF
    if magnitude == 0x7F80:
        assert abs(number) >= float(value(0x7F7F)) + 2.0**119  # half a step beyond the largest
    else:
        exact = abs(fractions.Fraction(number))
        error = abs(value(magnitude) - exact)
        for other in (magnitude - 1, magnitude + 1):
            if 0 <= other < 0x7F80:
                distance = abs(value(other) - exact)
                assert error < distance or (error == distance and magnitude % 2 == 0)
    assert math.copysign(1, number) == (-1 if bits & 0x8000 else 1)


@given(st.floats(width=32, allow_nan=False))
def test_fp32_and_fp64_round_to_the_same_bf16(number: float) -> None:
    single = encode(np.array([number], np.float32), "bf16")
    assert single == encode(np.array([number], np.float64), "bf16")


def test_no_number_rounds_to_no_number() -> None:
    strange = np.array([np.nan, np.inf, -np.inf, 3.4e38, 1e300])
    for dtype in ("bf16", "fp16", "fp32"):
        got = rounded(strange, dtype)
        assert np.isnan(got[0])
        assert (got[1], got[2]) == (np.inf, -np.inf)
    payload = np.array([0x7F800001], np.uint32).view(np.float32)
    assert np.isnan(rounded(payload, "bf16")).all()


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp32"])
def test_every_16_bit_value_survives(dtype: str) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    if dtype == "fp16":
        stored = bits.view(np.float16)
    elif dtype == "bf16":
        stored = bits
    else:
        stored = (bits.astype(np.uint32) << 16).view(np.float32)
    values = decode(stored, dtype)
    keep = ~np.isnan(values)
    again = encode(np.where(keep, values, 0).astype(np.float64), dtype)
    assert (again[keep].view(again.dtype) == stored[keep]).all()


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp32"])
def test_samples_are_exact_varied_and_repeatable(dtype: str) -> None:
    a = sample((50, 40), dtype, "seed")
    assert (rounded(a, dtype) == a).all()
    assert (a == sample((50, 40), dtype, "seed")).all()
    assert not (a == sample((50, 40), dtype, "other")).all()
    assert np.unique(a).size > 100
    assert -1 <= a.min() < -0.5
    assert 0.5 < a.max() <= 1


def test_unknown_types_are_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown data type 'fp6'"):
        encode(np.zeros(1), "fp6")


def tensors_of(variant: str, dtype: str) -> tuple[Tensor, ...]:
    problems = problems_of(variant)
    problem = problems.parse("N=2,G=3,C=6,K=9,H=5,W=4,Y=3,X=2")
    return problems.tensors(problem, {"variant": variant, "dtype": dtype}).all


@pytest.mark.parametrize("variant", ["forward", "forward_depthwise", "bwd_data", "bwd_weight"])
@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_memory_order_is_undone(variant: str, dtype: str) -> None:
    for tensor in tensors_of(variant, dtype):
        values = sample(tensor.shape, dtype, tensor.name)
        memory = to_memory(tensor, values)
        assert memory.nbytes == size(tensor)
        assert (from_memory(tensor, memory.tobytes()) == values).all()


def test_channels_are_last_in_memory() -> None:
    tensors = tensors_of("forward", "fp32")
    shapes = {t.name: to_memory(t, np.zeros(t.shape)).shape for t in tensors}
    assert shapes == {
        "input": (2, 5, 4, 3, 2),
        "weight": (3, 3, 3, 2, 2),
        "output": (2, 3, 3, 3, 3),
    }
    with pytest.raises(UsageError, match="expected"):
        from_memory(tensors[0], b"12")


def test_buffers_are_read_by_type() -> None:
    assert from_bytes(b"\x80\x3f", "bf16").tolist() == [0x3F80]
    assert from_bytes(b"\x00\x3c", "fp16").tolist() == [1.0]
