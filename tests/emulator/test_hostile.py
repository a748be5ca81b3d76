"""Code objects that a stranger may have written: errors of ours, whatever is in them."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ckrules.compiling import codeobject
from ckrules.compiling.codeobject import CodeObjectError
from ckrules.device.cpu import CpuPlugin
from ckrules.device.interface import DeviceError
from ckrules.emulator import image
from ckrules.emulator.program import Program

FIGURES = {
    ".name": "k", ".symbol": "k.kd", ".group_segment_fixed_size": 0,
    ".private_segment_fixed_size": 0, ".vgpr_count": 4, ".sgpr_count": 8,
    ".kernarg_segment_size": 16, ".max_flat_workgroup_size": 64, ".wavefront_size": 64,
    ".args": [{".offset": 8, ".size": 4, ".value_kind": "hidden_block_count_x"}],
}  # fmt: skip


def packed(value: Any) -> bytes:
    """A value as MessagePack."""
    if value is None:
        return b"\xc0"
    if isinstance(value, int):
        return b"\xd3" + struct.pack(">q", value)
    if isinstance(value, str):
        return b"\xdb" + struct.pack(">I", len(value)) + value.encode()
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(packed, value))
    return b"\xdf" + struct.pack(">I", len(value)) + b"".join(
        packed(k) + packed(v) for k, v in value.items()
    )  # fmt: skip


def made(figures: Mapping[str, Any] = FIGURES, address: int = 0, place: int = 0) -> bytes:
    """A code object of one kernel: header, segment, descriptor, symbols, relocation and note."""
    body = packed({"amdhsa.kernels": [dict(figures)]})
    note = struct.pack("<III", 7, len(body), 32) + b"AMDGPU\0\0" + body
    names = b"\0k.kd\0"
    start = 64 + 56 + 5 * 64
    parts = [
        (1, struct.pack("<III4xq20xIIIHH4x", 0, 0, 16, *6 * [0])),
        (11, bytes(24) + struct.pack("<IBBHQQ", 1, 0, 0, 1, 0, 64)),
        (3, names),
        (4, struct.pack("<QQq", place, 13, 0)),
        (7, note),
    ]
    sections, data = b"", b""
    for kind, content in parts:
        at = start + len(data)
        sections += struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, at, len(content), 2, 0, 0, 0)
        data += content
    head = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01", 3, 224, 1, 0, 64, 64 + 56, 0x4C, 64, 56, 1, 64, 5, 0,
    )  # fmt: skip
    segment = struct.pack("<IIQQQQQQ", 1, 4, start, address, 0, 64, 4096, 4096)
    return head + segment + sections + data


READERS: list[Callable[[bytes], object]] = [image.parse, codeobject.parse, codeobject.symbols]


def test_the_code_object_of_these_tests_is_one() -> None:
    found = image.parse(made())
    assert (found.arch, list(found.kernels), found.relocations) == ("gfx942", ["k"], ((0, 0),))
    assert codeobject.parse(made())[0].hidden[0].offset == 8
    assert list(codeobject.symbols(made())) == ["k.kd"]


@pytest.mark.parametrize("read", READERS, ids=lambda r: r.__module__.rpartition(".")[2])
def test_damaged_code_objects(read: Callable[[bytes], object]) -> None:
    whole, random_ = made(), random.Random(7)
    refused = 0
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(random_.choice((1, 1, 3, 20))):
            data[random_.randrange(len(data))] = random_.choice((0, 1, 127, 128, 192, 223, 255))
        try:
            read(bytes(data[: random_.choice((len(data), random_.randrange(len(data)))) or None]))
        except CodeObjectError:
            refused += 1
    assert refused > 500


@pytest.mark.parametrize(
    "wrong",
    [
        {".name": 7}, {".name": None}, {".symbol": []}, {".symbol": "other"}, {".args": 7},
        {".args": [7]}, {".args": [{}]},
        {".args": [{".offset": -8, ".size": 4, ".value_kind": "hidden_none"}]},
        {".args": [{".offset": 8, ".size": 1 << 40, ".value_kind": "hidden_none"}]},
        {".args": [{".offset": 8, ".size": 4, ".value_kind": 3}]},
    ],
    ids=str,
)  # fmt: skip
def test_figures_of_the_wrong_sort(wrong: dict[str, Any]) -> None:
    with pytest.raises(CodeObjectError):
        image.parse(made({**FIGURES, **wrong}))


@pytest.mark.parametrize("key", [k for k, v in FIGURES.items() if isinstance(v, int)])
def test_figures_that_are_no_numbers(key: str) -> None:
    for value in ("x", None, -1, 1 << 40):
        with pytest.raises(CodeObjectError, match=key):
            codeobject.parse(made({**FIGURES, key: value}))


def test_what_lies_outside_of_the_code_object() -> None:
    with pytest.raises(CodeObjectError, match="a relocation outside of it"):
        image.parse(made(place=4095))
    with pytest.raises(CodeObjectError, match="nothing is loaded at 0x0"):
        image.parse(made(address=1 << 50))


def test_a_kernel_that_cannot_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its entry is not an instruction; and one without any memory for its lanes."""
    whole = image.parse(made())
    kernel = whole.kernels["k"]
    many = replace(kernel.descriptor, scratch_bytes=0xFFFFFFFF, entry=8)
    kernels = {"k": kernel, "many": replace(kernel, descriptor=many)}
    program = Program(replace(whole, kernels=kernels), [], {8: 0}, 1, 1, 4)
    monkeypatch.setattr("ckrules.device.cpu._program", lambda _: program)
    device = CpuPlugin().open(0, {"jobs": "1"})
    module = device.load(b"")
    with pytest.raises(DeviceError, match="no instruction at the beginning of k"):
        device.launch(module, "k", (1, 1, 1), (64, 1, 1), bytes(16))
    with pytest.raises(DeviceError, match="many: "):
        device.launch(module, "many", (4096, 1, 1), (64, 1, 1), bytes(16))
