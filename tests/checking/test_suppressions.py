"""Suppression comments and baselines: what they hide, and what is said when they hide nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckrules.readers.suppressions import Suppressions
from tests.cli.run import ILLEGAL, legal, run, write

GOOD = ILLEGAL.replace("_96x64x64_", "_128x64x64_")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(folder: Path, text: str, *words: str) -> list[str]:
    write(folder, "a.txt", text)
    result = run("check", "--arch", "gfx942", "--select", "TILE,SUP", *words, "a.txt")
    return [x.split(" ", 1)[1] for x in result.stdout.splitlines()]


@pytest.mark.parametrize(
    "text",
    [
        f"{ILLEGAL} # ckrules: ignore[TILE001] why\n",
        f"# ckrules: ignore[TILE001] why\n{ILLEGAL}\n",
        f"# ckrules: ignore[TILE001] why\n\n# more\n{ILLEGAL}\n",
    ],
)
def test_a_comment_hides_a_finding(folder: Path, text: str) -> None:
    assert said(folder, text) == []
    result = run("check", "--arch", "gfx942", "--select", "TILE", "a.txt")
    assert (result.exit_code, "1 suppressed" in result.stderr) == (0, True)


@pytest.mark.parametrize("field", ["tile_m", "wave_m", "warp_tile_m"])
def test_a_comment_stands_at_any_field_that_the_message_names(folder: Path, field: str) -> None:
    """The caret is at the field to change, which is not the first one of the message."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in legal(tile_m=96).items()]
    lines = [f"{x} # ckrules: ignore[TILE001] why" if x.startswith(field) else x for x in lines]
    write(folder, "k.toml", "[[kernels]]\n" + "\n".join(lines) + "\n")
    found = run("check", "--arch", "gfx942", "--select", "TILE,SUP", "k.toml")
    assert (found.stdout, found.exit_code) == ("", 0)


def test_a_comment_hides_nothing_else(folder: Path) -> None:
    text = f"# ckrules: ignore[TILE001] why\n{GOOD}\n{ILLEGAL}\n"
    found = said(folder, text)
    assert found[0].startswith("TILE001 compile")
    assert (
        found[1]
        == "SUP001 file (warning): nothing breaks TILE001 here: the suppression is not used"
    )


def test_reasons_and_codes_are_asked_for(folder: Path) -> None:
    assert said(folder, f"{ILLEGAL} # ckrules: ignore[TILE001]\n") == [
        "SUP002 file (warning): the suppression gives no reason"
    ]
    (found,) = said(folder, f"{GOOD} # ckrules: ignore[TILE0001] why\n")
    assert "unknown code 'TILE0001': did you mean 'TILE001'" in found
    (found,) = said(folder, f"{GOOD} # ckrules: ignore[] why\n")
    assert "there is no blanket form" in found


def test_a_comment_of_another_language_is_none() -> None:
    found = Suppressions("//")
    found.add(1, "x # ckrules: ignore[TILE001] why")
    assert found.all == []
    found.add(2, "x // ckrules: ignore[TILE001] why")
    assert found.find("TILE001", [2]) is found.all[0]


def test_verdicts_are_facts_whatever_is_hidden(folder: Path) -> None:
    write(folder, "a.txt", f"{ILLEGAL} # ckrules: ignore[TILE001] why\n")
    result = run("check", "--arch", "gfx942", "--verdicts", "a.txt")
    assert json.loads(result.stdout)["legal"] is False


def test_a_baseline_hides_what_is_known(folder: Path) -> None:
    write(folder, "a.json", [legal(tile_m=96), legal()])
    assert run("check", "--write-baseline", "a.json").exit_code == 0
    document = json.loads((folder / "ckrules-baseline.json").read_text())
    assert {e["file"] for e in document["entries"]} == {"a.json"}
    assert "line" not in json.dumps(document)
    on = ["--baseline", "ckrules-baseline.json", "a.json"]
    assert run("check", *on).exit_code == 0
    moved = json.dumps([legal(), legal(tile_m=96)], indent=7)  # other lines, another order
    write(folder, "a.json", "\n\n" + moved)
    assert run("check", *on).exit_code == 0
    write(folder, "a.json", [legal(tile_m=96), legal(tile_m=160)])
    result = run("check", *on)
    assert result.exit_code == 1
    assert "tile_m = 160" in result.stdout
    assert "tile_m = 96" not in result.stdout


