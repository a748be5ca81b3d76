"""Questions about one configuration take the same: a name or a mapping, a GPU and a version."""

from __future__ import annotations

import pytest

import ckrules
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_mapping
from tests.cli.run import ILLEGAL, LEGAL

#: Legal for CK 2025.11 and not for 2026.06, whose epilogue has a rule more (EPI002).
OLDER = {
    **LEGAL, "ck": "2025.11", "tile_m": 80, "tile_n": 160, "wave_m": 1, "warp_tile_m": 16,
    "warp_tile_n": 16, "vector_a": 1, "vector_b": 2, "vector_c": 2, "num_wave_groups": 2,
}  # fmt: skip


def test_a_version_that_a_mapping_says_is_judged_by_its_rules() -> None:
    later = {k: v for k, v in OLDER.items() if k != "ck"}
    assert [v.code for v in ckrules.check(later, ck="2026.06")] == ["EPI002"]
    assert ckrules.check(OLDER) == ckrules.check(later, ck="2025.11") == []
    assert ckrules.why(OLDER).legal


def test_why_and_fix_take_what_check_takes() -> None:
    codes = [v.code for v in ckrules.check(ILLEGAL, arch="gfx942")]
    found = ckrules.why(ILLEGAL, arch="gfx942")
    assert [v.code for v in found.violations] == codes != []
    nearest = ckrules.fix(ILLEGAL, arch="gfx942").fixes[0]
    assert ckrules.check(nearest.point) == []
    assert ckrules.fix(LEGAL).fixes[0].changes == ()


def test_what_does_not_go_together_is_refused() -> None:
    book = ckrules.kernel_space("forward_depthwise", "gfx942", dtype="fp16", filter=3)
    for call, what in (
        (lambda: ckrules.why(LEGAL, LEGAL), "goes with a rule book"),
        (lambda: ckrules.why(book), "needs a point"),
        (lambda: ckrules.fix(book, {}, arch="gfx942"), "go with a configuration"),
        (lambda: ckrules.rank([], "N=1,C=8,K=8,H=8,W=8,Y=1,X=1"), "got none"),
    ):
        with pytest.raises(ckrules.UsageError, match=what):
            call()


def test_notebooks_get_tables() -> None:
    space = ckrules.kernel_space("forward_depthwise", "gfx942", dtype="fp16", filter=3)
    assert f"<caption>{space.count():,} points</caption>" in space._repr_html_()
    shown = ckrules.why(ILLEGAL, arch="gfx942")._repr_html_()
    assert "<td>tile_m</td><td>96</td>" in shown
    assert "TILE001: " in shown
    config = config_from_mapping(LEGAL, Books())
    assert f"<caption>{config.name}</caption>" in config._repr_html_()
    assert f"<td>tile_m</td><td>{LEGAL['tile_m']}</td>" in config._repr_html_()
    ranking = ckrules.rank([LEGAL], "N=8,C=64,K=64,H=28,W=28,Y=3,X=3,pad=1")
    assert "<caption>1 of 1 kernels: " in ranking._repr_html_()


def test_a_version_is_a_text() -> None:
    said = r"unknown CK version 2025\.11: did you mean '2025\.11'"
    with pytest.raises(ckrules.CkrulesError, match=said):
        ckrules.check(LEGAL, ck=2025.11)  # type: ignore[arg-type]  # what is asked about
