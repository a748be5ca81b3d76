"""The compiler's command lines for a kernel's artifacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ckrules.codegen.ck_options import CkOption
from ckrules.codegen.project import standard
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.compilers import GAPS
from ckrules.compiling.known_options import taken
from ckrules.compiling.toolchain import Toolchain

LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os", "-Oz", "-Og", "-Ofast")
"""Levels of optimisation that the compilers take."""

_TERSE = (
    *("-ferror-limit=1", "-ftemplate-backtrace-limit=1"),
    *("-fno-caret-diagnostics", "-fno-color-diagnostics", "-w"),
)
LINK = (
    *("--driver-mode=g++", "-no-hip-rt", "-shared", "-w"),
    "-Wl,--version-script=runtime/ckrules_exports.map",
)
"""How host libraries are linked: with the C++ library, without the GPU's runtime."""
_DEEP = ("-fconstexpr-steps=100000000", "-fbracket-depth=16384")
"""How deep and long templates may get; upstream's 1024 brackets are too few for large tiles."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How artifacts are built, apart from where things are on a machine."""

    ck: str
    arch: str
    defines: tuple[str, ...]
    """The macros that the GPU's file asks for: NAME or NAME=VALUE."""
    optimize: str = "-O3"
    flags: tuple[str, ...] = ()
    """Further flags from the user."""
    launcher: tuple[str, ...] = ()
    """Such as ``("ccache",)``: what runs the compiler."""
    needs: tuple[CkOption, ...] = ()
    """Options that the kernel needs beside those of CK."""


def commands(recipe: Recipe, artifact: Artifact, name: str, tools: Toolchain) -> list[list[str]]:
    """The commands for an artifact, to be run one after the other among the generated files.

    A host library is compiled and linked by a command each, because compiler caches keep objects
    only.

    Raises:
        UsageError: For a name that is not `ckrules.kernels.names.plain`.
    """
    # With their folder, so that none can be taken for an option.
    unit, result = f"./{artifact.source(name)}", f"./{artifact.result(name)}"
    compiled = f"./{name}.host.o" if artifact is Artifact.HOST else result
    compiler = str(tools.compiler)
    # Else the code would have a name of the folder in it, and be another one in each.
    same = [] if artifact is Artifact.HOST else [f"-cuid={name}.{recipe.arch}"]
    given = [*flags(recipe, artifact, tools), *same]
    words = [*recipe.launcher, compiler, *given, unit, "-o", compiled]
    linking = [compiler, *LINK, *recipe.flags, compiled, "-o", result]
    return [words, linking] if artifact is Artifact.HOST else [words]


def flags(recipe: Recipe, artifact: Artifact, tools: Toolchain) -> list[str]:
    """The compiler's flags for an artifact: with those that CK's kernels need; the user's are last.

    Raises:
        MissingToolError: If the compiler cannot be asked for the options that it takes.
    """
    words = _common(recipe, tools)
    known = taken(tools.compiler, recipe.ck, recipe.needs)
    words += [word for option in known for word in option.words]
    if artifact is Artifact.OBJECT and tools.traits.plain:
        words += ["-include", "runtime/ckrules_device.h"]
    return [*words, *_ARTIFACT_FLAGS[artifact](recipe), *recipe.flags]


def syntax_flags(recipe: Recipe, tools: Toolchain) -> list[str]:
    """The compiler's flags for a pass of the front end over device code, which makes no file."""
    return [*_common(recipe, tools), "--cuda-device-only", "-fsyntax-only", *recipe.flags]


def code_object_flags(recipe: Recipe, tools: Toolchain) -> list[str]:
    """The compiler's flags for a code object of a unit that is not a device unit of a kernel."""
    words = _common(recipe, tools)
    words += [word for option in taken(tools.compiler, recipe.ck) for word in option.words]
    if tools.traits.plain:
        words += ["-include", "runtime/ckrules_device.h"]
    return [*words, *_device(recipe), *recipe.flags]


def _common(recipe: Recipe, tools: Toolchain) -> list[str]:
    """Language, GPU, folders, macros and limits: the flags of every pass."""
    words: list[str] = [] if tools.kind == "hipcc" else ["-x", "hip"]
    words += [f"-std=c++{standard(recipe.ck)}", f"--offload-arch={recipe.arch}"]
    words += ["-I.", f"-I{tools.include}", "-D__HIP_PLATFORM_AMD__"]
    words += [*(f"-D{macro}" for macro in recipe.defines), *_DEEP, *_TERSE]
    if tools.traits.plain:
        words += [f"--rocm-path={tools.rocm}", "-nogpulib", "-DCKRULES_NO_DEVICE_LIBS"]
    if tools.traits.gaps:
        words += ["-include", str(GAPS)]
    return words


def _device(recipe: Recipe) -> Sequence[str]:
    output = "--no-gpu-bundle-output"
    return ("--cuda-device-only", output, recipe.optimize, "-c")


def _host(_: Recipe) -> Sequence[str]:
    # Kernels whose address is taken want a code object to be registered with: an empty one.
    empty = ("-Xclang", "-fcuda-include-gpubinary", "-Xclang", "/dev/null")
    return ("--cuda-host-only", *empty, "-O1", "-fPIC", "-fvisibility=hidden", "-c")


def _object(recipe: Recipe) -> Sequence[str]:
    return ("-fPIC", recipe.optimize, "-c")


_ARTIFACT_FLAGS = {Artifact.DEVICE: _device, Artifact.HOST: _host, Artifact.OBJECT: _object}
