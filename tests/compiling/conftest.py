"""A fake compiler and a folder to build, for tests without the toolchain."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiling import fake


@pytest.fixture
def include(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The fake CK tree, with the fake compiler on PATH."""
    return fake.install(tmp_path / "tools", monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four generated kernels."""
    return fake.kernels(tmp_path / "out")
