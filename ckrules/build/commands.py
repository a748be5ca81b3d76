"""The compiler's command lines for a kernel's artifacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ckrules.build.toolchain import Toolchain
from ckrules.codegen.project import defines, standard

ARTIFACTS = {
    "device": ("{name}.device.cpp", "{name}.hsaco"),
    "host": ("{name}.host.cpp", "{name}.host.so"),
    "object": ("{name}.cpp", "{name}.o"),
}
"""Unit and result of each artifact: code object, host library, upstream's launcher."""

LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os", "-Oz", "-Og", "-Ofast")
"""Levels of optimisation that the compilers take."""

_UPSTREAM = (
    *("-mllvm", "-enable-noalias-to-md-conversion=0"),
    *("-Wno-undefined-func-template", "-Wno-float-equal"),
)
_TERSE = (
    *("-ferror-limit=1", "-ftemplate-backtrace-limit=1"),
    *("-fno-caret-diagnostics", "-fno-color-diagnostics", "-w"),
)
LINK = (
    *("--driver-mode=g++", "-no-hip-rt", "-shared", "-w"),
    "-Wl,--version-script=runtime/ckrules_exports.map",
)
"""How host libraries are linked: with the C++ library, without the GPU's runtime."""
DEEP = ("-fconstexpr-steps=100000000", "-fbracket-depth=16384")
"""How deep and long templates may get; upstream's 1024 brackets are too few for large tiles."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How artifacts are built, apart from where things are on a machine."""

    ck: str
    arch: str
    optimize: str = "-O3"
    flags: tuple[str, ...] = ()
    """Further flags from the user."""
    launcher: tuple[str, ...] = ()
    """Such as ``("ccache",)``: what runs the compiler."""


def commands(recipe: Recipe, artifact: str, name: str, tools: Toolchain) -> list[list[str]]:
    """The commands for an artifact, to be run one after the other among the generated files.

    The result is the file that `ARTIFACTS` names. A host library is compiled and linked by a
    command each, because compiler caches keep objects only.
    """
    unit, result = (form.format(name=name) for form in ARTIFACTS[artifact])
    compiled = f"{name}.host.o" if artifact == "host" else result
    compiler = str(tools.compiler)
    words = [*recipe.launcher, compiler, *flags(recipe, artifact, tools), unit, "-o", compiled]
    linking = [compiler, *LINK, *recipe.flags, compiled, "-o", result]
    return [words, linking] if artifact == "host" else [words]


def flags(recipe: Recipe, artifact: str, tools: Toolchain) -> list[str]:
    """The compiler's flags for an artifact."""
    bare = tools.kind == "clang-19"  # without ROCm's device library
    words: list[str] = [] if tools.kind == "hipcc" else ["-x", "hip"]
    words += [f"-std=c++{standard(recipe.ck)}", f"--offload-arch={recipe.arch}"]
    words += ["-I.", f"-I{tools.include}", "-D__HIP_PLATFORM_AMD__", *defines(recipe.arch)]
    words += [*DEEP, *_TERSE]
    if bare:
        words += [f"--rocm-path={tools.rocm}", "-nogpulib", "-DCKRULES_NO_DEVICE_LIBS"]
        if artifact == "object":
            words += ["-include", "runtime/ckrules_device.h"]
    words += _ARTIFACT_FLAGS[artifact](recipe)
    return [*words, *recipe.flags]


def _device(recipe: Recipe) -> Sequence[str]:
    output = "--no-gpu-bundle-output"
    return ("--cuda-device-only", output, recipe.optimize, *_UPSTREAM, "-c")


def _host(_: Recipe) -> Sequence[str]:
    # Kernels whose address is taken want a code object to be registered with: an empty one.
    empty = ("-Xclang", "-fcuda-include-gpubinary", "-Xclang", "/dev/null")
    return ("--cuda-host-only", *empty, "-O1", "-fPIC", "-fvisibility=hidden", "-c")


def _object(recipe: Recipe) -> Sequence[str]:
    return ("-fPIC", recipe.optimize, *_UPSTREAM, "-c")


_ARTIFACT_FLAGS = {"device": _device, "host": _host, "object": _object}
