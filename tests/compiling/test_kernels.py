"""Real kernels: generated, compiled by clang against CK 2025.11, and asked about problems."""

from __future__ import annotations

import math
import struct
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.compiling import codeobject, toolchain
from ckrules.compiling.artifacts import Artifact
from ckrules.constraints.conv import problem_fields
from ckrules.constraints.conv.problem import Convolution, parse
from ckrules.constraints.conv.problems import ConvProblems
from ckrules.device.hostlib import Fill, HostLaunch, HostLibrary, HostLibraryError
from ckrules.engine.rules.batch import BatchChecker
from ckrules.kernels import problem_books
from ckrules.kernels.books import Books
from ckrules.support.errors import UsageError
from tests.compiling import kernels
from tests.helpers.toolchain import require_toolchain

pytestmark = [pytest.mark.toolchain, pytest.mark.slow]

CONVOLUTIONS = kernels.convolutions()
POINTS = CONVOLUTIONS.points
PARAMS = CONVOLUTIONS.params()
#: Backward weight without split-K: there are no atomic additions of such results.
DEFAULT_WEIGHT = [p for p in POINTS if (p["variant"], p["epilogue"]) == ("bwd_weight", "default")]
WIDE_FLOATS = [p for p in POINTS if p["two_stage"] and p["vector_c"] == 8]
SMALL = parse("N=2,G=2,C=32,K=32,H=9,W=9,Y=3,X=3,pad=1")


def library(point: dict[str, Any]) -> HostLibrary:
    """The host library of a point."""
    return CONVOLUTIONS.build(point, (Artifact.HOST,)).library


def test_the_points_cover_what_they_should() -> None:
    assert len(POINTS) >= 24
    legal = Books("2025.11").of("forward")
    assert [p for p in POINTS if legal.violations(p)] == []
    for field, values in {
        "arch": {"gfx90a", "gfx942", "gfx1201"},
        "variant": {"forward", "bwd_data", "bwd_weight"},
        "dtype": {"fp16", "bf16", "fp32"},
        "ndim": {1, 2, 3},
        "pipeline": {"basic_v1", "mem", "compv3", "compv4"},
        "epilogue": {"cshuffle", "default"},
        "scheduler": {"intrawave", "interwave"},
    }.items():
        assert {p[field] for p in POINTS} == values
    assert any(p["two_stage"] for p in POINTS)
    assert DEFAULT_WEIGHT
    assert WIDE_FLOATS
    assert any(p["split_image"] for p in POINTS)
    assert any(p["num_groups_to_merge"] > 1 for p in POINTS)


@pytest.mark.parametrize("point", PARAMS)
def test_it_compiles_and_has_the_predicted_lds(point: dict[str, Any]) -> None:
    kernel = CONVOLUTIONS.build(point)
    device, host = kernel.results["device"], kernel.results["host"]
    assert (device.status, host.status) == ("ok", "ok"), device.diagnostic or host.diagnostic
    assert device.lds_bytes == device.predicted_lds_bytes
    assert device.finding is None
    info = kernel.library.info
    entries = codeobject.entries(kernel.code)
    by_name = {e.name: e for e in entries}
    assert set(info.entries) <= set(by_name)
    assert info.lds_bytes == device.lds_bytes
    library_bytes = kernel.library.path.read_bytes()
    assert b"libamdhip64" not in library_bytes
    assert b"hipModule" not in library_bytes
    for entry in (by_name[e] for e in info.entries if not e.endswith("__convert")):
        assert entry.wave_size == info.wave_size
        assert entry.max_threads == info.block_size


