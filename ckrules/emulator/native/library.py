"""Functions for the instructions of a program, compiled by clang and kept in the user's cache.

What is kept is loaded only if it and its folder are this user's alone.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ckrules.compiling import execution
from ckrules.support import folders, opening

_COMPILERS = ("clang-22", "clang-19", "clang")
# Unrolled loops take the compiler twice as long and -O2 a seventh longer, and neither runs faster.
_FLAGS = (
    *("-O1", "-fvectorize", "-fno-unroll-loops", "-shared", "-fPIC", "-fwrapv"),
    *("-ffp-contract=off", "-fno-math-errno", "-w"),
)
_HERE = Path(__file__).parent
HEADER = (_HERE / "runtime.h").read_text(encoding="utf-8")
SIZES = {name: int(value) for name, value in re.findall(r"([A-Z]+) = (-?\d+)", HEADER)}
"""The constants of ``runtime.h``."""
_SECONDS = 120
_CHECK = 16
"""Bytes of the hash that a kept library ends with."""
_SOURCE = "native.c"
VARIABLE = "CKRULES_NATIVE"
"""Set to 0, the emulator makes no native code."""


@cache
def compiler() -> str | None:
    """The clang that native code is made with; None without one, or if `VARIABLE` is 0."""
    if os.environ.get(VARIABLE) == "0":
        return None
    return next((hit for name in _COMPILERS if (hit := shutil.which(name))), None)


@cache
def _identity(program: str) -> str:
    """What a library depends on besides its source: compiler, flags, processor."""
    stat = os.stat(os.path.realpath(program))
    return repr((program, stat.st_size, stat.st_mtime_ns, _flags()))


@cache
def _flags() -> tuple[str, ...]:
    try:
        found = Path("/proc/cpuinfo").read_text(errors="replace").partition("\n\n")[0].split()
    except OSError:
        found = []
    wanted = {"avx2": "-mavx2", "fma": "-mfma", "f16c": "-mf16c"}
    return (*_FLAGS, *(flag for word, flag in wanted.items() if word in found))


def source_of(bodies: Sequence[str], lanes: int) -> str:
    """The C of functions, each from its body."""
    parts = [f"#define LANES {lanes}", '#include "runtime.h"', '#include "driver.h"']
    parts += [
        f"static int op{i}(ctx *c, const insn *i) {{\n{body}\n}}" for i, body in enumerate(bodies)
    ]
    names = ", ".join(f"op{i}" for i in range(len(bodies)))
    parts.append(f"int (*const functions[])(ctx *, const insn *) = {{{names}}};")
    return "\n".join(parts) + "\n"


def library(source: str) -> ctypes.CDLL | None:
    """The functions of a source, compiled now or before; None if that cannot be done."""
    program = compiler()
    if program is None:
        return None
    headers = HEADER, (_HERE / "driver.h").read_text(encoding="utf-8")
    key = hashlib.sha256("\0".join((source, *headers, _identity(program))).encode()).hexdigest()
    try:
        kept = _folder() / f"{key[:32]}.so" if folders.keeps_spaces() else None
        if kept is None:
            return _temporary(program, source)
        if not _whole(kept):
            _compiled(program, source, kept)
        opening.own(kept.parent)
        opening.own(kept)
        return ctypes.CDLL(str(kept))
    except OSError:
        return None


def _whole(path: Path) -> bool:
    """Whether a library is there and ends with its check; one that is cut off ends a process."""
    data = path.read_bytes() if path.exists() else b""
    return bool(data) and data.endswith(_check(data[:-_CHECK]))


def _check(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECK).digest()


def _folder() -> Path:
    found = folders.cache() / "native"
    found.mkdir(mode=0o700, parents=True, exist_ok=True)
    return found


def _temporary(program: str, source: str) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory(prefix="ckrules-native-") as name:
        path = Path(name) / "native.so"
        _compiled(program, source, path)
        return ctypes.CDLL(str(path))


def _compiled(program: str, source: str, target: Path) -> None:
    """Compiles in a folder of its own, moving the library into place; `OSError` if it cannot."""
    with tempfile.TemporaryDirectory(prefix=".making-", dir=target.parent) as name:
        folder = Path(name)
        (folder / _SOURCE).write_text(source, encoding="utf-8")
        made = folder / target.name
        words = [program, *_flags(), f"-I{_HERE}", _SOURCE, "-o", str(made), "-lm"]
        ran = execution.execute(words, folder, _SECONDS)
        if ran.status != 0:
            raise OSError(f"{program}: {ran.output}")
        with made.open("ab") as stream:
            stream.write(_check(made.read_bytes()))
        made.chmod(0o700)
        made.replace(target)
