"""Every rule of every book: its examples, its page and its messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from ckrules.constraints import CK_VERSIONS
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import Rule, RuleDef
from ckrules.engine.rules.messages import fault
from ckrules.kernels.families import families
from ckrules.kernels.library import profiles, topics
from tests.engine import backends

from .books import BOOKS, FRESH, WIDEST, examples, family_named, said

#: Every rule once: families share those of tile GEMMs, which are declared in one place.
DECLARED = list(
    {(r.code, r.template.where): r for f in families().values() for r in f.rules()}.values()
)
BACKENDS = backends.names()
each_book = pytest.mark.parametrize("name", list(BOOKS))
enough = pytest.mark.parametrize("name", list(WIDEST))
each_declared = pytest.mark.parametrize("declared", DECLARED, ids=lambda r: r.code)


def _examples(name: str, rules: Sequence[Rule]) -> list[tuple[Rule, bool, dict[str, Any]]]:
    return [
        (r, accepted, point)
        for r in rules
        for accepted in (True, False)
        for point in examples(name, r.code, accepted)
    ]


def test_books_exist() -> None:
    assert {f"conv-{ck}-legal" for ck in CK_VERSIONS} <= BOOKS.keys()
    assert "depthwise-2026.06-legal" in BOOKS
    assert "depthwise-2025.11-legal" not in BOOKS
    assert all(b.rules for n, b in BOOKS.items() if n.endswith("-legal"))


def test_the_widest_books_hold_every_rule_and_example() -> None:
    held: dict[str, set[tuple[Any, ...]]] = {}
    for name, wide in WIDEST.items():
        held.setdefault(family_named(name), set()).update(said(wide))
    for name, b in BOOKS.items():
        assert said(b) <= held[family_named(name)], name
    assert not any(name.endswith("-legal") for name in WIDEST)


@enough
@pytest.mark.parametrize("backend", BACKENDS)
def test_examples_are_decided_alike(name: str, backend: str) -> None:
    evaluate = backends.evaluate(backend)
    for r in FRESH[name]:
        good, bad = (examples(name, r.code, accepted) for accepted in (True, False))
        found = evaluate([r.applies, r.expr, r.condition], [*good, *bad])
        expected = [[True, True, True]] * len(good) + [[True, False, False]] * len(bad)
        assert found == expected, r.code


@cache
def _unseen() -> dict[str, list[tuple[list[BoolExpr], list[dict[str, Any]]]]]:
    """By book all conditions and points of examples, less pairs that an earlier book has."""
    seen: dict[str, set[tuple[int, Any]]] = {}
    out = {}
    for name in WIDEST:
        known, groups = seen.setdefault(family_named(name), set()), {}
        conditions = {r.condition.id: r.condition for r in BOOKS[name].rules}
        points = {tuple(p.items()): p for _, _, p in _examples(name, BOOKS[name].rules)}
        for key, point in points.items():
            roots = tuple(i for i in conditions if (i, key) not in known)
            groups.setdefault(roots, []).append(point)
            known |= {(i, key) for i in roots}
        out[name] = [([conditions[i] for i in ids], some) for ids, some in groups.items() if ids]
    return out


@cache
def _by_the_reference(name: str) -> list[list[list[bool]]]:
    return [backends.evaluate("pointwise")(*some) for some in _unseen()[name]]


@enough
@pytest.mark.parametrize("backend", [n for n in BACKENDS if n != "pointwise"])
def test_every_rule_is_decided_alike_at_every_example(name: str, backend: str) -> None:
    """Examples of one rule meet the other rules too, often where these are undefined."""
    step = 6 if backend == "bits" else 1
    for (roots, points), expected in zip(_unseen()[name], _by_the_reference(name), strict=True):
        assert backends.evaluate(backend)(roots, points[::step]) == expected[::step]


def _takes_the_baseline(name: str) -> bool:
    """Receipts exclude each other, and attention's dispatcher has qr with a bias only.

    Backward it leaves launch bounds to the pipeline, of which the baseline names one.
    """
    return "-receipt_" not in name and not re.fullmatch(r"fmha(_bwd)?-.*-dispatcher", name)


@pytest.mark.parametrize("name", [n for n in BOOKS if _takes_the_baseline(n)])
def test_baseline_is_legal(name: str) -> None:
    book = BOOKS[name]
    baseline = book.point(book.vocabulary.baseline)
    assert [str(v.message) for v in book.violations(baseline)] == []


@each_book
def test_examples_are_points(name: str) -> None:
    book = BOOKS[name]
    for _, _, point in _examples(name, book.rules):
        assert book.point(point) == point


@enough
def test_messages_of_rejected_examples(name: str) -> None:
    book = BOOKS[name]
    for r, accepted, point in _examples(name, FRESH[name]):
        at = At(point)
        if accepted:
            assert fault(r.expr, at) == ""
            continue
        (mine,) = (v for v in book.violations(point) if v.code == r.code)
        assert 0 < len(mine.message) <= 400, (r.code, mine.message)
        assert "\n" not in mine.message
        assert not re.search(r"object at 0x|<[a-z_.]+\.|\bNone\b|Expr\(", mine.message)
        # the message names one field of the rule at least, or its value
        assert mine.named, (r.code, mine.message)


@each_book
def test_quantities_have_a_meaning(name: str) -> None:
    for quantity in BOOKS[name].vocabulary.quantities.values():
        assert quantity.data.doc.strip(), quantity


@each_book
def test_names_and_codes_are_unique(name: str) -> None:
    rules = BOOKS[name].rules
    assert len({r.code for r in rules}) == len({r.name for r in rules}) == len(rules)


def test_codes_and_names_are_unique_over_all_versions() -> None:
    """A code never means two things, not even in two versions or operators."""
    assert len({r.code for r in DECLARED}) == len(DECLARED)
    assert len({r.template.name for r in DECLARED}) == len(DECLARED)


def test_every_declared_rule_is_in_a_book() -> None:
    held = {r.code for b in BOOKS.values() for r in b.rules}
    assert {r.code for r in DECLARED} <= held


@each_declared
def test_page(declared: RuleDef) -> None:
    doc = declared.template.doc
    paragraphs = doc.split("\n\n")
    assert paragraphs[0].endswith(".")
    assert len(paragraphs[0]) <= 200
    assert sum(p.startswith("Why:") for p in paragraphs) == 1, declared.code
    assert sum(p.startswith("Fix:") for p in paragraphs) == 1, declared.code
    assert all(len(p.split(":", 1)[1].strip()) > 5 for p in paragraphs if p[:4] in ("Why:", "Fix:"))


@each_declared
def test_words(declared: RuleDef) -> None:
    assert declared.code.rstrip("0123456789") in topics()
    assert set(declared.template.profiles) <= profiles().keys()
    for version in (declared.template.since, declared.template.until):
        assert version in (None, "0", *CK_VERSIONS)
    for example in (*declared.template.accepts, *declared.template.rejects):
        assert example.ck in (None, *CK_VERSIONS)
    assert all(len(s) > 3 for s in declared.template.sources)


def test_families_are_used() -> None:
    used = {r.code.rstrip("0123456789") for r in DECLARED}
    assert used <= topics().keys()
