"""How a worker opens a built kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckrules.build.commands import ARTIFACTS
from ckrules.engine.errors import UsageError

if TYPE_CHECKING:
    from ckrules.device.jobs import Kernel


def open_built(folder: Path, name: str) -> tuple[Kernel, bytes]:
    """The host library and the code object of a built kernel.

    Raises:
        HostLibraryError: If the library cannot be loaded.
        UsageError: If there is no code object.
    """
    from ckrules.build.hostlib import HostLibrary

    code, library = (folder / ARTIFACTS[a][1].format(name=name) for a in ("device", "host"))
    if not code.is_file():
        raise UsageError(f"{code}: not built")
    return HostLibrary(library), code.read_bytes()
