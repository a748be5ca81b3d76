"""Folders of kernels: what `ckrules generate` listed in them, and what has been built of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ckrules.codegen.generate import MANIFEST
from ckrules.compiling import manifest
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.manifest import ManifestEntry
from ckrules.kernels.names import strip_file_decoration
from ckrules.support import opening
from ckrules.support.errors import UsageError, unknown

__all__ = ["ManifestEntry", "find", "generated", "manifests"]


def manifests(folder: Path) -> list[ManifestEntry]:
    """The kernels of a generated folder, or of the folders of several GPUs inside it.

    Raises:
        UsageError: If the folder holds none, or a manifest that cannot be read.
    """
    kernels: list[ManifestEntry] = []
    for place in _places(folder):
        kernels += manifest.read(place)
    if not kernels:
        raise UsageError(f"{folder}: no {MANIFEST}: make it with ckrules generate")
    return kernels


def generated(folder: Path) -> bool:
    """Whether `ckrules generate` listed kernels in a folder, or in folders inside it."""
    return bool(_places(folder))


def _places(folder: Path) -> list[Path]:
    own = folder / MANIFEST
    if os.path.lexists(own):
        return [own]
    return [
        opening.inside(folder, str(place.relative_to(folder)))
        for place in sorted(folder.glob(f"*/{MANIFEST}"))
    ]


def find(places: Iterable[str], home: str | None = None) -> list[ManifestEntry]:
    """The kernels that arguments name.

    Args:
        places: Folders that ``ckrules generate`` wrote, paths of a kernel's files in them, or
            names of kernels in ``home``.
        home: The folder of names; the working folder if None.

    Raises:
        UsageError: If a folder has no kernels.
        UnknownNameError: If a folder has no kernel of a name.
    """
    kernels: dict[tuple[Path, str], ManifestEntry] = {}
    for place in places:
        for kernel in _one(place, home):
            kernels.setdefault((kernel.folder, kernel.name), kernel)
    return list(kernels.values())


def _one(place: str, home: str | None) -> Iterator[ManifestEntry]:
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
    for artifact in Artifact:
        if name.endswith(artifact.suffix):
            return name.removesuffix(artifact.suffix)
    return strip_file_decoration(name)
