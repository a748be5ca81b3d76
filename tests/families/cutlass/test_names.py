"""Names both ways, and the library's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.kernels.library import book
from ckrules.kernels.names import KernelNameError, format_name, parse_name

DATA = Path(__file__).parent / "data"
NAME = (
    "cutlass3x_sm90_tensorop_gemm_f16_f16_f32_void_f16_128x256x64_2x1x1_0_tnn_align8"
    "_warpspecialized_cooperative_epi_tma"
)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_a_name_says_its_point(seed: int) -> None:
    rules = book("hopper_gemm")
    (point,) = rules.space().sample(1, seed=seed)
    name = format_name(point)
    assert {**parse_name(name).point, "arch": "sm_90a"} == dict(point)


@pytest.mark.parametrize("name", (DATA / "library_names.txt").read_text().split())
def test_names_of_the_library_are_read_and_written(name: str) -> None:
    found = parse_name(name)
    assert format_name({**found.point, "arch": "sm_90a"}) == name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NAME.replace("f16_f16_f32", "f16_bf16_f32"), "expected dtype"),
        (NAME.replace("2x1x1", "2x1x2"), "expected '1_'"),
        (NAME + "_swizzle1", "is the default and is not written"),
        (NAME.replace("_epi_tma", "_epi_tmaa"), "expected"),
    ],
)
def test_other_texts_are_refused_with_a_column(text: str, said: str) -> None:
    with pytest.raises(KernelNameError, match="column"):
        parse_name(text)
    with pytest.raises(KernelNameError) as caught:
        parse_name(text)
    assert said in str(caught.value)
