"""Small floats and integers: every byte is written as it is read, and rounding is to even."""

from __future__ import annotations

import numpy as np
import pytest

from ckrules.device.dtypes import decode, encode, rounded, sample
from ckrules.device.small_floats import FORMATS, values


@pytest.mark.parametrize("name", FORMATS)
def test_every_finite_value_is_written_as_its_byte(name: str) -> None:
    table = values(name)
    bytes_ = np.flatnonzero(np.isfinite(table))
    assert (encode(table[bytes_], name) == bytes_).all()


def test_largest_and_smallest() -> None:
    assert [float(np.nanmax(values(n)[np.isfinite(values(n))])) for n in FORMATS] == [
        448.0, 57344.0, 240.0, 57344.0, 6.0, 2.0**127,
    ]  # fmt: skip
    smallest = [float(values(n)[1]) for n in FORMATS]
    assert smallest == [2.0**-9, 2.0**-16, 2.0**-10, 2.0**-17, 0.5, 2.0**-126]


@pytest.mark.parametrize("name", FORMATS)
def test_ties_go_to_even_bytes(name: str) -> None:
    form = FORMATS[name]
    table = values(name)[: 1 << (form.exponent + form.mantissa)].astype(np.float64)
    finite = np.flatnonzero(np.isfinite(table))
    middles = (table[finite[:-1]] + table[finite[1:]]) / 2
    assert (encode(middles, name) % 2 == 0).all()


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_too_large_is_the_largest(name: str) -> None:
    finite = values(name)[np.isfinite(values(name))]
    found = decode(encode(np.array([1e39, -1e39]), name), name)
    assert found.tolist() == [finite.max(), finite.min()]
    without = decode(encode(np.array([np.nan]), name), name)
    assert np.isnan(without).all() == (not FORMATS[name].finite)


def test_integers_are_those_of_cpp_and_samples_are_small() -> None:
    """Kernels convert with static_cast, which drops fractions and upper bits."""
    assert encode(np.array([300.0, -300.0, 1.6, -1.6]), "int8").tolist() == [44, -44, 1, -1]
    drawn = sample((50, 50), "int8", "x")
    assert set(np.unique(drawn)) == set(range(-5, 6))
    assert rounded(np.array([2.5]), "int32").tolist() == [2.0]
