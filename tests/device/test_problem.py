"""Problems as text and as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from ckrules.device.problem import Problem, format_problem, parse
from ckrules.device.shapes import read_problems, smoke
from ckrules.engine.errors import CkrulesError, UsageError
from tests.device.strategies import problems

UPSTREAM = """\
# shapes of a network
N,C,K,G,Di,Hi,Wi,Z,Y,X,stride_d,stride_h,stride_w,pad_d,pad_h,pad_w,dilation_d,dilation_h,dilation_w,latency_ms
32,64,128,1,1,56,56,1,3,3,1,2,2,0,1,1,1,1,1,0.25

2,16,16,2,8,9,10,3,3,3,1,1,1,1,1,1,1,1,1,
"""


@given(problem=problems())
def test_text_says_everything(problem: Problem) -> None:
    assert parse(format_problem(problem)) == problem


@settings(max_examples=40)
@given(problem=problems())
def test_the_host_librarys_form_has_the_channels_of_one_group(problem: Problem) -> None:
    shape = problem.shape()
    assert shape.in_channels * shape.groups == problem.in_channels
    assert shape.output == problem.output
    assert shape.k_batch == problem.split_k


def test_spellings() -> None:
    full = parse("N=2,G=1,C=8,K=8,Hi=9,Wi=7,Y=3,X=3,stride_h=2,stride_w=2,pad_h=1,pad_w=1")
    assert full == parse("N=2,C=8,K=8,H=9,W=7,Y=3,X=3,stride=2,pad=1")
    assert parse("N=1,C=1,K=1,W=9,X=3,pad=1,right_pad=0").right_pad == (0,)
    assert parse("N=1,C=1,K=1,D=2,H=3,W=4,Z=1,Y=1,X=1,stride=1x2x3").stride == (1, 2, 3)
    assert parse("N=1,C=1,K=1,W=9,X=3,k_batch=4").split_k == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("N=1", "the problem has no C"),
        ("N=1,C=8,K=8,W=9,X", "'X' is not of the form NAME=NUMBER"),
        ("N=1,C=8,K=8,W=9,X=3,N=2", "N is given twice"),
        ("N=1,C=8,K=8,W=9,X=3,strid=2", "did you mean 'stride'"),
        ("N=0,C=8,K=8,W=9,X=3", "N = 0 is not between 1"),
        ("N=1,C=8,K=8,W=9,X=3.5", "not a whole number"),
        ("N=1,C=8,K=8,W=2,X=3", "the filter is larger than the padded image along w"),
        ("N=1,C=8,K=9,G=2,W=9,X=3", "K = 9 is not a multiple of G = 2"),
        ("N=1,C=8,K=8,H=9,W=9,Y=3,X=3,pad=1x1x1", "has not 1 or 2 numbers"),
    ],
)
def test_faults(text: str, said: str) -> None:
    with pytest.raises(CkrulesError, match=said):
        parse(text)


def test_gemm_sizes() -> None:
    p = parse("N=2,G=2,C=16,K=12,H=8,W=8,Y=3,X=3,stride=2,pad=1")
    assert p.gemm("forward") == (32, 6, 72)
    assert p.gemm("bwd_data") == (128, 8, 54)
    assert p.gemm("bwd_weight") == (6, 72, 32)
    m, n, k = p.gemm("forward")
    assert p.flops == 2 * p.groups * m * n * k


def test_files_with_upstreams_columns(tmp_path: Path) -> None:
    path = tmp_path / "shapes.csv"
    path.write_text(UPSTREAM)
    assert [str(p) for p in read_problems(path)] == [
        "N=32,G=1,C=64,K=128,H=56,W=56,Y=3,X=3,stride=2,pad=1",
        "N=2,G=2,C=16,K=16,D=8,H=9,W=10,Z=3,Y=3,X=3,pad=1",
    ]


def test_files_with_short_columns(tmp_path: Path) -> None:
    path = tmp_path / "shapes.csv"
    path.write_text("N,C,K,W,X,pad,split_k\n1,8,8,9,3,1,2\n")
    assert read_problems(path) == [parse("N=1,C=8,K=8,W=9,X=3,pad=1,split_k=2")]


def test_faults_in_files_have_a_place(tmp_path: Path) -> None:
    path = tmp_path / "shapes.csv"
    path.write_text("N,C,K,Hi,Wi,Y,X\n1,8,8,9,9,3,3\n1,8,8,2,9,3,3\n")
    with pytest.raises(UsageError, match=r"shapes\.csv:3: the filter is larger"):
        read_problems(path)
    path.write_text("N,C\n1,2\n")
    with pytest.raises(UsageError, match=r":1: no column K"):
        read_problems(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not a text file"):
        read_problems(path)


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("variant", ["forward", "bwd_data", "bwd_weight"])
def test_the_smoke_set_exercises_what_it_should(variant: str, ndim: int) -> None:
    found = smoke({"variant": variant, "ndim": ndim})
    assert len(found) == len(set(found))
    assert {p.ndim for p in found} == {ndim}
    assert any(p.left_pad != p.right_pad for p in found)
    assert any(max(p.stride) > 1 for p in found)
    assert any(max(p.dilation) > 1 for p in found)
    assert any(p.groups > 1 for p in found)
    assert any(p.in_channels % 2 and p.out_channels % 2 for p in found)
    assert any(set(p.filter) == {1} for p in found)
    assert {p.split_k > 1 for p in found} == ({True, False} if variant == "bwd_weight" else {False})
    assert max(p.flops for p in found) < 1e9


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_kernels_that_merge_groups_get_groups(ndim: int) -> None:
    found = smoke({"variant": "forward", "ndim": ndim, "num_groups_to_merge": 32})
    merged = [p for p in found if p.groups % 32 == 0]
    assert {p.in_channels // p.groups for p in merged} == {1, 16}


def test_depthwise_problems_have_the_kernels_sizes() -> None:
    config: dict[str, Any] = {
        "variant": "forward_depthwise", "ndim": 2, "filter": 5, "stride_h": 2, "stride_w": 1,
        "pad_h": 2, "pad_w": 1, "nbatch": 2, "tile_h": 8, "tile_w": 16,
    }  # fmt: skip
    for p in smoke(config):
        assert (p.filter, p.stride, p.left_pad) == ((5, 5), (2, 1), (2, 1))
        assert p.groups == p.in_channels == p.out_channels
        assert p.batch % 2 == 0
