"""How a worker opens a built kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckrules.compiling.artifacts import RUNNABLE
from ckrules.compiling.codeobject import LARGEST
from ckrules.support import opening
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.device.jobs import LaunchableKernel


def open_built(folder: Path, name: str) -> tuple[LaunchableKernel, bytes]:
    """The host library and the code object of a built kernel.

    Raises:
        HostLibraryError: If the library cannot be loaded.
        UsageError: If there is no code object, or one of the files leads out of the folder.
    """
    from ckrules.device.hostlib import HostLibrary

    code, library = (artifact.result(name) for artifact in RUNNABLE)
    try:
        image = opening.read(opening.inside(folder, code), LARGEST)
        return HostLibrary(opening.inside(folder, library)), image
    except FileNotFoundError:
        raise UsageError(f"{folder / code}: not built") from None
    except OSError as error:
        raise UsageError(f"{error.filename}: cannot read: {error.strerror or error}") from None
