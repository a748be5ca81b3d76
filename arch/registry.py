"""Find GPUs by name: the files of the package and files the user adds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ckrules.arch.model import Gpu
from ckrules.support import opening
from ckrules.support.document import TomlFileError
from ckrules.support.errors import UsageError, unknown

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_SUFFIX = re.compile(r"(?:sramecc|xnack)[+-]")


def normalize(name: str) -> str:
    """The plain name of a GPU: lower case, without target features such as ``:xnack-``.

    A suffix that is not ``:sramecc`` or ``:xnack`` with ``+`` or ``-``, or one of a feature that
    another has, raises :class:`~ckrules.support.errors.UsageError`; whether the name is known is
    not asked.

    Source: LLVM AMDGPUUsage, "Target ID".

    >>> normalize("GFX90a:sramecc+:xnack-")
    'gfx90a'
    """
    if not isinstance(name, str):
        raise UsageError(f"arch = {name!r} is not a string")
    base, *suffixes = name.strip().lower().split(":")
    for suffix in suffixes:
        if not _SUFFIX.fullmatch(suffix):
            raise UsageError(
                f"arch {name!r}: {':' + suffix!r} is not a target feature, "
                "expected :sramecc or :xnack with + or -"
            )
    if len({suffix[:-1] for suffix in suffixes}) < len(suffixes):
        raise UsageError(f"arch {name!r} has a target feature twice")
    if not base:
        raise UsageError(f"arch {name!r} has no GPU name, expected like 'gfx942'")
    return base


def load_file(path: Path | str) -> Gpu:
    """The GPU that a TOML file describes.

    A file that cannot be read raises :class:`~ckrules.support.errors.UsageError`, a faulty one
    :class:`~ckrules.support.document.TomlFileError` with line and column. The answer is kept
    until the file's time or size changes.

    >>> load_file("no/such.toml")
    Traceback (most recent call last):
    ...
    ckrules.support.errors.UsageError: no/such.toml: cannot read the GPU file: No such ...
    """
    try:
        state = Path(path).stat()
        return _read(str(path), state.st_mtime_ns, state.st_size, state.st_ino)
    except OSError as fault:
        raise UsageError(f"{path}: cannot read the GPU file: {fault.strerror}") from None


def known(extra: Sequence[Path] = ()) -> tuple[str, ...]:
    """The names of all GPUs, the shorter first and then by letter.

    ``extra`` holds GPU files and folders of them (``*.toml``, not searched deeper) that add
    to the package's own. Raises :class:`~ckrules.support.errors.UsageError` if one is missing,
    faulty, or names a GPU that is already there.

    >>> known()[:5]
    ('gfx908', 'gfx90a', 'gfx942', 'gfx950', 'gfx1100')
    """
    return tuple(sorted({*_own(), *_added(extra)}, key=lambda name: (len(name), name)))


def load(name: str, *, extra: Sequence[Path] = ()) -> Gpu:
    """The GPU called ``name``, target features ignored.

    A product means the GPU in it. An unknown name raises
    :class:`~ckrules.support.errors.UnknownNameError` with near matches; for ``extra`` see
    :func:`known`.

    >>> load("gfx942:sramecc+:xnack-").name
    'gfx942'
    >>> load("gfx9500")
    Traceback (most recent call last):
    ...
    ckrules.support.errors.UnknownNameError: unknown arch 'gfx9500': did you mean ...
    """
    base = normalize(name)
    added = _added(extra)
    if base in added:
        return added[base][1]
    if base in _own():
        return _load_own(base)
    if len(sold := sold_as(base, extra)) == 1:
        return load(sold[0], extra=extra)
    raise unknown("arch", base, known(extra))


def load_all(extra: Sequence[Path] = ()) -> tuple[Gpu, ...]:
    """Every GPU, in the order of :func:`known`.

    >>> [gpu.name for gpu in load_all() if gpu.has("streamk")]
    ['gfx90a', 'gfx942', 'gfx950']
    """
    return tuple(load(name, extra=extra) for name in known(extra))


def sold_as(product: str, extra: Sequence[Path] = ()) -> tuple[str, ...]:
    """The GPUs in products of a name, which may leave out the words that it begins with.

    Case, blanks and dashes do not matter; a name without a digit is none.

    >>> sold_as("MI300X"), sold_as("rx 9070-xt"), sold_as("Instinct")
    (('gfx942',), ('gfx1201',), ())
    """
    wanted = _plain(product)
    if not any(c.isdigit() for c in wanted):
        return ()
    found = (g.name for g in load_all(extra) if any(wanted in _endings(p) for p in g.products))
    return tuple(found)


def _endings(product: str) -> set[str]:
    words = product.split()
    return {_plain("".join(words[i:])) for i in range(len(words))}


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).lower()


@cache
def _folder() -> Traversable:
    from importlib.resources import files  # slow to import, and only a look-up needs it

    return files("ckrules.arch").joinpath("data")


@cache
def _own() -> frozenset[str]:
    """The GPUs of the package; each file is named after the GPU in it."""
    found = (entry.name for entry in _folder().iterdir())
    return frozenset(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


@cache
def _load_own(name: str) -> Gpu:
    from ckrules.arch.loader import read_gpu

    shown = f"ckrules/arch/data/{name}.toml"
    gpu = read_gpu(shown, _folder().joinpath(f"{name}.toml").read_bytes())
    if gpu.name != name:
        what = f"name is {gpu.name!r}, expected {name!r} as in the file's name"
        raise TomlFileError(shown, 1, 1, what)
    return gpu


@lru_cache(maxsize=256)
def _read(path: str, mtime: int, size: int, inode: int) -> Gpu:
    from ckrules.arch.loader import read_gpu

    return read_gpu(path, opening.read(path))


def _added(extra: Sequence[Path]) -> dict[str, tuple[Path, Gpu]]:
    """The GPUs of the user's files by name, with the file of each."""
    found: dict[str, tuple[Path, Gpu]] = {}
    for path in _files(extra):
        gpu = load_file(path)
        if gpu.name in _own():
            raise UsageError(f"{path}: GPU {gpu.name!r} is already one of the package's own")
        if gpu.name in found:
            raise UsageError(f"{path}: GPU {gpu.name!r} is already in {found[gpu.name][0]}")
        found[gpu.name] = (path, gpu)
    return found


def _files(extra: Sequence[Path]) -> list[Path]:
    """The files in ``extra``, folders replaced by their TOML files, a file at most once."""
    found: dict[Path, Path] = {}
    for entry in map(Path, extra):
        inside = sorted(entry.glob("*.toml")) if entry.is_dir() else [entry]
        if not inside:
            raise UsageError(f"{entry}: no GPU file (*.toml) in this folder")
        for path in inside:
            found.setdefault(path.resolve(), path)
    return list(found.values())
