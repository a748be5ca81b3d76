"""Keeps what the tests of instructions run, so that native code does it again at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers import isa


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the comparison behind the tests whose runs it repeats."""
    items.sort(key=lambda item: "test_native_alike" in item.nodeid)


@pytest.fixture(scope="session", autouse=True)
def _kept_runs() -> Iterator[None]:
    isa.RUNS = []
    yield
    isa.RUNS = None
