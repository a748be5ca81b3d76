"""What tests that need the compiler or the CK headers begin with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import pytest

from ckrules.compiling import toolchain

T = TypeVar("T")


def require_toolchain(arch: str | None = None) -> toolchain.Toolchain:
    """The toolchain, of a compiler that knows the GPU where one is named.

    The test is skipped without it, or fails where it has to be there.
    """
    return _present(toolchain.find(arch=arch))


def require_headers(release: str) -> Path:
    """The headers of a CK release, as in `require_toolchain`."""
    return _present(toolchain.find_tree(release))


def require_tile_engine(release: str) -> Path:
    """The folder of upstream's tile_engine of a CK release, as in `require_toolchain`."""
    folder = require_headers(release).parent / "tile_engine" / "ops"
    missing = toolchain.Missing("tile_engine", f"no {folder}", "run `make toolchain`")
    return _present(folder if folder.is_dir() else missing)


def _present(found: T | toolchain.Missing) -> T:
    if not isinstance(found, toolchain.Missing):
        return found
    if os.environ.get("CKRULES_REQUIRE_TOOLCHAIN") == "1":
        pytest.fail(f"CKRULES_REQUIRE_TOOLCHAIN=1, but {found}")
    pytest.skip(str(found))
