"""Names and words of files reach no terminal, CI log or spreadsheet as they are."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ckrules.checking.reports import available
from tests.cli.run import ILLEGAL, LEGAL, process, run, write

HOSTILE = "::error file=p::OWNED\n::warning::PWN\n\x1b[31m##[group]\u202e\x9b\r\u2028"
FORMULA = "=cmd|calc"


def commands(text: str) -> list[str]:
    """The lines that a runner would take for commands of the workflow."""
    lines = re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text)
    return [t for t in lines if t.lstrip().startswith("::") or re.search(r"##\w*\[", t)]


def harmless(text: str) -> bool:
    """Whether a text has printable characters and line ends alone, and no command."""
    return text.replace("\n", "").isprintable() and not commands(text)


@pytest.mark.parametrize("form", available())
@pytest.mark.parametrize("content", [f"{ILLEGAL}\n", f"{ILLEGAL}\x1b[31m##[error]\n", "{"])
def test_names_of_files_in_reports(
    content: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / HOSTILE).write_text(content)
    done = run("check", "--arch", "gfx942", "--format", form, HOSTILE)
    assert done.exit_code in (1, 2)
    assert "internal error" not in done.stderr
    assert harmless(done.stderr)
    if form == "github":  # each is a command of ours, and ends where it should
        lines = done.stdout.split("\n")[:-1]
        assert lines
        assert all(t.startswith("::error title=ckrules (") and t.isprintable() for t in lines)
    else:
        assert harmless(done.stdout)
    if form in ("json", "gitlab"):
        found = json.loads(done.stdout)
        names = {d["source"] if form == "json" else d["location"]["path"] for d in found}
        assert names <= {HOSTILE}


def test_colours_are_ours_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / HOSTILE).write_text(f"{ILLEGAL}\n")
    for form in ("concise", "full"):
        done = run("check", "--arch", "gfx942", "--format", form, "--color", "always", HOSTILE)
        plain = re.sub(r"\x1b\[(?:0|1|3[1-6])m", "", done.stdout)
        assert plain != done.stdout
        assert harmless(plain)


def test_names_of_files_in_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{HOSTILE}.conf").write_bytes(b"\xff")
    words = (
        ("check", "--show-files", f"{HOSTILE}.conf"),
        ("check", f"{HOSTILE}.conf"),
        ("check", "--config", HOSTILE, ILLEGAL),
        ("check", "--arch", HOSTILE, ILLEGAL),
        ("check", "--diff", f"{HOSTILE}.conf"),
        ("results", HOSTILE),
        ("build", HOSTILE),
        ("space", HOSTILE, "count"),
        ("why", HOSTILE),
        ("generate", HOSTILE, "-o", "out"),
        (HOSTILE,),
    )
    for given in words:
        done = run(*given)
        assert harmless(done.output), given
        assert "internal error" not in done.stderr


def space(folder: Path, word: str) -> str:
    """A space file whose variable has this word, and the word for a name."""
    variables = [{"name": "a", "values": [word, "b", "[red]c"]}, {"name": "n", "values": [-1, 2]}]
    return write(folder, "s.json", {"variables": variables, "constraints": []})


def table(folder: Path, word: str, *more: str) -> str:
    action, *rest = more
    done = run(action, space(folder, word), *rest)
    assert done.exit_code == 0
    assert harmless(done.stdout)
    return done.stdout


def test_words_in_tables(tmp_path: Path) -> None:
    for more in (("count", "--by", "a"), ("enumerate", "--format", "table")):
        shown = table(tmp_path, HOSTILE, *more)
        assert "\\x1b[31m" in shown
        assert "[red]c" in shown


def test_words_in_json_come_back(tmp_path: Path) -> None:
    for more in (("count", "--by", "a", "--format", "jsonl"), ("enumerate", "--format", "jsonl")):
        rows = [json.loads(row) for row in table(tmp_path, HOSTILE, *more).splitlines()]
        assert HOSTILE in {row["a"] for row in rows}


@pytest.mark.parametrize("word", [HOSTILE, FORMULA, "+1", "-1", "@a", "\ta", "a,b"])
def test_words_in_csv_are_no_formulas(word: str, tmp_path: Path) -> None:
    for more in (("count", "--by", "a,n", "--format", "csv"), ("enumerate", "--format", "csv")):
        rows: list[Any] = list(csv.DictReader(io.StringIO(table(tmp_path, word, *more))))
        assert {row["n"] for row in rows} == {"-1", "2"}  # numbers stay numbers
        assert not any(row["a"].startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows)
        if word in (FORMULA, "+1", "-1", "@a"):
            assert f"'{word}" in {row["a"] for row in rows}
        if word == "a,b":
            assert word in {row["a"] for row in rows}


def test_a_stranger_repository_on_a_real_stream(tmp_path: Path) -> None:
    folder = tmp_path / "x\n::error::y"
    folder.mkdir()
    write(folder, "good.ck.json", {**LEGAL, "tile_m\n::notice::z": 1})
    (folder / ILLEGAL).write_text(ILLEGAL)
    done = process("check", str(folder), ILLEGAL, cwd=folder)
    assert harmless(done.stdout)
    assert harmless(done.stderr)
    assert done.returncode in (1, 2)
