"""Files that cover a folder of kernels: includes, registration, and three build systems."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from ckrules.codegen.model import Kernel
from ckrules.codegen.render import render
from ckrules.codegen.stamp import Stamp
from ckrules.codegen.words import BACKWARD_DATA, BACKWARD_WEIGHT, FORWARD, Direction
from ckrules.engine.errors import UsageError

DIRECTIONS: tuple[Direction, ...] = (FORWARD, BACKWARD_DATA, BACKWARD_WEIGHT)

_DEVICE = ("ckrules_device.h",)
RUNTIME = {
    "device": _DEVICE,
    "host": (
        *("ckrules_kernel.h", "ckrules_host.hpp", "ckrules_reason.hpp", "ckrules_no_gpu.hpp"),
        "ckrules_exports.map",
    ),
    "object": _DEVICE,
}
"""What the artifacts of a kernel take from the folder ``runtime``."""

_UPSTREAM_FLAGS = (
    "-O3",
    "-mllvm -enable-noalias-to-md-conversion=0",
    "-Wno-undefined-func-template",
    "-Wno-float-equal",
)
_DEFINES = {
    "gfx11": ("-DCK_TILE_USE_WMMA=1",),
    "gfx12": ("-DCK_TILE_USE_WMMA=1", "-DCK_GFX12_SUPPORT", "-DCK_USE_OCP_FP8"),
    "gfx950": ("-DCK_USE_OCP_FP8", "-DCK_USE_NATIVE_MX_SUPPORT", "-DCK_GFX950_SUPPORT"),
}
_OCP = ("gfx12", "gfx950")


def standard(ck: str) -> int:
    """The C++ standard of a release: 2025.11 uses lambdas with explicit template parameters."""
    return 20 if ck == "2025.11" else 17


def defines(arch: str) -> list[str]:
    """The macros that upstream's builds give for a GPU.

    >>> defines("gfx1201")[0], defines("gfx942")
    ('-DCK_TILE_USE_WMMA=1', [])
    """
    found = [d for start, ds in _DEFINES.items() if arch.startswith(start) for d in ds]
    if arch.startswith(_OCP):
        found.append("-DCK_TILE_USE_OCP_FP8")
    if arch == "gfx1250":
        found += ["-DCK_USE_GFX1250", "-DCK_USE_NATIVE_MX_SUPPORT", "-DCK_GFX1250_SUPPORT"]
        found.append("-DUSE_NEW_UNIFIED_FRAMEWORK=0")
    return found


def flags(ck: str, arch: str) -> list[str]:
    """Upstream's compiler flags for a kernel's unit, without language, GPU and folders."""
    compress = [] if ck == "2025.11" else ["--offload-compress"]
    return [*_UPSTREAM_FLAGS, *compress, *defines(arch), "-D__HIP_PLATFORM_AMD__"]


def files(kernels: Sequence[Kernel], stamp: Stamp) -> Iterator[tuple[str, str]]:
    """Path and text of every file that covers these kernels, which share CK release and GPU."""
    ck, arch = kernels[0].ck, kernels[0].arch
    summary = json.dumps({"ck": ck, "arch": arch, "kernels": len(kernels)})
    groups = [(d, [k for k in kernels if k.direction is d]) for d in DIRECTIONS]
    values: dict[str, Any] = {
        "summary": summary,
        "stamp": stamp,
        "kernels": kernels,
        "groups": groups,
        "arch": arch,
        "standard": standard(ck),
        "flags": flags(ck, arch),
    }
    for direction, members in groups:
        yield (
            f"include_all_grouped_conv_{direction.tag}_kernels.hpp",
            render(
                "dispatcher/include_all.hpp.j2",
                {**values, "direction": direction, "kernels": members},
            ),
        )
    registration = "register_all_grouped_conv_kernels.hpp"
    yield (
        f"dispatcher_wrappers/{registration}",
        render("dispatcher/register_all.hpp.j2", values),
    )
    yield registration, render("dispatcher/register_beside.hpp.j2", values)
    yield "CMakeLists.txt", render("project/CMakeLists.txt.j2", values)
    yield "Makefile", render("project/Makefile.j2", values)
    for name in sorted({name for names in RUNTIME.values() for name in names}):
        yield f"runtime/{name}", render(f"runtime/{name}.j2", values)


def ninja_file(kernels: Sequence[Kernel], stamp: Stamp) -> str:
    """``build.ninja`` for upstream's library, written with ninja's own writer.

    Raises:
        UsageError: If the package ``ninja`` is not installed.
    """
    try:
        writer: Any = import_module("ninja.ninja_syntax").Writer
    except ImportError:
        raise UsageError(
            "build.ninja needs the package ninja: pip install 'ckrules[build]'"
        ) from None
    ck, arch = kernels[0].ck, kernels[0].arch
    out = io.StringIO()
    ninja = writer(out, width=100)
    summary = {"ck": ck, "arch": arch, "kernels": len(kernels)}
    ninja.comment(json.dumps(summary))
    ninja.comment(f"ckrules {stamp.version}, rule book {stamp.rules}")
    ninja.comment("HIPCC, CK_INCLUDE and DISPATCHER_INCLUDE are read from the environment.")
    ninja.newline()
    ninja.variable("arch", arch)
    ninja.variable("flags", [f"-fPIC -std=c++{standard(ck)}", *flags(ck, arch)])
    ninja.newline()
    folders = "-I. -I$${CK_INCLUDE:?} $${DISPATCHER_INCLUDE:+-I$$DISPATCHER_INCLUDE}"
    hipcc = "$${HIPCC:-hipcc}"
    ninja.rule(
        "kernel",
        f"{hipcc} $flags --offload-arch=$arch {folders} -MMD -MF $out.d -c $in -o $out",
        description="[$number/$count] Building kernel: $kernel",
        depfile="$out.d",
        deps="gcc",
    )
    ninja.rule(
        "library",
        f"{hipcc} -shared -fPIC --offload-arch=$arch --hip-link $in -o $out",
        description="Linking $out",
    )
    ninja.newline()
    ninja.variable("count", str(len(kernels)))
    for number, k in enumerate(kernels, 1):
        ninja.build(
            f"{k.name}.o",
            "kernel",
            f"{k.name}.cpp",
            variables={"number": str(number), "kernel": k.name},
        )
    ninja.newline()
    ninja.build("libdispatcher_kernels.so", "library", [f"{k.name}.o" for k in kernels])
    ninja.default("libdispatcher_kernels.so")
    return out.getvalue()
