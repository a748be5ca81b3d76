"""The compilers and CK trees of this machine: found or missing, each with one reason and remedy.

Nothing is installed here; ``make toolchain`` (``scripts/toolchain.sh``) does that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ckrules.compiling.compilers import COMPILERS, Compiler, knows
from ckrules.kernels.trees import read_tree
from ckrules.support import folders
from ckrules.support.errors import CkrulesError, unknown

TREES = {"2025.11": "ck-2025.11"}
"""The folder of each CK release under the toolchain root."""

BUNDLER = "clang-offload-bundler"
DISASSEMBLER = "llvm-objdump"

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
    """The name of one of ``COMPILERS``."""
    rocm: Path
    """The prefix that holds the HIP headers, for ``--rocm-path``."""
    include: Path
    """The CK tree's include folder."""

    @property
    def traits(self) -> Compiler:
        """What is known of compilers of this name."""
        return COMPILERS[self.kind]

    @property
    def version(self) -> str:
        """The first line that the compiler prints of itself."""
        return first_line(compiler_version(self.compiler))


@lru_cache(maxsize=8)
def compiler_version(compiler: Path) -> str:
    """What a compiler prints of itself: with hipcc, the compiler's own line is not the first.

    Raises:
        MissingToolError: If it cannot be run.
    """
    try:
        done = subprocess.run(
            [str(compiler), "--version"], capture_output=True, text=True, check=True, timeout=60
        )
    except OSError as error:
        raise MissingToolError(f"{compiler}: cannot be run: {error.strerror}") from None
    except subprocess.SubprocessError as error:
        raise MissingToolError(f"{compiler}: cannot be run: {error}") from None
    return (done.stdout or done.stderr).strip() or "unknown"


def first_line(version: str) -> str:
    """The first line of what a compiler prints of itself."""
    return version.splitlines()[0].strip()


def root() -> Path:
    """The folder of the CK trees: CKRULES_TOOLCHAIN, or a folder in the user's cache."""
    if folder := os.environ.get("CKRULES_TOOLCHAIN"):
        return Path(folder)
    return folders.cache() / "toolchain"


def rocm_prefixes() -> list[Path]:
    """Where ROCm may be: ROCM_PATH, if it is set, then /opt/rocm."""
    prefix = os.environ.get("ROCM_PATH")
    return [*([Path(prefix)] if prefix else []), _ROCM]


def find_program(name: str) -> Path | None:
    """A program on PATH or among ROCm's own; None if there is none."""
    if hit := shutil.which(name):
        return Path(hit)
    return _within(rocm_prefixes(), name)


def find_linker(compiler: tuple[str, Path] | None = None) -> Path | None:
    """The lld that a compiler calls: on PATH, among ROCm's own, or in the compiler's ROCm.

    ``compiler`` is what `find_compiler` found; None: the first compiler.
    """
    found = compiler or find_compiler()
    if isinstance(found, Missing):
        return _first_program(dict.fromkeys(n for c in COMPILERS.values() for n in c.linkers))
    if hit := _first_program(COMPILERS[found[0]].linkers):
        return hit
    place = found[1].resolve().parent
    return _within([place, place.parent, place.parent.parent], "ld.lld")


def _first_program(names: Iterable[str]) -> Path | None:
    return next((hit for name in names if (hit := find_program(name))), None)


def find_disassembler(tools: Toolchain) -> Path:
    """LLVM's disassembler of the compiler's own version, beside it or on PATH.

    Raises:
        MissingToolError: If there is none.
    """
    beside = tools.compiler.resolve().parent / DISASSEMBLER
    if os.access(beside, os.X_OK):
        return beside
    _, dash, version = tools.kind.partition("-")
    found = _first_program([f"{DISASSEMBLER}{dash}{version}", DISASSEMBLER])
    if found is None:
        raise MissingToolError(f"{DISASSEMBLER} for {tools.kind}: not on PATH")
    return found


def find_bundler() -> Path | None:
    """What the compiler joins the host's and the GPU's object with: beside it, or on PATH."""
    compiler = find_compiler()
    if not isinstance(compiler, Missing):
        beside = compiler[1].resolve().parent / BUNDLER
        if os.access(beside, os.X_OK):
            return beside
    return find_program(BUNDLER)


def _within(prefixes: Sequence[Path], name: str) -> Path | None:
    places = (prefix / part / name for prefix in prefixes for part in _ROCM_BIN)
    return next((place for place in places if os.access(place, os.X_OK)), None)


def find_compiler(name: str | None = None, arch: str | None = None) -> tuple[str, Path] | Missing:
    """The first compiler of ``COMPILERS`` on this machine that knows the GPU, or the one named.

    Raises:
        UnknownNameError: If there is no compiler of that name, with near matches.
    """
    if name is not None and name not in COMPILERS:
        raise unknown("compiler", name, COMPILERS)
    names = (name,) if name else tuple(COMPILERS)
    found = [(n, hit) for n in names if (hit := find_program(n))]
    knowing = [(n, hit) for n, hit in found if arch is None or knows(hit, arch)]
    if knowing:
        return knowing[0]
    if found:
        return Missing(
            what=f"a HIP compiler for {arch}",
            reason=f"{', '.join(n for n, _ in found)} does not know this GPU",
            remedy=_remedy(c for c in COMPILERS.values() if c.name not in dict(found)),
        )
    none = f"{name} is not" if name else f"none of {', '.join(COMPILERS)} is"
    return Missing(
        what="a HIP compiler",
        reason=f"{none} on PATH, in ROCM_PATH or in /opt/rocm",
        remedy=_remedy(COMPILERS.values()),
    )


def _remedy(compilers: Iterable[Compiler]) -> str:
    """How to get the first of some compilers that Debian has."""
    packages = next((c.packages for c in compilers if c.packages), ())
    by_hand = f" (Debian: apt-get install {' '.join(packages)})" if packages else ""
    return f"run `make toolchain`{by_hand}" if packages else "install a newer ROCm"


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
    ck: str = "2025.11",
    compiler: str | None = None,
    tree: Path | None = None,
    arch: str | None = None,
) -> Toolchain | Missing:
    """The toolchain of a CK release, or the first thing it lacks.

    Args:
        compiler: A compiler by name; None: the first.
        tree: The include folder of a CK tree that is not in the toolchain folder.
        arch: The GPU that the compiler has to know; None: any.
    """
    cc = find_compiler(compiler, arch)
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
    ck: str = "2025.11",
    compiler: str | None = None,
    tree: Path | None = None,
    arch: str | None = None,
) -> Toolchain:
    """The toolchain of a CK release; ``MissingToolError`` names the remedy when a part lacks."""
    found = find(ck, compiler, tree, arch)
    if isinstance(found, Missing):
        raise MissingToolError(str(found))
    return found


def with_headers(
    include: str | Path, compiler: str | None = None, arch: str | None = None
) -> Toolchain:
    """The toolchain with a CK include folder of the user's, whose version is detected.

    Raises:
        MissingToolError: If a tool is missing.
        UsageError: If the folder is not a CK include folder.
    """
    version = read_tree(Path(include)).ck
    cc, rocm = find_compiler(compiler, arch), find_rocm()
    for found in (cc, rocm):
        if isinstance(found, Missing):
            raise MissingToolError(str(found))
    assert not isinstance(cc, Missing)
    assert not isinstance(rocm, Missing)
    # compilers run in folders of their own
    return Toolchain(version, cc[1], cc[0], rocm, Path(include).resolve())
