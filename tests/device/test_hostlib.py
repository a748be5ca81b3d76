"""Host libraries that are damaged."""

from __future__ import annotations

import _ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_LOAD = """
import sys; from pathlib import Path; from ckrules.device.hostlib import HostLibrary
HostLibrary(Path(sys.argv[1]))
"""


@pytest.mark.parametrize(
    ("part", "said"), [(0.0, "no host library"), (0.5, "cut off after"), (1.0, "no host library")]
)
def test_a_library_that_was_cut_off_ends_no_process(tmp_path: Path, part: float, said: str) -> None:
    """What is missing of its pages is noticed where it is touched, by SIGBUS; this is a whole one
    of something else."""
    place = tmp_path / "k.host.so"
    shutil.copy(_ctypes.__file__, place)
    os.truncate(place, int(part * place.stat().st_size))
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, str(place)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.returncode
    assert done.stderr.splitlines()[-1].startswith(
        f"ckrules.device.hostlib.HostLibraryError: {place}: {said}"
    )
