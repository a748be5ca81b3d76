"""Text to expressions: what is written comes back, everything else is one clear error."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.engine import expr as e
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr.printer import to_text
from ckrules.engine.expr.variables import Bool, Enum, Int, Real
from ckrules.engine.lang.python import parse_restriction
from ckrules.engine.lang.reader import ExpressionError
from ckrules.engine.lang.where import parse, parse_condition

from .strategies import VARIABLES, Strategies, points

A, B = Int("a", range(-9, 10)), Int("b", range(10))
P, Q = Bool("p"), Bool("q")
W = Enum("pipeline", ["mem", "compv3", "compv4"])
X = Real("x", [0.5, 1.0])
SUM = e.named("total", A + B)
FIELDS: dict[str, Any] = {
    "a": A, "b": B, "p": P, "q": Q, "pipeline": W, "x": X, "total": SUM, "größe": Int("größe", [1]),
}  # fmt: skip

WRITABLE = Strategies(tables=False, undefined=False, constants=False, names=False)
WITH_CONSTANTS = Strategies(tables=False, undefined=False, names=False)


@settings(max_examples=200)
@given(WRITABLE.conditions(3))
def test_round_trip(node: Any) -> None:
    assert parse(to_text(node), VARIABLES) is node


@settings(max_examples=200)
@given(WITH_CONSTANTS.conditions(3), points())
def test_round_trip_keeps_the_meaning_of_constants(node: Any, point: dict[str, Any]) -> None:
    """``5 < x`` is read as ``x > 5`` and ``true`` as Python's True, which mean the same."""
    read = parse_condition(to_text(node), VARIABLES)
    assert At(point).holds(read) == At(point).holds(node)


