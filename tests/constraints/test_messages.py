"""What every rule of every family says about the examples that it rejects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from ckrules.arch import CK_VERSIONS
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import TRUE
from ckrules.engine.rules import Rule, Violation, violation
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels import library
from ckrules.kernels.books import Books

from .plain_gemm import book as gemm_book

#: Fields that a message names where the rule applies to some of their values only.
_NAMED = ("pipeline", "arch", "variant")


def _every(ck: str) -> Iterator[tuple[RuleBook, Rule]]:
    for profile in library.profiles():
        books = Books(ck, profile)
        for book in books.every() + books.problems():
            yield from ((book, r) for r in book.rules if profile in r.profiles)


@cache
def _rejected(ck: str) -> list[tuple[RuleBook, Rule, Violation]]:
    return [
        (book, rule, found)
        for book, rule in _every(ck)
        for point in book.examples(rule, accepted=False)
        if (found := violation(rule, At(point), point)) is not None
    ]


@pytest.mark.parametrize("ck", CK_VERSIONS)
class TestEveryRule:
    def test_has_sentences_that_read_what_it_reads(self, ck: str) -> None:
        for _, rule in _every(ck):
            assert rule.sentences is not None, rule.code
            rule.sentences.check(rule.message_fields())

    def test_message_is_plain(self, ck: str) -> None:
        for _, rule, found in _rejected(ck):
            text = found.message
            assert re.match(r"[\w-]+('s)? \S+|LDS: ", text), (rule.code, text)
            for word in ("ite(", "no entry", "{", "undefined", "False", "True"):
                assert word not in text, (rule.code, text)

    def test_no_internal_name_is_left(self, ck: str) -> None:
        """Derived names of the distributions are worked out, down to fields."""
        for book, rule, found in _rejected(ck):
            internal = {n for n in book.vocabulary.quantities if re.match(r"[abc](_lds)?_", n)}
            words = set(re.findall(r"\w+", found.message))
            assert not (internal - set(book.fields)) & words, (rule.code, found.message)

    def test_message_names_where_the_rule_applies(self, ck: str) -> None:
        """The values that a guard asks for by name are in the message."""
        for _, rule, found in _rejected(ck):
            guard = rule.applies if rule.message_guard is None else rule.message_guard
            for name in [] if guard is TRUE else _asked(guard):
                assert str(found.values[name]) in found.message, (name, found.message)

    def test_equal_values_have_equal_messages(self, ck: str) -> None:
        """A message reads no field beside those that it may be kept by.

        The variant is kept: a family may narrow a rule that it shares to some of its own.
        """
        for book, rule in _every(ck):
            for point in book.examples(rule, accepted=False):
                found = violation(rule, At(point), point)
                if found is None:
                    continue
                kept = {k: v for k, v in point.items() if k == "variant"}
                other = {**book.vocabulary.baseline, **found.values, **kept}
                again = violation(rule, At(other), other)
                assert again is not None, rule.code
                assert again.message == found.message


def _asked(guard: object) -> list[str]:
    """Fields of `_NAMED` that a conjunct of the guard reads alone."""
    from ckrules.engine.rules.messages import conjuncts

    alone = [next(iter(p.support)) for p in conjuncts(guard) if len(p.support) == 1]  # type: ignore[arg-type]
    return [n for n in _NAMED if n in alone]


@pytest.mark.parametrize("ck", CK_VERSIONS)
def test_shared_sentences_read_no_field_of_one_family(ck: str) -> None:
    """The sentences of `tile_gemm` can be said of a family without directions, too."""
    for rule in gemm_book(ck).rules:
        assert rule.sentences is not None
        rule.sentences.check(rule.message_fields())


@pytest.mark.parametrize(
    ("code", "overrides", "said"),
    [
        ("PIPE003", {"pipeline": "compv4"}, "compv4 needs double_smem_buffer = true"),
        ("OP004", {"variant": "bwd_data", "num_groups_to_merge": 4},
         "num_groups_to_merge = 4 has no effect in bwd_data, which merges no groups"),
        ("WARP002", {"arch": "gfx1201", "warp_tile_k": 8},
         "gfx1201 has no fp16 warp tile 32x32x8, only 16x16x16"),
        ("VEC001", {"vector_a": 6},
         "vector_a = 6 does not divide the contiguous dimension of A, tile_k = 64"),
        ("PIPE002", {"pipeline": "compv4", "scheduler": "interwave"},
         "compv4 has no scheduler interwave, only intrawave"),
        ("LDS001", {"tile_m": 256, "tile_n": 256, "tile_k": 128},
         ("LDS: tile_m * tile_k * element_bytes + tile_n * tile_k * element_bytes"
         " = 256 * 128 * 2 + 256 * 128 * 2 = 131072 bytes, more than the 65536 of gfx942")),
        ("HW001", {"wave_m": 8, "wave_n": 4, "pipeline": "mem"},
         ("a block has wave_m * wave_n * wave_k * wave_size = 8 * 4 * 1 * 64 = 2048 threads"
         " with pipeline mem, more than the 1024 that gfx942 launches")),
    ],
)  # fmt: skip
def test_what_an_engineer_reads(code: str, overrides: dict[str, object], said: str) -> None:
    book = library.book("forward")
    point = book.example(overrides)  # type: ignore[arg-type]
    assert {v.code: v.message for v in book.violations(point)}[code] == said
