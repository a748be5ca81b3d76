"""What the compiler made of a kernel: registers, memory, instructions by kind, and the assembly.

Where it was built with line numbers (``--flag=-gline-tables-only``) an instruction has its place in
the C++.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.codeobject import LARGEST, EntryFigures, parse, symbols
from ckrules.compiling.results import digest as digest_of
from ckrules.device.cpu import disassembler
from ckrules.emulator.disassembly import DisassembledLine, disassemble
from ckrules.support import opening
from ckrules.support.errors import CkrulesError

#: Kinds of instructions by what their names begin with; the first that fits counts.
KINDS: Mapping[str, str] = {
    "matrix": r"v_(smfmac|mfma|wmma|swmmac)",
    "accumulator registers moved": r"v_accvgpr",
    "LDS": r"ds_",
    "global loads": r"(global|buffer|flat|s_buffer|s)_load|tensor_load",
    "global stores": r"(global|buffer|flat)_store|tensor_store",
    "global atomics": r"(global|buffer|flat)_atomic",
    "scratch": r"scratch_",
    "waits and barriers": r"s_(wait|barrier|sleep|delay)",
    "branches": r"s_(cbranch|branch|call|setpc|swappc|endpgm)",
    "other scalar": r"s_",
    "other vector": r"v_",
    "other": r"",
}
_KINDS = {kind: re.compile(pattern) for kind, pattern in KINDS.items()}
_LONG = 36  # letters of a place
MOST = 20_000
"""Instructions that a page shows at most."""


def kind_of(mnemonic: str) -> str:
    """The kind of an instruction: a key of `KINDS`.

    >>> kind_of("v_mfma_f32_16x16x16_f16"), kind_of("s_waitcnt"), kind_of("v_add_u32_e32")
    ('matrix', 'waits and barriers', 'other vector')
    """
    return next(kind for kind, pattern in _KINDS.items() if pattern.match(mnemonic))


@dataclass(frozen=True)
class AssemblyLine:
    """One instruction; ``place`` is where it comes from, and only said where that changes."""

    address: str
    text: str
    kind: str
    place: str
    code: str


class AssembledKernel:
    """A code object.

    Args:
        folder: Where it is, beside the sources that it is made from.

    Raises:
        CodeObjectError: If it is none.
    """

    def __init__(self, data: bytes, folder: Path) -> None:
        self._data, self._folder = data, folder
        self.entries: Sequence[EntryFigures] = parse(data)

    @cached_property
    def figures(self) -> Mapping[str, Sequence[int]]:
        """What each entry takes, by what."""
        sizes = {name: len(code) for name, code in symbols(self._data).items()}
        rows = {
            "registers": [e.vgprs for e in self.entries],
            "of them accumulators": [e.agprs for e in self.entries],
            "scalar registers": [e.sgprs for e in self.entries],
            "spilled registers": [e.vgpr_spills for e in self.entries],
            "scratch bytes": [e.scratch_bytes for e in self.entries],
            "LDS bytes": [e.lds_bytes for e in self.entries],
            "code bytes": [sizes.get(e.name, 0) for e in self.entries],
        }
        return {k: v for k, v in rows.items() if any(v) or k in ("scratch bytes", "LDS bytes")}

    @cached_property
    def _lines(self) -> Sequence[DisassembledLine] | str:
        try:
            return disassemble(self._data, disassembler(self._data))
        except CkrulesError as error:
            return str(error)

    @property
    def fault(self) -> str:
        """Why there is no assembly; "" where there is."""
        return self._lines if isinstance(self._lines, str) else ""

    @cached_property
    def kinds(self) -> Sequence[tuple[str, int]]:
        """How many instructions there are of each kind."""
        if isinstance(self._lines, str):
            return ()
        found = Counter(kind_of(line.mnemonic) for line in self._lines)
        return [(kind, found[kind]) for kind in KINDS if found[kind]]

    @property
    def count(self) -> int:
        """How many instructions there are."""
        return len(self._lines) if not isinstance(self._lines, str) else 0

    @cached_property
    def assembly(self) -> Sequence[AssemblyLine]:
        """The instructions, at most `MOST`, with the lines of C++ that they are made for."""
        if isinstance(self._lines, str):
            return ()
        texts, found, last = _Sources(self._folder), list[AssemblyLine](), ""
        for line in self._lines[:MOST]:
            place = "" if line.source == last else line.source
            last = line.source
            short = place.rpartition("/")[2]
            short = short if len(short) <= _LONG else f"…{short[-_LONG:]}"
            text = f"{line.mnemonic} {line.operands}".strip()
            kind = kind_of(line.mnemonic)
            code = texts.line(place) if place else ""
            found.append(AssemblyLine(f"{line.address:x}", text, kind, short, code))
        return found

    @property
    def placed(self) -> bool:
        """Whether instructions say where they come from."""
        return any(line.place for line in self.assembly)


class _Sources:
    """Lines of the files that a code object names: generated ones and headers of CK."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._texts = folder, dict[str, list[str]]()

    def line(self, place: str) -> str:
        """The text of ``FILE:LINE``; "" where the file is not at hand."""
        name, _, number = place.rpartition(":")
        if name not in self._texts:
            self._texts[name] = self._read(name)
        lines = self._texts[name]
        at = int(number) - 1
        return lines[at].strip() if 0 <= at < len(lines) else ""

    def _read(self, name: str) -> list[str]:
        # A code object can name any file: only such that hold C++ are looked into.
        path = Path(name)
        if path.suffix not in (".hpp", ".h", ".cpp", ".inc"):
            return []
        for each in (self._folder / path.name, path):
            try:
                return opening.read(each, 1 << 22).decode(errors="replace").splitlines()
            except (CkrulesError, OSError):
                continue
        return []


def built(results: Path, name: str, arch: str, digest: str | None) -> AssembledKernel | None:
    """The code object that a row of results is about; None where it is gone or another by now.

    Args:
        results: The results database, in the folder of the kernels.
        arch: Its GPU, whose folder it may be in.
        digest: What its contents were.
    """
    file = Artifact.DEVICE.result(name)
    for path in (results.parent / file, results.parent / arch / file):
        try:
            data = opening.read(path, LARGEST)
            if digest is None or digest_of(data) == digest:
                return AssembledKernel(data, path.parent)
        except (CkrulesError, OSError):
            continue
    return None
