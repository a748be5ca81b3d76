"""The compiler options that CK's kernels need: those of CK's own build, and two of ours.

CK takes each of its own where the compiler knows it. They are not a matter of speed alone: before
LLVM 20 a region that was scheduled once loses the order of LDS accesses and barriers when it is
scheduled again, if it holds ``sched_group_barrier`` (as hot loops of compv3, compv4 and others
do). ``-enable-post-misched=0`` switches one such pass off, and ours two more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckrules.arch import CK_VERSIONS, load, of_release
from ckrules.support.errors import UnknownNameError, unknown

ASKED = (
    *("--cuda-device-only", "--offload-arch=gfx90a", "-nogpulib", "-nogpuinc"),
    *("-fsyntax-only", "-c"),
)
"""How a compiler is asked, with an empty HIP file, whether it takes an option."""

AMD_CLANG = "AMD clang"
"""What AMD's own compilers call themselves when asked for their version."""

FIXED_IN = 20
"""The LLVM release that keeps barriers when it schedules again (its pull request 112781)."""

_VERSION = re.compile(r"clang version (\d+)\.(\S*)")

_BOOLS = {"true": "1", "false": "0", "": "1"}


@dataclass(frozen=True, slots=True)
class CkOption:
    """One option as it is written on a command line, with ``-mllvm`` where it is LLVM's.

    >>> CkOption("-mllvm --lsr-drop-solution=1", "CMakeLists.txt").words
    ('-mllvm', '--lsr-drop-solution=1')
    """

    text: str
    source: str
    """Where CK gives it; lines are those of CK 2025.11."""
    amd_only: bool = False
    """Whether it is for AMD's own compilers alone, though LLVM's know it, too."""
    old_only: bool = False
    """Whether it is for compilers before LLVM `FIXED_IN` alone."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a command line."""
        return tuple(self.text.split())

    def meant_for(self, version: str) -> bool:
        """Whether it is for a compiler that says this of its version.

        >>> CkOption("-x", "", amd_only=True).meant_for("Debian clang version 19.1.4")
        False
        """
        if self.amd_only and AMD_CLANG not in version:
            return False
        return not self.old_only or not keeps_barriers(version)

    @property
    def setting(self) -> tuple[str, str]:
        """Its name and value."""
        return _setting(self.words[-1])


_LLVM = "llvm/lib/Target/AMDGPU/AMDGPUIGroupLP.cpp: resetEdges (LLVM 19)"
_BOTH = (
    CkOption("-fno-offload-uniform-block", "CMakeLists.txt:293"),
    CkOption("-mllvm --lsr-drop-solution=1", "CMakeLists.txt:300"),
    CkOption("-mllvm -enable-post-misched=0", "CMakeLists.txt:307"),
    CkOption("-mllvm -amdgpu-coerce-illegal-types=1", "CMakeLists.txt:314"),
    # Since LLVM 18 this has everything inlined before anything is simplified: a small kernel takes
    # three times as long, others do not end (llvm/llvm-project, issue 86332). AMD's own
    # compilers leave that pass out (ROCm/rocm-libraries, pull request 11183).
    CkOption("-mllvm -amdgpu-early-inline-all=true", "CMakeLists.txt:318", amd_only=True),
    CkOption("-mllvm -amdgpu-function-calls=false", "CMakeLists.txt:319"),
    CkOption(
        "-mllvm -enable-noalias-to-md-conversion=0",
        "example/ck_tile/20_grouped_convolution/CMakeLists.txt:2; dispatcher/README.md",
    ),
    # The two passes that schedule a region again before registers are allocated.
    CkOption("-mllvm -amdgpu-disable-unclustered-high-rp-reschedule", _LLVM, old_only=True),
    CkOption("-mllvm -amdgpu-disable-clustered-low-occupancy-reschedule", _LLVM, old_only=True),
)
REGISTERS_READ_EARLY = CkOption("-mllvm -enable-misched=0", _LLVM, old_only=True)
"""For hot loops that read LDS without ``sched_group_barrier`` around every barrier: the scheduler
before registers are allocated moves their reads across barriers, too (seen with clang 19)."""
NO_SINKING = CkOption("-mllvm -disable-machine-sink", "llvm/lib/CodeGen/MachineSink.cpp (LLVM 22)")
"""For kernels that read LDS into registers long before they use them: reads are sunk behind the
barriers that follow, where others write again (seen with clang 22, of gfx942 and gfx950). And for
those of `stores_products`."""
_OPTIONS = {"2025.11": _BOTH, "2026.06": _BOTH}


def options(ck: str) -> tuple[CkOption, ...]:
    """The options of a CK release, in CK's order: those of the newest that was read.

    Raises:
        UnknownNameError: If there is no such release.
    """
    if ck not in CK_VERSIONS:
        raise unknown("CK version", ck, CK_VERSIONS)
    return of_release(_OPTIONS, ck)


def keeps_barriers(version: str) -> bool:
    """Whether a compiler of this version keeps the order of barriers when it schedules again.

    A development version may be older than the change, and one that cannot be read, too.

    >>> [keeps_barriers(f"clang version {v}") for v in ("19.1.7", "20.1.2", "20.0.0git", "22.1.8")]
    [False, True, False, True]
    >>> keeps_barriers("hipcc")
    False
    """
    found = _VERSION.search(version)
    return found is not None and int(found[1]) - ("git" in found[2]) >= FIXED_IN


def lacking(wanted: Iterable[CkOption], words: Sequence[str]) -> list[CkOption]:
    """The options that are not in effect on a command line; of opposite ones the last counts.

    >>> line = "-fno-offload-uniform-block -mllvm -enable-post-misched=0 -enable-post-misched"
    >>> [o.text for o in lacking(options("2025.11")[:3], line.split())]
    ['-mllvm --lsr-drop-solution=1', '-mllvm -enable-post-misched=0']
    """
    settings = dict(map(_setting, words))
    return [o for o in wanted if settings.get(o.setting[0]) != o.setting[1]]


def _setting(word: str) -> tuple[str, str]:
    """Name and value of an option: ``-fno-x`` switches ``x`` off, and a bare name switches on.

    >>> _setting("--lsr-drop-solution"), _setting("-fno-inline"), _setting("-a=false")
    (('lsr-drop-solution', '1'), ('inline', '0'), ('a', '0'))
    """
    if word.startswith("-fno-"):
        return word.removeprefix("-fno-"), "0"
    if word.startswith("-f"):
        return word.removeprefix("-f"), "1"
    name, _, value = word.lstrip("-").partition("=")
    return name, _BOOLS.get(value.lower(), value)


def stores_products(point: Mapping[str, Any]) -> tuple[CkOption, ...]:
    """What kernels of WMMA need that store their results from registers.

    A lane stores what lies within the result, and the last products are sunk to where only lanes
    with such a store are left; the others' operands are lacking then. LLVM says of all WMMA that
    they are of a whole wave since its pull request 178314 (seen with clang 22, of gfx1201).

    >>> [o.text for o in stores_products({"arch": "gfx1201", "epilogue": "default"})]
    ['-mllvm -disable-machine-sink']
    >>> stores_products({"arch": "gfx942", "epilogue": "default"})
    ()
    """
    direct = point.get("epilogue") == "default" or point.get("permute_n")
    return (NO_SINKING,) if direct and has_wmma(str(point["arch"])) else ()


def has_wmma(arch: str) -> bool:
    """Whether a GPU has WMMA, or comes from a file, which a folder of kernels does not name."""
    try:
        return load(arch).matrix_unit == "wmma"
    except UnknownNameError:
        return True
