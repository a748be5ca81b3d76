"""Folders of kernels: what `ckrules generate` listed in them, and what has been built of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ckrules.build.commands import ARTIFACTS
from ckrules.codegen.generate import MANIFEST
from ckrules.engine.errors import UsageError, unknown
from ckrules.names import strip_file_decoration

RUNNABLE = ("device", "host")
"""The artifacts that running a kernel needs."""


@dataclass(frozen=True)
class Listed:
    """One kernel of a folder's manifest."""

    folder: Path
    name: str
    ck: str
    arch: str
    rules: str
    legal: bool
    lds_bytes: int | None
    config: dict[str, Any] = field(repr=False)

    def source(self, artifact: str) -> Path:
        """The unit that an artifact is compiled from."""
        return self.folder / ARTIFACTS[artifact][0].format(name=self.name)

    def result(self, artifact: str) -> Path:
        """Where an artifact is, once it is built."""
        return self.folder / ARTIFACTS[artifact][1].format(name=self.name)

    @property
    def missing(self) -> str:
        """What keeps the kernel from being run; empty if nothing does."""
        absent = [a for a in RUNNABLE if not self.result(a).is_file()]
        return f"not built: no {' and no '.join(absent)} artifact" if absent else ""


def manifests(folder: Path) -> list[Listed]:
    """The kernels of a generated folder, or of the folders of several GPUs inside it.

    Raises:
        UsageError: If the folder holds none.
    """
    found: list[Listed] = []
    for place in _places(folder):
        for number, line in enumerate(place.read_text("utf-8").splitlines(), 1):
            try:
                found.append(Listed(folder=place.parent, **json.loads(line)))
            except (ValueError, TypeError):
                raise UsageError(f"{place}:{number}: not a line of ckrules") from None
    if not found:
        raise UsageError(f"{folder}: no {MANIFEST}: make it with ckrules generate")
    return found


def _places(folder: Path) -> list[Path]:
    own = folder / MANIFEST
    return [own] if own.is_file() else sorted(folder.glob(f"*/{MANIFEST}"))


def find(places: Iterable[str], home: str | None = None) -> list[Listed]:
    """The kernels that arguments name.

    Args:
        places: Folders that ``ckrules generate`` wrote, paths of a kernel's files in them, or
            names of kernels in ``home``.
        home: The folder of names; the working folder if None.

    Raises:
        UsageError: If a folder has no kernels.
        UnknownNameError: If a folder has no kernel of a name.
    """
    found: dict[tuple[Path, str], Listed] = {}
    for place in places:
        for kernel in _one(place, home):
            found.setdefault((kernel.folder, kernel.name), kernel)
    return list(found.values())


def _one(place: str, home: str | None) -> Iterator[Listed]:
    path = Path(place)
    if path.is_dir():
        yield from manifests(path)
        return
    folder = path.parent if path.parent != Path() else Path(home or ".")
    name = _stem(path.name)
    if not _places(folder):
        raise UsageError(f"{place}: neither a folder nor a kernel of one")
    listed = manifests(folder)
    hits = [k for k in listed if k.name == name]
    if not hits:
        raise unknown("kernel", name, [k.name for k in listed])
    yield from hits


def _stem(name: str) -> str:
    """A kernel's name from that of one of its files."""
    for _, result in ARTIFACTS.values():
        suffix = result.format(name="")
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return strip_file_decoration(name)
