"""A pytest plugin: files that compile come first, those that may be slow next, short ones last.

With ``--dist loadfile`` a file's tests go to one worker: what they share is made once, and the
other worker does not wait for the same kernel. Where the long files begin the run, the many short
ones fill what is left of it, so that no worker ends long before the other.
``make test`` loads it with ``-p tests.plugins.order``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

FIRST = ("toolchain", "slow")
"""Markers of tests whose files come first, the most expensive one before the other."""


def ordered(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Tests file by file: those of `FIRST` before the rest, and files of more tests before fewer.

    Tests of a file stay in their order.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    return [item for tests in sorted(files.values(), key=_place) for item in tests]


def _place(tests: Sequence[pytest.Item]) -> tuple[int, ...]:
    counts = [sum(t.get_closest_marker(name) is not None for t in tests) for name in FIRST]
    return (*(-bool(n) for n in counts), *(-n for n in counts), -len(tests))


def pytest_configure(config: pytest.Config) -> None:
    """Keeps xdist from sorting files by the number of their tests alone, as it does since 3.7."""
    config.option.loadscopereorder = False


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In the workers; a run in one process goes through the folders."""
    if hasattr(config, "workerinput"):
        items[:] = ordered(items)
