"""What is said to make the same code does, as the compiler makes it; what is not may differ."""

from __future__ import annotations

from typing import Any

import pytest

from ckrules.kernels.books import Books
from scripts.same_code import Pair, compare, pairs
from tests.helpers.toolchain import require_toolchain

SMALL = ("tile_m * tile_n <= 1024 & tile_k <= 32", "pipeline == 'basic_v1' | pipeline == 'compv3'")
HELD: dict[str, tuple[Any, ...]] = {
    "variant": ("forward",),
    "arch": ("gfx942",),
    "dtype": ("fp16",),
    "ndim": (2,),
}


def test_pairs_are_legal_and_change_what_their_claims_are_about() -> None:
    book = Books("2025.11").of("forward")
    fields = {claim.name: claim.field for claim in book.vocabulary.alike}
    drawn = list(pairs(book, HELD, 3, 1, SMALL))
    assert len(drawn) >= 9
    seen: set[str] = set()
    for one in drawn:
        assert book.violations(one.point) == book.violations(one.first) == []
        assert one.changed().keys() == {fields[name] for name in one.claims}
        seen.update(one.claims)
    assert seen >= {"loads-of-a-narrowed", "stores-by-element", "one-buffer-of-basic-v1"}


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.certify
def test_sets_agree_and_a_set_that_nobody_claims_does_not() -> None:
    require_toolchain()
    books = Books("2025.11")
    drawn = list(pairs(books.of("forward"), HELD, 1, 1, SMALL))
    other = Pair(drawn[0].first, drawn[1].first, ())
    assert other.changed()
    answers = compare([*drawn[:4], other], books, entries=1)
    assert [a.same for a in answers] == [True] * (len(answers) - 1) + [False], answers


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.certify
@pytest.mark.parametrize(
    ("variant", "field", "value", "code"),
    [
        ("bwd_data", "num_groups_to_merge", 8, "OP004"),
        ("bwd_data", "split_image", True, "OP010"),
        ("bwd_weight", "split_image", True, "OP010"),
    ],
)
def test_what_has_no_effect_makes_the_same_code(
    variant: str, field: str, value: Any, code: str
) -> None:
    """What OP004 and OP010 say of backward kernels."""
    require_toolchain()
    books = Books("2025.11")
    book = books.of(variant)
    held = {**HELD, "variant": (variant,), "split_image": (False,), "two_stage": (False,),
            "num_groups_to_merge": (1,)}  # fmt: skip
    (first,) = book.space_of(book.rules, held).where(*SMALL).sample(1, seed=4)
    other = {**first, field: value}
    assert [v.code for v in book.violations(other)] == [code]
    (answer,) = compare([Pair(other, first, ())], books, entries=1)
    assert answer.same is True, answer.what
