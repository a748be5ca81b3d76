"""Code objects: which GPUs' the emulator takes, and what it says of others."""

from __future__ import annotations

import struct

import pytest

from ckrules.arch import known
from ckrules.compiling.codeobject import CodeObjectError
from ckrules.emulator.image import MACHINES, UNTRIED, parse
from ckrules.emulator.instruction import Target


def header(machine: int) -> bytes:
    """The start of a code object of a GPU."""
    identity = b"\x7fELF\x02\x01".ljust(16, b"\0")
    return struct.pack("<16sHHIQQQIHHHHHH", identity, 3, 224, 1, 0, 64, 64, machine, *[0] * 6)


def test_every_gpu_is_run_or_refused_by_name() -> None:
    assert sorted([*MACHINES.values(), *UNTRIED.values()]) == sorted(known())
    with pytest.raises(CodeObjectError, match="does not know the instructions of gfx1250"):
        parse(header(0x49))
    with pytest.raises(CodeObjectError, match="unknown GPU: machine 0x1"):
        parse(header(0x01))


@pytest.mark.parametrize(
    ("arch", "format"), [("gfx942", "fp8"), ("gfx950", "fp8_ocp"), ("gfx1201", "fp8_ocp")]
)
def test_bytes_are_of_the_gpus_format(arch: str, format: str) -> None:
    target = Target(arch, 64)
    assert (target.float8("fp8"), target.float8("bf16")) == (format, "bf16")
