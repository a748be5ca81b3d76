"""Points are drawn from what fields say of themselves; no field of convolution is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from ckrules.certify.sampling import Sampler, mixed, unusual
from ckrules.engine.expr.variables import Bool, Enum, Int, Role, domain_of
from ckrules.engine.rules import RuleDef, rule
from ckrules.engine.rules.book import RuleBook, Vocabulary

SIZE = Int("size", [2, 4, 8], lo=1, hi=12)
FIELDS = [
    Enum("way", ["a", "b"], role=Role.METHOD),
    Enum("dtype", ["x", "y"], role=Role.PURPOSE),
    Enum("gpu", ["g", "h"], role=Role.PURPOSE),
    Enum("label", ["p", "q"]),
    SIZE,
    Bool("switch"),
    Bool("detail"),
]


class Words(Vocabulary):
    """Fields of no particular kernel."""

    baseline: ClassVar[dict[str, Any]] = {
        "way": "a", "dtype": "x", "gpu": "g", "label": "p", "size": 2, "switch": False,
        "detail": False,
    }  # fmt: skip


def declared(number: int, says: Callable[[Any], Any], rejects: dict[str, Any], doc: str) -> RuleDef:
    """A rule that the compiler judges."""

    def fact(c: Any) -> Any:
        return says(c)

    fact.__doc__ = doc
    name = f"rule-{number}"
    return rule(
        f"TOY{number:03}", name, kind="compile", source="x", accepts=[{}], rejects=[rejects]
    )(fact)


BOOK = RuleBook("toy", Words(FIELDS), [
    declared(1, lambda c: ~c.switch | (c.size >= 4), {"switch": True}, "Switched is large."),
    declared(2, lambda c: ~c.switch | (c.way == "b"), {"switch": True}, "Switched is b."),
    declared(3, lambda c: ~c.detail | (c.size != 4), {"detail": True, "size": 4}, "No fours."),
    declared(4, lambda c: c.size % 2 == 0, {"size": 3}, "Sizes are even."),
    declared(5, lambda c: (c.label == "q") | (c.size < 8), {"size": 8}, "Eights are q."),
])  # fmt: skip


@pytest.mark.parametrize(
    ("values", "lo", "hi", "expected"),
    [
        ([1, 2, 4, 8], 1, 15, (3, 5, 6, 12)),
        ([1, 2, 4, 8], 0, 16, (0, 3, 5, 6, 12, 16)),
        ([16, 64], 1, 100, (8, 10, 28, 40, 96)),
        ([3], None, None, ()),
    ],
)
def test_unusual_values(
    values: list[int], lo: int | None, hi: int | None, expected: tuple[int, ...]
) -> None:
    assert unusual(domain_of(Int("n", values, lo=lo, hi=hi))) == expected
    assert unusual(domain_of(Int("n", values, lo=lo, hi=hi, role=Role.PURPOSE))) == ()


def test_other_sorts_have_no_unusual_values() -> None:
    assert unusual(domain_of(Bool("b"))) == unusual(domain_of(FIELDS[0])) == ()


def test_kinds_are_method_types_and_main_switches() -> None:
    points = Sampler(BOOK, {"gpu": ("g",)}, 0).legal(6)
    # The switch is off with way a; detail, label and size are not held apart, the GPU is fixed.
    kinds = {(p["way"], p["dtype"], p["switch"]) for p in points}
    assert kinds == {("a", t, False) for t in "xy"} | {("b", t, s) for t in "xy" for s in (0, 1)}


def test_both_sides_of_each_rule_and_unusual_values_come() -> None:
    sampler = Sampler(BOOK, {"gpu": ("g",)}, 0)
    points = mixed(sampler, 60)
    assert {i for p in points for i in sampler.broken(p)} == {0, 1, 2, 3, 4}
    assert {p["size"] for p in points} > {2, 4, 8}
    assert {p["gpu"] for p in points} == {"g"}


def test_rules_over_what_the_compiler_is_not_shown_hold() -> None:
    shown = {f for f in BOOK.fields if f != "label"}
    sampler = Sampler(BOOK, {"gpu": ("g",)}, 0, judged=shown)
    assert [r.code for r in sampler.rules] == ["TOY001", "TOY002", "TOY003", "TOY004"]
    points = mixed(sampler, 60)
    assert all(p["label"] == "q" or int(p["size"]) < 8 for p in points)
    assert any(sampler.broken(p) for p in points)
