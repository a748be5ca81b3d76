"""The compilers that can compile CK for AMD GPUs, what each lacks, and which GPUs it knows."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

_GPU = re.compile(r"^\s+(gfx[0-9a-z-]+)\s*$", re.MULTILINE)
_PATIENCE = 60.0

GAPS = Path(__file__).parent / "data" / "ckrules_hip_gaps.h"
"""What the HIP headers of Debian expect of a compiler and newer ones no longer bring."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """One compiler by the name of its program.

    >>> COMPILERS["clang-22"].packages
    ('clang-22', 'clang-tools-22', 'lld-22', 'llvm-22')
    """

    name: str
    linkers: tuple[str, ...] = ("ld.lld",)
    """Its linker's names, best first."""
    packages: tuple[str, ...] = ()
    """Debian's packages with it, its linker and its tools; none for those of ROCm."""
    plain: bool = False
    """Whether it comes without ROCm's library of device functions."""
    gaps: bool = False
    """Whether Debian's HIP headers want `GAPS` of it."""


def _debian(version: int, *, gaps: bool = False) -> Compiler:
    parts = ("clang", "clang-tools", "lld", "llvm")
    return Compiler(
        f"clang-{version}",
        linkers=(f"ld.lld-{version}", "ld.lld"),
        packages=tuple(f"{part}-{version}" for part in parts),
        plain=True,
        gaps=gaps,
    )


_ALL = (_debian(19), _debian(22, gaps=True), Compiler("amdclang++"), Compiler("hipcc"))
COMPILERS: Mapping[str, Compiler] = MappingProxyType({c.name: c for c in _ALL})
"""The compilers that are looked for, best first."""


@lru_cache(maxsize=8)
def known_gpus(compiler: Path) -> frozenset[str] | None:
    """The GPUs that a compiler says it compiles for; None if it does not say.

    Asked, not guessed from its version: ``--print-supported-cpus`` lists them.
    """
    command = [str(compiler), "--print-supported-cpus", "--target=amdgcn"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return frozenset(_GPU.findall(done.stdout + done.stderr)) or None


def portable(words: Sequence[str]) -> list[str]:
    """The words of a command with what `GAPS` holds for its path, for keys of results."""
    return [GAPS.read_text(encoding="utf-8") if word == str(GAPS) else word for word in words]


def knows(compiler: Path, arch: str) -> bool:
    """Whether a compiler compiles for a GPU; one that does not say may try."""
    known = known_gpus(compiler)
    return known is None or arch in known
