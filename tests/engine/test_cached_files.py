"""Cached spaces that are damaged, crafted or not the user's own are compiled again."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckrules.engine.diagram import cache
from ckrules.engine.expr.variables import Int
from ckrules.engine.space import Space


def space() -> Space:
    """A space of some hundred points that no product of lists is."""
    a, b = Int("a", range(50)), Int("b", range(50))
    return Space([a, b], [(a + b) % 7 < 3])


def signed(path: Path, header: dict[str, Any], arrays: bytes) -> None:
    """Writes a cached space whose checksum is right."""
    text = json.dumps(header).encode()
    body = cache._padded(text) + arrays
    check = hashlib.blake2b(body, digest_size=32).digest()
    path.write_bytes(cache._MAGIC + check + len(text).to_bytes(8, "little") + body)


def parts_of(path: Path) -> tuple[dict[str, Any], bytes]:
    """Header and arrays of a cached space."""
    data = path.read_bytes()[len(cache._MAGIC) + 32 :]
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return header, data[8 + len(cache._padded(bytes(length))) :]


def change_count(header: dict[str, Any], arrays: bytes) -> bytes:
    header["blocks"][0]["layers"][0][1][1] = 10**25
    return arrays


def change_kind(header: dict[str, Any], arrays: bytes) -> bytes:
    header["blocks"][0]["layers"][0][1][0] = "<f8"
    return arrays


def lose_blocks(header: dict[str, Any], arrays: bytes) -> bytes:
    header["blocks"] = []
    return arrays


def lose_a_layer(header: dict[str, Any], arrays: bytes) -> bytes:
    header["blocks"][0]["layers"].pop()
    return arrays


def fewer_values(header: dict[str, Any], arrays: bytes) -> bytes:
    header["sizes"] = dict.fromkeys(header["sizes"], 1)
    return arrays


def deep(header: dict[str, Any], arrays: bytes) -> bytes:
    header["sizes"] = header["blocks"]
    return arrays


def zeros(header: dict[str, Any], arrays: bytes) -> bytes:
    return bytes(len(arrays))


def ones(header: dict[str, Any], arrays: bytes) -> bytes:
    return b"\xff" * len(arrays)


CHANGES = (change_count, change_kind, lose_blocks, lose_a_layer, fewer_values, deep, zeros, ones)


@pytest.mark.parametrize("change", CHANGES)
def test_a_cached_space_that_is_no_diagram_is_compiled_again(
    change: Callable[[dict[str, Any], bytes], bytes], store: Path
) -> None:
    count = space().count()
    (entry,) = cache.entries()
    assert cache.load(entry.path.stem) is not None
    header, arrays = parts_of(entry.path)
    signed(entry.path, header, arrays)
    assert cache.load(entry.path.stem) is not None
    signed(entry.path, header, change(header, arrays))
    assert cache.load(entry.path.stem) is None
    assert space().count() == count


def test_what_others_may_have_written_is_not_loaded(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space().count()
    (entry,) = cache.entries()
    assert stat.S_IMODE(entry.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(entry.path.parent.stat().st_mode) == 0o700
    entry.path.chmod(0o620)
    assert cache.load(entry.path.stem) is None
    entry.path.chmod(0o600)
    assert cache.load(entry.path.stem) is not None
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert cache.load(entry.path.stem) is None
    entry.path.unlink()
    os.mkfifo(entry.path, 0o600)
    assert cache.load(entry.path.stem) is None


def test_a_space_of_another_order_is_not_taken_for_one_that_is_kept(store: Path) -> None:
    """Projections read the first variables off a compiled space: its order is the one asked for."""
    a, b, c = Int("a", range(20)), Int("b", range(20)), Int("c", range(20))
    for order in (("a", "b", "c"), ("c", "a", "b")):
        kept = Space([a, b, c], [(a + 2 * b + 3 * c) % 7 < 3], order=order)
        assert kept.compile().order == order == kept.order
    assert len(cache.entries()) == 2
