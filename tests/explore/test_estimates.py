"""Pages under a condition that is too hard to count: numbers are estimated, and say so."""

from __future__ import annotations

import html
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from ckrules.engine.drawn import DrawnFacets
from ckrules.explore.choice import FieldChoice
from ckrules.explore.subject import Subject
from ckrules.kernels.books import Books
from ckrules.kernels.selection import select
from tests.explore.client import client

pytestmark = pytest.mark.whole

HARD = "vgprs <= 128"


@pytest.fixture(scope="module")
def every() -> Subject:
    """Convolutions of one direction on all GPUs."""
    return Subject(select(Books(), {"variant": "forward"}), Books(), "forward")


@pytest.fixture(scope="module")
def page(every: Subject) -> Iterator[TestClient]:
    with client(every) as found:
        yield found


def test_a_hard_condition_has_an_answer(every: Subject, page: TestClient) -> None:
    choice = FieldChoice({"arch": ("gfx942",)}, HARD)
    counted = every.counted(choice)
    assert not counted.exact
    held = counted.by["arch"]["gfx942"]
    assert held
    assert abs(counted.total / held - 1) < 0.3  # two draws
    shown = page.get("/", params={"where": HARD, "arch": "gfx942"})
    assert shown.status_code == 200
    said = html.unescape(shown.text)
    assert "This condition is too hard to count: " in said
    assert f'about <strong id="total" data-count="{counted.total}">{counted.total:,}' in said
    assert "≈ " in said
    assert "why?" in said  # values that no kernel of the GPU has are known for certain


def test_estimates_are_near_what_can_be_counted(every: Subject) -> None:
    easy = "lds_bytes <= 32768"
    chosen = FieldChoice({"pipeline": ("compv3", "mem")}, easy)
    exact = every.counted(chosen)
    assert exact.exact
    condition = every.space.where(easy).conditions[-1]
    codes = every.domains["pipeline"][1]
    found = DrawnFacets(every.space, [condition]).under(
        {"pipeline": [codes.index("compv3"), codes.index("mem")]}
    )
    assert abs(found.total / exact.total - 1) < 5 * found.spread + 0.05  # two digits are shown
    for name, values in exact.by.items():
        for n, about in zip(values.values(), found.by[name], strict=True):
            assert n is not None
            assert about != 0 or n == 0
            if about and n > 0.05 * exact.total:
                assert abs(about / n - 1) < 0.3


def test_drawn_kernels_meet_the_condition(every: Subject) -> None:
    choice = FieldChoice({"arch": ("gfx942", "gfx950"), "tile_m": (64,)}, HARD)
    points = every.sample(choice, 50, seed=3)
    assert len(points) == 50
    part = every.space.bind(arch=["gfx942", "gfx950"], tile_m=64).where(HARD)
    assert all(p in part for p in points)


def test_other_pages_go_on(page: TestClient) -> None:
    asked = {"where": HARD}
    listed = page.get("/kernels", params=asked)
    assert listed.status_code == 200
    assert listed.text.count('name="k" value=') == 20
    assert "Drawn uniformly from about " in listed.text
    assert "specialization=<wbr>filter1x1_<wbr>" in listed.text  # so that 1280 px are enough
    ordered = page.get("/kernels", params={**asked, "list": "first"})
    assert "too hard to list in order" in ordered.text
    assert "<svg" in page.get("/picture.svg", params={**asked, "of": "parallel"}).text
    assert page.get("/export", params=asked).status_code == 200
