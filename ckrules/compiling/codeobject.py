"""What a code object says of its kernels: registers, LDS and spills, read from its own metadata.

The metadata is an ELF note (``AMDGPU``, type 32) that holds a MessagePack map, as LLVM's user guide
of the AMDGPU back end describes for code object version 3 and later.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ckrules.support import opening
from ckrules.support.errors import CkrulesError, unknown

_NOTE, _METADATA, _RESERVED = 7, 32, 0xFF00
SYMTAB, DYNSYM = 2, 11
"""Types of sections that are tables of symbols."""
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
"""An entry of such a table: name, info, other, section, value, size."""


class CodeObjectError(CkrulesError, ValueError):
    """A file is not an AMDGPU code object with metadata."""


@contextmanager
def damage() -> Iterator[None]:
    """Has what reading a damaged file raises be a `CodeObjectError`."""
    try:
        yield
    except CodeObjectError:
        raise
    except (
        *(struct.error, LookupError, TypeError, ValueError, AttributeError),
        *(OverflowError, RecursionError, MemoryError),
    ) as error:
        raise CodeObjectError(f"damaged code object: {error}") from None


@dataclass(frozen=True, slots=True)
class HiddenArgument:
    """An argument that the runtime appends to those of a launch."""

    kind: str
    """As LLVM's user guide names it, such as ``hidden_block_count_x``."""
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class EntryFigures:
    """One kernel of a code object."""

    name: str
    lds_bytes: int
    scratch_bytes: int
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    kernarg_bytes: int
    """Of explicit and hidden arguments together."""
    max_threads: int
    wave_size: int
    hidden: tuple[HiddenArgument, ...] = ()


LARGEST = 1 << 30
"""Bytes that a code object may have."""


def entries(path: Path) -> list[EntryFigures]:
    """The kernels of a code object in the order of its metadata.

    Raises:
        CodeObjectError: If the file is not one.
    """
    return parse(opening.read(path, LARGEST))


def parse(data: bytes) -> list[EntryFigures]:
    """`entries` of a code object in memory."""
    with damage():
        return [_figures(k) for k in metadata(data)["amdhsa.kernels"]]


def entry(data: bytes, name: str) -> EntryFigures:
    """One kernel of a code object in memory, for devices that launch it without a runtime.

    Raises:
        CodeObjectError: If it is not a code object.
        UnknownNameError: If it has no such kernel, with near matches.
    """
    found = {e.name: e for e in parse(data)}
    if name not in found:
        raise unknown("entry", name, found)
    return found[name]


def symbols(data: bytes) -> dict[str, bytes]:
    """The contents of what a code object's dynamic symbols name, such as entries.

    Raises:
        CodeObjectError: If it is not a whole code object.
    """
    symbols = {}
    with damage():
        headers = sections(data)
        for name, section, address, size in named(data, headers, DYNSYM):
            if 0 < section < _RESERVED and size:
                begin = headers[section][4] + address - headers[section][3]
                symbols[name] = data[begin : begin + size]
    return symbols


def metadata(data: bytes) -> dict[str, Any]:
    """The map of the metadata note of a code object in memory.

    Raises:
        CodeObjectError: If there is none or it is damaged.
    """
    with damage():
        for name, kind, body in _notes(data):
            if name == b"AMDGPU" and kind == _METADATA:
                value = Unpacker(body).value()
                if isinstance(value, dict):
                    return value
    raise CodeObjectError("no AMDGPU metadata")


def _figures(k: dict[str, Any]) -> EntryFigures:
    return EntryFigures(
        name=text_of(k, ".name"),
        lds_bytes=number_of(k, ".group_segment_fixed_size"),
        scratch_bytes=number_of(k, ".private_segment_fixed_size"),
        vgprs=number_of(k, ".vgpr_count"),
        agprs=number_of({".agpr_count": 0, **k}, ".agpr_count"),
        sgprs=number_of(k, ".sgpr_count"),
        vgpr_spills=number_of({".vgpr_spill_count": 0, **k}, ".vgpr_spill_count"),
        sgpr_spills=number_of({".sgpr_spill_count": 0, **k}, ".sgpr_spill_count"),
        kernarg_bytes=number_of(k, ".kernarg_segment_size"),
        max_threads=number_of(k, ".max_flat_workgroup_size"),
        wave_size=number_of(k, ".wavefront_size"),
        hidden=tuple(
            HiddenArgument(
                text_of(a, ".value_kind"), number_of(a, ".offset"), number_of(a, ".size")
            )
            for a in k.get(".args", ())
            if text_of(a, ".value_kind").startswith("hidden_")
        ),
    )


