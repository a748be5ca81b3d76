"""Code objects as a loader sees them: segments, kernel descriptors, relocations, arguments.

Source: LLVM, "User Guide for AMDGPU Backend", sections "Kernel Descriptor", "Code Object V5
Metadata" and "Relocation Records".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ckrules.compiling.codeobject import (
    DYNSYM,
    SYMBOL,
    SYMTAB,
    CodeObjectError,
    damage,
    header,
    metadata,
    named,
    number_of,
    sections,
    text_of,
)

_SEGMENT = struct.Struct("<IIQQQQQQ")
_RELA = struct.Struct("<QQq")
_LOAD, _RELOCATIONS = 1, 4
_ABS64, _RELATIVE64 = 3, 13
_ARGUMENTS = 1 << 20
"""Bytes of arguments that a kernel may have; those of real ones are some hundreds."""

MACHINES = {
    0x30: "gfx908", 0x3F: "gfx90a", 0x4C: "gfx942", 0x4F: "gfx950",
    0x41: "gfx1100", 0x46: "gfx1101", 0x47: "gfx1102", 0x44: "gfx1103",
    0x43: "gfx1150", 0x4A: "gfx1151", 0x55: "gfx1152", 0x48: "gfx1200", 0x4E: "gfx1201",
}  # fmt: skip
"""GPUs by the low byte of the ELF header's flags (EF_AMDGPU_MACH of the guide)."""

UNTRIED = {0x49: "gfx1250"}
"""GPUs of the package whose kernels nothing here can run, by the same byte."""


@dataclass(frozen=True)
class Segment:
    """Bytes to be loaded at an address, relative to the image's base."""

    address: int
    data: bytes = field(repr=False)
    size: int


@dataclass(frozen=True)
class Descriptor:
    """What a kernel wants to find in its registers, from the 64 bytes of ``NAME.kd``."""

    lds_bytes: int
    scratch_bytes: int
    kernarg_bytes: int
    entry: int
    """The address of the first instruction, relative to the image's base."""
    rsrc1: int
    rsrc2: int
    rsrc3: int
    properties: int
    preload: int

    @property
    def wave_size(self) -> int:
        """Lanes of a wave."""
        return 32 if self.properties >> 10 & 1 else 64


@dataclass(frozen=True)
class KernelArgument:
    """One kernel argument of the metadata."""

    offset: int
    size: int
    kind: str
    """Such as ``by_value`` or ``hidden_block_count_x``."""


@dataclass(frozen=True)
class Kernel:
    """One kernel of an image."""

    name: str
    descriptor: Descriptor
    arguments: tuple[KernelArgument, ...]


@dataclass(frozen=True)
class Image:
    """A parsed code object."""

    arch: str
    segments: tuple[Segment, ...]
    kernels: Mapping[str, Kernel]
    relocations: tuple[tuple[int, int], ...]
    """Places of 8 bytes that get the image's base plus a number."""

    @property
    def size(self) -> int:
        """Bytes from the base to the end of the last segment."""
        return max(s.address + s.size for s in self.segments)


def parse(data: bytes) -> Image:
    """The image of a code object.

    Raises:
        CodeObjectError: If it is damaged, of an unknown GPU, or asks for what is not supported.
    """
    with damage():
        return _parsed(data)


def _parsed(data: bytes) -> Image:
    _, _, _, _, _, start, _, machine, _, _, count, *_ = header(data)
    flags = machine & 0xFF
    if flags in UNTRIED:
        raise CodeObjectError(
            f"the CPU emulator does not know the instructions of {UNTRIED[flags]}"
        )
    if flags not in MACHINES:
        raise CodeObjectError(f"unknown GPU: machine 0x{flags:x} in the ELF header")
    segments = tuple(_segments(data, start, count))
    headers = sections(data)
    symbols = {name: value for name, _, value, _ in named(data, headers, SYMTAB, DYNSYM)}
    kernels = {}
    for meta in metadata(data)["amdhsa.kernels"]:
        name, at = text_of(meta, ".name"), symbols[text_of(meta, ".symbol")]
        descriptor = _descriptor(_bytes_at(segments, at, 64), at)
        kernels[name] = Kernel(name, descriptor, _arguments(meta, descriptor.kernarg_bytes))
    image = Image(MACHINES[flags], segments, kernels, tuple(_relocations(data, headers)))
    if any(place + 8 > image.size for place, _ in image.relocations):
        raise CodeObjectError("damaged code object: a relocation outside of it")
    return image


def _segments(data: bytes, start: int, count: int) -> Iterator[Segment]:
    for i in range(count):
        kind, _, offset, address, _, stored, size, _ = _SEGMENT.unpack_from(data, start + 56 * i)
        if kind == _LOAD:
            if stored > size:
                raise CodeObjectError(f"damaged code object: {stored} bytes in {size}")
            yield Segment(address, data[offset : offset + stored], size)


def _relocations(data: bytes, headers: list[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    for section in headers:
        if section[1] != _RELOCATIONS:
            continue
        for at in range(section[4], section[4] + section[5], _RELA.size):
            place, info, addend = _RELA.unpack_from(data, at)
            kind, symbol = info & 0xFFFFFFFF, info >> 32
            if kind == _RELATIVE64:
                yield place, addend
            elif kind == _ABS64:
                table = headers[section[6]]
                entry = SYMBOL.unpack_from(data, table[4] + symbol * SYMBOL.size)
                yield place, entry[4] + addend
            else:
                raise CodeObjectError(f"relocation of type {kind}, which is not supported")


def _bytes_at(segments: tuple[Segment, ...], address: int, size: int) -> bytes:
    for segment in segments:
        if segment.address <= address < segment.address + segment.size:
            start = address - segment.address
            return segment.data[start : start + size]
    raise CodeObjectError(f"nothing is loaded at 0x{address:x}")


def _descriptor(raw: bytes, at: int) -> Descriptor:
    lds, scratch, kernarg = struct.unpack_from("<III", raw)
    (entry,) = struct.unpack_from("<q", raw, 16)
    rsrc3, rsrc1, rsrc2 = struct.unpack_from("<III", raw, 44)
    properties, preload = struct.unpack_from("<HH", raw, 56)
    return Descriptor(lds, scratch, kernarg, at + entry, rsrc1, rsrc2, rsrc3, properties, preload)


def _arguments(meta: dict[str, Any], most: int) -> tuple[KernelArgument, ...]:
    arguments = tuple(
        KernelArgument(number_of(a, ".offset"), number_of(a, ".size"), text_of(a, ".value_kind"))
        for a in meta.get(".args", ())
    )
    if most > _ARGUMENTS or any(a.offset + a.size > most for a in arguments):
        raise CodeObjectError(f"damaged code object: arguments beyond {min(most, _ARGUMENTS)}")
    return arguments
