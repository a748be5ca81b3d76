"""The page on upstream's rule sets is what the script makes of the catalogs now."""

from __future__ import annotations

from collections import Counter
from types import ModuleType

import pytest

from tests.helpers.scripts import load

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module."""
    return load("upstream_differences")


@pytest.mark.parametrize("gpu", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("name", ["default", "full", "rdna"])
def test_rows_of_the_page_are_fresh(script: ModuleType, name: str, gpu: str) -> None:
    """Some of them; `make certify` makes the whole page."""
    text = script.PAGE.read_text(encoding="utf-8")
    (part,) = (p for p in text.split("\n### ") if p.startswith(f"{name}\n"))
    for variant in script.VARIANTS:
        t = script.tally(script.catalogs.load(name), gpu, variant)
        numbers = (t.listed, t.generated, t.depthwise, t.legal, t.both)
        row = " | ".join([gpu, variant, *(f"{n:,}" for n in numbers)])
        assert (f"| {row} |" in part) == bool(t.listed), row


@pytest.mark.slow
@pytest.mark.certify
def test_the_page_is_fresh(script: ModuleType) -> None:
    text = script.page(script.tallies())
    assert script.PAGE.read_text(encoding="utf-8") == text, (
        "python scripts/upstream_differences.py --write"
    )


def test_a_tally_counts_what_the_stages_keep(script: ModuleType) -> None:
    found = script.tallies(["rdna"])
    assert {key[1] for key in found} == {"gfx1100", "gfx1200", "gfx1201"}
    for t in found.values():
        assert t.listed == t.generated == t.legal == t.both > 0
        assert t.depthwise == 0
        assert not t.filtered


def test_the_page_says_what_is_counted(script: ModuleType) -> None:
    """Other numbers give other statements; none of them is written by hand."""
    some = script.Tally(listed=1200, generated=7, depthwise=3, legal=1100, both=5)
    none = script.Tally(
        listed=9, legal=8, filtered=Counter({"DISP003": 9}), refused=Counter({"WARP002": 1}),
        examples={"WARP002": "`a_kernel` on gfx1201"},
    )  # fmt: skip
    text = script.page({("full", "gfx942", "forward"): some, ("full", "gfx1201", "bwd_data"): none})
    assert "| gfx942 | forward | 1,200 | 7 | 3 | 1,100 | 5 |" in text
    assert "| full | bwd_data | gfx1201 | 9 |" in text
    assert "| [WARP002](rules/WARP002.md) | hardware | 1 | bwd_data |" in text
    assert "`a_kernel` on gfx1201" in text
    both = {("full", "gfx942", "forward"): some}
    assert "| full | bwd_data | gfx" not in script.page(both)
