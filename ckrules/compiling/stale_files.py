"""Kernels that earlier runs of `ckrules generate` left in a folder."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from ckrules.compiling.artifacts import Artifact
from ckrules.kernels.names import is_plain, strip_file_decoration
from ckrules.support import opening

_PLACES = ("", "dispatcher_wrappers")
_SUFFIXES = (".hpp", ".cpp")
_HEAD = 1 << 16
_STAMP = re.compile(rb"//[^\n]*\n// ckrules \S+, rule book \S+, (\w+)\n")


def leftovers(folder: Path, kept: Collection[str]) -> dict[str, list[Path]]:
    """The files of kernels that are not among those of the last run, by the kernels' names.

    Files count if they are regular ones and their stamp says that `ckrules generate` wrote them
    for the kernel that they are named after, and with them the kernel's artifacts. Links are
    neither followed nor listed.

    Raises:
        OSError: If the folder cannot be read.
    """
    leftovers: dict[str, list[Path]] = {}
    for path in _sources(folder):
        name = strip_file_decoration(path.name).partition(".")[0]
        if name not in kept and is_plain(name) and _stamped(path) == name:
            leftovers.setdefault(name, []).append(path)
    for name, files in leftovers.items():
        artifacts = (folder / artifact.result(name) for artifact in Artifact)
        files += [path for path in artifacts if path.is_file() and not path.is_symlink()]
    return leftovers


def _sources(folder: Path) -> Iterator[Path]:
    for place in _PLACES:
        home = folder / place
        if home.is_dir() and not (place and home.is_symlink()):
            yield from sorted(p for p in home.iterdir() if p.suffix in _SUFFIXES)


def _stamped(path: Path) -> str:
    """The kernel that a file says it was written for; empty if it says none."""
    if path.is_symlink() or not path.is_file():
        return ""
    with opening.binary(path) as stream:
        hit = _STAMP.match(stream.read(_HEAD))
    return hit[1].decode() if hit else ""