@settings(max_examples=100)
@given(WRITABLE.numbers(3))
def test_round_trip_of_numbers(node: Any) -> None:
    assert parse(to_text(node), VARIABLES) is node


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a == 1", A == 1),
        ("  a==1  ", A == 1),
        ("a\n==\n1", A == 1),
        ("a == 1 and b == 2 or p", ((A == 1) & (B == 2)) | P),
        ("a == 1 & b == 2 | p", ((A == 1) & (B == 2)) | P),
        ("a == 1 && b == 2 || p", ((A == 1) & (B == 2)) | P),
        ("~a == 1 & p", ~(A == 1) & P),
        ("not p", ~P),
        ("~~p", ~~P),
        ("~(p | q)", ~(P | Q)),
        ("1 <= a <= 6", (A >= 1) & (A <= 6)),
        ("a < b < 5", (A < B) & (B < 5)),
        ("a in [1, 2]", A.isin(1, 2)),
        ("a in (1, -2)", A.isin(1, -2)),
        ("a not in {1, 2}", ~A.isin(1, 2)),
        ("a in []", A.isin()),
        ("pipeline in ['mem', 'compv3']", W.isin("mem", "compv3")),
        ('pipeline == "mem"', W == "mem"),
        ("'mem' == pipeline", W == "mem"),
        ("pipeline != 'mem'", W != "mem"),
        ("'a & b' == 'a & b'", e.const("a & b") == "a & b"),
        ("p == true", P == True),  # noqa: E712
        ("p == 1", P == True),  # noqa: E712
        ("0 == p", P == False),  # noqa: E712
        ("p == (not q)", P == ~Q),
        ("p != q", P != Q),
        ("p == False", P == False),  # noqa: E712
        ("a", A),
        ("a + b * 2 - 3", A + B * 2 - 3),
        ("5 - a", 5 - A),
        ("-a", -A),
        ("+a", A),
        ("a // b % 3", A // B % 3),
        ("a / 2 > 0.25", A / 2 > 0.25),
        ("a ** 2", 1 * A * A),
        ("2 ** 10 == a", A == 2**10),
        ("a if p else b", e.ite(P, A, B)),
        ("ite(p, 'mem', pipeline) == 'mem'", e.ite(P, "mem", W) == "mem"),
        ("implies(p, q)", e.implies(P, Q)),
        ("iff(p, not q)", P == ~Q),
        ("min(a, b, 3) == max(a, 1)", e.minimum(A, B, 3) == e.maximum(A, 1)),
        ("ceil_div(a, b) == round_up(a, 4)", e.ceil_div(A, B) == e.round_up(A, 4)),
        ("divides(a, b)", e.divides(A, B)),
        ("is_pow2(b)", e.is_pow2(B)),
        ("total >= 3", SUM >= 3),
        ("x <= 0.5", X <= 0.5),
        ("größe == 1", FIELDS["größe"] == 1),
        ("a == 0x10", A == 16),
        ("a == 1_000", A == 1000),
    ],
)
def test_forms(text: str, node: Any) -> None:
    assert parse(text, FIELDS) is node


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("(a == 1) & (b == 2)", (A == 1) & (B == 2)),
        ("(a == 1) | p", (A == 1) | P),
        ("not a == 1", ~(A == 1)),
        ("a == 1 and b == 2", (A == 1) & (B == 2)),
        ("(a ==\n 1)", A == 1),
    ],
)
def test_python_precedence(text: str, node: Any) -> None:
    assert parse_restriction(text, FIELDS) is node


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("", 1, "not an expression"),
        ("   ", 1, "not an expression"),
        ("a ==", 5, "not an expression"),
        ("a == 1)", 7, "not an expression"),
        ("a = 1", 3, "compare with ==, not ="),
        ("a / 0 == 1", 5, "a division by 0 has no value"),
        ("b == a % 0", 10, "a division by 0 has no value"),
        ("a % (2-2) == 0", 6, "a division by 0 has no value"),
        ("a // min(3, 0 * 5) == 0", 6, "a division by 0 has no value"),
        ("pipeline == 'a=b' or a = 1", 24, "compare with ==, not ="),
        ("!p", 1, "write `not`, not !"),
        ("a == 1 and !p", 12, "write `not`, not !"),
        ("a == 1 or 4", 11, r"4 is a number, not .*: did you mean `a == 1 or a == 4` \(or `a in"),
        ("a == 1 | b", 10, "b is a number, not a condition: did you mean `a == 1 or a == b`"),
        ("a == 1 and 2", 12, "2 is a number, not a condition: did you mean `a == 1 or a == 2`"),
        ("a != 1 and 2", 12, "2 is a number, not a condition: did you mean `a != 1 and a != 2`"),
        ("pipeline == 'mem' or 'compv3'", 22, "'compv3' is a word, not a condition: did you mean"),
        ("a and p", 1, "a is a number, not a condition: did you mean `a != 0`"),
        ("not a", 5, "a is a number, not a condition: did you mean `a == 0`"),
        ("ite(a == 1 or 2, p, q)", 15, "2 is a number, not a condition"),
        ("a == 1; b", 7, "not an expression"),
        ("import os", 1, "not an expression"),
        ("tile == 1", 1, "unknown field 'tile': known are"),
        ("a == 1 & pipelin == 'mem'", 10, "unknown field 'pipelin': did you mean pipeline?"),
        ("  a == 1 & pipelin == 'mem'", 12, "unknown field 'pipelin'"),
        ("~a == 1 | bb", 11, "unknown field 'bb'"),
        ("p && q && zz", 11, "unknown field 'zz'"),
        ("größe == 1 & nix", 14, "unknown field 'nix'"),
        ("pipeline == mem", 13, "'mem' is a value, not a field: put it in quotes, as in pipeline"),
        ("pipeline == 'mme'", 1, "unknown value of pipeline 'mme': did you mean 'mem'?"),
        ("pipeline < 'mem'", 1, "words have no order"),
        ("pipeline == 1", 1, "is a word and cannot be compared"),
        ("p < q", 1, "conditions have no order"),
        ("p >= 1", 1, "conditions have no order"),
        ("true < true", 1, "conditions have no order"),
        ("p == 2", 1, "not a condition"),
        ("a == true", 1, "not a number"),
        ("a + p", 5, "a number is needed here"),
        ("a + 'mem'", 5, "a number is needed here, not `mem`"),
        ("pipeline & p", 1, "pipeline is a word, not a condition"),
        ("a == 99999999999999999999", 6, "too large"),
        ("a == 1e999", 6, "too large"),
        ("a == " + "9" * 5000, 1, "not an expression"),
        ("a == None", 6, "None is not a number"),
        ("a == 1j", 6, "1j is not a number"),
        ("a == b'x'", 6, "not a number"),
        ("a == ...", 6, "not a number"),
        ("a is b", 1, "write =="),
        ("a in b", 6, "a list of values is needed"),
        ("a in [b]", 7, "only constant values"),
        ("a in ['mem']", 1, "not a number"),
        ("p in [true]", 1, "a number where a condition|not a number"),
        ("a @ b", 1, "MatMult is not allowed"),
        ("a << 1", 1, "LShift is not allowed"),
        ("a ** b", 1, "Pow is not allowed"),
        ("a ** -1", 1, "Pow is not allowed"),
        ("a ** 65", 1, "Pow is not allowed"),
        ("((a ** 30) ** 30) ** 30", 2, "the power is too large"),
        ("2 ** 63", 1, "the power is too large"),
        ("a ^ b", 1, "BitXor is not allowed"),
        ("a.real", 1, "Attribute is not allowed"),
        ("a[0]", 1, "Subscript is not allowed"),
        ("[a]", 1, "List is not allowed"),
        ("lambda: a", 1, "Lambda is not allowed"),
        ("(a := 1)", 2, "NamedExpr is not allowed"),
        ("f'{a}'", 1, "JoinedStr is not allowed"),
        ("[x for x in [1]]", 1, "ListComp is not allowed"),
        ("__import__('os')", 1, "unknown function '__import__'"),
        ("mn(a, b)", 1, "unknown function 'mn': expected min"),
        ("a.bit_length()", 1, r"unknown function 'a\.bit_length': expected min, max"),
        ("min()", 1, "min takes one or more arguments"),
        ("min(*[a, b])", 5, "Starred is not allowed"),
        ("min(a, key=b)", 1, "min takes"),
        ("ite(p, a)", 1, "ite takes 3 arguments"),
        ("iff(1, 2)", 1, "not a condition"),
        ("implies(p, 2)", 1, "not a condition"),
        ("ite(p, 'mem', 1)", 1, "two words or two numbers"),
        ("is_pow2(pipeline)", 1, "not a number"),
        ("a == 1 \x00", 1, "not an expression"),
        ("\ud800 == 1", 1, "not an expression"),
        ("a = = 1", 3, "compare with =="),
        ("'mem", 1, "not an expression"),
        ("a == 1 €", 8, "not an expression"),
    ],
)  # fmt: skip
def test_errors(text: str, column: int, problem: str) -> None:
    with pytest.raises(ExpressionError, match=problem) as caught:
        parse(text, FIELDS)
    if problem != "not an expression":  # where Python's parser gives up is not ours to say
        assert caught.value.column == column
    assert 1 <= caught.value.column <= len(text) + 1
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


