"""The compilers and CK trees of this machine: found or missing, each with one reason and remedy.

Nothing is installed here; ``make toolchain`` (``scripts/toolchain.sh``) does that.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ckrules.engine.errors import CkrulesError, unknown

TREES = {"2025.11": "ck-2025.11"}
"""The folder of each CK release under the toolchain root."""

COMPILERS = ("clang-19", "amdclang++", "hipcc")
"""The compilers that are looked for, best first."""

#: Where ROCm's own compilers and linker are when they are not on PATH, relative to its prefix.
_ROCM_BIN = ("bin", "llvm/bin")
_HIP_HEADER = Path("include/hip/hip_runtime.h")
_ROCM = Path("/opt/rocm")


class MissingToolError(CkrulesError, RuntimeError):
    """A tool of the toolchain that is not on this machine; the message ends with the remedy."""


@dataclass(frozen=True)
class Missing:
    """One thing that is not there, why that is known, and what to do about it."""

    what: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}: {self.reason}; {self.remedy}"


@dataclass(frozen=True)
class Toolchain:
    """Everything a device-only compilation needs."""

    ck: str
    compiler: Path
    """The compiler's executable."""
    kind: str
    """One of ``COMPILERS``."""
    rocm: Path
    """The prefix that holds the HIP headers, for ``--rocm-path``."""
    include: Path
    """The CK tree's include folder."""


def root() -> Path:
    """The folder of the CK trees: CKRULES_TOOLCHAIN, or a folder in the user's cache."""
    if given := os.environ.get("CKRULES_TOOLCHAIN"):
        return Path(given)
    return cache_home() / "toolchain"


def cache_home() -> Path:
    """The project's folder in the user's cache, after the XDG base-directory rules."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ckrules"


def rocm_prefixes() -> list[Path]:
    """Where ROCm may be: ROCM_PATH, if it is set, then /opt/rocm."""
    given = os.environ.get("ROCM_PATH")
    return [*([Path(given)] if given else []), _ROCM]


def find_program(name: str) -> Path | None:
    """A program on PATH or among ROCm's own; None if there is none."""
    if hit := shutil.which(name):
        return Path(hit)
    return _within(rocm_prefixes(), name)


def find_linker() -> Path | None:
    """The lld that a compiler calls: on PATH, among ROCm's own, or in the compiler's ROCm."""
    for name in ("ld.lld-19", "ld.lld"):
        if hit := find_program(name):
            return hit
    compiler = find_compiler()
    if isinstance(compiler, Missing):
        return None
    place = compiler[1].resolve().parent
    return _within([place, place.parent, place.parent.parent], "ld.lld")


def _within(prefixes: Sequence[Path], name: str) -> Path | None:
    places = (prefix / part / name for prefix in prefixes for part in _ROCM_BIN)
    return next((place for place in places if os.access(place, os.X_OK)), None)


def find_compiler(name: str | None = None) -> tuple[str, Path] | Missing:
    """The first compiler of ``COMPILERS`` on this machine, or the one named."""
    names = (name,) if name else COMPILERS
    for candidate in names:
        if candidate not in COMPILERS:
            raise unknown("compiler", candidate, COMPILERS)
        if hit := find_program(candidate):
            return candidate, hit
    none = f"{name} is not" if name else f"none of {', '.join(COMPILERS)} is"
    return Missing(
        what="a HIP compiler",
        reason=f"{none} on PATH, in ROCM_PATH or in /opt/rocm",
        remedy="run `make toolchain` (Debian: apt-get install clang-19 lld-19 llvm-19)",
    )


def find_rocm() -> Path | Missing:
    """The prefix whose include folder has the HIP headers."""
    for prefix in [*rocm_prefixes(), Path("/usr")]:
        if (prefix / _HIP_HEADER).is_file():
            return prefix
    return Missing(
        what="the HIP headers",
        reason="hip/hip_runtime.h is neither in ROCM_PATH, /opt/rocm nor /usr",
        remedy="run `make toolchain` (Debian: apt-get install libamdhip64-dev rocm-device-libs)",
    )


def find_tree(ck: str) -> Path | Missing:
    """The include folder of a CK release."""
    if ck not in TREES:
        return Missing(
            what=f"the CK headers of {ck}",
            reason=f"only {', '.join(TREES)} can be fetched",
            remedy="name the include folder of a CK tree (ckrules build --include DIR)",
        )
    include = root() / TREES[ck] / "include"
    if (include / "ck_tile" / "core.hpp").is_file():
        return include
    return Missing(
        what=f"the CK headers of {ck}",
        reason=f"no {TREES[ck]}/include/ck_tile/core.hpp in the toolchain folder",
        remedy="run `make toolchain`",
    )


def find(
    ck: str = "2025.11", compiler: str | None = None, tree: Path | None = None
) -> Toolchain | Missing:
    """The toolchain of a CK release, or the first thing it lacks.

    ``tree`` is the include folder of a CK tree that is not in the toolchain folder.
    """
    cc = find_compiler(compiler)
    if isinstance(cc, Missing):
        return cc
    rocm = find_rocm()
    if isinstance(rocm, Missing):
        return rocm
    include = find_tree(ck) if tree is None else given_tree(tree)
    if isinstance(include, Missing):
        return include
    return Toolchain(ck=ck, compiler=cc[1], kind=cc[0], rocm=rocm, include=include)


def given_tree(tree: Path) -> Path | Missing:
    """The include folder that somebody named, if it is one."""
    if (tree / "ck_tile" / "core.hpp").is_file():
        return tree
    return Missing(
        what="the CK headers",
        reason=f"no ck_tile/core.hpp in {tree}",
        remedy="give the folder that holds ck_tile",
    )


def require(
    ck: str = "2025.11", compiler: str | None = None, tree: Path | None = None
) -> Toolchain:
    """The toolchain of a CK release; ``MissingToolError`` names the remedy when a part lacks."""
    found = find(ck, compiler, tree)
    if isinstance(found, Missing):
        raise MissingToolError(str(found))
    return found


def with_headers(include: str | Path, compiler: str | None = None) -> Toolchain:
    """The toolchain with a CK include folder of the user's, whose version is detected.

    Raises:
        MissingToolError: If the folder is no CK include folder, or a tool is missing.
    """
    folder = Path(include)
    if not (folder / "ck_tile" / "core.hpp").is_file():
        raise MissingToolError(f"{folder}: no ck_tile/core.hpp in it; expected CK's include folder")
    cc, rocm = find_compiler(compiler), find_rocm()
    for found in (cc, rocm):
        if isinstance(found, Missing):
            raise MissingToolError(str(found))
    assert not isinstance(cc, Missing)
    assert not isinstance(rocm, Missing)
    return Toolchain(detect_version(folder), cc[1], cc[0], rocm, folder)


def detect_version(include: Path) -> str:
    """The CK version that an include folder comes closest to, told by what its headers have.

    Explicit GEMM in the convolution traits came after November 2025, backward data kernels of
    this form before it.

    Raises:
        MissingToolError: If the headers are older than every version that the rules know.
    """
    traits = include / "ck_tile/ops/grouped_convolution/utils/grouped_convolution_utils.hpp"
    kernel = include / "ck_tile/ops/grouped_convolution/kernel"
    text = traits.read_text(errors="replace") if traits.is_file() else ""
    if "ExplicitGemm" in text:
        return "2026.06"
    if (kernel / "grouped_convolution_backward_data_kernel.hpp").is_file():
        return "2025.11"
    raise MissingToolError(
        f"{include}: these headers have no backward data kernel; expected CK 2025.11 or newer"
    )
