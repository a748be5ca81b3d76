"""A faulty ``--arch-file`` stops every command that takes one, with one line that says where."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from ckrules import arch
from ckrules.cli.group import cli
from tests.cli.run import ILLEGAL, run, write

MEASURED = str(Path(__file__).parents[1] / "data" / "measured.csv")
#: What each command needs beside the options, to get as far as reading the GPUs.
ARGUMENTS: dict[str, list[str]] = {
    "archs": [],
    "build": ["-o", "out", "--arch", "gfx942", ILLEGAL],
    "catalogs": [],
    "certify": ["--arch", "gfx942"],
    "certify backend": ["--arch", "gfx942"],
    "certify numerics": ["--arch", "gfx942"],
    "check": ["--isolated", "--arch", "gfx942", ILLEGAL],
    "count": [],
    "cover": ["--variant", "forward", "--arch", "gfx942", "--symbolic", "N == 1"],
    "diff": ["gfx942", "gfx950"],
    "draw": ["--arch", "gfx942", ILLEGAL],
    "enumerate": ["--limit", "1"],
    "evaluate": ["--measurements", MEASURED],
    "explain": ["TILE001"],
    "explore": [],
    "fix": ["--arch", "gfx942", ILLEGAL],
    "generate": ["-o", "out", "--arch", "gfx942", ILLEGAL],
    "graph": [],
    "lint": [],
    "plot": ["predicted", "--measurements", MEASURED, "-o", "x.png"],
    "portable": ["--arch", "gfx942,gfx950"],
    "rank": ["--problem", "N=1,C=8,K=8,H=9,W=9,Y=3,X=3", "--variant", "forward"],
    "report": ["space", "-o", "x.html"],
    "rules": [],
    "sample": ["-n", "1"],
    "schema": ["configurations"],
    "search": ["--problem", "N=1,C=8,K=8,H=9,W=9,Y=3,X=3", "--variant", "forward"],
    "train": ["--measurements", MEASURED, "-o", "out"],
    "why": ["--arch", "gfx942"],
}


def taking(option: str) -> list[str]:
    """The commands that take an option."""
    context = click.Context(cli)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return [
        name
        for name, command in commands.items()
        if command is not None and any(option in p.opts for p in command.params)
    ]


CASES: list[tuple[str, list[str]]] = [(name, []) for name in taking("--arch-file")]
CASES += [(name, ["--catalog", "tiny"]) for name in taking("--catalog")]


@pytest.mark.parametrize(("command", "more"), CASES)
def test_a_faulty_gpu_file_stops_the_command(
    command: str, more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "bad.toml", '[gpu]\nname = "gfx1203"\nwave_sise = 32\n')
    result = run(*command.split(), *ARGUMENTS[command], *more, "--arch-file", "bad.toml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: bad.toml:1:1: ")


def test_every_command_that_takes_one_is_tried() -> None:
    assert sorted(ARGUMENTS) == taking("--arch-file")


def test_a_list_of_kernels_for_a_gpu_of_ones_own_is_a_catalog(tmp_path: Path) -> None:
    fact = (Path(arch.__file__).parent / "data" / "gfx942.toml").read_text()
    own = write(tmp_path, "own.toml", fact.replace("gfx942", "gfx94f"))
    kernels = write(tmp_path, "kernels.txt", ILLEGAL + "\n")
    result = run("catalogs", kernels, "--arch", "gfx94f", "--arch-file", own)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "kernels.txt: the kernels of" in result.stdout


def test_a_gpu_file_that_a_shell_hands_over(tmp_path: Path) -> None:
    """``<(command)`` is read; a pipe with a name of its own is refused, as everywhere."""
    fact = (Path(arch.__file__).parent / "data" / "gfx942.toml").read_text()
    write(tmp_path, "own.toml", fact.replace("gfx942", "gfx94f"))
    command = f"{sys.executable} -m ckrules archs gfx94f --format json --arch-file"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    script = f"{command} <(cat own.toml) && mkfifo named && {command} named"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout)["name"] == "gfx94f"
    assert done.returncode == 2
    assert done.stderr == "error: named: cannot read the GPU file: a pipe, expected a file\n"
