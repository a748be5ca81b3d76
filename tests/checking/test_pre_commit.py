"""The hooks, run by pre-commit itself from this repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from ckrules.checking.patterns import matches
from ckrules.checking.settings import INCLUDE
from tests.cli.run import legal, run
from tests.readers.test_formats import DATA

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


@pytest.mark.parametrize("folder", ["", "x/", "configs/", "x/configs/forward/", "myconfigs/"])
@pytest.mark.parametrize(
    "name",
    [
        *("a.ck.json", "a.ck.jsonl", "a.ck.toml", "a.ck.csv", "nhwgc_fp16.conf", "a.json"),
        *("sets.hpp", "sets.cpp", "a.toml", "a.h", "ck.json", "a.conf.txt", "configs"),
    ],
)
def test_the_hooks_take_what_the_command_takes_in_folders(folder: str, name: str) -> None:
    """The hooks' regular expression and ``include`` are the same files."""
    path = folder + name
    patterns = re.findall(r"files: (.*)", HOOKS)
    assert len(patterns) == 2
    for pattern in patterns:
        assert bool(re.search(pattern, path)) is matches(path, INCLUDE)


def test_the_page_says_which_files_are_aiters() -> None:
    page = (ROOT / "docs" / "check.md").read_text()
    (pattern,) = re.findall(r"`files: (.*)`", page)
    named = [
        "aiter/configs/a8w8_tuned_gemm.csv", "csrc/ck_gemm_a8w8/gemm_a8w8_common.py",
        "csrc/ck_tile/moe_flatmm_instance_lists.py", "setup.py", "tests/data/times.csv",
    ]  # fmt: skip
    taken = [matches(path, INCLUDE) for path in named]
    assert [bool(re.search(pattern, path)) for path in named] == taken
    assert taken == [True, True, True, False, False]


def test_what_declares_no_kernels_passes_the_hooks(tmp_path: Path) -> None:
    (tmp_path / "plain.cpp").write_text("#include <a>\nint main() { return 0; }\n")
    (entry,) = re.findall(r"entry: ckrules (check --force.*)", HOOKS)
    done = run(*entry.split(), "--isolated", *map(str, sorted(tmp_path.glob("*.?pp"))))
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("name", ["sets.hpp", "sets.cpp", "a.conf", "a.ck.toml", "a.ck.jsonl"])
def test_an_empty_file_passes_the_hooks(name: str, tmp_path: Path) -> None:
    """Nothing at all is as good as comments alone, and no line is no kernel in JSON Lines."""
    (tmp_path / name).touch()
    (entry,) = re.findall(r"entry: ckrules (check --force.*)", HOOKS)
    done = run(*entry.split(), "--isolated", str(tmp_path / name))
    assert (done.exit_code, done.output) == (0, "")
    assert run("check", "--isolated", str(tmp_path / name)).exit_code == 3


def _run(*words: str, folder: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    environment = {**{k: v for k, v in os.environ.items() if not k.startswith("GIT_")}, **extra}
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def _committed(place: Path, **settings: str) -> Path:
    """A repository of this tree as it is, with what is not committed: hooks are cloned."""
    files = _run("git", "ls-files", "-coz", "--exclude-standard", folder=ROOT, **settings).stdout
    for name in filter(None, files.split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, place / name)
    _run("git", "init", "-q", ".", folder=place)
    _run("git", "add", "-A", ".", folder=place)
    who = ("-c", "user.name=tests", "-c", "user.email=tests@localhost")
    done = _run("git", *who, "commit", "-qm", "The tree", folder=place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.mark.slow
@pytest.mark.whole
def test_the_hooks_are_installed(tmp_path: Path) -> None:
    """Both hooks are installed from this checkout and find, repair and pass.

    What ckrules needs is taken from here instead of being fetched.
    """
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    if not (ROOT / ".git").exists():
        pytest.skip("the tree is not a git checkout, which pre-commit clones")
    work = tmp_path / "work"
    work.mkdir()
    (work / "ckrules.toml").write_text('arch = "gfx942"\n')
    (work / "a.ck.json").write_text(json.dumps(legal(pipeline="compv4"), indent=1))
    _run("git", "init", "-q", ".", folder=work)
    _run("git", "add", ".", folder=work)
    settings = {
        "PRE_COMMIT_HOME": str(tmp_path / "home"),
        # Without safe.directory git refuses to clone another user's checkout, as CI may have it.
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
        # Nothing is fetched: neither what it needs nor setuptools, which builds it.
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_NO_INDEX": "1",
        "PIP_NO_COMPILE": "1",  # most modules are not imported by the hooks
        "PYTHONPATH": sysconfig.get_path("purelib"),
    }

    shadow = _committed(tmp_path / "shadow", **settings)
    ids = re.findall(r"^- id: (\S+)", HOOKS, re.MULTILINE)
    repository = {"repo": str(shadow), "rev": "HEAD", "hooks": [{"id": name} for name in ids]}
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({"repos": [repository]}))

    def hooks() -> subprocess.CompletedProcess[str]:
        words = ["-m", "pre_commit", "run", "--config", str(config), "--all-files", "--verbose"]
        return _run(sys.executable, *words, folder=work, **settings)

    first = hooks()
    assert "a.ck.json:15:14: PIPE003" in first.stdout, first.stdout + first.stderr
    assert first.returncode == 1
    assert "files were modified by this hook" in first.stdout
    assert json.loads((work / "a.ck.json").read_text())["double_smem_buffer"] is True
    second = hooks()
    assert second.returncode == 0, second.stdout
    assert second.stdout.count("Passed") == 2
