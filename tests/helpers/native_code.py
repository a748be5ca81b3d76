"""The emulator's native code, kept beside the kernels that tests compile, as these are.

The user's cache is not the tests' own: each run has one that is empty, and clang took a second and
more for the code of each kernel that is run.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from ckrules.compiling import toolchain

_DAYS = 30
"""What is older is made again, so that code of former emulators goes."""


def kept() -> Path | None:
    """The folder of what earlier runs left; None without a toolchain."""
    return toolchain.root() / "tests" / "native" if toolchain.root().is_dir() else None


def take(cache: Path) -> None:
    """Copies what is kept into an empty cache folder, as the emulator looks for it there."""
    place = kept()
    if place is not None and place.is_dir():
        _copy(place, cache / "ckrules" / "native")


def keep(cache: Path) -> None:
    """Keeps what is new in a cache folder, and drops what is old."""
    made, place = cache / "ckrules" / "native", kept()
    if place is None or not made.is_dir():
        return
    _copy(made, place)
    for library in place.glob("*.so"):
        if library.stat().st_mtime < time.time() - _DAYS * 86400:
            library.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    """Each library whole or not at all: other runs may read and write there."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    for library in source.glob("*.so"):
        if not (target / library.name).exists():
            part = target / f".{library.stem}.{os.getpid()}"
            shutil.copy2(library, part)
            part.replace(target / library.name)
