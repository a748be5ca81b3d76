"""The numpy references against the definition, and against PyTorch where that is installed."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.device import reference, reference_torch
from ckrules.device.problem import Problem, parse
from ckrules.device.tensors import Tensors
from ckrules.engine.errors import CkrulesError
from tests.device import naive
from tests.device.strategies import problems

VARIANTS = ("forward", "bwd_data", "bwd_weight")


def operands(tensors: Tensors) -> tuple[Any, Any]:
    a, b = (tensors.data(role) for role in tensors.sources)
    return a, b


@settings(max_examples=60)
@given(problem=problems(), variant=st.sampled_from(VARIANTS))
def test_the_reference_is_the_definition(problem: Problem, variant: str) -> None:
    tensors = Tensors(problem, variant, "fp32")
    a, b = operands(tensors)
    found = reference.compute(tensors, a, b)
    assert found.shape == tensors.shape(tensors.result)
    np.testing.assert_allclose(found, naive.compute(tensors, a, b), rtol=1e-12, atol=1e-12)


@settings(max_examples=20)
@given(problem=problems(most_channels=1))
def test_depthwise_is_a_convolution_of_single_channels(problem: Problem) -> None:
    tensors = Tensors(problem, "forward_depthwise", "fp16")
    a, b = operands(tensors)
    np.testing.assert_allclose(
        reference.compute(tensors, a, b), naive.compute(tensors, a, b), rtol=1e-12, atol=1e-12
    )


def test_large_problems_of_short_types_are_summed_in_fp32() -> None:
    small, large = parse("N=1,C=8,K=8,W=9,X=3"), parse("N=64,C=512,K=512,H=64,W=64,Y=3,X=3")
    assert reference.precision(small, "fp16") is np.float64
    assert reference.precision(large, "bf16") is np.float32
    assert reference.precision(large, "fp32") is np.float64


def test_fp32_sums_stay_well_inside_the_tolerance() -> None:
    problem = parse("N=4,C=128,K=64,H=20,W=20,Y=3,X=3,pad=1")
    tensors = Tensors(problem, "bwd_weight", "fp16")
    a, b = operands(tensors)
    exact = reference.backward_weight(problem, a.astype(np.float64), b.astype(np.float64))
    single = reference.backward_weight(problem, a, b)
    assert single.dtype == np.float32
    assert np.abs(single - exact).max() < 1e-5 * np.abs(exact).max()


if importlib.util.find_spec("torch") is not None:  # a skip would say that something is missing

    @settings(max_examples=80)
    @given(problem=problems(), variant=st.sampled_from(VARIANTS))
    def test_pytorch_agrees(problem: Problem, variant: str) -> None:
        tensors = Tensors(problem, variant, "fp32")
        a, b = operands(tensors)
        np.testing.assert_allclose(
            reference_torch.compute(tensors, a, b),
            reference.compute(tensors, a, b),
            rtol=1e-10,
            atol=1e-10,
        )

    @settings(max_examples=20)
    @given(problem=problems(most_channels=1))
    def test_pytorch_agrees_on_depthwise(problem: Problem) -> None:
        tensors = Tensors(problem, "forward_depthwise", "fp32")
        a, b = operands(tensors)
        found = reference_torch.compute(tensors, a, b)
        np.testing.assert_allclose(found, reference.compute(tensors, a, b), rtol=1e-10, atol=1e-10)

else:

    def test_pytorch_is_asked_for_by_name() -> None:
        tensors = Tensors(parse("N=1,C=1,K=1,W=3,X=1"), "forward", "fp32")
        with pytest.raises(CkrulesError, match="PyTorch is not installed"):
            reference_torch.compute(tensors, *operands(tensors))
