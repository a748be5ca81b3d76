"""What kind of failure a compiler's output is, and its first relevant diagnostic."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from pathlib import Path

LONGEST = 400
"""Longest diagnostic that is kept; template arguments make them run to thousands of characters."""

_DIAGNOSTIC = re.compile(
    r"^(?:(?P<file>[^:\n]+):(?P<line>\d+):(?P<col>\d+): )?(?:fatal )?error: (?P<text>.*)$",
    re.MULTILINE,
)
_LINKER = re.compile(r"^(?:\S*lld|\S*ld)(?:-\d+)?: error: (?P<text>.*)$", re.MULTILINE)

CLASSES = {
    "static-assert": "a static_assert of the headers",
    "no-specialization": "a template that has no definition for these arguments",
    "lds-limit": "more LDS than the GPU has",
    "compile": "another error of the compiler's front end or back end",
    "link": "the linker found no definition",
    "toolchain": "a header, a library or a GPU that the compiler does not know",
    "timeout": "the time limit",
    "out-of-memory": "the machine's memory ran out",
    "no-space": "the disk is full",
    "killed": "the compiler was killed from outside",
    "crash": "the compiler crashed",
    "internal": "the build could not be carried out",
}

TRANSIENT = frozenset({"timeout", "out-of-memory", "no-space", "killed", "internal", "toolchain"})
"""Classes that say nothing about the kernel, so that the next run tries again."""

REFUSALS = frozenset({"static-assert", "no-specialization", "lds-limit", "compile"})
"""Classes that say that the kernel itself cannot be compiled."""

_NO_DEFINITION = (
    "implicit instantiation of undefined template",
    "no member named",
    "no matching (?:member )?function",
    "no matching constructor",
)
_NO_TOOL = (
    "fatal error: '[^']+' file not found",
    "cannot find ROCm device library",
    "unknown argument",
    "error: no such file or directory",
    "unsupported HIP gpu",
    "invalid target ID",
    "unknown target CPU",
)
_TEXTS: tuple[tuple[str, str], ...] = (
    ("no-space", r"No space left on device|IO failure on output stream"),
    ("out-of-memory", r"out of memory|bad_alloc|Cannot allocate memory"),
    ("static-assert", r"error: static assertion failed|error: static_assert"),
    ("lds-limit", r"local memory \(\d+\) exceeds limit"),
    ("no-specialization", "|".join(_NO_DEFINITION)),
    ("toolchain", "|".join(_NO_TOOL)),
    ("crash", r"PLEASE submit a bug report|Stack dump:|LLVM ERROR"),
    ("link", r"undefined (?:hidden )?symbol|undefined reference"),
)
_CLASSES = tuple((name, re.compile(pattern)) for name, pattern in _TEXTS)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a compilation failed."""

    kind: str  # one of CLASSES
    diagnostic: str


def classify(status: int, output: str) -> Failure:
    """The failure behind an exit status and what the compiler printed.

    >>> classify(1, "a/b.hpp:3:5: error: static assertion failed: wrong!\\n")
    Failure(kind='static-assert', diagnostic='b.hpp:3:5: error: static assertion failed: wrong!')
    >>> classify(-9, "").kind
    'killed'
    """
    kind = next((name for name, pattern in _CLASSES if pattern.search(output)), None)
    if kind is None and (status < 0 or status in (137, 143)):
        kind = "killed"
    if kind is None and not output.strip():  # its log could not be written either
        kind = "internal"
    return Failure(kind or "compile", first_diagnostic(output) or _status(status))


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
