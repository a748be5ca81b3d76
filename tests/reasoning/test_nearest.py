"""Every fix is legal, none holds another, and nothing is nearer, by listing all candidates."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.constraints import book as rule_book
from ckrules.engine.expr.variables import Int
from ckrules.engine.rules import Rule
from ckrules.engine.rules.book import RuleBook, Vocabulary
from ckrules.reasoning import nearest
from ckrules.reasoning.nearest import Metric, fix
from ckrules.reasoning.why import widened
from ckrules.support.errors import UndecidedError, UsageError
from tests.reasoning.books import VARIABLES, books, candidates, meets, points


def _expected(
    book: RuleBook, point: dict[str, Any], keep: list[str], weights: dict[str, int] | None
) -> list[tuple[int, int]]:
    sorts = {v.data.name: v.data.sort for v in VARIABLES}
    metric = Metric(point, widened(book, point), sorts, weights)
    legal = [
        p for p in candidates(point)
        if meets(p, [r.condition for r in book.rules]) and all(p[k] == point[k] for k in keep)
    ]  # fmt: skip
    changes = {metric.changed(p) for p in legal}
    least = [p for p in legal if not any(c < metric.changed(p) for c in changes)]
    return sorted(metric.distance(p) for p in least)


class TestFix:
    @settings(max_examples=80)
    @given(books(), points(), st.lists(st.sampled_from("abcwf"), max_size=2, unique=True))
    def test_nothing_legal_is_nearer(
        self, book: RuleBook, point: dict[str, Any], keep: list[str]
    ) -> None:
        """The distances are the smallest that repairs have which hold no smaller one."""
        found = fix(book, point, n=4, keep=keep)
        changes = [{(c.field, c.after) for c in f.changes} for f in found.fixes]
        assert not any(a <= b for a in changes for b in changes if a is not b)
        expected = _expected(book, point, keep, None)
        assert [(f.cost, f.steps) for f in found.fixes] == expected[:4]
        assert all(not book.violations(f.point) for f in found.fixes)
        assert len({tuple(f.point.items()) for f in found.fixes}) == len(found.fixes)
        assert (found.obstacle is not None) == (not expected)

    def test_numbers_below_one_are_refused_and_one_field_is_kept(self) -> None:
        book = RuleBook("toy", Vocabulary([Int("tile", [1, 2])]), [], check=False)
        with pytest.raises(UsageError, match="n = 0: expected an integer from 1"):
            fix(book, {"tile": 1}, n=0)
        assert fix(book, {"tile": 1}, keep="tile").kept == ("tile",)

    def test_listing_takes_its_time_from_the_solver(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Listing was not counted: a limit of 5 seconds took 21."""
        words = Vocabulary([Int(name, range(4)) for name in "abcd"])
        a, b, c, d = (getattr(words, name) for name in "abcd")
        far = Rule("RULE001", "far", "compile", a + b + c + d >= 6)
        book = RuleBook("toy", words, [far], check=False)
        point = dict.fromkeys("abcd", 0)
        clock = itertools.count()
        monkeypatch.setattr(nearest, "time", SimpleNamespace(monotonic=lambda: next(clock)))
        found = fix(book, point, n=10_000, timeout=6)
        assert found.undecided == "not known within 6 s"
        assert {f.cost for f in found.fixes} == {2}
        with pytest.raises(UndecidedError, match="not known within 2 s"):
            fix(book, point, n=10_000, timeout=2)

    @settings(max_examples=40)
    @given(books(), points(), st.integers(1, 4), st.integers(1, 3))
    def test_weights_count(self, book: RuleBook, point: dict[str, Any], a: int, w: int) -> None:
        """Weighted distances are minimal too; the solver does all of this."""
        weights = {"a": a, "w": w}
        found = fix(book, point, n=3, weights=weights)
        assert [(f.cost, f.steps) for f in found.fixes] == _expected(book, point, [], weights)[:3]

    @settings(max_examples=40)
    @given(books(), points())
    def test_solver_and_listing_agree(self, book: RuleBook, point: dict[str, Any]) -> None:
        """Without any listing the same points are found in the same order."""
        listed = fix(book, point, n=3)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(nearest, "_listed", lambda *_: ([], -1, False))
            searched = fix(book, point, n=3)
        assert [f.point for f in searched.fixes] == [f.point for f in listed.fixes]

    @settings(max_examples=40)
    @given(books(), points())
    def test_all_repairs_of_a_small_book(self, book: RuleBook, point: dict[str, Any]) -> None:
        """Asked for more than there are, all come, and their number is said to be all."""
        found = fix(book, point, n=10_000)
        assert [(f.cost, f.steps) for f in found.fixes] == _expected(book, point, [], None)
        assert found.complete

    def test_a_legal_point_is_its_own_only_fix(self) -> None:
        """Every other legal point has more changes than it needs."""
        book = rule_book("forward")
        found = fix(book, book.vocabulary.baseline, n=3)
        assert [f.changes for f in found.fixes] == [()]
        assert found.complete

    def test_weight_below_one_is_refused(self) -> None:
        """A change that costs nothing would make distance meaningless."""
        book = rule_book("forward")
        with pytest.raises(UsageError, match="weight of tile_m = 0"):
            fix(book, book.vocabulary.baseline, weights={"tile_m": 0})

    def test_real_book(self) -> None:
        """A kernel for MFMA moves to gfx1201 by its warp tile."""
        book = rule_book("forward")
        found = fix(book, book.example({"arch": "gfx1201"}), keep=["arch", "dtype", "variant"])
        assert {c.field for c in found.fixes[0].changes} == {"warp_tile_m", "warp_tile_n"}
