"""Counts of differences are those of sets of listed points."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from ckrules.constraints import book as rule_book
from ckrules.engine.expr.variables import Int
from ckrules.engine.rules.book import RuleBook, Vocabulary
from ckrules.engine.rules.region import Region
from ckrules.reasoning.difference import diff, portable
from ckrules.support.errors import UsageError
from tests.reasoning.books import books, candidates, meets


def _legal(book: RuleBook, **held: Any) -> set[tuple[Any, ...]]:
    return {
        tuple(v for k, v in p.items() if k not in held)
        for p in candidates()
        if meets(p, [r.condition for r in book.rules]) and all(p[k] == v for k, v in held.items())
    }


class TestDiff:
    @settings(max_examples=60)
    @given(books(), books())
    def test_counts_are_set_arithmetic(self, left: RuleBook, right: RuleBook) -> None:
        """Only-A, both and only-B are differences and the intersection of sets."""
        a, b = _legal(left), _legal(right)
        found = diff(Region(left), Region(right))
        assert (found.only_a.count, found.both, found.only_b.count) == (
            len(a - b), len(a & b), len(b - a),
        )  # fmt: skip
        assert found.equal == (a == b)
        for part, own, other in ((found.only_a, a, b), (found.only_b, b, a)):
            if part.witness is not None:
                assert tuple(part.witness.values()) in own - other
            for r in part.rules:
                refused = {t for t in own if not meets(_named(t), [r.rule.condition])}
                assert r.count == len(refused)

    @settings(max_examples=40)
    @given(books())
    def test_a_field_that_tells_the_sides_apart_is_dropped(self, book: RuleBook) -> None:
        """Two values of one field are compared by the other fields."""
        mem, off = _legal(book, w="mem"), _legal(book, w="off")
        found = diff(Region(book, {"w": "mem"}), Region(book, {"w": "off"}))
        assert found.dropped == ("w",)
        assert (found.only_a.count, found.both) == (len(mem - off), len(mem & off))

    @settings(max_examples=40)
    @given(books())
    def test_portable_is_the_intersection(self, book: RuleBook) -> None:
        """What is legal for every value, by listing."""
        sides = [Region(book, {"w": w}) for w in ("mem", "compv3", "off")]
        space, _ = portable(sides)
        expected = set.intersection(*(_legal(book, w=w) for w in ("mem", "compv3", "off")))
        assert {tuple(p.values()) for p in space} == expected

    def test_candidates_of_one_side_only(self) -> None:
        """A value that one side does not list is a point of the other side only."""
        narrow, wide = (
            RuleBook("toy", Vocabulary([Int("m", values)]), [], check=False)
            for values in ([1, 2], [1, 2, 3])
        )
        found = diff(Region(narrow), Region(wide))
        assert (found.only_a.count, found.both, found.only_b.count) == (0, 2, 1)
        assert found.only_b.witness == {"m": 3}

    def test_different_fields_are_refused(self) -> None:
        """Sides of two operators have no common points."""
        sides = [Region(rule_book(v)) for v in ("forward", "forward_depthwise")]
        with pytest.raises(UsageError, match="different fields"):
            diff(*sides)

    def test_no_sides_are_refused(self) -> None:
        with pytest.raises(UsageError, match="no sides"):
            portable([])

    def test_equal_gpus(self) -> None:
        """gfx1200 and gfx1201 accept the same kernels."""
        book = rule_book("forward")
        sides = [
            Region(book, {"arch": g, "variant": "forward", "dtype": "fp16", "ndim": 2})
            for g in ("gfx1200", "gfx1201")
        ]
        assert diff(*sides).equal


def _named(values: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip("abcwf", values, strict=True))
