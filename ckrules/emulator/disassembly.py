"""The instructions of a code object as LLVM's disassembler names them."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ckrules.compiling import codeobject
from ckrules.emulator.errors import EmulatorError

_LINE = re.compile(r"^\t(\S+)([^/]*)// ([0-9A-F]+):((?: [0-9A-F]{8})+)")
_SYMBOL = re.compile(r"^([0-9a-f]{16}) <(.*)>:$")
_SOURCE = re.compile(r"^; (/.*:\d+)$")


@dataclass(frozen=True, slots=True)
class DisassembledLine:
    """One instruction: its address relative to the image's base, its text, its place in C++."""

    address: int
    size: int
    mnemonic: str
    operands: str
    source: str

    def __str__(self) -> str:
        place = f" at {self.source}" if self.source else ""
        return f"{self.mnemonic} {self.operands}".strip() + f" @0x{self.address:x}{place}"


def target(code: bytes) -> str:
    """The GPU that a code object is for, without target features; "" if it does not say.

    Raises:
        CodeObjectError: If it has no metadata.
    """
    name = str(codeobject.metadata(code).get("amdhsa.target", ""))
    return name.rpartition("-")[2].partition(":")[0]


def knows(program: Path, code: bytes, gpu: str) -> bool:
    """Whether a disassembler knows a GPU; one that does not say may try.

    Args:
        program: An ``llvm-objdump``.
        code: Any code object for AMD GPUs: the program lists its GPUs for a file only.
    """
    if program not in _known:
        _known[program] = _listed(program, code)
    return not _known[program] or gpu in _known[program]


_known: dict[Path, frozenset[str]] = {}
_GPU = re.compile(r"^\s+(gfx[0-9a-z-]+)\s+- Select", re.MULTILINE)


def _listed(program: Path, code: bytes) -> frozenset[str]:
    with tempfile.NamedTemporaryFile(prefix="ckrules-", suffix=".hsaco") as file:
        file.write(code)
        file.flush()
        words = [str(program), "--disassemble", "--mcpu=help", file.name]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        except (OSError, subprocess.SubprocessError):
            return frozenset()
    return frozenset(_GPU.findall(done.stdout + done.stderr))


def disassemble(code: bytes, program: Path) -> list[DisassembledLine]:
    """The instructions of all kernels of a code object, by address.

    Args:
        code: The bytes of an ELF file for AMD GPUs.
        program: ``llvm-objdump``, of a version that knows the GPU.

    Raises:
        EmulatorError: If it cannot be run or does not take the file.
    """
    with tempfile.NamedTemporaryFile(prefix="ckrules-", suffix=".hsaco") as file:
        file.write(code)
        file.flush()
        words = [str(program), "--disassemble", "--line-numbers", file.name]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, errors="replace", check=False, timeout=300
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise EmulatorError(f"{program}: cannot be run: {error}") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        raise EmulatorError(f"{program.name}: {said[-1]}")
    return list(_lines(done.stdout))


def _lines(text: str) -> Iterator[DisassembledLine]:
    source = ""
    for line in text.splitlines():
        if place := _SOURCE.match(line):
            source = place[1]
        elif _SYMBOL.match(line):
            source = ""
        elif hit := _LINE.match(line):
            size = len(hit[4].split()) * 4
            yield DisassembledLine(int(hit[3], 16), size, hit[1], hit[2].strip(), source)
