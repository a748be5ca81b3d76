"""The browser that tests drive: the machine's own chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SLOWEST = 600_000
"""Milliseconds for whatever a page does, on a machine that has much else to do."""


def require_chromium() -> str:
    """The path of chromium; the test is skipped without it, or fails where it has to be there."""
    found = shutil.which("chromium")
    if found is not None:
        return found
    missing = "there is no chromium: apt-get install chromium"
    if os.environ.get("CKRULES_REQUIRE_TOOLCHAIN") == "1":
        pytest.fail(f"CKRULES_REQUIRE_TOOLCHAIN=1, but {missing}")
    pytest.skip(missing)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless chromium."""
    from playwright.sync_api import sync_playwright

    path = require_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-dev-shm-usage"],
            timeout=SLOWEST,
        )
        yield browser
        browser.close()
