"""The numpy references against the definition, and against PyTorch where that is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.constraints.conv.device import reference
from ckrules.constraints.conv.device.tensors import ConvTensors
from ckrules.constraints.conv.problem import Convolution, parse
from ckrules.device.tensors import samples
from tests.device import naive, reference_torch
from tests.device.strategies import problems

VARIANTS = ("forward", "bwd_data", "bwd_weight")


def tensors_of(problem: Convolution, variant: str, dtype: str) -> ConvTensors:
    return ConvTensors(problem, {"variant": variant, "dtype": dtype})


def computed(tensors: ConvTensors, data: Mapping[str, Any]) -> Any:
    return tensors.reference(data)[tensors.result]


@settings(max_examples=60)
@given(problem=problems(), variant=st.sampled_from(VARIANTS))
def test_the_reference_is_the_definition(problem: Convolution, variant: str) -> None:
    tensors = tensors_of(problem, variant, "fp32")
    data = samples(tensors)
    found = computed(tensors, data)
    assert found.shape == tensors.shape(tensors.result)
    np.testing.assert_allclose(found, naive.compute(tensors, data), rtol=1e-12, atol=1e-12)


@settings(max_examples=20)
@given(problem=problems(most_channels=1))
def test_depthwise_is_a_convolution_of_single_channels(problem: Convolution) -> None:
    tensors = tensors_of(problem, "forward_depthwise", "fp16")
    data = samples(tensors)
    np.testing.assert_allclose(
        computed(tensors, data), naive.compute(tensors, data), rtol=1e-12, atol=1e-12
    )


def test_large_problems_of_short_types_are_summed_in_fp32() -> None:
    small, large = parse("N=1,C=8,K=8,W=9,X=3"), parse("N=64,C=512,K=512,H=64,W=64,Y=3,X=3")
    assert reference.precision(small, "fp16") is np.float64
    assert reference.precision(large, "bf16") is np.float32
    assert reference.precision(large, "fp32") is np.float64


def test_fp32_sums_stay_well_inside_the_tolerance() -> None:
    problem = parse("N=4,C=128,K=64,H=20,W=20,Y=3,X=3,pad=1")
    tensors = tensors_of(problem, "bwd_weight", "fp16")
    x, dy = samples(tensors).values()
    exact = reference.backward_weight(problem, x.astype(np.float64), dy.astype(np.float64))
    single = reference.backward_weight(problem, x, dy)
    assert single.dtype == np.float32
    assert np.abs(single - exact).max() < 1e-5 * np.abs(exact).max()


if reference_torch.available():  # a skip would say that something is missing

    @settings(max_examples=80)
    @given(problem=problems(), variant=st.sampled_from(VARIANTS))
    def test_pytorch_agrees(problem: Convolution, variant: str) -> None:
        tensors = tensors_of(problem, variant, "fp32")
        data = samples(tensors)
        np.testing.assert_allclose(
            reference_torch.compute(tensors, data),
            computed(tensors, data),
            rtol=1e-10,
            atol=1e-10,
        )

    @settings(max_examples=20)
    @given(problem=problems(most_channels=1))
    def test_pytorch_agrees_on_depthwise(problem: Convolution) -> None:
        tensors = tensors_of(problem, "forward_depthwise", "fp32")
        data = samples(tensors)
        found = reference_torch.compute(tensors, data)
        np.testing.assert_allclose(found, computed(tensors, data), rtol=1e-10, atol=1e-10)
