"""Declaring rules: what is wrong is said at once, with the rule's code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from ckrules.engine import expr as e
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr.variables import Bool, Int
from ckrules.engine.rules import (
    KINDS,
    Rule,
    RuleDef,
    rule,
    version_key,
    violation,
)
from ckrules.engine.rules.book import Vocabulary
from ckrules.support.errors import CkrulesError, RuleBookError

GOOD: dict[str, Any] = {
    "kind": "compile", "source": "gemm.hpp: Gemm", "accepts": [{"a": 2}], "rejects": [{"a": 3}],
}  # fmt: skip


def body(c: Any) -> Any:
    """The number is even."""
    return c.a % 2 == 0


def declare(
    code: str = "GEMM001", name: str = "odd-number",
    function: Callable[[Any], Any] = body, **more: Any,
) -> RuleDef:  # fmt: skip
    return rule(code, name, **{**GOOD, **more})(function)


class Words(Vocabulary):
    baseline: ClassVar[dict[str, Any]] = {"a": 2, "b": 1, "p": True}


def words() -> Words:
    return Words([Int("a", range(9)), Int("b", range(9)), Bool("p")])


@pytest.mark.parametrize(
    "code",
    ["", "GEMM", "gemm001", "GEMM1", "GEMM0001", "G001", "GEMMES001", "GEMM-001", " GEMM001"],
)
def test_malformed_code(code: str) -> None:
    with pytest.raises(RuleBookError, match="is not two to five capital letters and three digits"):
        declare(code)


@pytest.mark.parametrize(
    "name", ["", "odd", "Odd-number", "odd_number", "odd-", "-odd", "odd number"]
)
def test_malformed_name(name: str) -> None:
    with pytest.raises(RuleBookError, match=r"rule GEMM001: the name .* is not words joined by"):
        declare(name=name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "compiles"}, "unknown kind of rule GEMM001 'compiles': did you mean 'compile'"),
        ({"severity": "warn"}, "unknown severity of rule GEMM001 'warn': did you mean 'warning'"),
        ({"source": ""}, "rule GEMM001: needs a source"),
        ({"source": []}, "rule GEMM001: needs a source"),
        ({"source": ["gemm.hpp", " "]}, "rule GEMM001: needs a source"),
        ({"since": "new"}, "version 'new' is not of the form 2025.11"),
        ({"until": "2025.x"}, "version '2025.x' is not of the form 2025.11"),
        ({"since": "2026.06", "until": "2025.11"}, "rule GEMM001: holds for no version"),
        ({"since": "2026.06", "until": "2026.06"}, "rule GEMM001: holds for no version"),
    ],
)
def test_wrong_declarations(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CkrulesError, match=message):
        declare(**change)


def _undocumented(c: Any) -> Any:
    return c.a == 1


def _no_sentence(c: Any) -> Any:
    """the number is even"""
    return c.a == 1


@pytest.mark.parametrize("function", [_undocumented, _no_sentence])
def test_missing_sentence(function: Any) -> None:
    with pytest.raises(RuleBookError, match="GEMM001: the docstring must begin with a sentence"):
        declare(function=function)


@pytest.mark.parametrize("value", [True, None, 3, "yes", Int("a", [1])])
def test_function_must_give_a_condition(value: Any) -> None:
    def wrong(c: Any) -> Any:
        """Sentence."""
        return value

    with pytest.raises(RuleBookError, match="rule GEMM001: the function must return a condition"):
        declare(function=wrong).build(words())
    with pytest.raises(RuleBookError, match="rule GEMM001: the function must return a condition"):
        declare(applies=lambda c: value).build(words())


def test_a_fault_of_a_function_names_the_rule() -> None:
    def unknown(c: Any) -> Any:
        """Sentence."""
        return c.tile_zz > 1

    def joined(c: Any) -> Any:
        """Sentence."""
        return c.a > 1 and c.a < 9

    with pytest.raises(RuleBookError, match="rule GEMM001: unknown field 'tile_zz'"):
        declare(function=unknown).build(words())
    with pytest.raises(RuleBookError, match="rule GEMM001: the truth of `a > 1` is not known"):
        declare(function=joined).build(words())


def test_what_a_rule_knows() -> None:
    built = declare(
        applies=lambda c: c.p & (c.b >= 1), since="2025.11", until="2026.06", source=["one", "two"],
        profiles=["legal", "strict"], issue="#1",
    ).build(words())  # fmt: skip
    assert (built.code, built.name, built.topic) == ("GEMM001", "odd-number", "GEMM")
    assert built.sources == ("one", "two")
    assert built.profiles == ("legal", "strict")
    assert built.doc == "The number is even."
    assert built.summary == "The number is even."
    assert built.fields() == ("a", "p", "b")
    assert built.condition.support == {"a", "b", "p"}
    assert str(built.condition) == "implies(p & b >= 1, a % 2 == 0)"
    assert built.where[0] == __name__
    assert built.where[1] > 0


def test_a_rule_under_a_code_of_its_own() -> None:
    """What differs is the code, the name, the source, examples, and paragraphs that are given."""

    def even(c: Any) -> Any:
        """The number is even.

        Why: asserted.

        Fix: add 1.
        """
        return c.a % 2 == 0

    shared = declare(function=even, says="a = {a} is odd", since="2025.11")
    own = shared.under(
        "OWN001", "odd-number-here", source="own.hpp", accepts=[{"a": 4}], rejects=[{"a": 3}],
        applies=lambda c: c.p, why="as of GEMM001.",
    )  # fmt: skip
    built = own.build(words())
    assert (built.code, built.name, built.sources) == ("OWN001", "odd-number-here", ("own.hpp",))
    assert built.doc == "The number is even.\n\nWhy: as of GEMM001.\n\nFix: add 1."
    assert str(built.condition) == "implies(p, a % 2 == 0)"
    assert (built.since, own.says, built.where[0]) == ("2025.11", shared.says, __name__)
    assert [e.fields for e in built.rejects] == [{"a": 3}]
    same = shared.under("OWN002", "odd-number-there", accepts=[{}], rejects=[{}]).build(words())
    assert same.sources == shared.template.sources
    assert same.doc == shared.template.doc
    with pytest.raises(RuleBookError, match="rule code 'own2' is not"):
        shared.under("own2", "odd-number", accepts=[{}], rejects=[{}])


def test_without_a_guard_the_condition_is_the_expression() -> None:
    built = declare().build(words())
    assert built.condition is built.expr


@pytest.mark.parametrize(
    ("since", "until", "version", "valid"),
    [
        ("0", None, "2025.11", True),
        ("2025.11", None, "2025.11", True),
        ("2025.11", None, "2025.9", False),
        ("0", "2026.06", "2025.11", True),
        ("0", "2026.06", "2026.06", False),
        ("0", "2026.06", "2026.6", False),
        ("2025.11", "2026.06", "2026.05.3", True),
    ],
)
def test_versions(since: str, until: str | None, version: str, valid: bool) -> None:
    assert declare(since=since, until=until).build(words()).valid_for(version) is valid


def test_version_key_orders_numbers() -> None:
    assert sorted(["2026.06", "2025.11", "2025.8"], key=version_key)[0] == "2025.8"


def test_violation() -> None:
    built = declare(applies=lambda c: c.p).build(words())
    point: dict[str, Any] = {"a": 3, "b": 0, "p": True}
    found = violation(built, At(point), point)
    assert found is not None
    assert (found.code, found.kind) == ("GEMM001", "compile")
    assert found.values == {"a": 3, "p": True}
    assert found.message == "The number is even, but a = 3 is not a multiple of 2 (p = true)"
    assert found.to_dict() == {
        "code": "GEMM001", "name": "odd-number", "kind": "compile", "severity": "error",
        "message": "The number is even, but a = 3 is not a multiple of 2 (p = true)",
        "fields": {"a": 3, "p": True},
    }  # fmt: skip
    for legal in ({"a": 2, "b": 0, "p": True}, {"a": 3, "b": 0, "p": False}):
        assert violation(built, At(legal), legal) is None


def test_rules_are_immutable() -> None:
    built = declare().build(words())
    with pytest.raises(AttributeError):
        built.code = "GEMM002"  # type: ignore[misc]


def test_kinds_are_explained() -> None:
    assert all(KINDS.values())
    assert {"compile", "launch", "wrong-result", "hardware"} <= KINDS.keys()


def test_rules_made_by_hand() -> None:
    by_hand = Rule("X1", "free", "compile", e.TRUE)
    assert by_hand.condition is e.TRUE
    assert by_hand.fields() == ()


def test_rare_exceptions_count_and_are_not_in_messages() -> None:
    built = declare(applies=lambda c: c.p, unless=lambda c: c.b == 7).build(words())
    odd = {"a": 3, "b": 1, "p": True}
    found = violation(built, At(odd), odd)
    assert found is not None
    assert found.values == {"a": 3, "p": True}
    for point in ({**odd, "b": 7}, {**odd, "p": False}):
        assert violation(built, At(point), point) is None
    assert built.fields() == ("a", "p", "b")
    assert built.message_fields() == ("a", "p")


def test_a_rule_made_without_a_declaration_tells_its_guard() -> None:
    a, p = words().a, words().p
    assert Rule("GEMM001", "odd-number", "compile", a % 2 == 0, p).message_fields() == ("a", "p")