@pytest.mark.parametrize("point", PARAMS)
def test_plans_fit_the_code_object(point: dict[str, Any]) -> None:
    kernel = CONVOLUTIONS.build(point)
    lib = kernel.library
    entries = {e.name: e for e in codeobject.entries(kernel.code)}
    gm = point["num_groups_to_merge"]
    seen = set()
    for steps in range(1, 12):
        shape = sized(point, steps, gm)
        if not lib.is_supported(shape):
            continue
        need = lib.workspace_bytes(shape)
        assert (need > 0) == point["two_stage"]
        plan = lib.plan(shape, (0x1000, 0x2000, 0x3000), 0x4000)
        launches = [s for s in plan if isinstance(s, HostLaunch)]
        assert len(launches) == 1 + point["two_stage"]
        assert [s.address for s in plan if isinstance(s, Fill)] == (
            [0x1000] if point["variant"] == "bwd_data" else []
        )
        for launch in launches:
            entry = entries[launch.entry]
            assert len(launch.args) == entry.kernarg_bytes
            assert math.prod(launch.block) <= entry.max_threads
            assert all(launch.grid)
            seen.add(launch.entry)
        words = struct.unpack(f"<{len(launches[0].args) // 8}Q", launches[0].args)
        assert {0x1000, 0x2000, 0x3000} - set(words) <= ({0x2000} if point["two_stage"] else set())
    assert seen


