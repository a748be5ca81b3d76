"""The hooks, run by pre-commit itself from this repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.check.test_formats import DATA
from tests.cli.run import legal

ROOT = Path(__file__).resolve().parents[2]
HOOKS = (ROOT / ".pre-commit-hooks.yaml").read_text()


def test_the_hooks_are_commands_that_exist() -> None:
    assert re.findall(r"^- id: (\S+)", HOOKS, re.MULTILINE) == ["ckrules-check", "ckrules-fix"]
    for entry in re.findall(r"entry: ckrules (.*)", HOOKS):
        done = subprocess.run(
            [sys.executable, "-m", "ckrules", *entry.split(), "--isolated", "--arch", "gfx942",
             str(DATA / "own.jsonl"), "--exit-zero", "--show-files"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("a.ck.json", True),
        ("x/configs/forward/a.json", True),
        ("nhwgc_fp16.conf", True),
        ("package.json", False),
        ("a.toml", False),
    ],
)
def test_the_files_of_the_hooks(path: str, wanted: bool) -> None:
    for pattern in re.findall(r"files: (.*)", HOOKS):
        assert bool(re.search(pattern, path)) is wanted


def _run(*words: str, folder: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    environment = {**{k: v for k, v in os.environ.items() if not k.startswith("GIT_")}, **extra}
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=900
    )


@pytest.mark.slow
def test_try_repo(tmp_path: Path) -> None:
    """Both hooks are installed from this checkout and find, mend and pass."""
    if not shutil.which("git") or not (ROOT / ".git").exists():
        return  # an unpacked sdist
    made = _run(sys.executable, "-m", "venv", str(tmp_path / "venv"), folder=tmp_path)
    assert made.returncode == 0, made.stderr
    python = str(tmp_path / "venv" / "bin" / "python")
    _run(python, "-m", "pip", "install", "-q", "pre-commit>=4", folder=tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    (work / "ckrules.toml").write_text('arch = "gfx942"\n')
    (work / "a.ck.json").write_text(json.dumps(legal(pipeline="compv4"), indent=1))
    _run("git", "init", "-q", ".", folder=work)
    _run("git", "add", ".", folder=work)
    home = str(tmp_path / "home")

    def hook(name: str) -> subprocess.CompletedProcess[str]:
        words = ["-m", "pre_commit", "try-repo", str(ROOT), name, "--all-files", "--verbose"]
        return _run(python, *words, folder=work, PRE_COMMIT_HOME=home)

    first = hook("ckrules-check")
    assert "a.ck.json:15:14: PIPE003" in first.stdout, first.stdout + first.stderr
    assert first.returncode == 1
    second = hook("ckrules-fix")
    assert "files were modified by this hook" in second.stdout
    assert json.loads((work / "a.ck.json").read_text())["double_smem_buffer"] is True
    third = hook("ckrules-check")
    assert third.returncode == 0, third.stdout
