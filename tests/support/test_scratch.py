"""Temporary folders of processes that were killed go with the next folder; others stay."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_MAKE = """
import sys
from pathlib import Path
from ckrules.support.scratch import ScratchFolder
made = ScratchFolder()
Path(made.name, "large").write_text("text")
print(made.name, flush=True)
sys.stdin.read()
"""


def begun(home: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process with a folder that was made a while ago, and the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", _MAKE],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(home)},
    )  # fmt: skip
    assert process.stdout is not None
    made = Path(process.stdout.readline().strip())
    os.utime(made, (1, 1))
    return process, made


def test_a_killed_process_leaves_its_folder_until_the_next_one(tmp_path: Path) -> None:
    dead, left = begun(tmp_path)
    dead.kill()
    dead.communicate()
    assert left.exists()
    foreign = tmp_path / "ckrules-other"
    foreign.mkdir()
    os.utime(foreign, (1, 1))
    link = tmp_path / "ckrules-work-link"
    link.symlink_to(foreign)
    other, kept = begun(tmp_path)
    assert not left.exists()
    another, mine = begun(tmp_path)
    assert (kept / "large").exists()
    for process in (other, another):
        process.communicate()
        assert process.returncode == 0
    assert sorted(tmp_path.iterdir()) == [foreign, link]
    assert not mine.exists()


def test_a_folder_that_is_about_to_be_locked_stays(tmp_path: Path) -> None:
    young = tmp_path / "ckrules-work-young"
    young.mkdir()
    process, _ = begun(tmp_path)
    process.communicate()
    assert young.exists()


def test_its_files_can_be_written_by_one_process_at_a_time() -> None:
    code = """
from pathlib import Path
from ckrules.support import files
from ckrules.support.scratch import ScratchFolder
with ScratchFolder() as name, files.alone(Path(name)):
    print("alone")
"""
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert made.stdout == "alone\n"
