"""Instructions that differ in their registers alone have one C form, which is traced once.

Kernels are unrolled: of 27,000 instructions of a large one fewer than 500 differ otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ckrules.emulator.instruction import Instruction
from ckrules.emulator.native.cohort import traced
from ckrules.emulator.native.trace import NativeForm
from ckrules.emulator.operands import BASES, Special
from ckrules.emulator.ops import flow

_REGISTER = re.compile(r"\b([vas])(?:(\d+)|\[(\d+):(\d+)\])")
Range = tuple[str, int, int]
"""File, first and last register."""


class Shapes:
    """The C forms of a program's instructions, for one number of lanes."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self._known: dict[str, tuple[NativeForm | None, list[Range]]] = {}
        self._forms: dict[tuple[str, str], NativeForm | None] = {}

    def form(self, instruction: Instruction) -> NativeForm | None:
        """An instruction's form, the same for the same text; None if only numpy can compute it."""
        # What flow does depends on where it stands, too.
        if instruction.run.__module__ == flow.__name__:
            return traced(instruction.run, self.lanes)
        text = instruction.line.mnemonic, instruction.line.operands
        if text not in self._forms:
            self._forms[text] = self._form(instruction)
        return self._forms[text]

    def _form(self, instruction: Instruction) -> NativeForm | None:
        ranges: dict[Range, str] = {}

        def numbered(hit: re.Match[str]) -> str:
            file, one, first, last = hit.groups()
            found = file, int(one or first), int(one or last)
            return ranges.setdefault(found, f"{file}<{len(ranges)}:{found[2] - found[1]}>")

        line = instruction.line
        shape = f"{line.mnemonic} {_REGISTER.sub(numbered, line.operands)}"
        own = list(ranges)
        if _overlap(own):
            return traced(instruction.run, self.lanes)
        if shape not in self._known:
            self._known[shape] = traced(instruction.run, self.lanes), own
            return self._known[shape][0]
        form, first = self._known[shape]
        if form is None or first == own:
            return form
        return moved(form, first, own) or traced(instruction.run, self.lanes)


def _overlap(ranges: list[Range]) -> bool:
    """Whether different ranges share a register, or one reaches those that have names."""
    return any(
        (file == "s" and last >= Special.FLAT_SCRATCH)
        or any(file == of and low <= last and first <= high for of, low, high in ranges[:i])
        for i, (file, first, last) in enumerate(ranges)
    )


def moved(form: NativeForm, old: list[Range], new: list[Range]) -> NativeForm | None:
    """A form with other registers; None if it has some that its instruction does not name."""
    steps = dict(zip(_each(old), _each(new), strict=True))
    named = Special.FLAT_SCRATCH
    registers = [
        steps.get(r) or (r if r[0] == "s" and r[1] >= named else None) for r in form.registers
    ]
    numbers = {BASES[f] + i: BASES[to] + j for (f, i), (to, j) in steps.items()}
    issues = []
    for counter, loaded, ordered, size in form.issues:
        if not loaded <= numbers.keys():
            return None
        issues.append((counter, frozenset(numbers[r] for r in loaded), ordered, size))
    found = [r for r in registers if r is not None]
    return replace(form, registers=found, issues=issues) if len(found) == len(registers) else None


def _each(ranges: list[Range]) -> Iterator[tuple[str, int]]:
    for file, first, last in ranges:
        for i in range(first, last + 1):
            yield file, i
