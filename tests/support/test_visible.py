"""Texts of others act neither on terminals nor on the runners of CI jobs, nor in spreadsheets."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.support.visible import csv_cell, json_text, visible, visible_lines, visible_source

TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("#:[ \n\x1b\x9b\u202e\ud800e")))


def commands(text: str) -> list[str]:
    """The lines that a runner would take for commands."""
    return [
        line
        for line in re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text)
        if line.lstrip().startswith("::") or re.search(r"##[\w.-]*\[", line)
    ]


@given(TEXTS)
def test_a_text_is_one_line_that_does_nothing(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert not commands(shown)
    assert shown.encode().decode() == shown  # no lone surrogates
    assert visible(shown) == shown


@given(TEXTS)
def test_lines_stay_lines(text: str) -> None:
    shown = visible_lines(text)
    assert shown.count("\n") == text.count("\n")
    assert shown.replace("\n", "").isprintable()
    assert not commands(shown)


@pytest.mark.parametrize("text", ["", "a b", "ck_tile::x", "größe λ — 1×2", "a # b [c]", "a\\n"])
def test_plain_texts_stay(text: str) -> None:
    assert visible(text) == text


@given(TEXTS, st.sampled_from(["", "true"]))
def test_sources_keep_their_tabulators(text: str, ci: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CI", ci)
        for name in ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"):
            patch.delenv(name, raising=False)
        shown = visible_source(text.replace("\r", "") + "\ta\r\n")
    assert shown.endswith("\ta\r\n")
    assert re.sub(r"[\t\r\n]", "", shown).isprintable()
    assert not ci or not commands(shown)


def test_sources_outside_ci_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"):
        monkeypatch.delenv(name, raising=False)
    text = "  ::ck_tile::f();\r\n\t##[x]\n"
    assert visible_source(text) == text


@given(TEXTS)
def test_json_keeps_its_value(text: str) -> None:
    value = {text: [text, 1]}
    for shown in (json_text(value), json_text(value, indent=1)):
        assert json.loads(shown) == value
        assert shown.replace("\n", "").isprintable()
        assert not commands(shown)
        assert shown.encode().decode() == shown


@given(TEXTS)
def test_a_word_in_a_cell_is_no_formula(text: str) -> None:
    shown = csv_cell(text)
    assert not shown.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert shown.isprintable()
    assert shown.removeprefix("'") == visible(text) or shown == visible(text)


@pytest.mark.parametrize("value", [-1, 0, -2.5, 1e-30, 10**30])
def test_numbers_stay_numbers(value: float) -> None:
    assert type(value)(csv_cell(value)) == value
