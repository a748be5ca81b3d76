"""What AMD's machine-readable ISA says of the opcodes that compilers emit: bits of each operand.

    pip download --no-deps tinygrad==0.14.0 && unzip -d FOLDER tinygrad-*.whl
    python scripts/isa_operands.py FOLDER > tests/data/isa_operands.txt

AMD publishes XML files that no package registry has. tinygrad carries what it read from those of
2025-09-05 (CDNA 4, RDNA 3.5, RDNA 4) as Python, with every opcode and its operands' sizes; they
are taken for the mnemonics of tests/data/emitted_instructions.txt. An opcode without operands
has none there, so its name alone is kept. tests/emulator/test_isa.py holds the emulator to it.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from typing import Any

from emitted_instructions import known

SOURCE = "AMD_GPU_MR_ISA_XML_2025_09_05, as tinygrad 0.14.0 has read it"
#: The GPUs whose instructions the description has, and what tinygrad calls it.
DESCRIBED = {"gfx950": "cdna", "gfx1100": "rdna3", "gfx1201": "rdna4"}
_ENCODING = re.compile(r"_(e32|e64|sdwa|dpp|e64_dpp)$")


def main() -> None:
    """Prints the file."""
    sys.path.insert(0, sys.argv[1])
    print(f"; {SOURCE}")
    for arch, module in DESCRIBED.items():
        print(f"[{arch}]", *forms(arch, module), sep="\n")


def forms(arch: str, module: str) -> list[str]:
    """Each emitted opcode with the bits of its operands: a line for each way it is encoded."""
    described: dict[str, set[tuple[int, ...]]] = {}
    for name, fields in operands(module):
        sizes = tuple(sorted(bits for _, bits, _ in fields.values()))
        described.setdefault(_ENCODING.sub("", name), set()).add(sizes)
    emitted = {opcode(each) for gpu, line in known() if gpu == arch for each in parts(line)}
    return [
        " ".join(map(str, (name, *sizes)))
        for name in sorted(emitted & described.keys())
        for sizes in sorted(filter(None, described[name])) or [()]
    ]


def operands(module: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names of opcodes with their fields, those without operands too."""
    package = f"tinygrad.runtime.autogen.amd.{module}"
    for op, fields in importlib.import_module(f"{package}.operands").OPERANDS.items():
        yield op.name.lower(), fields
    for name, enum in vars(importlib.import_module(f"{package}.enum")).items():
        if name.endswith("Op") and hasattr(enum, "__members__"):
            yield from ((each.lower(), {}) for each in enum.__members__)


def parts(line: str) -> list[str]:
    """The instructions of a line: two where it issues two.

    >>> parts("v_dual_mov_b32 v1, 0 :: v_dual_mov_b32 v2, v60")
    ['v_dual_mov_b32 v1, 0', 'v_dual_mov_b32 v2, v60']
    """
    return line.split(" :: ")


def opcode(line: str) -> str:
    """The mnemonic without the suffix of its encoding.

    >>> opcode("v_add_f32_e32 v1, v2, v3")
    'v_add_f32'
    """
    return _ENCODING.sub("", line.partition(" ")[0])


if __name__ == "__main__":
    main()