def sized(point: dict[str, Any], steps: int, groups: int) -> Convolution:
    """A problem for which a block makes about so many steps along K."""
    n, one = point["ndim"], (1,) * point["ndim"]
    filt = 3 if point["specialization"] == "filter3x3" else 1
    channels = point["tile_k"] * steps
    batch = 2
    if point["variant"] == "bwd_weight":
        batch, channels = point["tile_k"] * steps, 64
    c = 1 if filt == 3 else channels
    out = channels if point["variant"] == "bwd_data" else 64
    pads = (filt // 2,) * n
    return Convolution(
        *(batch, groups, groups * c, groups * out),
        *((3,) * n, (filt,) * n, one, one, pads, pads),
    )


@st.composite
def problems(draw: st.DrawFn, point: dict[str, Any]) -> Convolution:
    """Problems of the kernel's dimensions, some of which it takes."""
    n = point["ndim"]

    def per_dim(*values: int) -> tuple[int, ...]:
        return tuple(draw(st.sampled_from(values)) for _ in range(n))

    filt = draw(st.sampled_from([(1,) * n, (3,) * n, per_dim(1, 2, 3, 5)]))
    pads = draw(st.sampled_from([(0,) * n, (1,) * n, per_dim(0, 1, 2)]))
    groups = draw(st.sampled_from([1, 2, 3, 4, 8]))
    return Convolution(
        groups=groups,
        batch=draw(st.integers(1, 5)),
        out_channels=groups * draw(st.sampled_from([1, 2, 4, 6, 8, 12, 16, 24, 32])),
        in_channels=groups * draw(st.sampled_from([1, 2, 4, 6, 8, 12, 16, 24, 32])),
        input=per_dim(7, 8, 14),
        filter=filt,
        stride=draw(st.sampled_from([(1,) * n, per_dim(1, 2, 3)])),
        dilation=draw(st.sampled_from([(1,) * n, per_dim(1, 2)])),
        left_pad=pads,
        right_pad=draw(st.sampled_from([pads, per_dim(0, 1)])),
        split_k=draw(st.sampled_from([1, 1, 2, 4])),
    )


def supported(point: dict[str, Any], p: Convolution) -> bool:
    """IsSupportedArgument of CK 2025.11, written from its source (grouped_convolution_*_kernel)."""
    reach = [(f - 1) * d + 1 for f, d in zip(p.filter, p.dilation, strict=True)]
    padded = zip(p.input, p.left_pad, p.right_pad, reach, strict=True)
    if any(i + left + right < r for i, left, right, r in padded):
        return False
    unpadded = not any(p.left_pad) and not any(p.right_pad)
    ones = all(f == 1 for f in p.filter)
    spec = {
        "default": True,
        "filter1x1_pad0": ones and unpadded,
        "filter1x1_stride1_pad0": ones and unpadded and all(s == 1 for s in p.stride),
        "filter3x3": p.in_channels == p.groups and all(f == 3 for f in p.filter),
    }[point["specialization"]]
    a, b, c = (point[f"vector_{x}"] for x in "abc")
    k, ch = p.out_channels // p.groups, p.in_channels // p.groups
    if point["variant"] == "forward":
        return spec and p.split_k == 1 and ch % a == 0 and ch % b == 0 and k % c == 0
    fits = spec and k % a == 0 and ch % b == 0 and ch % c == 0
    if point["variant"] == "bwd_data":
        return fits and p.split_k == 1
    narrow = point["dtype"] != "fp32" and not point["two_stage"]
    built = point not in (*DEFAULT_WEIGHT, *WIDE_FLOATS)
    splits = p.split_k == 1 or (not (c % 2 and narrow) and built)
    return fits and splits and p.groups % point["num_groups_to_merge"] == 0


@pytest.mark.parametrize("point", PARAMS)
def test_support_is_as_sources_and_rules_say(point: dict[str, Any]) -> None:
    lib = library(point)
    judge = BatchChecker(problem_books.book(point["variant"], ck="2025.11"))

    @given(problems(point))
    def check(shape: Convolution) -> None:
        answer = lib.is_supported(shape)
        assert answer == supported(point, shape), lib.reason(shape)
        if all(length > 0 for length in shape.output):
            broken = [
                v for v in judge({**point, **problem_fields.values(shape)}) if v.kind == "launch"
            ]
            assert answer is not bool(broken), (lib.reason(shape), broken)

    check()


def test_faulty_calls_are_errors() -> None:
    lib = library(next(p for p in CONVOLUTIONS.first if p["ndim"] == 2))
    with pytest.raises(UsageError, match="out of range"):
        lib.is_supported(replace(SMALL, stride=(0, 1)))
    with pytest.raises(UsageError, match="1, 2 or 3 spatial dimensions"):
        lib.is_supported(replace(SMALL, stride=(1,)))
    line = parse("N=2,G=2,C=32,K=32,W=9,X=3,pad=1")
    assert lib.reason(line) == "the kernel has 2 spatial dimensions"
    with pytest.raises(UsageError, match="refuses the problem: the kernel has 2"):
        lib.plan(line, (0, 0, 0))
    with pytest.raises(UsageError, match="2 tensors, expected 3"):
        lib.plan(SMALL, (0x1000, 0x2000))


def test_problems_of_another_layout_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    lib = library(CONVOLUTIONS.first[0])
    monkeypatch.setattr(ConvProblems, "pack", lambda self, problem: bytes(192))
    with pytest.raises(UsageError, match="the problem has 192 bytes, expected 184"):
        lib.is_supported(SMALL)


@pytest.mark.parametrize("point", PARAMS)
def test_tensors_are_those_of_the_family(point: dict[str, Any]) -> None:
    info = library(point).info
    assert (info.family, info.variant) == ("conv", point["variant"])
    tensors = ConvProblems().tensors(SMALL, point).all
    assert list(info.tensors.items()) == [(t.name, t.direction) for t in tensors]


OLD = """
typedef struct { unsigned size, abi_version; const char* name; } info;
static const info old = {sizeof(info), 2, "old"};
const info* ckrules_describe(void) { return &old; }
const char* ckrules_last_error(void) { return ""; }
int ckrules_is_supported(const void* p) { return p != 0; }
long long ckrules_workspace_bytes(const void* p, const void* r) { return p == r; }
int ckrules_plan_create(const void* p, const void* r, const void* b, void* s) { return p == r; }
void ckrules_plan_free(void* p) {}
"""


def test_a_library_of_an_older_interface_is_refused(tmp_path: Path) -> None:
    tools = require_toolchain()
    assert isinstance(tools, toolchain.Toolchain)
    source, path = tmp_path / "old.c", tmp_path / "old.host.so"
    source.write_text(OLD)
    words = [str(tools.compiler), "-w", "-shared", "-fPIC", str(source), "-o", str(path)]
    subprocess.run(words, check=True)
    with pytest.raises(HostLibraryError, match="interface 2, expected 3: build it again"):
        HostLibrary(path)


def test_what_is_no_library(tmp_path: Any) -> None:
    with pytest.raises(HostLibraryError, match="no host library"):
        HostLibrary(tmp_path / "absent.host.so")
