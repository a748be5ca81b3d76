"""Every conflict is unsatisfiable and minimal, by listing all candidates."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.engine.expr import BoolExpr
from ckrules.engine.expr.traversal import children
from ckrules.engine.restrictions import held_condition
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.books import Books
from ckrules.kernels.selection import select
from ckrules.reasoning.conflict import Conflict
from ckrules.reasoning.oracle import SolverOracle
from ckrules.reasoning.why import why, why_region
from ckrules.support.errors import UndecidedError
from tests.engine.strategies import VARIABLES as EVERY_SORT
from tests.engine.strategies import Strategies
from tests.reasoning.books import books, candidates, conditions, meets, points


def _parts(conflict: Conflict, book: RuleBook) -> list[BoolExpr]:
    held = [held_condition(book.fields[h.field], h.values) for h in conflict.held]
    return [*held, *conflict.conditions, *(r.condition for r in conflict.rules)]


def _assert_minimal(conflict: Conflict, book: RuleBook, everything: list[dict[str, Any]]) -> None:
    parts = _parts(conflict, book)
    assert not any(meets(p, parts) for p in everything)
    for k in range(len(parts)):
        rest = parts[:k] + parts[k + 1 :]
        assert any(meets(p, rest) for p in everything), f"{parts[k]} can be left out"


class TestWhy:
    @settings(max_examples=60)
    @given(books(), points(), st.booleans())
    def test_conflicts_are_minimal_and_impossible(
        self, book: RuleBook, point: dict[str, Any], deep: bool
    ) -> None:
        """Each conflict, and the core, cannot hold, and can without any one part."""
        found = why(book, point, deep=deep)
        everything = candidates(point)
        assert [v.code for v in found.violations] == [v.code for v in book.violations(point)]
        for conflict in [*found.conflicts, *([found.core] if found.core else [])]:
            assert all(h.values == (point[h.field],) for h in conflict.held)
            _assert_minimal(conflict, book, everything)

    @settings(max_examples=30)
    @given(books(), points())
    def test_the_same_question_has_the_same_answer(
        self, book: RuleBook, point: dict[str, Any]
    ) -> None:
        """Nothing that was asked before changes an explanation."""
        assert why(book, point, deep=True) == why(book, point, deep=True)


class TestWhyRegion:
    @settings(max_examples=60)
    @given(books(), st.lists(conditions(), max_size=2), st.sampled_from(["mem", "off", None]))
    def test_region_is_empty_or_has_a_witness(
        self, book: RuleBook, where: list[BoolExpr], word: str | None
    ) -> None:
        """A witness is a legal point of the region; a conflict says why there is none."""
        held: dict[str, Any] = {"w": (word,)} if word else {}
        found = why_region(book, held, where)
        everything = candidates()
        inside = [
            p for p in everything
            if meets(p, [*where, *(r.condition for r in book.rules)])
            and (word is None or p["w"] == word)
        ]  # fmt: skip
        assert found.empty == (not inside)
        if found.witness is not None:
            assert found.witness in inside
        if found.conflict is not None:
            _assert_minimal(found.conflict, book, everything)
            again = why_region(book, held, where, empty=True, seen=everything[:3]).conflict
            assert again is not None
            assert again.sentence() == found.conflict.sentence()
            split = {c.id for c in children(where, "and")}
            assert all(c.id in split for c in found.conflict.conditions)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fixed",
    [
        {"pipeline": "compv4", "epilogue": "cshuffle"},
        pytest.param({}, marks=pytest.mark.certify),  # all kernels, which takes the longest
    ],
)
@pytest.mark.whole
def test_a_core_that_a_solver_does_not_find_in_time(fixed: dict[str, Any]) -> None:
    """Compiled parts say why no kernel has tile_k = 96, which takes a solver minutes."""
    region = select(Books("2026.06"), {"variant": "forward", "arch": "gfx942", **fixed})
    assert region.space.bind(tile_k=96).count() == 0
    held = {**region.fixed, "tile_k": (96,)}
    seen = region.space.sample(500, seed=0)
    found = why_region(region.book, held, empty=True, seen=seen).conflict
    assert found is not None
    assert found.proof == "compiled"
    assert "tile_k" in [h.field for h in found.held]
    assert "VEC003" in found.codes


class TestOracle:
    @settings(max_examples=150)
    @given(Strategies().conditions(), st.data())
    def test_every_node_kind_agrees_with_the_reference(
        self, condition: BoolExpr, data: st.DataObject
    ) -> None:
        """Bound to a point, a condition is possible exactly if it holds there."""
        point = {
            n: data.draw(st.sampled_from(v.data.values), label=n) for n, v in EVERY_SORT.items()
        }
        oracle = SolverOracle(EVERY_SORT)
        fixed = [held_condition(EVERY_SORT[n], [point[n]]) for n in condition.support]
        assert (oracle.find([condition, *fixed]) is not None) == meets(point, [condition])

    def test_time_out_is_undecided(self) -> None:
        """A solver that gives up is neither yes nor no."""
        oracle = SolverOracle(EVERY_SORT)
        oracle.solver = _GivesUp()
        with pytest.raises(UndecidedError, match="canceled"):
            oracle.find([EVERY_SORT["flag"]])  # type: ignore[list-item]


class _GivesUp:
    def set(self, *words: Any) -> None: ...
    def add(self, *terms: Any) -> None: ...
    def check(self, *literals: Any) -> Any:
        import z3

        return z3.unknown

    def reason_unknown(self) -> str:
        return "canceled"
