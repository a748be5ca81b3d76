"""The pages of the rules: all are made, and one is checked against a golden file."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ckrules.engine.expr import INT, REAL
from ckrules.engine.expr.variables import domain_of
from ckrules.kernels.books import Books
from ckrules.output import rule_docs
from ckrules.output.field_docs import PAGE, unit
from ckrules.output.rule_docs import INDEX, every_rule, stale, write
from ckrules.support.errors import CkrulesError
from tests.cli.run import run
from tests.helpers.rule_pages import made as pages

ROOT = Path(__file__).resolve().parents[2]


def test_a_page_is_as_it_was(golden: Callable[[str, str], None]) -> None:
    """The same text as of `ckrules explain`, whose file it is."""
    golden("cli/explain_TILE001.md", pages()["TILE001.md"])


def test_the_repository_holds_no_made_page() -> None:
    """They are 300 files that follow from the rules; the site has them."""
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "docs/rules"],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert done.stdout == ""
    assert "/docs/rules/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_every_rule_has_a_page_and_a_row() -> None:
    made = pages()
    codes = set(every_rule())
    assert {Path(name).stem for name in made} == codes | {Path(INDEX).stem, Path(PAGE).stem}
    assert all(f"{code}.md" in made[INDEX] for code in codes)


def test_every_number_has_a_unit() -> None:
    """A new field's description says what its numbers count."""
    without, made = set(), pages()
    for book in Books().every():
        for name, node in {**book.fields, **book.vocabulary.quantities}.items():
            doc = domain_of(node).doc if name in book.fields else node.data.doc
            assert f"| `{name}` |" in made[PAGE]
            declared = "" if name in book.fields else node.data.unit
            if node.sort in (INT, REAL) and not declared and unit(node.sort, doc) == "number":
                without.add(name)
    assert without == {"stage"}  # the number of a GEMM, which counts nothing


def test_explain_says_the_unit() -> None:
    """The same without the page."""
    assert "\n- unit: elements\n" in run("explain", "tile_m").stdout
    assert "LDS of a workgroup [bytes]." in run("explain", "lds_bytes").stdout
    assert "unit" not in run("explain", "pad_m").stdout


def test_stale_pages_are_found_and_renewed(tmp_path: Path) -> None:
    made = dict(list(pages().items())[:3])
    row = "| [GONE001](GONE001.md) | a rule that is no more |\n"
    write(tmp_path, {**made, INDEX: made[INDEX] + row, "GONE001.md": "its page"})
    first = sorted(made)[0]
    (tmp_path / first).write_text("old")
    assert stale(tmp_path, made) == sorted([first, "GONE001.md", INDEX])
    write(tmp_path, made)
    assert stale(tmp_path, made) == []
    assert {p.name for p in tmp_path.iterdir()} == set(made)


def test_files_of_others_stay(tmp_path: Path) -> None:
    """Beside the pages they are not looked at, and in place of one nothing is written."""
    made = dict(list(pages().items())[:3])
    (tmp_path / "notes.md").write_text("mine")
    write(tmp_path, made)
    assert stale(tmp_path, made) == []
    assert (tmp_path / "notes.md").read_text() == "mine"
    for name in (INDEX, PAGE):
        folder = tmp_path / name.removesuffix(".md")
        folder.mkdir()
        (folder / name).write_bytes(b"mine \xfc")
        with pytest.raises(CkrulesError, match=f"{name}: `ckrules docs` did not write it"):
            write(folder, made)
        assert [p.read_bytes() for p in folder.iterdir()] == [b"mine \xfc"]


def test_command_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it wrote is fresh, and holds every page."""
    made = pages()
    monkeypatch.setattr(rule_docs, "every_rule", dict)
    monkeypatch.setattr(rule_docs, "pages", lambda *_: made)
    folder = tmp_path / "rules"
    result = run("docs", "--check", "--out", str(folder))
    assert result.exit_code == 1
    assert "stale; run `ckrules docs`" in result.stdout
    assert run("docs", "--out", str(folder)).exit_code == 0
    assert {p.name: p.read_text(encoding="utf-8") for p in folder.iterdir()} == made
    assert run("docs", "--check", "--out", str(folder)).exit_code == 0
