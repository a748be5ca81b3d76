"""What tests in a browser share: a server, and waits for counts."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ckrules.explore import serving
from ckrules.explore.subject import Subject
from tests.explore.client import TOKEN, subject
from tests.helpers.browser import SLOWEST

if TYPE_CHECKING:
    from playwright.sync_api import Page


@contextmanager
def serving_of(about: Subject) -> Iterator[str]:
    """The address of a server in a thread of this process."""
    import uvicorn

    from ckrules.explore.app import guarded
    from ckrules.explore.site import Site

    place: socket.socket = serving.listening(0)
    port = place.getsockname()[1]
    site = Site(about)
    app: Any = guarded(site, port, TOKEN)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
    thread.start()
    yield serving.address(port, TOKEN)
    server.should_exit = True
    thread.join()
    site.close()
    place.close()


def count(page: Page) -> int:
    return int(page.locator("#total").get_attribute("data-count") or "-1")


def settle(page: Page, **held: Any) -> None:
    """Waits for the count under a choice, which is the space's own."""
    reach(page, subject().space.bind(**held).count())


def reach(page: Page, total: int) -> None:
    """Waits for a count: a pressed choice may be drawn before its count is there."""
    page.wait_for_function(
        "n => document.getElementById('total')?.dataset.count === n",
        arg=str(total),
        timeout=SLOWEST,
    )
