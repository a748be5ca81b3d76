"""Native code that is kept in the user's cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ckrules.emulator.native import library


@pytest.mark.skipif(library.compiler() is None, reason="needs clang")
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6])
def test_a_library_that_is_cut_off_is_made_again(share: float, tmp_path: Path) -> None:
    """Each run of the emulator ended by SIGBUS, or went on without native code, ever after."""
    code = (
        "from ckrules.emulator.native.library import library, source_of\n"
        "assert library(source_of(['(void)c; (void)i; return 0;'], 32))"
    )
    env = {"CKRULES_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    words = [sys.executable, "-c", code]
    subprocess.run(words, env=env, check=True)
    (kept,) = tmp_path.rglob("*.so")
    whole = kept.read_bytes()
    kept.write_bytes(whole[: int(len(whole) * share)])
    subprocess.run(words, env=env, check=True)
    assert len(kept.read_bytes()) == len(whole)