def test_an_unknown_field_does_not_list_all() -> None:
    many = {f"field_{i}": Int(f"field_{i}", [1]) for i in range(40)}
    with pytest.raises(ExpressionError) as caught:
        parse("zzz == 1", many)
    assert str(caught.value) == "'zzz == 1', column 1: unknown field 'zzz': no name is like it"


@pytest.mark.parametrize("text", ["a", "a + 1", "pipeline", "'mem'", "3", "x"])
def test_a_condition_is_needed(text: str) -> None:
    with pytest.raises(ExpressionError, match="a condition is needed, such as"):
        parse_condition(text, FIELDS)


def test_conditions() -> None:
    assert parse_condition("true", FIELDS) is e.TRUE
    assert parse_condition("False", FIELDS) is e.FALSE
    assert parse_condition("p", FIELDS) is P


def test_long_texts_are_shown_around_the_fault() -> None:
    text = "a == 1 & " * 100 + "wrong" + " & b == 2" * 100
    with pytest.raises(
        ExpressionError, match=r"'….*wrong.*…', column 901: unknown field"
    ) as caught:
        parse(text, FIELDS)
    assert len(str(caught.value)) < 250


def _read(text: str, *, python: bool) -> tuple[Any, ExpressionError | None]:
    try:
        return (parse_restriction if python else parse)(text, FIELDS), None
    except ExpressionError as error:
        return None, error


@pytest.mark.parametrize("python", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "a" * 20_001,
        "a" * 19_999,
        "(" * 9000 + "a" + ")" * 9000,
        "(" * 150 + "a" + ")" * 150,
        "-" * 15_000 + "a",
        "~" * 15_000 + "p",
        "not " * 4900 + "p",
        "not " * 250 + "p",
        "a" + " + a" * 4900,
        "a" + " == a" * 3900,
        "a" + " ** 2" * 3900,
        "p & " * 4900 + "p",
        "p if p else " * 1600 + "p",
        "min(" * 4900 + "a" + ")" * 4900,
        "[" * 9000,
        "a." * 9000 + "a",
        "lambda:" * 2500 + "a",
        "{" * 9000 + "}" * 9000,
        "a in [" + "1," * 9000 + "]",
        "min(" + "a," * 9000 + ")",
        "f'" + "{" * 9000,
        "\t" * 9000 + "p",
        "\\" * 9000,
        "'" * 9001,
        "#" * 9000,
        "1" * 19_000,
        "1e" + "9" * 19_000,
        "é" * 9000,
    ],
    ids=lambda v: f"{v[:12]!r}-{len(v)}" if isinstance(v, str) else str(v),
)
def test_deep_and_long_texts(text: str, python: bool) -> None:
    """Neither a crash nor another error, and what is read can be shown and evaluated."""
    node, error = _read(text, python=python)
    if error:
        assert 1 <= error.column <= len(text) + 1
    else:
        to_text(node)
        At({"a": 1, "b": 2, "p": True}).value(node)


_PIECES = [
    *FIELDS, "mem", "'mem'", "1", "0.5", "-", "+", "*", "//", "%", "**", "/", "==", "!=", "<", ">=",
    "in", "not", "and", "or", "&", "|", "~", "&&", "||", "(", ")", "[", "]", "{", "}", ",", ".",
    ":", "if", "else", "lambda", "is", "min", "max", "ite", "iff", "is_pow2", "true", "None",
    "\\", "\n",
    "'", '"', "@", ":=", "=", "*", "x", "for", "f'{a}'", "...", "é", "\u2028", "\f", "0x", "1e9",
]  # fmt: skip


@settings(max_examples=400)
@given(
    st.one_of(st.lists(st.sampled_from(_PIECES), max_size=12).map(" ".join), st.text(max_size=40)),
    st.booleans(),
)
def test_any_text_is_an_expression_or_an_error(text: str, python: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        node, error = _read(text, python=python)
    if error:
        assert 1 <= error.column <= len(text) + 1
    else:
        assert isinstance(node, (e.Expr, int, float, str))


def test_no_warnings_reach_the_user() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        node = parse(r"'\d' == '\d'", FIELDS)
    assert repr(node) == r"'\\d' == '\\d'"
