"""Cache of compiled spaces on disk: one file a space, named by its content, and figures of them.

A file is written under a temporary name and renamed, so that concurrent writers cannot mix; a
torn or damaged file fails its checksum and the space is compiled again. Files hold arrays only
and are never unpickled. A directory that cannot be used is as good as an empty one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.block import Block
from ckrules.engine.diagram.compiled import AnyBlock, Compiled
from ckrules.engine.diagram.dense import DenseBlock
from ckrules.engine.diagram.product import Layer, trim
from ckrules.support import files, folders, opening

Array = npt.NDArray[Any]
_MAGIC = b"ckrules space 1\n"
_SUFFIX = ".space"
_FIGURES = ".json"
_ALIGN = 64
_LARGEST = 1 << 34

#: Spaces that compile faster than this many seconds are not worth a file.
WORTH = 0.05
#: Bytes that all files together may take; the oldest go first.
LIMIT = 1 << 30


@dataclass(frozen=True)
class CachedSpace:
    """A cached space: its file, size in bytes and time of last use (seconds since 1970)."""

    path: Path
    size: int
    used: float


def directory() -> Path | None:
    """Where compiled spaces are kept; None if ``CKRULES_CACHE_DIR`` is set to nothing.

    Otherwise it is ``spaces`` in the project's folder of the user's cache.
    """
    return folders.cache() / "spaces" if folders.keeps_spaces() else None


def entries() -> list[CachedSpace]:
    """All cached spaces, the least recently used first."""
    return _entries((_SUFFIX,))


def _entries(suffixes: tuple[str, ...]) -> list[CachedSpace]:
    found = [CachedSpace(Path(f.path), s.st_size, s.st_mtime) for f, s in _files(suffixes)]
    return sorted(found, key=lambda e: (e.used, e.path.name))


def _files(suffixes: tuple[str, ...]) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    where = directory()
    if where is None:
        return
    with contextlib.suppress(OSError), os.scandir(where) as listing:
        for file in listing:
            if file.name.endswith(suffixes):
                with contextlib.suppress(OSError):  # removed by another process
                    yield file, file.stat()


def clear() -> int:
    """Remove every cached space, with the figures, and return how many there were."""
    for entry in _entries((_FIGURES,)):
        _remove(entry.path)
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
        found = _decode(_read(path), key)
        os.utime(path)
    except OSError:
        return None
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError):
        _remove(path)
        return None
    return found


def _read(path: Path) -> bytes:
    """A file of this user's that nobody else may change: what others wrote is as good as absent."""
    opening.own(path)
    return opening.read(path, _LARGEST)


def compiled(key: Callable[[], str], work: Callable[[], Compiled]) -> Compiled:
    """The compiled space of a content hash, from ``work`` (and then kept) if there is none."""
    if directory() is None:
        return work()
    found = load(key())
    if found is None:
        began = time.perf_counter()
        found = work()
        if time.perf_counter() - began > WORTH:
            store(key(), found)
    return found


def store(key: str, compiled: Compiled, limit: int = LIMIT) -> None:
    """Keep a compiled space, and drop the least recently used ones beyond ``limit`` bytes."""
    blocks = [b.layered if isinstance(b, DenseBlock) else b for b in compiled.blocks]
    if all(isinstance(b, Block) for b in blocks):
        _write(key + _SUFFIX, lambda: _encode(key, Compiled(blocks, compiled.sizes)), limit)


def figures(key: str, count: Callable[[], list[int]]) -> list[int]:
    """Some integers that are kept under a content hash, from ``count`` where there are none."""
    where = directory()
    path = where / (key + _FIGURES) if where else None
    if path is not None:
        try:
            figures = json.loads(_read(path))
            if isinstance(figures, list) and figures and all(type(n) is int for n in figures):
                os.utime(path)
                return figures
        except (OSError, ValueError, RecursionError):  # none yet, or damaged
            pass
    made = count()
    _write(key + _FIGURES, lambda: [json.dumps(made).encode()], LIMIT)
    return made


def _write(name: str, content: Callable[[], list[bytes]], limit: int) -> None:
    where = directory()
    if where is None:
        return
    with contextlib.suppress(OSError):
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        with files.replacing(where / name, mode=0o600) as file:
            file.writelines(content())
        _evict(limit)


def _evict(limit: int) -> None:
    total = sum(facts.st_size for _, facts in _files((_SUFFIX, _FIGURES)))
    if total <= limit:
        return
    for entry in _entries((_SUFFIX, _FIGURES))[:-1]:  # the newest stays, however large
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
                array = _array(body, kind, count, at)
                at += array.nbytes + -array.nbytes % _ALIGN
                arrays.append(array)
            layers.append(_layer(*arrays))
        blocks.append(_block(item["names"], layers, item["empty"], header["sizes"]))
    if sorted(n for b in blocks for n in b.names) != sorted(header["sizes"]):
        raise ValueError("other variables")
    return Compiled(blocks, header["sizes"])


def _array(body: memoryview, kind: str, count: int, at: int) -> Array:
    """Numbers of the body; none has more bytes than there are."""
    dtype = np.dtype(kind)
    if dtype.kind not in "iu" or not 0 <= count * dtype.itemsize <= len(body) - at:
        raise ValueError("damaged")
    return np.frombuffer(body, dtype=dtype, count=count, offset=at)


def _layer(lengths: Array, positions: Array, targets: Array) -> Layer:
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return Layer(starts, positions, targets)


def _block(
    names: Sequence[str], layers: list[Layer], empty: bool, sizes: Mapping[str, int]
) -> Block:
    _check(names, layers, empty, sizes)
    if empty:
        none = np.zeros(0, dtype=np.int64)
        return Block(names, layers, [none for _ in range(len(layers) + 1)])
    made = Block(names, *trim(layers))
    if not made.count:
        raise ValueError("damaged")
    return made


def _check(
    names: Sequence[str], layers: Sequence[Layer], empty: bool, sizes: Mapping[str, int]
) -> None:
    """Complains about layers that are not a diagram: whatever walks along them relies on it."""
    states = [len(layer.starts) - 1 for layer in layers]
    for name, layer, here, after in zip(names, layers, states, [*states[1:], 1], strict=True):
        edges = len(layer.positions)
        starts, positions, targets = layer.starts, layer.positions, layer.targets
        sound = np.all(np.diff(starts) >= 0) and starts[-1] == edges == len(targets)
        if empty:
            sound = sound and not edges
        elif sound and edges:
            within = np.ones(edges - 1, dtype=bool)
            first = starts[(starts > 0) & (starts < edges)]
            within[first - 1] = False  # from one state's last edge to another's first
            sound = (
                0 <= positions.min() <= positions.max() < sizes[name]
                and 0 <= targets.min() <= targets.max() < after
                and np.all(np.diff(positions.astype(np.int64))[within] > 0)
            )
        if not sound or not (here or empty):
            raise ValueError("damaged")
    if not empty and states[:1] != [1]:
        raise ValueError("damaged")
