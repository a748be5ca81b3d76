"""`ckrules rank` and `ckrules search` on tables of problems: each answered as it is alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run, write

PART = ("--where", "tile_m <= 64 & tile_n == 64 & tile_k == 64 & pipeline == 'compv3'")
FORWARD = ("--variant", "forward", "--arch", "gfx942", "--dtype", "fp16", "--ck", "2025.11")
LISTED = (*FORWARD, "--catalog", "default")
TABLE = "N,C,K,H,W,Y,X,pad\n8,256,256,28,28,3,3,1\n8,512,512,14,14,3,3,1\n8,64,256,56,56,1,1,0\n"
PROBLEMS = (
    "N=8,G=1,C=256,K=256,H=28,W=28,Y=3,X=3,pad=1",
    "N=8,G=1,C=512,K=512,H=14,W=14,Y=3,X=3,pad=1",
    "N=8,G=1,C=64,K=256,H=56,W=56,Y=1,X=1",
)
#: Its three channels are no multiple of any vector of the listed kernels.
REFUSED = "N=8,G=1,C=3,K=64,H=9,W=9,Y=3,X=3"


def alone(command: str, problem: str, *words: str) -> list[dict[str, Any]]:
    done = run(command, "--problem", problem, *words, "--format", "jsonl", "-n", "2")
    return [{"problem": problem, **json.loads(line)} for line in done.stdout.splitlines()]


@pytest.mark.parametrize("words", [LISTED, (*FORWARD, *PART, "--draw", "300")])
@pytest.mark.parametrize("command", ["rank", "search"])
def test_each_problem_gets_the_kernels_that_it_gets_alone(
    command: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    file = write(tmp_path, "shapes.csv", TABLE)
    asked = (command, "--problems", file, *words, "-n", "2")
    done = run(*asked, "--format", "jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.exit_code, rows) == (0, [r for p in PROBLEMS for r in alone(command, p, *words)])
    assert len(rows) == 6
    assert "kernels for 3 of 3 problems: " in done.stderr
    whole = json.loads(run(*asked, "--format", "json").stdout)
    assert [each["problem"] for each in whole] == list(PROBLEMS)
    assert [{"problem": e["problem"], **k} for e in whole for k in e["kernels"]] == rows


def test_a_table_and_names_say_the_problem(tmp_path: Path) -> None:
    words = ("rank", "--problem", PROBLEMS[0], "--problem", PROBLEMS[1], *LISTED, "-n", "1")
    head, *rows = run(*words).stdout.splitlines()
    assert head.split()[:2] == ["problem", "us"]
    assert [row.split()[0] for row in rows] == list(PROBLEMS[:2])
    names = run(*words, "--format", "names").stdout
    assert names.splitlines()[::2] == [f"# {p}" for p in PROBLEMS[:2]]
    checked = run("check", "--arch", "gfx942", write(tmp_path, "names.txt", names))
    assert checked.stderr.startswith("2 configurations: ")
    explained = run(*words, "--explain").stdout
    assert f" on {PROBLEMS[1]}\n" in explained


@pytest.mark.parametrize("command", ["rank", "search"])
def test_a_problem_without_a_kernel_does_not_stop_the_others(command: str, tmp_path: Path) -> None:
    file = write(tmp_path, "shapes.txt", f"{REFUSED}\n{PROBLEMS[0]}\n")
    done = run(command, "--problems", file, *LISTED, "-n", "1", "--format", "jsonl", "-q")
    assert done.exit_code == 3
    assert [json.loads(line)["problem"] for line in done.stdout.splitlines()] == [PROBLEMS[0]]
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"no kernel accepts {REFUSED}")
    none = run(command, "--problem", REFUSED, "--problem", REFUSED + ",pad=1", *LISTED)
    assert (none.exit_code, none.stdout) == (3, "")
    assert none.stderr.count("no kernel accepts") == 2


def test_one_problem_is_answered_as_before() -> None:
    words = ("rank", "--problem", PROBLEMS[0], *LISTED, "-n", "1")
    done = run(*words)
    assert done.stdout.split()[0] == "us"
    assert done.stderr.startswith(f"14 kernels on {PROBLEMS[0]}: ")
    assert set(json.loads(run(*words, "--format", "json").stdout)) == {
        "source", "looked_at", "assumed", "kernels"
    }  # fmt: skip


def test_a_table_of_one_row_has_the_form_of_tables(tmp_path: Path) -> None:
    file = write(tmp_path, "shapes.txt", PROBLEMS[0])
    found = json.loads(run("rank", "--problems", file, *LISTED, "--format", "json").stdout)
    assert [each["problem"] for each in found] == [PROBLEMS[0]]


@pytest.mark.parametrize("command", ["rank", "search"])
def test_the_space_is_compiled_once(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ckrules.engine.diagram import cache

    asked, compiled = list[str](), cache.compiled
    monkeypatch.setattr(cache, "compiled", lambda key, w: asked.append("") or compiled(key, w))
    file = write(tmp_path, "shapes.csv", TABLE)
    assert run(command, "--problems", file, *FORWARD, *PART, "--draw", "50").exit_code == 0
    assert len(asked) == 1


@pytest.mark.parametrize("command", ["rank", "search"])
def test_faulty_problems_are_usage_errors(command: str, tmp_path: Path) -> None:
    none = run(command, *LISTED)
    assert none.stderr == (
        "error: on which problem? give --problem N=8,C=256,… or --problems FILE\n"
    )
    file = write(tmp_path, "shapes.csv", TABLE + "8,64,256,56,56,1,x,0\n")
    bad = run(command, "--problems", file, *LISTED)
    assert (none.exit_code, bad.exit_code) == (2, 2)
    assert f"{file}:5: " in bad.stderr
