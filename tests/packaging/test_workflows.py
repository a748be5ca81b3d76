"""Workflows and issue forms: they parse, and call what exists."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
_TARGET = re.compile(r"^([a-z]+):", re.MULTILINE)
TARGETS = frozenset(_TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))


def _load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _jobs(path: Path) -> dict[str, Any]:
    jobs: dict[str, Any] = _load(path)["jobs"]
    return jobs


def _commands(path: Path) -> list[str]:
    steps = (step for job in _jobs(path).values() for step in job.get("steps", ()))
    return [line.strip() for s in steps for line in s.get("run", "").splitlines()]


def absent(command: str) -> list[str]:
    """The targets of make and the scripts that a command calls and that do not exist.

    >>> absent("make lint"), absent("make tset X=1 lint"), absent(".ci/run"), absent(".ci/walk")
    ([], ['tset'], [], ['.ci/walk'])
    """
    first, *words = shlex.split(command)
    if first == "make":
        return [w for w in words if re.fullmatch("[a-z]+", w) and w not in TARGETS]
    return [first] if "/" in first and not (ROOT / first).is_file() else []


def test_there_is_one_for_each_task() -> None:
    assert {p.stem for p in WORKFLOWS} == {"tests", "nightly", "release", "site"}
    assert {p.stem for p in FORMS} == {"rule", "fault", "feature", "config"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_workflows_call_what_exists(path: Path) -> None:
    data = _load(path)
    assert data["name"] == path.stem
    assert data["permissions"] == {"contents": "read"}  # jobs ask for more by themselves
    for job in _jobs(path).values():
        if used := job.get("uses"):
            assert (ROOT / used).is_file()
        assert job.get("needs", job) in (job, *_jobs(path))
    assert [a for command in _commands(path) for a in absent(command)] == []


@pytest.mark.parametrize("command", ["make tset", "make test lnit", ".ci/walk", "scripts/no.sh x"])
def test_what_does_not_exist_is_found(command: str) -> None:
    assert absent(command) != []


def test_each_proof_has_its_workflow() -> None:
    """Every Python without the toolchain, the whole on one, the rest at night, and releases."""
    tests = _jobs(ROOT / ".github/workflows/tests.yml")
    assert tests["python"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert any("not toolchain" in s.get("run", "") for s in tests["python"]["steps"])
    assert ".ci/run" in _commands(ROOT / ".github/workflows/tests.yml")
    assert "make certify" in _commands(ROOT / ".github/workflows/nightly.yml")
    publish = _jobs(ROOT / ".github/workflows/release.yml")["publish"]
    assert publish["permissions"] == {"id-token": "write"}  # no token is kept
    assert "make site" in _commands(ROOT / ".github/workflows/site.yml")


@pytest.mark.parametrize("path", [p for p in FORMS if p.stem != "config"], ids=lambda p: p.stem)
def test_forms_ask_what_is_needed(path: Path) -> None:
    form = _load(path)
    assert form.keys() >= {"name", "description", "body"}
    ids = [part["id"] for part in form["body"]]
    assert len(set(ids)) == len(ids)
    assert all(part["attributes"]["label"] for part in form["body"])
    if path.stem == "rule":
        assert set(ids) >= {"configuration", "gpu", "release", "happened"}


def test_make_certify_runs_what_make_test_leaves_out() -> None:
    """Each test that is marked certify needs the toolchain, which its target demands."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "--certify -m certify" in text
    assert "CKRULES_REQUIRE_TOOLCHAIN=1" in text


def test_ci_runs_what_make_test_leaves_out() -> None:
    assert "stage make test TEST_ARGS=--whole" in (ROOT / ".ci/run").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("args", "run"),
    [
        (("-o", "testpaths=tests/pictures"), False),
        (("-o", "testpaths=tests/pictures", "--whole"), True),
        (("-o", "testpaths=tests/pictures", "-k", "plots"), True),
        (("tests/pictures",), True),
    ],
)
def test_what_takes_long_runs_where_it_is_named(args: tuple[str, ...], run: bool) -> None:
    """tests/pictures/test_plots.py is marked whole, tests/pictures/test_figures.py is not."""
    command = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider")
    listed = subprocess.run((*command, *args), capture_output=True, text=True, cwd=ROOT)
    assert listed.returncode == 0
    assert ("test_figures.py" in listed.stdout) == ("-k" not in args)
    assert ("test_plots.py" in listed.stdout) == run


def test_workers_run_what_is_named_too() -> None:
    command = (sys.executable, "-m", "pytest", "-q", "-n", "1", "tests/pictures/test_plots.py")
    run = subprocess.run((*command, "-k", "test_files"), capture_output=True, cwd=ROOT)
    assert run.returncode == 0  # 5: none was left


@pytest.mark.parametrize("script", [".ci/run", "scripts/toolchain.sh", "scripts/action.sh"])
def test_scripts_are_programs_of_bash(script: str) -> None:
    assert subprocess.run(["bash", "-n", script], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ["--", "."]),
        ({"INPUT_PATHS": "\n\n", "INPUT_ARGS": "\n"}, ["--", "."]),
        ({"INPUT_PATHS": "  a b.names  \r\n-x.names\r\n"}, ["--", "a b.names", "-x.names"]),
        ({"INPUT_ARGS": "--ignore\r\nCFG001\r\n"}, ["--ignore", "CFG001", "--", "."]),
        ({"INPUT_SARIF": "a.sarif\n"}, [".", "--", "."]),
    ],
)
def test_the_action_reads_lines(given: dict[str, str], words: list[str], tmp_path: Path) -> None:
    """Ends of lines of Windows, blanks and empty lines are no part of paths and arguments."""
    program = tmp_path / "ckrules"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>"{tmp_path}/said"\necho >>a.sarif\n')
    program.chmod(0o755)
    out = tmp_path / "outputs"
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "GITHUB_OUTPUT": str(out), **given}
    script = ["bash", str(ROOT / "scripts/action.sh")]
    subprocess.run(script, cwd=tmp_path, env=environment, check=True, stdin=subprocess.DEVNULL)
    said = (tmp_path / "said").read_text().splitlines()
    own = said[said.index("--") + 1 :] if "INPUT_SARIF" in given else said
    assert [w for w in own if w not in ("check", "--format", "github")] == words
    assert not out.exists() or out.read_text() == "sarif=a.sarif\n"
