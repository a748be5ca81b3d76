"""What kind of failure a compiler's output is, and its first relevant diagnostic."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

LONGEST = 400
"""Longest diagnostic that is kept; template arguments make them run to thousands of characters."""

_DIAGNOSTIC = re.compile(
    r"^(?:(?P<file>[^:\n]+):(?P<line>\d+):(?P<col>\d+): )?(?:fatal )?error: (?P<text>.*)$",
    re.MULTILINE,
)
_LINKER = re.compile(r"^(?:\S*lld|\S*ld)(?:-\d+)?: error: (?P<text>.*)$", re.MULTILINE)


class FailureClass(StrEnum):
    """What kind of failure it is."""

    STATIC_ASSERT = "static-assert"
    """A static_assert of the headers."""
    NO_SPECIALIZATION = "no-specialization"
    """A template that has no definition for these arguments."""
    LDS_LIMIT = "lds-limit"
    """More LDS than the GPU has."""
    COMPILE = "compile"
    """Another error of the compiler's front end or back end."""
    LINK = "link"
    """The linker found no definition."""
    TOOLCHAIN = "toolchain"
    """A header, a library or a GPU that the compiler does not know."""
    TIMEOUT = "timeout"
    """The time limit."""
    OUT_OF_MEMORY = "out-of-memory"
    """The machine's memory ran out."""
    NO_SPACE = "no-space"
    """The disk is full."""
    KILLED = "killed"
    """The compiler was killed from outside."""
    CRASH = "crash"
    """The compiler crashed."""
    INTERNAL = "internal"
    """The build could not be carried out."""


REFUSALS = frozenset({
    FailureClass.STATIC_ASSERT,
    FailureClass.NO_SPECIALIZATION,
    FailureClass.LDS_LIMIT,
    FailureClass.COMPILE,
})  # fmt: skip
"""Classes that say that the kernel itself cannot be compiled."""

TRANSIENT = frozenset(FailureClass) - REFUSALS - {FailureClass.LINK, FailureClass.CRASH}
"""Classes that say nothing about the kernel, so that the next run tries again."""

_NO_DEFINITION = (
    "implicit instantiation of undefined template",
    "no member named",
    "no matching (?:member )?function",
    "no matching constructor",
)
#: How a compiler's driver says that one of its programs was ended.
_UNABLE = r"unable to execute command: "
_NO_TOOL = (
    _UNABLE,
    "posix_spawn failed",
    "clang-offload-bundler: error:",
    r"ld(?:-\d+)?: error: (?:cannot open|unable to find)",
    "fatal error: '[^']+' file not found",
    "cannot find ROCm device library",
    "unknown argument",
    "error: no such file or directory",
    "unsupported HIP gpu",
    "invalid target ID",
    "unknown target CPU",
)
#: A program that names itself where a diagnostic names file and line: nothing about the kernel.
_DRIVER = r"(?m)^(?:\S*/)?(?:(?:amd)?clang|hipcc|ccache)[^\s:]*: error: (?!linker command failed)"
_TEXTS: tuple[tuple[FailureClass, str], ...] = (
    (FailureClass.NO_SPACE, r"No space left on device|IO failure on output stream"),
    (FailureClass.OUT_OF_MEMORY, r"out of memory|bad_alloc|Cannot allocate memory"),
    (FailureClass.KILLED, f"{_UNABLE}(?:Killed|Terminated|Hangup|Interrupt)"),
    (FailureClass.CRASH, f"{_UNABLE}(?:Segmentation fault|Aborted|Bus error|Illegal|Trace)"),
    (FailureClass.STATIC_ASSERT, r"error: static assertion failed|error: static_assert"),
    (FailureClass.LDS_LIMIT, r"local memory \(\d+\) exceeds limit"),
    (FailureClass.NO_SPECIALIZATION, "|".join(_NO_DEFINITION)),
    (FailureClass.TOOLCHAIN, "|".join(_NO_TOOL)),
    (FailureClass.CRASH, r"PLEASE submit a bug report|Stack dump:|LLVM ERROR|internal compiler"),
    (FailureClass.LINK, r"undefined (?:hidden )?symbol|undefined reference|linker command failed"),
    (FailureClass.TOOLCHAIN, _DRIVER),
)
_CLASSES = tuple((name, re.compile(pattern)) for name, pattern in _TEXTS)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a compilation failed."""

    kind: FailureClass
    diagnostic: str


def classify(status: int, output: str) -> Failure:
    """The failure behind an exit status and what the compiler printed.

    >>> failure = classify(1, "a/b.hpp:3:5: error: static assertion failed: wrong!\\n")
    >>> failure.diagnostic
    'b.hpp:3:5: error: static assertion failed: wrong!'
    >>> str(failure.kind), str(classify(-9, "").kind)
    ('static-assert', 'killed')
    """
    kind = next((name for name, pattern in _CLASSES if pattern.search(output)), None)
    if kind is None and (status < 0 or status in (137, 143)):
        kind = FailureClass.KILLED
    if kind is None and not output.strip():  # its log could not be written either
        kind = FailureClass.INTERNAL
    return Failure(kind or FailureClass.COMPILE, first_diagnostic(output) or _status(status))


def first_diagnostic(output: str) -> str | None:
    """The first error, with the file's name but not its folder."""
    hit = _DIAGNOSTIC.search(output)
    if hit is not None:
        where = f"{Path(hit['file']).name}:{hit['line']}:{hit['col']}: " if hit["file"] else ""
        return shorten(f"{where}error: {hit['text']}")
    linked = _LINKER.search(output)
    if linked is not None:
        return shorten(f"link error: {linked['text']}")
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return shorten(lines[0]) if lines else None


def shorten(text: str) -> str:
    """At most `LONGEST` characters."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _status(status: int) -> str:
    if status >= 0:
        return f"the compiler ended with status {status} and said nothing"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = str(-status)
    return f"the compiler was ended by signal {name}"
