"""Parts of a build that need no compiler: failures, code objects, commands, variants."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from ckrules.build import codeobject, executors, failures, hostlib
from ckrules.build.commands import Recipe, commands, flags
from ckrules.build.toolchain import Toolchain
from ckrules.codegen.variants import entries, prefetch_stages
from ckrules.constraints import book

TOOLS = Toolchain("2025.11", Path("/bin/clang-19"), "clang-19", Path("/usr"), Path("/ck"))
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
        (3, "", "internal"),
    ],
)  # fmt: skip
def test_failures_have_a_class(status: int, output: str, kind: str) -> None:
    found = failures.classify(status, output)
    assert found.kind == kind
    assert found.kind in failures.CLASSES
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


def test_device_objects_of_clang_do_without_the_device_library() -> None:
    (words,) = commands(Recipe("2025.11", "gfx942"), "device", "K", TOOLS)
    assert words[:3] == ["/bin/clang-19", "-x", "hip"]
    assert words[-3:] == ["K.device.cpp", "-o", "K.hsaco"]
    assert {"-nogpulib", "-DCKRULES_NO_DEVICE_LIBS", "--cuda-device-only"} <= set(words)
    rocm = Toolchain("2025.11", Path("/opt/rocm/bin/hipcc"), "hipcc", Path("/opt/rocm"), Path("/c"))
    assert "-nogpulib" not in flags(Recipe("2025.11", "gfx942"), "device", rocm)


def test_a_launcher_comes_first() -> None:
    recipe = Recipe("2025.11", "gfx1201", launcher=("ccache",), flags=("-DX",))
    words, linking = commands(recipe, "host", "K", TOOLS)
    assert words[:2] == ["ccache", "/bin/clang-19"]
    assert words[-4:] == ["-DX", "K.host.cpp", "-o", "K.host.o"]
    assert "-c" in words
    assert linking[0] == "/bin/clang-19"
    assert linking[-3:] == ["K.host.o", "-o", "K.host.so"]
    assert {"-DX", "-DCK_TILE_USE_WMMA=1", "--cuda-host-only"} <= set(words)


def test_the_tails_of_every_pipeline() -> None:
    def suffixes(adds: bool = True, **changes: object) -> list[str]:
        point: dict[str, Any] = {**BASE, **changes}
        found = entries("2025.11", point, prefetch_stages(point, 2), adds)
        return [e.suffix for e in found]

    assert suffixes() == ["hot_full_set", "cold_odd_set", "cold_even_set"]
    assert suffixes(pipeline="basic_v1") == ["hot_full_set"]
    assert suffixes(pipeline="mem", tile_m=128, tile_n=128) == [
        *("hot_one_set", "hot_full_set", "cold_one_set", "cold_full_set")
    ]
    weight = suffixes(variant="bwd_weight")
    assert weight == [*suffixes(), *(s.replace("set", "atomic_add") for s in suffixes())]
    assert suffixes(adds=False, variant="bwd_weight") == suffixes()


def test_the_interface_has_the_sizes_that_c_gives_it() -> None:
    assert struct.calcsize("=Ii4q18qii") == 192
    import ctypes

    assert ctypes.sizeof(hostlib._Problem) == 192
    assert ctypes.sizeof(hostlib._Buffers) == 40
    assert ctypes.sizeof(hostlib._Step) == 72
    assert ctypes.sizeof(hostlib._Plan) == 16


def test_jobs_follow_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "meminfo"
    info.write_text("MemTotal: 9 kB\nMemAvailable:    2621440 kB\n")
    assert executors.available_mb(info) == 2560
    assert executors.available_mb(tmp_path / "none") is None
    monkeypatch.setattr(executors, "available_mb", lambda: 1)
    assert executors.default_jobs() == 1
