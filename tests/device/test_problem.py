"""Problems as text and as files."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from ckrules.constraints.conv.problem import Convolution, format_problem, pack, parse
from ckrules.constraints.conv.problems import ConvProblems
from ckrules.kernels import problem_files
from ckrules.kernels.families import problems_of
from ckrules.support.errors import CkrulesError, UsageError
from tests.device.strategies import problems

UPSTREAM = """\
# shapes of a network
N,C,K,G,Di,Hi,Wi,Z,Y,X,stride_d,stride_h,stride_w,pad_d,pad_h,pad_w,dilation_d,dilation_h,dilation_w,latency_ms
32,64,128,1,1,56,56,1,3,3,1,2,2,0,1,1,1,1,1,0.25

2,16,16,2,8,9,10,3,3,3,1,1,1,1,1,1,1,1,1,
"""


@given(problem=problems())
def test_text_says_everything(problem: Convolution) -> None:
    assert parse(format_problem(problem)) == problem


@settings(max_examples=40)
@given(problem=problems())
def test_the_host_librarys_form_has_the_channels_of_one_group(problem: Convolution) -> None:
    ndim, parts, *sizes = struct.unpack("=2i22q", pack(problem))
    assert (ndim, parts) == (problem.ndim, problem.split_k)
    groups, batch, k, c = sizes[:4]
    assert (groups, batch) == (problem.groups, problem.batch)
    assert (k * groups, c * groups) == (problem.out_channels, problem.in_channels)
    assert sizes[4 : 4 + ndim] == list(problem.input)
    assert sizes[19 : 19 + ndim] == list(problem.right_pad)


def test_what_no_library_could_read() -> None:
    right = parse("N=1,C=8,K=8,W=9,X=3")
    for changed, said in (
        ({"stride": (1, 1)}, "1, 2 or 3 spatial dimensions, the same everywhere"),
        ({"groups": 3}, "C = 8 is not a multiple of G = 3"),
        ({"groups": 0}, "G = 0 is not between 1 and"),
        ({"batch": 1 << 70}, "a size is too large"),
    ):
        with pytest.raises(UsageError, match=said):
            pack(replace(right, **changed))


def test_spellings() -> None:
    full = parse("N=2,G=1,C=8,K=8,Hi=9,Wi=7,Y=3,X=3,stride_h=2,stride_w=2,pad_h=1,pad_w=1")
    assert full == parse("N=2,C=8,K=8,H=9,W=7,Y=3,X=3,stride=2,pad=1")
    assert parse("N=1,C=1,K=1,W=9,X=3,pad=1,right_pad=0").right_pad == (0,)
    assert parse("N=1,C=1,K=1,D=2,H=3,W=4,Z=1,Y=1,X=1,stride=1x2x3").stride == (1, 2, 3)
    assert parse("N=1,C=1,K=1,W=9,X=3,k_batch=4").split_k == 4
    assert full == parse("N=2,C=8,K=8,H=9,W=7,Y=3,X=3,stride=2,pad=1,Ho=5,Wo=4")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("N=1", "the problem has no C"),
        ("N=1,C=8,K=8,W=9,X", "'X' is not of the form NAME=NUMBER"),
        ("N=1,C=8,K=8,W=9,X=3,N=2", "N is given twice"),
        ("N=1,C=8,K=8,W=9,X=3,strid=2", "did you mean 'stride'"),
        ("N=0,C=8,K=8,W=9,X=3", "N = 0 is not between 1"),
        ("N=1,C=8,K=8,W=9,X=3.5", "not an integer"),
        ("N=1_0,C=8,K=8,W=9,X=3", "N = '1_0' is not an integer"),
        ("N=\uff11,C=8,K=8,W=9,X=3", "is not an integer"),
        ("N=1,C=8,K=8,W=2,X=3", "the filter is larger than the padded image along w"),
        ("N=1,C=8,K=9,G=2,W=9,X=3", "K = 9 is not a multiple of G = 2"),
        ("N=1,C=8,K=8,H=9,W=9,Y=3,X=3,pad=1x1x1", "has not 1 or 2 numbers"),
        ("N=1,C=8,K=8,W=9,X=3,Wo=9", "Wo = 9, expected 7 from the other sizes"),
        ("N=1,C=8,K=8,W=9,X=3,Wo=abc", "Wo = 'abc' is not an integer"),
        ("N=1,C=8,K=8,W=9,X=3,Ho=1", "unknown size of a problem 'Ho'"),
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


def read(path: Path) -> list[Any]:
    return problem_files.read(str(path), problem_files.kinds(["forward"]))


def smoke(config: dict[str, Any]) -> list[Any]:
    return list(problems_of(config["variant"]).smoke(config))


def test_files_with_upstreams_columns(tmp_path: Path) -> None:
    path = tmp_path / "shapes.csv"
    path.write_text(UPSTREAM)
    assert [str(p) for p in read(path)] == [
        "N=32,G=1,C=64,K=128,H=56,W=56,Y=3,X=3,stride=2,pad=1",
        "N=2,G=2,C=16,K=16,D=8,H=9,W=10,Z=3,Y=3,X=3,pad=1",
    ]


def test_files_with_short_columns(tmp_path: Path) -> None:
    path = tmp_path / "shapes.csv"
    path.write_text("N,C,K,W,X,pad,split_k\n1,8,8,9,3,1,2\n")
    assert read(path) == [parse("N=1,C=8,K=8,W=9,X=3,pad=1,split_k=2")]


def test_faults_in_files_have_a_place(tmp_path: Path) -> None:
    path = tmp_path / "shapes.csv"
    path.write_text("N,C,K,Hi,Wi,Y,X\n1,8,8,9,9,3,3\n1,8,8,2,9,3,3\n")
    with pytest.raises(UsageError, match=r"shapes\.csv:3: the filter is larger"):
        read(path)
    path.write_text("N,C\n1,2\n")
    with pytest.raises(UsageError, match=r":2: the problem has no K"):
        read(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not a text file"):
        read(path)


def test_files_of_lines_and_of_objects(tmp_path: Path) -> None:
    path = tmp_path / "problems"
    one, two = parse("N=1,C=8,K=8,W=9,X=3,pad=1"), parse("N=2,C=8,K=8,H=7,W=9,Y=3,X=3")
    path.write_text(f"# two problems\n{one}  # the first\n\n{two}\n")
    assert read(path) == [one, two]
    path.write_text('{"N": 1, "C": 8, "K": 8, "W": 9, "X": 3, "pad": 1}\n\n{"N": 1, "C": 8}\n')
    with pytest.raises(UsageError, match=r"problems:3: the problem has no K"):
        read(path)
    path.write_text(path.read_text().splitlines()[0])
    assert read(path) == [one]
    path.write_text("{}\n[1]\n")
    with pytest.raises(UsageError, match=r"problems:1: the problem has no N"):
        read(path)
    path.write_text('{"N": 1\n')
    with pytest.raises(UsageError, match=r"problems:1: not a JSON object"):
        read(path)


class Gemms(ConvProblems):
    """Another kind of problem, with no sizes but M."""

    name = "GEMM"

    def parse(self, text: str) -> Any:
        key, _, value = text.partition("=")
        if key != "M":
            raise UsageError("the GEMM has no M")
        return ("M", int(value))


def test_a_line_is_every_kinds_that_understands_it() -> None:
    both = [*problem_files.kinds(["forward", "forward_depthwise"]), Gemms()]
    line = "N=1,C=8,K=8,W=9,X=3"
    assert [kind.name for kind in both] == ["convolution", "GEMM"]
    assert problem_files.by_kind(line, both) == {"convolution": parse(line)}
    assert problem_files.parse("M=3", both) == [("M", 3)]
    with pytest.raises(UsageError) as error:
        problem_files.parse("N=1,C=1", both)
    assert str(error.value) == "as convolution: the problem has no K; as GEMM: the GEMM has no M"
    with pytest.raises(UsageError) as error:  # no size of convolutions is called M
        problem_files.parse("M=0,N=8,K=8", problem_files.kinds(["forward", "standard", "flatmm"]))
    assert str(error.value) == "M = 0 is not between 1 and 2147483647"
    fits = problems_of("forward").fits
    assert fits({"ndim": 1}, parse(line))
    assert not fits({"ndim": 1}, ("M", 3))


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
