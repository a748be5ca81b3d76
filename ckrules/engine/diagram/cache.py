"""Cache of compiled spaces on disk: one file a space, named by its content.

A file is written under a temporary name and renamed, so that concurrent writers cannot mix; a
torn or damaged file fails its checksum and the space is compiled again. Files hold arrays only
and are never unpickled. A directory that cannot be used is as good as an empty one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.block import Block
from ckrules.engine.diagram.compiled import AnyBlock, Compiled
from ckrules.engine.diagram.dense import DenseBlock
from ckrules.engine.diagram.product import Layer, trim

Array = npt.NDArray[Any]
_MAGIC = b"ckrules space 1\n"
_SUFFIX = ".space"
_ALIGN = 64

#: Spaces that compile faster than this many seconds are not worth a file.
WORTH = 0.05
#: Bytes that all files together may take; the oldest go first.
LIMIT = 1 << 30


@dataclass(frozen=True)
class Entry:
    """A cached space: its file, size in bytes and time of last use (seconds since 1970)."""

    path: Path
    size: int
    used: float


def directory() -> Path | None:
    """Where compiled spaces are kept; None if ``CKRULES_CACHE_DIR`` is set to nothing.

    That is ``$CKRULES_CACHE_DIR``, else ``$XDG_CACHE_HOME`` or ``~/.cache``, followed by
    ``ckrules/spaces``.
    """
    chosen = os.environ.get("CKRULES_CACHE_DIR")
    if chosen == "":
        return None
    base = chosen or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "ckrules" / "spaces"


def entries() -> list[Entry]:
    """All cached spaces, the least recently used first."""
    where = directory()
    found = []
    for path in where.glob(f"*{_SUFFIX}") if where else ():
        with contextlib.suppress(OSError):  # removed by another process
            stat = path.stat()
            found.append(Entry(path, stat.st_size, stat.st_mtime))
    return sorted(found, key=lambda e: (e.used, e.path.name))


def clear() -> int:
    """Remove every cached space and return how many there were."""
    return sum(_remove(e.path) for e in entries())


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def load(key: str) -> Compiled | None:
    """The compiled space of a content hash, if a sound file of it exists."""
    where = directory()
    if where is None:
        return None
    path = where / (key + _SUFFIX)
    try:
        data = path.read_bytes()
        found = _decode(data, key)
        os.utime(path)
    except OSError:
        return None
    except (ValueError, KeyError, TypeError, IndexError):
        _remove(path)
        return None
    return found


def store(key: str, compiled: Compiled, limit: int = LIMIT) -> None:
    """Keep a compiled space, and drop the least recently used ones beyond ``limit`` bytes."""
    where = directory()
    blocks = [b.layered if isinstance(b, DenseBlock) else b for b in compiled.blocks]
    if where is None or not all(isinstance(b, Block) for b in blocks):
        return
    compiled = Compiled(blocks, compiled.sizes)
    import tempfile  # slow to import, and seldom needed

    with contextlib.suppress(OSError):
        where.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=where, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(_encode(key, compiled))
            os.replace(name, where / (key + _SUFFIX))
        except BaseException:
            _remove(Path(name))
            raise
        _evict(limit)


def _evict(limit: int) -> None:
    found = entries()
    total = sum(e.size for e in found)
    for entry in found[:-1]:  # the newest stays, however large
        if total <= limit:
            return
        _remove(entry.path)
        total -= entry.size


def _encode(key: str, compiled: Compiled) -> list[bytes]:
    """Magic line, checksum, length and text of the header, then the arrays one after the other."""
    arrays: list[Array] = []
    blocks = []
    for block in compiled.blocks:
        assert isinstance(block, Block)
        layers = []
        for layer in block.layers:
            lengths = np.diff(layer.starts).astype(np.uint16 if _short(layer) else np.int64)
            parts = [lengths, layer.positions, layer.targets]
            layers.append([[a.dtype.str, len(a)] for a in parts])
            arrays.extend(parts)
        blocks.append({"names": block.names, "layers": layers, "empty": not block.count})
    header = json.dumps({"key": key, "sizes": compiled.sizes, "blocks": blocks}).encode()
    body = [_padded(header), *(_padded(a.tobytes()) for a in arrays)]
    check = hashlib.blake2b(b"".join(body), digest_size=32).digest()
    return [_MAGIC, check, len(header).to_bytes(8, "little"), *body]


def _short(layer: Layer) -> bool:
    return bool(np.diff(layer.starts).max(initial=0) < 1 << 16)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGN)


def _decode(data: bytes, key: str) -> Compiled:
    start = len(_MAGIC) + 40
    if data[: len(_MAGIC)] != _MAGIC or len(data) < start:
        raise ValueError("not a compiled space")
    check, length = data[len(_MAGIC) : start - 8], int.from_bytes(data[start - 8 : start], "little")
    body = memoryview(data)[start:]
    if hashlib.blake2b(body, digest_size=32).digest() != check:
        raise ValueError("damaged")
    header = json.loads(bytes(body[:length]))
    if header["key"] != key:
        raise ValueError("another space")
    at = length + -length % _ALIGN
    blocks: list[AnyBlock] = []
    for item in header["blocks"]:
        layers = []
        for parts in item["layers"]:
            arrays = []
            for kind, count in parts:
                array = np.frombuffer(body, dtype=np.dtype(kind), count=count, offset=at)
                at += array.nbytes + -array.nbytes % _ALIGN
                arrays.append(array)
            layers.append(_layer(*arrays))
        blocks.append(_block(item["names"], layers, item["empty"]))
    return Compiled(blocks, header["sizes"])


def _layer(lengths: Array, positions: Array, targets: Array) -> Layer:
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return Layer(starts, positions, targets)


def _block(names: Sequence[str], layers: list[Layer], empty: bool) -> Block:
    if empty:
        none = np.zeros(0, dtype=np.int64)
        return Block(names, layers, [none for _ in range(len(layers) + 1)])
    return Block(names, *trim(layers))
