"""The GitHub action: its inputs, and the script that it runs, as far as both can be run here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.run import legal, write

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]


def act(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs the step's script in a folder, with the inputs that a workflow gives."""
    tools = folder.parent / "bin"
    tools.mkdir(exist_ok=True)
    command = tools / "ckrules"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ckrules "$@"\n')
    command.chmod(0o755)
    (step,) = (s for s in STEPS if s.get("id") == "check")
    given = {name: inputs.get(name, i["default"]) for name, i in ACTION["inputs"].items()}
    values = {k: given[re.findall(r"inputs\.([\w-]+)", v)[0]] for k, v in step["env"].items()}
    return subprocess.run(
        ["bash", "-c", step["run"]],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, **values, "PATH": f"{tools}:{os.environ['PATH']}",
             "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
             "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_OUTPUT": str(folder.parent / "output")},
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout with a good and a faulty file, in a folder with a blank in its name."""
    place = tmp_path / "a checkout"
    place.mkdir()
    write(place, "good.ck.json", [legal(arch=None)])
    write(place, "bad one.ck.json", [legal(arch=None, tile_m=96)])
    return place


def test_findings_become_annotations(folder: Path) -> None:
    done = act(folder, arch="gfx942")
    assert done.returncode == 1, done.stderr
    assert re.search(r"^::error [^:]*file=bad one\.ck\.json,line=\d+", done.stdout, re.MULTILINE)
    assert "good.ck.json" not in done.stdout
    assert not (folder.parent / "output").exists()
    assert act(folder, arch="gfx942", paths="good.ck.json").returncode == 0


def test_a_sarif_file_for_code_scanning(folder: Path) -> None:
    done = act(folder, arch="gfx942", sarif="out.sarif", paths="good.ck.json\nbad one.ck.json\n")
    assert done.returncode == 1
    assert "::error" in done.stdout
    results = json.loads((folder / "out.sarif").read_text())["runs"][0]["results"]
    places = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results}
    assert places == {"bad%20one.ck.json"}
    assert (folder.parent / "output").read_text() == "sarif=out.sarif\n"


def test_further_arguments(folder: Path) -> None:
    code = act(folder, arch="gfx942", args="--ignore\nTILE001,VEC003\n--exit-zero")
    assert code.returncode == 0
    assert "TILE001" not in code.stdout
    said = act(folder, args="--arhc")
    assert (said.returncode, said.stdout) == (2, "")
    assert "--arch" in said.stderr


def test_inputs_are_no_scripts(folder: Path) -> None:
    """What a pull request can choose reaches the shell as a value."""
    done = act(folder, arch="gfx942", paths='$(touch pwned)\n"; touch pwned; "')
    assert done.returncode == 2
    assert not (folder / "pwned").exists()
    for step in STEPS:
        assert "${{" not in step.get("run", "")


def test_every_input_is_used_and_said() -> None:
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps(STEPS)))
    assert used == set(ACTION["inputs"])
    assert all(i["description"] for i in ACTION["inputs"].values())
    assert all("shell" in s for s in STEPS if "run" in s)
    text = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
    section = text.partition("## GitHub")[2].partition("\n## ")[0]
    assert all(f"`{name}`" in section for name in ACTION["inputs"])
