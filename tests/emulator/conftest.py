"""What the tests of a file run of instructions by numpy is done again by native code at its end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ckrules.emulator.native.library import compiler
from tests.helpers import isa, native_alike


@pytest.fixture(scope="module", autouse=True)
def _again_by_native_code() -> Iterator[None]:
    """Fails the last test of the file where native code does otherwise."""
    if compiler() is None:
        yield
        return
    isa.RUNS = runs = []
    try:
        yield
    finally:
        isa.RUNS = None
    native_alike.compare(runs)