def number_of(values: Mapping[str, Any], key: str) -> int:
    """A number of the metadata, of 32 bits.

    Raises:
        CodeObjectError: If it is none.
    """
    found = values[key]
    if type(found) is not int or not 0 <= found < 1 << 32:
        raise CodeObjectError(f"damaged code object: {key} is {repr(found)[:40]}")
    return found


def text_of(values: Mapping[str, Any], key: str) -> str:
    """A text of the metadata.

    Raises:
        CodeObjectError: If it is none.
    """
    found = values[key]
    if not isinstance(found, str):
        raise CodeObjectError(f"damaged code object: {key} is {repr(found)[:40]}")
    return found


def _notes(data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """Name, type and content of every note of a 64-bit little-endian ELF file."""
    for section in sections(data):
        if section[1] != _NOTE:
            continue
        at, end = section[4], section[4] + section[5]
        while at + 12 <= end:
            name_size, body_size, kind = struct.unpack_from("<III", data, at)
            at += 12
            name = data[at : at + name_size].rstrip(b"\0")
            at += -(-name_size // 4) * 4
            yield name, kind, data[at : at + body_size]
            at += -(-body_size // 4) * 4


def header(data: bytes) -> tuple[int, ...]:
    """The header of a 64-bit little-endian ELF file, as ``Elf64_Ehdr`` lists its members.

    Raises:
        CodeObjectError: If it is not one.
    """
    if data[:6] != b"\x7fELF\x02\x01":
        raise CodeObjectError("not a 64-bit ELF file")
    return _HEADER.unpack_from(data)


def sections(data: bytes) -> list[tuple[int, ...]]:
    """The headers of its sections, as ``Elf64_Shdr`` lists their members."""
    start, size, count = (header(data)[i] for i in (6, 11, 12))
    return [_SECTION.unpack_from(data, start + i * size) for i in range(count)]


def named(
    data: bytes, headers: list[tuple[int, ...]], *types: int
) -> Iterator[tuple[str, int, int, int]]:
    """Name, section, value and size of every symbol in tables of some types."""
    for table in (h for h in headers if h[1] in types):
        names = headers[table[6]][4]
        for at in range(table[4], table[4] + table[5], SYMBOL.size):
            name, _, _, section, value, size = SYMBOL.unpack_from(data, at)
            end = data.index(b"\0", names + name)
            yield data[names + name : end].decode(), section, value, size


class Unpacker:
    r"""Reads one MessagePack value.

    >>> Unpacker(b"\x82\xa1a\x01\xa1b\x92\xc3\xcd\x01\x00").value()
    {'a': 1, 'b': [True, 256]}
    """

    _FIXED: ClassVar = {
        0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
        0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
    }  # fmt: skip
    _SIZES: ClassVar = {
        0xC4: ">B", 0xC5: ">H", 0xC6: ">I", 0xD9: ">B", 0xDA: ">H", 0xDB: ">I",
        0xDC: ">H", 0xDD: ">I", 0xDE: ">H", 0xDF: ">I",
    }  # fmt: skip

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def value(self) -> Any:
        """The value at the current place."""
        tag = self._data[self._at]
        self._at += 1
        if tag < 0x80:
            return tag
        if tag >= 0xE0:
            return tag - 0x100
        if tag < 0xC0:
            return self._short(tag)
        if tag <= 0xC3:
            return (None, None, False, True)[tag - 0xC0]
        if tag in self._FIXED:
            return self._unpack(self._FIXED[tag])
        size = self._unpack(self._SIZES[tag])
        if tag in (0xDC, 0xDD):
            return [self.value() for _ in range(size)]
        if tag in (0xDE, 0xDF):
            return {self.value(): self.value() for _ in range(size)}
        raw = self._bytes(size)
        return raw if tag <= 0xC6 else raw.decode()

    def _short(self, tag: int) -> Any:
        """Maps, lists and strings whose size is in the tag."""
        if tag < 0x90:
            return {self.value(): self.value() for _ in range(tag & 0x0F)}
        if tag < 0xA0:
            return [self.value() for _ in range(tag & 0x0F)]
        return self._bytes(tag & 0x1F).decode()

    def _unpack(self, form: str) -> Any:
        value = struct.unpack_from(form, self._data, self._at)[0]
        self._at += struct.calcsize(form)
        return value

    def _bytes(self, size: int) -> bytes:
        value = self._data[self._at : self._at + size]
        self._at += size
        return value
