"""Which instructions compilers emit: one line of each kind from built kernels, by GPU.

    python scripts/emitted_instructions.py FOLDER… > tests/data/emitted_instructions.txt

Lines that are there already stay: kernels of one GPU may be built where those of another are not.
A kind is the mnemonic, the files of its operands and the names of its modifiers.
tests/emulator/test_emitted.py asks that the emulator knows each of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from ckrules.device.cpu import disassembler
from ckrules.emulator.disassembly import disassemble, target
from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.operands import parse

DATA = Path(__file__).parents[1] / "tests" / "data" / "emitted_instructions.txt"
Kinds = dict[tuple[str, ...], str]


def main() -> None:
    """Prints the lines, sorted."""
    found: dict[str, Kinds] = {}
    for arch, line in known():
        found.setdefault(arch, {}).setdefault(kind_of(line), line)
    for folder in sys.argv[1:]:
        for place in sorted(Path(folder).rglob("*.hsaco")):
            code = place.read_bytes()
            kinds = found.setdefault(target(code), {})
            for each in disassemble(code, disassembler(code)):
                line = f"{each.mnemonic} {each.operands}".strip()
                kinds.setdefault(kind_of(line), line)
    print(written(found), end="")


def known() -> Iterator[tuple[str, str]]:
    """GPUs and lines of the file as it is."""
    arch = ""
    for line in DATA.read_text().splitlines() if DATA.exists() else ():
        if line.startswith("["):
            arch = line.strip("[]")
        elif line:
            yield arch, line


def written(found: Mapping[str, Kinds]) -> str:
    """The file's text."""
    return "\n".join(
        f"[{arch}]\n" + "\n".join(sorted(found[arch].values())) + "\n" for arch in sorted(found)
    )


def kind_of(line: str) -> tuple[str, ...]:
    """What lines of one kind share."""
    kinds: list[str] = []
    mnemonic, _, text = line.partition(" ")
    for half in text.split(" :: "):
        if half is not text and kinds:
            name, _, half = half.partition(" ")
            kinds.append(name)
        try:
            operands = parse(half)
        except UnknownInstructionError:
            return (mnemonic, text)
        kinds += [
            f"{op.file}{op.count}{'lh'[op.half] if op.half is not None else ''}"
            for op in operands.items
        ]
        kinds += sorted({f.partition("(")[0] for f in operands.flags} | operands.values.keys())
    return (mnemonic, *kinds)


if __name__ == "__main__":
    main()
