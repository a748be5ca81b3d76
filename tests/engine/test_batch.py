"""Verdicts on many points are those on each point, whatever was compiled, simplified and kept."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ckrules.engine.expr import BOOL, ENUM
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules import batch
from ckrules.engine.rules import book as books
from ckrules.engine.rules.batch import BatchChecker
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.books import Books


def points(book: RuleBook, number: int, seed: int) -> list[dict[str, Any]]:
    """Points of few sorts, with values of whole ranges, many of which are not candidates."""
    draw = random.Random(seed)
    out = []
    for _ in range(number):
        point = dict(book.vocabulary.baseline)
        for name in draw.sample(list(book.fields), draw.choice([0, 1, 2, 4, 8])):
            domain = domain_of(book.fields[name])
            if domain.sort in (BOOL, ENUM) or draw.random() < 0.6:
                point[name] = draw.choice(domain.values)
            else:
                point[name] = draw.randint(int(domain.lo), min(int(domain.hi), 5000))
        out.append(point)
    return out


BOOKS = [(ck, v) for ck in ("2025.11", "2026.06") for v in ("forward", "bwd_weight")]


@pytest.mark.parametrize(("ck", "variant"), [*BOOKS, ("2026.06", "forward_depthwise")])
def test_many_points_are_judged_as_each_alone(
    ck: str, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "_MANY", 2)
    monkeypatch.setattr(batch, "_KEPT", 5)  # what is kept is often thrown away
    book = Books(ck).advised(variant)
    drawn = points(book, 300, seed=3)
    check, whole = BatchChecker(book, in_range=True), BatchChecker(book)
    with monkeypatch.context() as patched:
        patched.setattr(books, "_FEW", 10**9)  # by the rules as they are
        alone = [[(v.to_dict(), v.named) for v in book.violations(point)] for point in drawn]
    assert [[(v.to_dict(), v.named) for v in book.violations(p)] for p in drawn] == alone
    for point, wanted in zip((*drawn, *drawn), (*alone, *alone), strict=True):
        for found in (check(point), whole(point)):
            assert [(v.to_dict(), v.named) for v in found] == wanted
    assert len(check._sorts) > 5


def test_no_more_sorts_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_MANY", 1)
    monkeypatch.setattr(batch, "_SORTS", 3)
    book = Books().advised("forward")
    check = BatchChecker(book, in_range=True)
    for point in points(book, 100, seed=4):
        assert [v.code for v in check(point)] == [v.code for v in book.violations(point)]
    assert len(check._sorts) == 3
