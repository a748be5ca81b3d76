"""From points to built kernels with the command line alone, in a folder that later runs find again.

The kernel is small: fp16, forward, pipeline basic_v1, 32x32x16 on gfx942.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

from ckrules.compiling import toolchain
from tests.cli.run import run
from tests.compiling.kernels import alone
from tests.helpers.toolchain import require_toolchain

ROOT = Path(__file__).resolve().parents[2]

PART = (
    *("--ck", "2025.11", "--variant", "forward", "--arch", "gfx942", "--dtype", "fp16"),
    *("--ndim", "2", "--set", "pipeline=basic_v1", "--set", "epilogue=cshuffle"),
    *("--set", "tile_m=32", "--set", "tile_n=32", "--set", "tile_k=16"),
    *("--set", "wave_m=2", "--set", "wave_n=2", "--set", "warp_tile_m=16"),
    *("--set", "vector_a=4", "--set", "vector_b=4", "--set", "vector_c=4"),
    *("--set", "num_groups_to_merge=1", "--set", "split_image=false", "--limit", "1"),
)
"""The options of ``ckrules enumerate`` for the kernel."""

CKRULES = shlex.join([sys.executable, "-m", "ckrules"])


def folder() -> Path:
    """Where it is built: beside the CK trees, so that a second run compiles nothing."""
    return toolchain.root() / "tests" / "whole-path-2025.11"


def shell(line: str, home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A line of a shell in which ``ckrules`` is this tree's, with the output of each command."""
    python = os.pathsep.join([str(ROOT), *filter(None, [more.pop("PYTHONPATH", "")])])
    return subprocess.run(
        ["sh", "-c", f'ckrules() {{ {CKRULES} "$@"; }}; {line}'],
        cwd=home,
        env={**os.environ, **more, "PYTHONPATH": python},
        capture_output=True,
        text=True,
        check=False,
    )


def build() -> subprocess.CompletedProcess[str]:
    """Enumerates, generates and builds, as the documentation shows it."""
    home = folder()
    home.mkdir(parents=True, exist_ok=True)
    with alone(home):
        return shell(
            f"ckrules enumerate {shlex.join(PART)} --format jsonl"
            " | ckrules generate - -o out --ck 2025.11 && ckrules build out",
            home,
        )


def built() -> Path:
    """The built folder, by the same commands in this process: for tests of what is in it."""
    require_toolchain()
    home = folder()
    home.mkdir(parents=True, exist_ok=True)
    points = run("enumerate", *PART, "--format", "jsonl", "-q").stdout
    with alone(home), contextlib.chdir(home):
        for words in (("generate", "-", "-o", "out", "--ck", "2025.11"), ("build", "out")):
            done = run(*words, stdin=points)
            assert done.exit_code == 0, done.stderr
    return home / "out"
