"""What this machine has for building and running kernels, and how to get what it lacks."""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from ckrules.build import toolchain
from ckrules.build.executors import available_mb, default_jobs
from ckrules.build.tasks import compiler_version
from ckrules.constraints import CK_VERSIONS

_RUNS = "; needed for ckrules validate and run only"


@dataclass(frozen=True, slots=True)
class Finding:
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


def examine() -> list[Finding]:
    """Everything that building and running kernels may use, in a fixed order."""
    return [*_compiler(), *_trees(), *_packages(), *_gpu(), *_devices(), _machine()]


def can_build(findings: list[Finding]) -> bool:
    """Whether kernels of some CK release can be compiled."""
    needed = [f for f in findings if f.needed]
    trees = [f for f in findings if f.what.startswith("CK ")]
    return all(f.ok for f in needed) and any(f.ok for f in trees)


def _compiler() -> Iterator[Finding]:
    for name in toolchain.COMPILERS:
        yield _one_compiler(name)
    anything = toolchain.find_compiler()
    if isinstance(anything, toolchain.Missing):
        yield Finding("HIP compiler", False, anything.reason, anything.remedy, needed=True)
    rocm = toolchain.find_rocm()
    if isinstance(rocm, toolchain.Missing):
        yield Finding("HIP headers", False, rocm.reason, rocm.remedy, needed=True)
    else:
        yield Finding("HIP headers", True, f"{rocm}/include/hip", needed=True)
    linker = toolchain.find_linker()
    yield Finding(
        "lld",
        linker is not None,
        str(linker) if linker else "code objects cannot be linked",
        "Debian: apt-get install lld-19",
        needed=True,
    )


def _one_compiler(name: str) -> Finding:
    found = toolchain.find_compiler(name)
    if isinstance(found, toolchain.Missing):
        return Finding(name, False, "not on PATH, in ROCM_PATH or in /opt/rocm")
    try:
        return Finding(name, True, f"{found[1]}: {compiler_version(str(found[1]))}")
    except toolchain.MissingToolError as error:
        return Finding(name, False, str(error))


def _trees() -> Iterator[Finding]:
    for ck in CK_VERSIONS:
        tree = toolchain.find_tree(ck)
        if isinstance(tree, toolchain.Missing):
            yield Finding(f"CK {ck} headers", False, tree.reason, tree.remedy)
        else:
            yield Finding(f"CK {ck} headers", True, str(tree))


def _packages() -> Iterator[Finding]:
    for name, use, remedy in (
        ("ccache", "--launcher ccache", "install ccache with the system's package manager"),
        ("ninja", "upstream's library from build.ninja", "pip install 'ckrules[build]'"),
    ):
        path = shutil.which(name)
        yield Finding(name, path is not None, path or f"for {use}", remedy)
    for module, use, extra in (
        ("ninja", "writes build.ninja", "build"),
        ("distributed", "--executor dask://", "cluster"),
        ("pyarrow", "results as Parquet", "parquet"),
    ):
        there = importlib.util.find_spec(module) is not None
        yield Finding(f"Python {module}", there, use, f"pip install 'ckrules[{extra}]'")


def _libraries() -> list[str]:
    return [str(p / "lib/libamdhip64.so") for p in toolchain.rocm_prefixes()]


def _gpu() -> Iterator[Finding]:
    kfd = os.path.exists("/dev/kfd")
    readable = kfd and os.access("/dev/kfd", os.R_OK | os.W_OK)
    detail = "/dev/kfd" if readable else "no access to /dev/kfd" if kfd else "no /dev/kfd"
    yield Finding("AMD GPU", readable, f"{detail}{'' if readable else _RUNS}")
    runtime = ctypes.util.find_library("amdhip64") or next(filter(os.path.exists, _libraries()), "")
    yield Finding("HIP runtime", bool(runtime), runtime or f"no libamdhip64{_RUNS}", "install ROCm")
    bindings = [m for m in ("rocm", "hip") if importlib.util.find_spec(m) is not None]
    yield Finding(
        "HIP for Python",
        bool(bindings),
        ", ".join(bindings) or f"neither rocm.bindings nor hip{_RUNS}",
        "pip install 'ckrules[gpu]'",
    )


def _devices() -> Iterator[Finding]:
    """What `ckrules validate` can run on, each looked for in a process of its own."""
    from ckrules.device.pool import discover
    from ckrules.device.registry import names

    for name in names():
        found = discover(name, timeout=30)
        shown = [f"{d.name} ({d.arch or 'any GPU'})" for d in found.devices]
        detail = ", ".join(shown) or found.reason()
        yield Finding(f"--device {name}", bool(shown), detail)


def _machine() -> Finding:
    free = available_mb()
    memory = f"{free:,} MB free" if free is not None else "free memory unknown"
    return Finding("compilers at once", True, f"{default_jobs()} ({memory})")
