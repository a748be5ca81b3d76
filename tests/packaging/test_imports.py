"""The mapped folders have one import name each, and the symlinks that give it from the root."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAPPED = ("arch", "constraints", "codegen")


def _python(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, check=False, cwd=ROOT
    )


@pytest.mark.parametrize("folder", MAPPED)
def test_a_top_level_import_is_refused(folder: str) -> None:
    """A second copy of the rules would compare unequal to the first."""
    done = _python("-c", f"import {folder}")

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (f"ImportError: import ckrules.{folder}, not {folder}")


@pytest.mark.parametrize("folder", MAPPED)
def test_the_import_from_the_root_uses_the_folder(folder: str) -> None:
    """Run from the root, the package finds its mapped folders through the symlinks."""
    program = f"import os, ckrules.{folder} as p; print(os.path.realpath(p.__file__))"
    done = _python("-c", program)

    assert (done.stdout.strip(), done.stderr) == (str(ROOT / folder / "__init__.py"), "")


@pytest.mark.parametrize("folder", MAPPED)
def test_the_symlinks_are_there(folder: str) -> None:
    """They are relative, so that a clone anywhere has them."""
    link = ROOT / "ckrules" / folder

    assert link.is_symlink()
    assert os.readlink(link) == f"../{folder}"


def test_git_has_the_symlinks_as_symlinks() -> None:
    """Mode 120000."""
    if not (ROOT / ".git").exists():
        pytest.skip("the tree is not a git checkout")
    # Without safe.directory git refuses to read another user's checkout, as CI may have it.
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "--stage", *(f"ckrules/{f}" for f in MAPPED)],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert listing.returncode == 0, listing.stderr
    modes = {line.split("\t")[1]: line.split()[0] for line in listing.stdout.splitlines()}

    assert modes == {f"ckrules/{f}": "120000" for f in MAPPED}


def test_importing_the_package_loads_no_solver() -> None:
    """`import ckrules` is cheap; names come at first use."""
    program = (
        "import sys, ckrules; dir(ckrules)\n"
        "print(sorted({'z3', 'numpy', 'networkx', 'click', 'rich'} & sys.modules.keys()))"
    )

    assert _python("-c", program).stdout == "[]\n"


def test_every_public_name_can_be_imported() -> None:
    """``__all__`` promises nothing that is not there."""
    program = "import ckrules\nfor n in ckrules.__all__: getattr(ckrules, n)\nprint('all')"
    done = _python("-c", program)

    assert (done.stdout, done.stderr) == ("all\n", "")
