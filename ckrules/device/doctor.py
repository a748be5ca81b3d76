"""What this machine has for building and running kernels, and how to get what it lacks."""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from ckrules.arch import CK_VERSIONS, known
from ckrules.codegen.ck_options import FIXED_IN, options
from ckrules.compiling import toolchain
from ckrules.compiling.compilers import COMPILERS, known_gpus
from ckrules.compiling.executors import available_mb, default_jobs
from ckrules.compiling.known_options import taken
from ckrules.compiling.toolchain import Missing

_RUNS = "; needed for ckrules validate and run only"


@dataclass(frozen=True, slots=True)
class Component:
    """One thing that was looked for."""

    what: str
    ok: bool
    detail: str
    remedy: str = ""
    needed: bool = False
    """Whether nothing can be compiled without it."""

    def to_dict(self) -> dict[str, object]:
        """The form that JSON output uses."""
        return asdict(self)


def examine() -> list[Component]:
    """Everything that building and running kernels may use, in a fixed order."""
    return [*_compiler(), *_trees(), *_packages(), *_gpu(), *_devices(), _machine()]


def can_build(findings: list[Component]) -> bool:
    """Whether kernels of some CK release can be compiled."""
    needed = [f for f in findings if f.needed]
    trees = [f for f in findings if f.what.startswith("CK ")]
    return all(f.ok for f in needed) and any(f.ok for f in trees)


def _compiler() -> Iterator[Component]:
    for name in COMPILERS:
        yield _one_compiler(name)
    anything = toolchain.find_compiler()
    if isinstance(anything, Missing):
        yield Component("HIP compiler", False, anything.reason, anything.remedy, needed=True)
    else:
        yield _options(*anything)
    rocm = toolchain.find_rocm()
    if isinstance(rocm, Missing):
        yield Component("HIP headers", False, rocm.reason, rocm.remedy, needed=True)
    else:
        yield Component("HIP headers", True, f"{rocm}/include/hip", needed=True)
    yield from _linkers()
    bundler = toolchain.find_bundler()
    yield Component(
        toolchain.BUNDLER,
        bundler is not None,
        str(bundler) if bundler else "needed for ckrules build --artifact object only",
        "Debian: apt-get install clang-tools-19",
    )


def _linkers() -> Iterator[Component]:
    """The linker of the first compiler, and those of other compilers that have their own."""
    first = toolchain.find_compiler()
    found = [c for name in COMPILERS if not isinstance(c := toolchain.find_compiler(name), Missing)]
    each: list[tuple[str, Path] | None] = [*found] or [None]
    for compiler in each:
        linker = toolchain.find_linker(compiler)
        needed = compiler is None or compiler == first
        name = compiler[0] if compiler else "clang-19"
        packages = [p for p in COMPILERS[name].packages if p.startswith("lld")]
        yield Component(
            "lld" if needed else f"lld of {name}",
            linker is not None,
            str(linker) if linker else "code objects cannot be linked",
            f"Debian: apt-get install {packages[0] if packages else 'lld-19'}",
            needed=needed,
        )


def _coverage(compiler: Path) -> str:
    """Which of the package's GPUs a compiler does not know, in words."""
    gpus = known_gpus(compiler)
    absent = [g for g in known() if gpus is not None and g not in gpus]
    return f"; not for {', '.join(absent)}" if absent else ""


def _one_compiler(name: str) -> Component:
    compiler = toolchain.find_compiler(name)
    if isinstance(compiler, Missing):
        packages = COMPILERS[name].packages
        remedy = f"Debian: apt-get install {' '.join(packages)}" if packages else ""
        return Component(name, False, "not on PATH, in ROCM_PATH or in /opt/rocm", remedy)
    try:
        version = toolchain.first_line(toolchain.compiler_version(compiler[1]))
        return Component(name, True, f"{compiler[1]}: {version}{_coverage(compiler[1])}")
    except toolchain.MissingToolError as error:
        return Component(name, False, str(error))


def _options(name: str, compiler: Path) -> Component:
    """Which of the options that CK's kernels need a build has with the compiler that it uses."""
    wanted = dict.fromkeys(o for ck in CK_VERSIONS for o in options(ck))
    try:
        known = {o for ck in CK_VERSIONS for o in taken(compiler, ck)}
    except toolchain.MissingToolError as error:
        return Component("options for CK", False, str(error))
    amd, old = " (for AMD's own compilers)", f" (for compilers before LLVM {FIXED_IN})"
    absent = [f"{o.text}{amd * o.amd_only}{old * o.old_only}" for o in wanted if o not in known]
    shown = f"{name} takes {len(known)} of {len(wanted)}"
    return Component("options for CK", True, shown + (f", not {', '.join(absent)}" * bool(absent)))


def _trees() -> Iterator[Component]:
    for ck in CK_VERSIONS:
        tree = toolchain.find_tree(ck)
        if isinstance(tree, Missing):
            yield Component(f"CK {ck} headers", False, tree.reason, tree.remedy)
        else:
            yield Component(f"CK {ck} headers", True, str(tree))


def _packages() -> Iterator[Component]:
    for name, use, remedy in (
        ("ccache", "--launcher ccache", "install ccache with the system's package manager"),
        ("ninja", "upstream's library from build.ninja", "pip install 'ckrules[build]'"),
    ):
        path = shutil.which(name)
        yield Component(name, path is not None, path or f"for {use}", remedy)
    for module, use, extra in (
        ("ninja", "writes build.ninja", "build"),
        ("distributed", "--executor dask://", "cluster"),
        ("pyarrow", "results as Parquet", "parquet"),
    ):
        there = importlib.util.find_spec(module) is not None
        yield Component(f"Python {module}", there, use, f"pip install 'ckrules[{extra}]'")


def _libraries() -> list[str]:
    return [str(p / "lib/libamdhip64.so") for p in toolchain.rocm_prefixes()]


def _gpu() -> Iterator[Component]:
    kfd = os.path.exists("/dev/kfd")
    readable = kfd and os.access("/dev/kfd", os.R_OK | os.W_OK)
    detail = "/dev/kfd" if readable else "no access to /dev/kfd" if kfd else "no /dev/kfd"
    yield Component("AMD GPU", readable, f"{detail}{'' if readable else _RUNS}")
    runtime = ctypes.util.find_library("amdhip64") or next(filter(os.path.exists, _libraries()), "")
    yield Component(
        "HIP runtime", bool(runtime), runtime or f"no libamdhip64{_RUNS}", "install ROCm"
    )
    bindings = [m for m in ("rocm", "hip") if importlib.util.find_spec(m) is not None]
    yield Component(
        "HIP for Python",
        bool(bindings),
        ", ".join(bindings) or f"neither rocm.bindings nor hip{_RUNS}",
        "pip install 'ckrules[gpu]'",
    )


def _devices() -> Iterator[Component]:
    """What `ckrules validate` can run on, each looked for in a process of its own."""
    from ckrules.device.pool import discover
    from ckrules.device.registry import names

    for name in names():
        discovery = discover(name, timeout=30)
        shown = [f"{d.name} ({d.arch or 'any GPU'})" for d in discovery.devices]
        detail = ", ".join(shown) or discovery.reason()
        yield Component(f"--device {name}", bool(shown), detail)


def _machine() -> Component:
    free = available_mb()
    memory = f"{free:,} MB free" if free is not None else "free memory unknown"
    return Component("compilers at once", True, f"{default_jobs()} ({memory})")
