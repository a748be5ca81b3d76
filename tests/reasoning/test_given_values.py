"""What callers give to the functions of reasoning: parts of books, whole ones, and slips."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ckrules
from ckrules import Bool, Int, Region, RuleBook, Vocabulary
from ckrules.engine.rules import Kind, Rule
from ckrules.support.errors import CkrulesError, UnknownNameError, UsageError

k: Any = ckrules  # whose types refuse the slips

M, D = Int("m", [16, 32, 64]), Bool("d")
WORDS = Vocabulary([M, D])
BOOK = RuleBook("a", WORDS, [Rule("AB001", "too-big", Kind.COMPILE, M <= 32)], check=False)
OTHER = RuleBook("b", WORDS, [Rule("AB002", "too-small", Kind.COMPILE, M >= 32)], check=False)
BAD = {"m": 64, "d": True}


def test_books_are_compared_as_they_are() -> None:
    found = ckrules.diff(BOOK, k.Region(OTHER, {"d": [False, True]}))
    assert (found.only_a.count, found.both, found.only_b.count) == (2, 2, 2)
    assert ckrules.portable([BOOK, OTHER])[0].count() == 2


def test_a_side_without_values_is_empty() -> None:
    """No value of a field was taken for every one."""
    none = k.Region(BOOK, {"m": []})
    assert none.space.count() == 0
    found = ckrules.diff(none, Region(BOOK))
    assert (found.only_a.count, found.both, found.only_b.count) == (0, 0, 4)
    assert ckrules.portable([none, none])[0].count() == 0


def test_a_rule_is_counted_at_values_of_the_other_side() -> None:
    """Rules were simplified by their own side's candidates: all points counted, nothing said."""

    def side(name: str, values: list[float], most: float) -> RuleBook:
        words = Vocabulary([k.Real("r", values), k.Int("m", [1, 2])])
        return RuleBook(name, words, [Rule(name, "big", Kind.COMPILE, words.r < most)], check=False)

    found = ckrules.diff(side("AB001", [0.5, 2.5], 3), side("AB002", [2.0, 2.5], 1))
    assert found.only_a.count == 4
    assert [(r.count, r.message) for r in found.only_a.rules] == [(2, "r = 2.5 is not less than 1")]


def test_regions_take_texts_and_arrays() -> None:
    region = k.Region(BOOK, {"m": np.array([16, 32])}, ["d"])
    assert (region.fixed, region.space.count()) == ({"m": (16, 32)}, 2)
    assert ckrules.diff(region, Region(BOOK)).only_b.count == 2


def test_a_region_that_is_asked_why() -> None:
    """The letters of 'true' were four values, which made the region legal."""
    assert k.why_region(BOOK, {"m": 64}).empty
    assert k.why_region(BOOK, {"m": [64]}, ["d"]).empty
    assert k.why_region(BOOK, {"d": np.bool_(True)}).witness == {"m": 16, "d": True}


def test_graphs_of_spaces() -> None:
    assert k.ConstraintGraph(BOOK.space()).fields == ("m", "d")


SLIPS: list[tuple[Callable[[], Any], str]] = [
    (lambda: k.why_region(BOOK, {"d": "true"}), "d = 'true' is not true or false"),
    (lambda: k.why_region(BOOK, {"mm": 64}), "unknown field 'mm'"),
    (lambda: k.why_region(BOOK, {}, [Int("x", [1]) < 1]), "unknown variable 'x'"),
    (lambda: k.why_region(BOOK, [("m", 64)]), "expected a mapping"),
    (lambda: k.why_region(None), "None is not a rule book or space"),
    (lambda: k.diff(BOOK, k.Region(BOOK, {"mm": 1})), "unknown field 'mm'"),
    (lambda: k.diff(BOOK, BOOK.space()), "is not a rule book"),
    (lambda: k.portable([]), "no sides are given"),
    (lambda: k.lint(BOOK, codes=["LINT9"]), "unknown finding 'LINT9'"),
    (lambda: k.lint(BOOK, keys=["mm"]), "unknown field 'mm'"),
    (lambda: k.lint(Region(BOOK)), "is not a rule book or space"),
    (lambda: k.fix(BOOK, BAD, n="1"), "n = '1': expected an integer from 1"),
    (lambda: k.fix(BOOK, BAD, weights={"m": 1.5}), "weight of m = 1.5: expected an integer"),
    (lambda: k.fix(BOOK, BAD, weights=[1]), "weights = .*: expected a mapping"),
    (lambda: k.fix(BOOK, BAD, keep=3), "keep = 3: expected a list"),
    (lambda: k.fix(BOOK, BAD, timeout="1"), "timeout = '1': expected a number of seconds"),
    (lambda: k.why(BOOK, BAD, timeout=float("nan")), "timeout = nan: expected a number"),
    (lambda: k.why(None), "None is not a rule book or space"),
    (lambda: k.why(BOOK), "a rule book or space needs a point"),
    (lambda: k.check(BOOK), "a configuration is a kernel's name or a mapping, not RuleBook"),
]


@pytest.mark.parametrize(("slip", "said"), SLIPS, ids=[said for _, said in SLIPS])
def test_slips_are_said(slip: Callable[[], Any], said: str) -> None:
    with pytest.raises(CkrulesError, match=said) as caught:
        slip()
    assert isinstance(caught.value, (UsageError, UnknownNameError))


def test_one_code_is_one_of_a_list() -> None:
    """The letters of a code were codes that find nothing."""
    assert [f.code for f in k.lint(BOOK, codes="LINT007").findings] == ["LINT007"]
