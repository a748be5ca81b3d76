"""The stamp on generated files: the version of ckrules and that of its rule book."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ckrules import __version__, arch, codegen, constraints
from ckrules.kernels.families import families
from ckrules.kernels.family import Family
from ckrules.support import opening

_HOME = Path(str(codegen.__file__)).resolve().parent
_SUFFIXES = (".py", ".toml", ".j2")


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
    """The CK release and a hash over every rule, quantity, GPU fact and template.

    The hash is one over the contents of the files that declare them, those of plug-in families
    included, so that it changes whenever they do and is the same on every machine.
    """
    digest = hashlib.sha256()
    for label, path in [*_own_files(), *_plugin_files(), *_given(arch_files)]:
        digest.update(f"{label}\0".encode())
        digest.update(opening.read(path).replace(b"\r\n", b"\n"))
    return f"{ck}+{digest.hexdigest()[:12]}"


def _own_files() -> Iterator[tuple[str, Path]]:
    for package in (arch, constraints, codegen):
        yield from _below(Path(str(package.__file__)).resolve().parent)


def _plugin_files() -> Iterator[tuple[str, Path]]:
    for family in families().values():
        if type(family).__module__.startswith(f"{constraints.__name__}."):
            continue
        for label, path in _files_of(family):
            yield f"{family.name}/{label}", path


def _files_of(family: Family) -> Iterator[tuple[str, Path]]:
    """The package that a plug-in's family is in, or its module alone, and its templates."""
    module = sys.modules[type(family).__module__]
    file = Path(str(module.__file__)).resolve()
    folders = [file.parent] if module.__package__ else []
    if not folders:
        yield file.name, file
    generation = family.generation
    for folder in generation.templates if generation is not None else ():
        if not any(folder.resolve().is_relative_to(known) for known in (*folders, _HOME)):
            folders.append(folder.resolve())
    for folder in folders:
        yield from _below(folder)


def _below(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in _SUFFIXES and path.is_file():
            yield path.relative_to(folder).as_posix(), path


def _given(arch_files: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    for path in arch_files:
        for file in sorted(path.glob("*.toml")) if path.is_dir() else [path]:
            yield file.name, file
