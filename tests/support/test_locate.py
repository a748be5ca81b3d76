"""The places that `Locator` finds in TOML texts: each span holds the value that it is of."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from ckrules.support.locate import Locator, Span

TEXT = (
    "top = 1 # c\r\n"
    "[a.'b c'] # [no]\n"
    'x . y = """two\n"lines" # no"""  # why\n'
    "z = {p = [1, # one\n  {q = '''r'''}], \"s\\u0041\" = 1979-05-27 07:32:00 }\n"
    "[[t]]\nk = 'a'\n[[t.u]]\nv = 1\n[[t.u]]\nv = true # yes\n[[t]]\n[t.w]\n"
    "v = [\n  [ ], -1_0 ]\nn = [[1,2 ],[3]]\ne = ''\n"
)


def cut(text: str, span: Span) -> str:
    """What a span covers."""
    lines = text.replace("\r\n", "\n").split("\n")[span.line - 1 : span.end_line]
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    return "\n".join(lines)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    """Every value below, with its path; tables are gone through and left out."""
    if isinstance(value, dict):
        return [leaf for k, v in value.items() for leaf in leaves(v, (*path, k))]
    below = [leaf for i, v in enumerate(value) for leaf in leaves(v, (*path, i))] \
        if isinstance(value, list) else []  # fmt: skip
    return [*below, (path, value)]


def test_the_span_of_a_value_holds_that_value() -> None:
    found = Locator(TEXT)
    seen = 0
    for path, value in leaves(tomllib.loads(TEXT)):
        span = found.value_span(path)
        if path in {("t",), ("t", 0, "u")}:  # arrays of tables have no text of their own
            assert span is None
            continue
        assert span is not None, path
        assert tomllib.loads(f"v = {cut(TEXT, span)}")["v"] == value
        seen += 1
    assert seen == 19


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("top",), "top"),
        (("a", "b c"), "[a.'b c']"),
        (("a", "b c", "x", "y"), "x . y"),
        (("a", "b c", "z", "sA"), '"s\\u0041"'),
        (("t", 0, "u", 1), "[[t.u]]"),
        (("t", 1, "w", "e"), "e"),
    ],
)
def test_the_span_of_a_key_is_its_text(path: tuple[str | int, ...], text: str) -> None:
    span = Locator(TEXT).key_span(path)
    assert span is not None
    assert cut(TEXT, span) == text


def test_what_is_not_there_has_no_span() -> None:
    found = Locator(TEXT)
    assert found.key_span(("a", "nothing")) is None
    assert found.value_span(("t", 7)) is None