def test_more_of_the_same_is_new(folder: Path) -> None:
    write(folder, "a.json", [legal(tile_m=96)])
    run("check", "--write-baseline", "a.json")
    write(folder, "a.json", [legal(tile_m=96), legal(tile_m=96)])
    result = run("check", "--baseline", "ckrules-baseline.json", "--select", "TILE", "a.json")
    assert (result.exit_code, result.stdout.count("TILE001")) == (1, 1)


def test_what_is_mended_leaves_the_baseline(folder: Path) -> None:
    write(folder, "a.json", [legal(tile_m=96)])
    write(folder, "b.json", [legal(tile_m=96)])
    run("check", "--write-baseline", "a.json", "b.json")
    write(folder, "a.json", [legal()])
    on = ["--baseline", "ckrules-baseline.json"]
    result = run("check", *on, "a.json")
    assert result.exit_code == 0
    assert "BASE001 file (warning): a.json: TILE001" in result.stdout
    run("check", *on, "--prune-baseline", "a.json")
    left = json.loads((folder / "ckrules-baseline.json").read_text())["entries"]
    assert {e["file"] for e in left} == {"b.json"}
    assert run("check", *on, "a.json").stdout == ""


@pytest.mark.parametrize(
    ("option", "first", "second"), [("--arch", "gfx942", "gfx950"), ("--ck", "2025.11", "2026.06")]
)
def test_a_baseline_of_another_gpu_or_version(
    folder: Path, option: str, first: str, second: str
) -> None:
    write(folder, "a.json", [legal(tile_m=96, arch="gfx942" if option == "--ck" else None)])
    on = ["--baseline", "ckrules-baseline.json", "a.json"]
    for said in (first, second):
        assert run("check", option, said, "--write-baseline", *on).exit_code == 0
    for said in (first, second):
        result = run("check", option, said, *on)
        assert (result.exit_code, result.stdout) == (0, ""), said
    before = (folder / "ckrules-baseline.json").read_text()
    assert run("check", option, second, "--prune-baseline", *on).exit_code == 0
    assert (folder / "ckrules-baseline.json").read_text() == before
    write(folder, "a.json", [legal(arch="gfx942" if option == "--ck" else None)])
    result = run("check", option, second, *on)
    assert result.stdout.count("BASE001") == 1
    run("check", option, second, "--prune-baseline", *on)
    left = json.loads((folder / "ckrules-baseline.json").read_text())["entries"]
    assert {e["run"][option[2:]] for e in left} == {first}


def test_a_baseline_of_configurations_that_name_their_gpu(folder: Path) -> None:
    write(folder, "a.json", [legal(tile_m=96, arch="gfx950")])
    on = ["--baseline", "ckrules-baseline.json", "a.json"]
    run("check", "--arch", "gfx942", "--write-baseline", *on)
    assert run("check", "--arch", "gfx90a", *on).stdout == ""
    write(folder, "a.json", [legal()])
    assert "BASE001" in run("check", "--arch", "gfx90a", *on).stdout
    result = run("check", "--arch", "gfx90a,gfx942", *on)
    assert result.stdout.count("BASE001") == 1


def test_a_baseline_that_does_not_say_the_run(folder: Path) -> None:
    write(folder, "a.json", [legal(tile_m=96, arch=None)])
    on = ["--baseline", "ckrules-baseline.json", "a.json"]
    run("check", "--arch", "gfx942", "--write-baseline", *on)
    document = json.loads((folder / "ckrules-baseline.json").read_text())
    for entry in document["entries"]:
        del entry["run"]
    old = write(folder, "ckrules-baseline.json", json.dumps(document))
    assert run("check", "--arch", "gfx942", *on).stdout == ""
    assert "BASE001" not in run("check", "--arch", "gfx950", *on).stdout
    run("check", "--arch", "gfx950", "--prune-baseline", *on)
    assert json.loads(Path(old).read_text()) == document
    write(folder, "a.json", [legal(arch=None)])
    assert run("check", "--arch", "gfx942", *on).stdout.count("BASE001") == 1


@pytest.mark.parametrize("text", ["", "[]", '{"entries": [{}]}', '{"entries": [{"file": 1}]}'])
def test_a_faulty_baseline(folder: Path, text: str) -> None:
    write(folder, "a.json", legal())
    write(folder, "base.json", text)
    result = run("check", "--baseline", "base.json", "a.json")
    assert (result.exit_code, ": not a baseline: " in result.stderr) == (2, True)
