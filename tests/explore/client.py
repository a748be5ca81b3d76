"""A subject to look around in, and a client that has its token."""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from starlette.testclient import TestClient

from ckrules.explore.app import guarded
from ckrules.explore.site import Site
from ckrules.explore.subject import Subject
from ckrules.kernels.books import Books
from ckrules.kernels.selection import select
from ckrules.ranking import best

TOKEN = "a-token-of-tests-only"
PORT = 4711
GIVEN = {"variant": "bwd_weight", "arch": "gfx942", "dtype": "fp16", "ndim": 2}
NAME = (
    "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave"
    "_64x64x64_2x2x1_32x32x16_vec4_8_8"
)


@cache
def subject() -> Subject:
    """Convolutions of one direction, GPU and type."""
    books = Books()
    words = {f"--{name}": (str(value),) for name, value in GIVEN.items()}
    return Subject(select(books, GIVEN), books, "bwd_weight on gfx942, fp16", words)


@contextmanager
def client(
    about: Subject | None = None,
    *,
    entered: bool = True,
    scope: Mapping[str, str] | None = None,
    make: Callable[[Mapping[str, str]], Subject] | None = None,
) -> Iterator[TestClient]:
    """A client of the pages, with the cookie where it has entered."""
    site = Site(about or subject(), scope, make)
    app: Any = guarded(site, PORT, TOKEN)
    with TestClient(app, base_url=f"http://127.0.0.1:{PORT}") as found:
        if entered:
            assert found.get(f"/?token={TOKEN}").status_code == 200
        yield found
    site.close()


@contextmanager
def search_held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Searches for the fastest kernels find some and then go on until the event, or a stop."""
    real, release = best.best, threading.Event()

    def held(region: Any, books: Books, n: int, *, heard: Any, stopped: Any) -> best.Best:
        found = real(region, books, n, sample=500)
        heard(found)
        while not (stopped() or release.wait(0.02)):
            pass
        return found

    monkeypatch.setattr(best, "best", held)
    yield release
    release.set()


def total(page: str) -> int:
    """The number of kernels that a page says."""
    found = re.search(r'id="total" data-count="(\d+)"', page)
    assert found, page
    return int(found[1])


def chips(page: str) -> Mapping[str, tuple[int, str]]:
    """The count and the address of each value of a page, by its id."""
    found = re.findall(r'id="([^"]+)" href="([^"]+)" data-count="(\d+)"', page)
    return {key: (int(n), html.unescape(link)) for key, link, n in found}


def text(page: str) -> str:
    """What a page says, without its marks."""
    bare = re.sub(r"<[^>]+>", " ", page.split("<main", 1)[-1])
    return " ".join(html.unescape(bare).split())
