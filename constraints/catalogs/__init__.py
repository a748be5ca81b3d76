"""Catalogs: curated sets of kernels as data and rules over the fields of the rule books.

A catalog is about one family and may list kernels of others. It is a TOML file (`ckrules.constraints.catalogs.reader` has the schema): tables of tiles,
waves, vectors and pipelines, formulas and conditions. Its tables become relations and its texts
expressions of the engine, so a catalog is a rule book of its own: `Catalog.book` explains why a
point is not in it, `Catalog.space` counts, samples and compares. `Catalog.listed` walks the same
tables in upstream's order, and `Catalog.stage` says what upstream's dispatcher and our legality
rules leave of a list. Upstream's rule sets for convolution and preselected sets of GEMMs, of June
2026, are files of this package; `recommended`, `aiter` and `aiter_a8w8` are folders with a file
for each GPU.

>>> names()[:3]
['aiter', 'aiter_a8w8', 'bf16_rcr_essential']
>>> len(load("tiny").listed("forward", "gfx942", 2, "fp16"))
10
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ckrules.arch import CK_VERSIONS, Gpu
from ckrules.constraints.catalogs.catalog import Catalog
from ckrules.constraints.catalogs.reader import read_catalog
from ckrules.constraints.catalogs.stages import STAGES, Staged
from ckrules.kernels.library import DEFAULT_CK
from ckrules.support import opening
from ckrules.support.errors import UsageError, unknown

__all__ = ["STAGES", "Catalog", "Staged", "load", "names", "upstream"]

_SUFFIX = ".toml"


def names() -> list[str]:
    """The catalogs of the package."""
    found = (files(__name__) / "data").iterdir()
    listed = (f.name for f in found if f.name.endswith(_SUFFIX) or f.is_dir())
    return sorted(n.removesuffix(_SUFFIX) for n in listed)


def upstream(family: str) -> list[str]:
    """The catalogs of a family that are upstream's own sets: those of one file.

    >>> [n for n in upstream("gemm") if n.startswith("fp8")]
    ['fp8_rcr_essential']
    """
    found = (n for n in names() if not _folder(n).is_dir())
    return [n for n in found if load(n).data.family == family]


def _folder(name: str) -> Traversable:
    return files(__name__) / "data" / name


def load(
    name: str | Path,
    *,
    ck: str = DEFAULT_CK,
    gpus: Sequence[Gpu] | None = None,
    archs: Sequence[str] | None = None,
) -> Catalog:
    """The catalog of this name, or of a user's own file.

    Args:
        name: One of `names`, or a path that ends in ``.toml``. The file's ``[select] from`` is
            a name, or a path relative to the file.
        gpus: The GPUs that points may name (default: all of `ckrules.arch`).
        archs: The GPUs that are asked about (default: all): of a catalog with a file for each GPU
            no others are read.

    Raises:
        UnknownNameError: For an unknown name or version, with near matches.
        TomlFileError: With line and column, for a file that breaks the schema.
        UsageError: For a file that cannot be read, or catalogs that select from each other.
    """
    if ck not in CK_VERSIONS:
        raise unknown("CK version", ck, CK_VERSIONS)
    known = None if gpus is None else tuple(gpus)
    if str(name) in names() and (folder := _folder(str(name))).is_dir():
        there = sorted(f.name.removesuffix(_SUFFIX) for f in folder.iterdir())
        return _by_gpu(str(name), ck, known, tuple(a for a in there if archs is None or a in archs))
    return _load(str(name), ck, known, ())


@lru_cache(maxsize=16)
def _by_gpu(name: str, ck: str, gpus: tuple[Gpu, ...] | None, archs: tuple[str, ...]) -> Catalog:
    """A catalog whose kernels are in a file for each GPU."""
    folder = _folder(name)
    read = {
        a: read_catalog(f"{name}/{a}{_SUFFIX}", (folder / f"{a}{_SUFFIX}").read_bytes())
        for a in archs or _first(folder)
    }
    blocks = [
        replace(block, rows=tuple({"arch": a, **row} for row in block.rows if archs))
        for a, data in read.items()
        for block in data.rows
    ]
    head = next(iter(read.values()))
    return Catalog(replace(head, rows=tuple(blocks)), ck=ck, gpus=gpus)


def _first(folder: Traversable) -> list[str]:
    """A file to take the heading from, where none is about the GPUs that are asked for."""
    return [min(f.name for f in folder.iterdir()).removesuffix(_SUFFIX)]


@lru_cache(maxsize=16)
def _packaged(name: str, ck: str, gpus: tuple[Gpu, ...] | None) -> Catalog:
    raw = (files(__name__) / "data" / f"{name}{_SUFFIX}").read_bytes()
    return _build(f"{name}{_SUFFIX}", raw, ck, gpus, (name,), Path())


def _load(name: str, ck: str, gpus: tuple[Gpu, ...] | None, above: tuple[str, ...]) -> Catalog:
    if name in above:
        raise UsageError(f"catalog {name} selects from itself")
    if not name.endswith(_SUFFIX):
        if name not in names():
            raise unknown("catalog", name, names())
        return _packaged(name, ck, gpus)
    try:
        raw = opening.read(name)
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror or error}") from None
    return _build(name, raw, ck, gpus, (*above, name), Path(name).parent)


def _build(
    shown: str,
    raw: bytes,
    ck: str,
    gpus: tuple[Gpu, ...] | None,
    above: tuple[str, ...],
    folder: Path,
) -> Catalog:
    data = read_catalog(shown, raw)
    origin = None
    if data.select is not None:
        source = data.select.origin
        path = str(folder / source) if source.endswith(_SUFFIX) else source
        try:
            origin = _load(path, ck, gpus, above)
        except UsageError:
            raise
        except LookupError as error:
            raise data.fault(("select", "from"), str(error)) from None
    return Catalog(data, origin, ck=ck, gpus=gpus)
