"""Parts of a build that need no compiler: failures, code objects, commands, variants."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from ckrules.codegen.conv.generation import entries
from ckrules.compiling import codeobject, executors, failures
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.compile_commands import Recipe, commands, flags
from ckrules.compiling.tasks import Task, run
from ckrules.compiling.toolchain import Toolchain
from ckrules.constraints import book
from ckrules.constraints.conv.problem import pack, parse
from ckrules.device import hostlib
from ckrules.support.errors import UnknownNameError
from tests.helpers.toolchain import require_toolchain

BASE = dict(book("forward").vocabulary.baseline)


@pytest.mark.parametrize(
    ("status", "output", "kind"),
    [
        (1, "x.hpp:1:2: error: static assertion failed due to requirement 'a'", "static-assert"),
        (1, "error: <unknown>:0:0: local memory (81920) exceeds limit (65536) in f", "lds-limit"),
        (1, "x.hpp:1:2: error: implicit instantiation of undefined template 'W'",
         "no-specialization"),
        (1, "x.cpp:1:2: fatal error: 'ck_tile/core.hpp' file not found", "toolchain"),
        (1, "ld.lld: error: undefined hidden symbol: __ockl_get_group_id", "link"),
        (1, "fatal error: error in backend: No space left on device", "no-space"),
        (1, "LLVM ERROR: out of memory", "out-of-memory"),
        (139, "PLEASE submit a bug report to …", "crash"),
        (-9, "", "killed"),
        (137, "", "killed"),
        (1, "x.hpp:1:2: error: expected ';'", "compile"),
        (1, ('clang-19: error: unable to execute command: Executable "clang-offload-bundler"'
         " doesn't exist!\nclang-19: error: clang-offload-bundler command failed with exit code 1"),
         "toolchain"),
        (1, "clang-19: error: unable to execute command: Killed", "killed"),
        (254, ("clang++: error: unable to execute command: Segmentation fault (core dumped)\n"
         "clang++: error: clang frontend command failed due to signal"), "crash"),
        (1, "/usr/lib/llvm-19/bin/clang-offload-bundler: error: 'a.o': No such file", "toolchain"),
        (1, "ld.lld: error: cannot open crtbeginS.o: No such file or directory", "toolchain"),
        (1, "/usr/bin/clang-19: error: invalid linker name in argument", "toolchain"),
        (1, "clang-19: error: linker command failed with exit code 1", "link"),
        (1, "x.hpp:1:2: internal compiler error: in f", "crash"),
        (1, "x.hpp:1:2: error: no\n1 error generated when compiling for gfx942.", "compile"),
        (3, "", "internal"),
    ],
)  # fmt: skip
def test_failures_have_a_class(status: int, output: str, kind: str) -> None:
    found = failures.classify(status, output)
    assert found.kind == kind
    assert found.diagnostic


def test_diagnostics_are_cut_and_lose_folders() -> None:
    text = f"/home/me/ck/x.hpp:1:2: error: {'y' * 9999}"
    found = failures.first_diagnostic(text)
    assert found is not None
    assert found.startswith("x.hpp:1:2: error: yyy")
    assert len(found) == failures.LONGEST


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(20), b"\0" * 200])
def test_what_is_no_code_object(data: bytes) -> None:
    with pytest.raises(codeobject.CodeObjectError):
        codeobject.parse(data)


def test_facts_of_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    names = (
        *("group_segment_fixed_size", "private_segment_fixed_size", "vgpr_count", "sgpr_count"),
        *("kernarg_segment_size", "max_flat_workgroup_size", "wavefront_size"),
    )
    arguments = [
        {".value_kind": "by_value", ".offset": 0, ".size": 64},
        {".value_kind": "hidden_block_count_x", ".offset": 64, ".size": 4},
    ]
    kernel = {f".{name}": 64 for name in names} | {".name": "k__set", ".args": arguments}
    monkeypatch.setattr(codeobject, "metadata", lambda data: {"amdhsa.kernels": [kernel]})
    found = codeobject.entry(b"", "k__set")
    assert (found.kernarg_bytes, found.lds_bytes) == (64, 64)
    assert found.hidden == (codeobject.HiddenArgument("hidden_block_count_x", 64, 4),)
    with pytest.raises(UnknownNameError, match=r"unknown entry 'k_set': did you mean 'k__set'"):
        codeobject.entry(b"", "k_set")


def tools(folder: Path, kind: str = "clang-19") -> Toolchain:
    """A compiler that takes every option and makes nothing."""
    program = folder / kind
    program.write_text("#!/bin/sh\necho version 1\n")
    program.chmod(0o755)
    return Toolchain("2025.11", program, kind, Path("/usr"), Path("/ck"))


def test_device_objects_of_clang_do_without_the_device_library(tmp_path: Path) -> None:
    recipe, clang = Recipe("2025.11", "gfx942", ()), tools(tmp_path)
    (words,) = commands(recipe, Artifact.DEVICE, "K", clang)
    assert words[:3] == [str(clang.compiler), "-x", "hip"]
    assert words[-3:] == ["./K.device.cpp", "-o", "./K.hsaco"]
    assert {"-nogpulib", "-DCKRULES_NO_DEVICE_LIBS", "--cuda-device-only"} <= set(words)
    assert "-nogpulib" not in flags(recipe, Artifact.DEVICE, tools(tmp_path, "hipcc"))


def test_a_launcher_comes_first(tmp_path: Path) -> None:
    clang = tools(tmp_path)
    recipe = Recipe("2025.11", "gfx1201", ("MY_MACRO=1",), launcher=("ccache",), flags=("-DX",))
    words, linking = commands(recipe, Artifact.HOST, "K", clang)
    assert words[:2] == ["ccache", str(clang.compiler)]
    assert words[-4:] == ["-DX", "./K.host.cpp", "-o", "./K.host.o"]
    assert "-c" in words
    assert linking[0] == str(clang.compiler)
    assert linking[-3:] == ["./K.host.o", "-o", "./K.host.so"]
    assert {"-DX", "-DMY_MACRO=1", "--cuda-host-only"} <= set(words)


def test_the_tails_of_every_pipeline() -> None:
    def suffixes(adds: bool = True, **changes: object) -> list[str]:
        point: dict[str, Any] = {**BASE, **changes}
        stages = book("forward").resources(point, ["mem_stages"])["mem_stages"]
        return [e.suffix for e in entries("2025.11", point, stages, adds)]

    assert suffixes() == ["hot_full_set", "cold_odd_set", "cold_even_set"]
    assert suffixes(pipeline="basic_v1") == ["hot_full_set"]
    assert suffixes(pipeline="mem", tile_m=128, tile_n=128) == [
        *("hot_one_set", "hot_full_set", "cold_one_set", "cold_full_set")
    ]
    weight = suffixes(variant="bwd_weight")
    assert weight == [*suffixes(), *(s.replace("set", "atomic_add") for s in suffixes())]
    assert suffixes(adds=False, variant="bwd_weight") == suffixes()


def test_the_interface_has_the_sizes_that_c_gives_it() -> None:
    import ctypes

    assert len(pack(parse("N=1,C=8,K=8,W=9,X=3"))) == struct.calcsize("@2i22q") == 184
    assert ctypes.sizeof(hostlib._Problem) == 24
    assert ctypes.sizeof(hostlib._Buffers) == 24
    assert ctypes.sizeof(hostlib._Tensor) == 16
    assert ctypes.sizeof(hostlib._Info) == 96
    assert ctypes.sizeof(hostlib._Step) == 72
    assert ctypes.sizeof(hostlib._Plan) == 16


def test_jobs_follow_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "meminfo"
    info.write_text("MemTotal: 9 kB\nMemAvailable:    2621440 kB\n")
    assert executors.available_mb(info) == 2560
    assert executors.available_mb(tmp_path / "none") is None
    monkeypatch.setattr(executors, "available_mb", lambda: 1)
    assert executors.default_jobs() == 1


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("artifact", "unit"),
    [
        (Artifact.DEVICE, "__attribute__((global)) void k(int* p) { *p = 1; }\n"),
        (Artifact.OBJECT, 'extern "C" int k() { return 1; }\n'),
    ],
)
@pytest.mark.whole
def test_the_same_unit_makes_the_same_code_in_every_folder(artifact: Artifact, unit: str) -> None:
    require_toolchain()
    names = [artifact.source("k"), "runtime/ckrules_device.h"]
    recipe = Recipe("2025.11", "gfx942", ())
    task = Task("k", artifact, recipe, dict(zip(names, (unit, ""), strict=True)))
    first, second = run(task), run(task)
    assert first.failure is None, first.failure
    assert first.data == second.data
