"""The stamp on generated files: the version of ckrules and that of its rule book."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ckrules import __version__, arch, constraints


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a generated file was made with."""

    version: str  # ex) 0.1.0
    rules: str  # ex) 2025.11+3f2a9c51d0e7


def current(ck: str, arch_files: Sequence[Path] = ()) -> Stamp:
    """The stamp of this installation for one CK release and further GPU files."""
    return Stamp(__version__, rule_book_version(ck, tuple(arch_files)))


@lru_cache(maxsize=8)
def rule_book_version(ck: str, arch_files: tuple[Path, ...] = ()) -> str:
    """The CK release and a hash over every rule, quantity and GPU fact.

    The hash is one over the contents of the files that declare them, so that it changes
    whenever they do and is the same on every machine.
    """
    digest = hashlib.sha256()
    for label, path in [*_own_files(), *_given(arch_files)]:
        digest.update(f"{label}\0".encode())
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return f"{ck}+{digest.hexdigest()[:12]}"


def _own_files() -> Iterator[tuple[str, Path]]:
    for package in (arch, constraints):
        folder = Path(str(package.__file__)).resolve().parent
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".toml") and path.is_file():
                yield path.relative_to(folder).as_posix(), path


def _given(arch_files: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    for path in arch_files:
        for file in sorted(path.glob("*.toml")) if path.is_dir() else [path]:
            yield file.name, file
