"""The plugin that begins with what takes long, and what xdist makes of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEAD = "import pathlib, pytest\nlog = pathlib.Path(__file__).with_name('log')\n"
TEST = "{mark}def test_{n}():\n    with log.open('a') as f: f.write('{name} ')\n"
FILES = {"many": ("", 6), "few": ("", 1), "slow": ("slow", 2), "compiles": ("toolchain", 1)}


def test_what_takes_long_comes_first(tmp_path: Path) -> None:
    """Of xdist 3.8, which sorts files by their tests, it came last."""
    for name, (mark, count) in FILES.items():
        marked = f"@pytest.mark.{mark}\n" if mark else ""
        tests = [TEST.format(mark=marked if not n else "", n=n, name=name) for n in range(count)]
        (tmp_path / f"test_{name}.py").write_text(HEAD + "".join(tests))
    command = [sys.executable, "-m", "pytest", "-p", "tests.plugins.order", "-n", "1"]
    command += ["--dist", "loadfile", "-p", "no:cacheprovider", "-o", "addopts=", "-q"]
    subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True, text=True, check=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    ran = list(dict.fromkeys((tmp_path / "log").read_text().split()))
    assert ran == ["compiles", "slow", "many", "few"]
