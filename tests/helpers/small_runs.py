"""Runs of pytest on small files of their own, in which plugins of this tree are tested."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_tests(folder: Path, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the tests of a folder.

    Installed plugins are left out, but for xdist where there are jobs: to import them all takes
    longer than the tests.
    """
    options = ["-p", "no:cacheprovider", "-o", "addopts=", *args]
    if "-n" in args:
        options += ["-p", "xdist.plugin"]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(folder), str(folder)],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**inherited, **alone, **environment},
    )  # fmt: skip
