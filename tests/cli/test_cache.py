"""The command that shows and clears compiled spaces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def _run(folder: str, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "CKRULES_CACHE_DIR": folder}
    command = [sys.executable, "-m", "ckrules", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_a_counted_space_is_kept_shown_and_cleared(tmp_path: Path) -> None:
    """Counting keeps the space, show lists it, clear removes it."""
    counted = _run(str(tmp_path), "count", "--variant", "forward", "--arch", "gfx942")
    shown = json.loads(_run(str(tmp_path), "cache", "--format", "json").stdout)
    cleared = _run(str(tmp_path), "cache", "clear")
    after = json.loads(_run(str(tmp_path), "cache", "show", "--format", "json").stdout)

    assert counted.returncode == 0
    assert len(shown["entries"]) == 1
    assert shown["entries"][0]["bytes"] > 0
    assert "1 compiled spaces and 0 kernels removed" in cleared.stderr
    assert after["entries"] == []


def test_the_cache_can_be_off_and_actions_are_known(tmp_path: Path) -> None:
    """An empty folder name turns the cache off; a misspelt action gets the near match."""
    off, wrong = _run("", "cache"), _run(str(tmp_path), "cache", "claer")

    assert "no spaces are kept" in off.stderr
    assert wrong.returncode == 2
    assert "did you mean 'clear'?" in wrong.stderr
