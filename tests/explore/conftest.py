"""A page in a real browser, of a server in this process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.explore.browsing import serving_of
from tests.explore.client import subject
from tests.helpers.browser import SLOWEST, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a server of kernels."""
    with serving_of(subject()) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page that has entered; it must not complain, and ask nothing of another host."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(SLOWEST)
    found = context.new_page()
    complaints: list[str] = []
    found.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    found.on("pageerror", lambda error: complaints.append(str(error)))
    asked: list[str] = []
    found.on("request", lambda request: asked.append(request.url))
    found.goto(address)
    yield found
    context.close()
    host = re.match(r"http://[^/]+/", address)
    assert host
    assert [u for u in asked if not u.startswith((host[0], "data:"))] == []
    assert [c for c in complaints if "status of 400" not in c] == []
