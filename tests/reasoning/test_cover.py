"""Coverage of problems: proofs and counterexamples agree with listing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.engine.expr.variables import Int
from ckrules.engine.rules import Rule
from ckrules.engine.rules.book import RuleBook, Vocabulary
from ckrules.reasoning import projection
from ckrules.reasoning.cover import Kernels
from ckrules.reasoning.oracle import SolverOracle
from ckrules.reasoning.projection import projected
from ckrules.support.errors import CkrulesError, UndecidedError, UsageError
from tests.reasoning.books import books, candidates, meets

WORDS = Vocabulary(
    [Int("v", [1, 2, 4, 8]), Int("t", [4, 8]), Int("C", range(1, 13)), Int("N", range(1, 7))]
)
RULES = [
    Rule("PR001", "c-v", "launch", WORDS.C % WORDS.v == 0),
    Rule("PR002", "n-t", "launch", WORDS.t <= WORDS.N * WORDS.C),
]
BOOK = RuleBook("toy", WORDS, RULES, check=False)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 4, 8]), st.sampled_from([4, 8])), min_size=1),
    st.integers(1, 4),
)
def test_proofs_and_counterexamples(tiles: list[tuple[int, int]], step: int) -> None:
    """The counterexample is the smallest uncovered problem; a proof means that there is none."""
    kernels = Kernels(BOOK, [{"v": v, "t": t} for v, t in tiles], ["C", "N"])
    region = [WORDS.C % step == 0]
    found = kernels.prove({"C": (1, 12), "N": (1, 6)}, region)
    uncovered = [
        (c + n, c, n)
        for c, n in product(range(1, 13), range(1, 7))
        if c % step == 0 and not any(c % v == 0 and n * c >= t for v, t in tiles)
    ]
    assert found.covered == (not uncovered)
    if found.counterexample is not None:
        _, c, n = min(uncovered)
        assert found.counterexample.problem == {"C": c, "N": n}
    listed = kernels.cover([{"C": c, "N": n} for c, n in product(range(1, 13), range(1, 7))])
    assert len(listed.uncovered) >= len(uncovered)


def test_a_counterexample_is_not_lost_where_the_smallest_is_not_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the solver found first is an answer; that smaller ones may be is said."""
    find = SolverOracle.find

    def first(self: SolverOracle, conditions: Any, *, extra: Any = ()) -> Any:
        if extra:
            raise UndecidedError("timeout")
        return find(self, conditions, extra=extra)

    monkeypatch.setattr(SolverOracle, "find", first)
    found = Kernels(BOOK, [{"v": 8, "t": 4}], ["C", "N"]).prove({"C": (1, 12), "N": (1, 6)})
    assert found.counterexample is not None
    assert found.counterexample.problem["C"] % 8
    assert found.to_dict()["smallest"] is False


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda: Kernels(BOOK, [{"v": 8, "t": 8}], ["CC"]), "unknown field 'CC'"),
        (lambda: Kernels(BOOK, [{"t": 8}], ["C", "N"]), "missing field v"),
        (lambda: Kernels(BOOK, [{"v": "8", "t": 8}], ["C", "N"]), "v = '8' is not an integer"),
        (lambda: _eight().cover([{"C": 1}]), "missing field N"),
        (lambda: _eight().cover([{"C": 1, "N": 1, "K": 1}]), "unknown field 'K'"),
        (lambda: _eight().cover([{"C": "1", "N": 1}]), "C = '1' is not an integer"),
        (lambda: _eight().prove({"C": (1, 8)}), "the range of N is None"),
        (lambda: _eight().prove({"C": (8, 1), "N": (1, 1)}), "8 is more than 1"),
        (lambda: _eight().prove({"C": (1.0, 8), "N": (1, 1)}), "the range of C is"),
        (lambda: _eight().prove({"C": (1, 8), "N": (1, 1), "K": (1, 1)}), "field 'K'"),
        (lambda: _eight().prove({"C": (1, 8), "N": (1, 1)}, [True]), "`True` is not a condition"),
    ],
)
def test_what_cannot_be_asked(asked: Callable[[], Any], said: str) -> None:
    with pytest.raises(CkrulesError, match=re.escape(said)):
        asked()


def _eight() -> Kernels:
    return Kernels(BOOK, [{"v": 8, "t": 8}], ["C", "N"])


def test_refusals_are_counted() -> None:
    """An uncovered problem says which rule refuses it for how many kernels."""
    kernels = Kernels(BOOK, [{"v": 4, "t": 4}, {"v": 8, "t": 4}, {"v": 8, "t": 8}], ["C", "N"])
    (worst,) = kernels.cover([{"C": 6, "N": 1}]).uncovered
    assert worst.refused_by == {"PR001": 3, "PR002": 1}


def test_empty_region_is_said_to_be_empty() -> None:
    """A region without problems is covered, and the answer says why."""
    found = Kernels(BOOK, [{"v": 8, "t": 8}], ["C", "N"]).prove(
        {"C": (1, 12), "N": (1, 6)}, [WORDS.C > 40]
    )
    assert found.covered
    assert found.empty


@settings(max_examples=40)
@given(books(3), st.lists(st.sampled_from("abcwf"), min_size=1, max_size=4, unique=True))
def test_projections_are_those_of_all_points(book: RuleBook, names: list[str]) -> None:
    """Each combination of values comes with the number of points that have it."""
    conditions = [r.condition for r in book.rules]
    expected = Counter(tuple(p[n] for n in names) for p in candidates() if meets(p, conditions))
    assert projected(list(book.fields.values()), conditions, names) == expected


def test_a_space_of_kernels_is_covered_like_its_points() -> None:
    """Kernels that are counted by what problems see of them give the same answers."""
    listed = [{"v": v, "t": t} for v, t in product([2, 4, 8], [4, 8])]
    one = Kernels(BOOK, listed, ["C", "N"])
    other = Kernels(BOOK, (), ["C", "N"])
    own = [WORDS.v, WORDS.t]
    other.add_groups(BOOK, projected(own, [WORDS.v > 1], other.reads(BOOK)))
    problems = [{"C": c, "N": n} for c, n in product(range(1, 13), range(1, 7))]
    assert one.cover(problems) == other.cover(problems)
    ranges = {"C": (1, 12), "N": (1, 6)}
    assert one.prove(ranges) == other.prove(ranges)


def test_too_many_kinds_are_refused() -> None:
    """What cannot be told apart in reasonable time is bad input, with a number."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection, "MOST", 3)
        with pytest.raises(UsageError, match="more than 3 kinds"):
            projected([WORDS.C, WORDS.N], [], ["C"])


def test_problems_beyond_what_a_field_can_be_are_refused() -> None:
    """Conditions are simplified by what problems can be: larger ones were called covered."""
    small = Rule("PR003", "c-max", "launch", WORDS.C <= 50)
    kernels = Kernels(RuleBook("toy", WORDS, [small], check=False), [{}], ["C"])
    assert kernels.prove({"C": (1, 12)}).covered
    for ask in (lambda: kernels.prove({"C": (1, 100)}), lambda: kernels.cover([{"C": 100}])):
        with pytest.raises(UsageError, match=r"^C = 100 is out of range: expected 1 to 12$"):
            ask()
