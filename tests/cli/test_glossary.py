"""``explain`` knows every word that outputs use."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from ckrules.cli.glossary import Glossary
from ckrules.cli.group import cli
from ckrules.kernels.books import Books
from ckrules.support.errors import UnknownNameError
from tests.cli.run import run
from tests.cli.test_pages import CODES

WORDS = Glossary(Books())
ROOT = Path(__file__).parents[2]
_CODE = re.compile(r"[A-Z]{2,5}\d{3}")


def _literals() -> set[str]:
    """Every text of the sources that is a code."""
    found: set[str] = set()
    for folder in ("ckrules", "constraints", "codegen", "arch"):
        for path in (ROOT / folder).rglob("*.py"):
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            texts = (n.value for n in nodes if isinstance(n, ast.Constant))
            found |= {t for t in texts if isinstance(t, str) and _CODE.fullmatch(t)}
    return found


def test_every_code_in_the_sources_is_explained() -> None:
    codes = _literals()
    assert {"CFG000", "LINT001", "SUP001", "BASE001", "DISP001", "PROB001", "CAT001"} <= codes
    for code in sorted(codes.difference(CODES)):  # each of those has a test in test_pages.py
        assert WORDS.page(code).startswith(f"# {code}: "), code


@pytest.mark.parametrize("section", WORDS.sections)
def test_every_listed_word_has_a_line_and_a_page(section: str) -> None:
    words = WORDS.sections[section]()
    assert words
    for name, word in words.items():
        assert word.line.strip(), name
        assert "\n" not in word.line, name
    for name in list(words)[:: 1 + len(words) // 12]:
        page = words[name].page()
        assert page.strip(), name
        assert "ite(" not in page, name


@pytest.mark.parametrize(
    ("word", "begins"),
    [
        ("compv4", "# compv4\n"), ("CompV4", "# compv4\n"), ("bwd_weight", "# bwd_weight\n"),
        ("fwd", "# forward\n"), ("half", "# fp16\n"), ("gfx942", "# gfx942: CDNA3"),
        ("mi300x", "# gfx942: CDNA3"), ("RX 9070 XT", "# gfx1201"), ("tiny", "tiny: "),
        ("lds_bytes", "# lds_bytes\n"), ("tile_m", "# tile_m\n"), ("hardware", "# hardware: "),
        ("fast", "# fast: "), ("lds", "# LDS: "), ("DISP004", "# DISP004: "),
    ],
)  # fmt: skip
def test_words_have_pages(word: str, begins: str) -> None:
    assert WORDS.page(word).startswith(begins)


def test_near_matches_are_among_all_words() -> None:
    for wrong, right in (("CFG04", "CFG004"), ("compv44", "compv4"), ("gfx943", "gfx942"),
                         ("lds_byte", "lds_bytes")):  # fmt: skip
        with pytest.raises(UnknownNameError, match=f"'{right}'"):
            WORDS.page(wrong)


def test_lists() -> None:
    shown = run("explain", "--list").stdout
    assert all(f"--list {s}" in shown for s in WORDS.sections)
    assert "lds_bytes" in run("explain", "--list", "quantities").stdout
    assert "did you mean 'codes'" in run("explain", "--list", "code").stderr


def test_pages_as_json(tmp_path: Path) -> None:
    for word, section in (("lds_bytes", "quantities"), ("MI300X", "gpus"), ("fwd", "values")):
        page = json.loads(run("explain", word, "--format", "json").stdout)
        assert (page["list"], page["page"]) == (section, run("explain", word).stdout)
    listed = json.loads(run("explain", "--list", "gpus", "--format", "json").stdout)
    assert {"name": "gfx908", "summary": "Instinct MI100"} in listed
    lists = json.loads(run("explain", "--list", "--format", "json").stdout)
    assert [row["list"] for row in lists] == list(WORDS.sections)
    out = tmp_path / "page.json"
    assert run("explain", "LDS001", "-o", str(out)).stdout == ""
    assert json.loads(out.read_text())["name"] == "LDS001"


def test_words_complete() -> None:
    def complete(*words: str, last: str) -> list[str]:
        context = cli.make_context("ckrules", [], resilient_parsing=True)
        found = cli.get_command(context, "explain")
        assert found is not None
        inner = found.make_context("explain", list(words), resilient_parsing=True)
        argument = next(p for p in found.params if p.name == "what")
        return [item.value for item in argument.shell_complete(inner, last)]

    assert complete(last="lds_b") == ["lds_bytes"]
    assert "LDS001" in complete(last="lds0")
    assert complete("--list", last="q") == ["quantities"]
