"""The plugin that fails a run for unexpected skips, on small test files of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.helpers.small_runs import run_tests


def _pytest(folder: Path, ci: str, *args: str) -> subprocess.CompletedProcess[str]:
    return run_tests(folder, "-p", "tests.plugins.skips", "-o", "markers=gpu", *args, CI=ci)


def _file(folder: Path, body: str) -> None:
    (folder / "test_it.py").write_text(f"import pytest\n{body}\n", encoding="utf-8")


PASS = "def test_passes(): pass\n"
SKIP = PASS + "def test_b(): pytest.skip('no clang')"
MODULE = "pytest.skip('no shared folder', allow_module_level=True)"
GPU = PASS + "@pytest.mark.gpu\ndef test_b(): pytest.skip('no GPU')"
XFAIL = PASS + "@pytest.mark.xfail\ndef test_b(): assert 0"


@pytest.mark.parametrize(
    ("body", "reason", "jobs"),
    [
        pytest.param(PASS, "", [], id="pass"),
        pytest.param(SKIP, "no clang", [], id="skip"),
        pytest.param(SKIP, "no clang", ["-n", "2"], id="skip in a worker"),
        pytest.param(GPU, "", [], id="gpu"),
        pytest.param(XFAIL, "", [], id="xfail"),
    ],
)
def test_only_unexpected_skips_fail(
    tmp_path: Path, body: str, reason: str, jobs: list[str]
) -> None:
    """The run fails, names the test and its reason, and keeps pytest's closing line last."""
    _file(tmp_path, body)
    done = _pytest(tmp_path, "true", *jobs)

    assert done.returncode == (1 if reason else 0), done.stdout + done.stderr
    assert ("unexpected skips fail this run" in done.stdout) == bool(reason)
    assert reason in done.stdout
    assert "passed" in done.stdout.splitlines()[-1]


def test_a_skipped_module_fails_too(tmp_path: Path) -> None:
    """A file that skips itself while it is collected."""
    _file(tmp_path, MODULE)
    (tmp_path / "test_other.py").write_text(PASS, encoding="utf-8")
    done = _pytest(tmp_path, "true")

    assert done.returncode == 1
    assert "test_it.py: no shared folder" in done.stdout


def test_skips_are_free_elsewhere(tmp_path: Path) -> None:
    """Without CI=true a skip is a skip."""
    _file(tmp_path, SKIP)

    assert _pytest(tmp_path, "false").returncode == 0
