"""What the compiler allocated for kernels that are built already, so that one build serves twice.

`ckrules certify registers` compiles one entry of a kernel; a built kernel has all of them, and the
same one is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ckrules.certify.registers import CompiledKernel, RegisterData, allocation_of, families
from ckrules.codegen.generate import MainEntry, main_entry
from ckrules.compiling import codeobject
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.database import FILE
from ckrules.compiling.failures import REFUSALS, Failure, FailureClass
from ckrules.compiling.folder import ManifestEntry, manifests
from ckrules.compiling.results import BuildStatus, Result, Results, digest
from ckrules.compiling.session import BuildOptions
from ckrules.compiling.tasks import BuildOutcome
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config, config_from_mapping
from ckrules.kernels.families import family_of
from ckrules.support import opening
from ckrules.support.errors import UsageError


def every(
    folders: Iterable[Path], books: Books, seed: int, data: Mapping[str, RegisterData]
) -> list[CompiledKernel]:
    """The lines of some folders' kernels, of the families of the data, which keep what is new."""
    found = []
    for family, row in (pair for folder in folders for pair in built(folder, books, seed)):
        if family in data:
            kept = data[family].rows.get(data[family].key(row.point))
            if kept is None:
                data[family].add(row)
            found.append(kept or row)
    return found


def built(folder: Path, books: Books, seed: int) -> Iterator[tuple[str, CompiledKernel]]:
    """Family and line of each legal kernel of a folder that the compiler said something about.

    Its seconds are 0: how long the one entry takes alone is not known.

    Args:
        folder: What ``ckrules build`` or ``ckrules certify numerics --keep`` filled.
        books: The rules; kernels of other releases have no line.
        seed: The seed that the lines have.

    Raises:
        UsageError: If nothing was built there, or with other optimization.
    """
    place = folder / FILE
    if not place.is_file():
        raise UsageError(f"{folder}: no {FILE}: build its kernels with ckrules build")
    with Results(place, reading=True) as results:
        device = (Artifact.DEVICE.value,)
        rows = {(r.name, r.arch): r for r in results.rows(where="artifact = ?", values=device)}
    known = families(books)
    for entry in manifests(folder):
        row, family = rows.get((entry.name, entry.arch)), _family(entry)
        if row is None or not entry.legal or entry.ck != books.ck or family not in known:
            continue
        if BuildOptions().optimize not in row.flags.split():
            raise UsageError(f"{entry.name}: not built with {BuildOptions().optimize}")
        if (outcome := _outcome(entry, row)) is not None:
            config = config_from_mapping(entry.config, books)
            allocation = allocation_of(outcome, main_of(entry, config, books))
            yield family, CompiledKernel(config.point, seed, allocation)


def main_of(entry: ManifestEntry, config: Config, books: Books) -> MainEntry:
    """The most used entry of a kernel, under the name that its folder has it: names may be spelt
    in several ways."""
    main = main_entry(config, books)
    return replace(main, entry=f"{entry.name}__{main.entry.rpartition('__')[2]}")


def _family(entry: ManifestEntry) -> str:
    return family_of(str(entry.config["variant"])).name


def _outcome(entry: ManifestEntry, row: Result) -> BuildOutcome | None:
    """What a kernel's device unit came to; None if that says nothing about it, or is gone."""
    if row.status != BuildStatus.OK:
        kind = FailureClass(row.error_class or FailureClass.INTERNAL)
        told = Failure(kind, row.diagnostic or "")
        return BuildOutcome(told, 0.0, tool=row.tool) if kind in REFUSALS else None
    path = entry.result(Artifact.DEVICE)
    if not path.is_file():
        return None
    data = opening.read(path, codeobject.LARGEST)
    if row.artifact_digest not in (None, digest(data)):
        raise UsageError(f"{path}: not what was built, as the results say: build it again")
    made = tuple(codeobject.parse(data))
    return BuildOutcome(None, 0.0, data=data, entries=made, tool=row.tool)
