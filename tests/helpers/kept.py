"""What a run of the tests leaves to the next, beside the kernels that they compile.

That is the emulator's native code, of which clang took a second and more for each kernel that is
run, and compiled spaces. The user's cache is not the tests' own: each run has one that begins with
what is kept. A changed engine finds no spaces: what it computes is computed by it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import ckrules.engine
from ckrules.compiling import toolchain

_DAYS = 30
"""What is older is made again, so that what former sources made goes."""


def folder() -> Path | None:
    """Where it is kept; None without a toolchain."""
    return toolchain.root() / "tests" if toolchain.root().is_dir() else None


def take(cache: Path) -> None:
    """Copies what is kept into an empty cache folder, where the product looks for it."""
    for place, used in _places(cache):
        if place.is_dir():
            _copy(place, used)


def keep(cache: Path) -> None:
    """Keeps what is new in a cache folder, and drops what is old."""
    for place, used in _places(cache):
        if used.is_dir():
            _copy(used, place)
        for file in place.parent.glob(f"{place.name.partition('-')[0]}*/*"):
            if file.stat().st_mtime < time.time() - _DAYS * 86400:
                file.unlink(missing_ok=True)


def _places(cache: Path) -> Iterator[tuple[Path, Path]]:
    """Folders that are kept, and those of a cache folder that are used."""
    base = folder()
    if base is not None:
        yield base / "native", cache / "ckrules" / "native"
        yield base / f"spaces-{_engine()}", cache / "ckrules" / "spaces"


def _engine() -> str:
    """A hash of the engine's sources."""
    found = hashlib.blake2b(digest_size=8)
    for path in sorted(Path(next(iter(ckrules.engine.__path__))).rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def _copy(source: Path, target: Path) -> None:
    """Each file whole or not at all: other runs may read and write there."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    for file in source.iterdir():
        if not file.name.startswith(".") and not (target / file.name).exists():
            part = target / f".{file.stem}.{os.getpid()}"
            shutil.copy2(file, part)
            part.replace(target / file.name)
