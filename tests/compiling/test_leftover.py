"""Kernels of earlier runs: said, and removed on request, and nothing else with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckrules.codegen.generate import MANIFEST
from ckrules.compiling.folder import manifests
from ckrules.compiling.stale_files import leftovers
from tests.cli.run import run
from tests.compiling import fake


def again(folder: Path, count: int, *more: str) -> str:
    """Generates the first kernels of a folder's manifest again; what was said last."""
    lines = (folder / MANIFEST).read_text().splitlines()[:count]
    points = "".join(f"{json.dumps(json.loads(line)['config'])}\n" for line in lines)
    words = ["generate", "-", "-o", str(folder), "--ck", "2025.11", "--force", *more]
    done = run(*words, stdin=points)
    assert done.exit_code == 0
    said = [line for line in done.stderr.splitlines() if not line.startswith("to compile for ")]
    return said[-1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four kernels, of which one is built and another is somebody's own."""
    out = fake.kernels(tmp_path / "out")
    names = [k.name for k in manifests(out)]
    for suffix in ("hsaco", "host.so", "o"):
        (out / f"{names[3]}.{suffix}").touch()
    (out / f"{names[3]}.notes.txt").touch()
    (out / "mine.cpp").write_text("int main() {}\n")
    (out / "mine.hpp").write_text(f"// x\n// ckrules 0, rule book 0, {names[3]}\n")
    (out / "linked.cpp").symlink_to(f"{names[0]}.cpp")
    return out


def test_kernels_of_earlier_runs_are_said_and_removed(folder: Path) -> None:
    names = [k.name for k in manifests(folder)]
    before = {p for p in folder.rglob("*") if not p.is_dir()}
    stay = f"{folder}: 2 kernels of earlier runs stay there: --clean removes them"
    assert again(folder, 2) == stay
    assert again(folder, 2) == stay  # though the manifest does not list them any more
    assert {p for p in folder.rglob("*") if not p.is_dir()} >= before
    assert again(folder, 2, "--clean").endswith("2 kernels of earlier runs removed (13 files)")
    gone = before - {p for p in folder.rglob("*") if not p.is_dir()}
    assert all(any(name in path.name for name in names[2:]) for path in gone)
    assert len(gone) == 13
    assert (folder / f"{names[3]}.notes.txt").exists()
    assert (folder / "mine.hpp").exists()
    assert "kernels;" in again(folder, 2, "--clean")
    assert leftovers(folder, set(names[:2])) == {}


def test_kernels_of_several_gpus_are_not_hidden(folder: Path, tmp_path: Path) -> None:
    """A build saw the kernel of the earlier run alone, and the new ones never."""
    config = json.loads((folder / MANIFEST).read_text().splitlines()[0])["config"]

    def made(out: Path, *archs: str) -> tuple[int, str]:
        points = "".join(f"{json.dumps({**config, 'arch': arch})}\n" for arch in archs)
        words = ["generate", "-", "-o", str(out), "--ck", "2025.11", "--force"]
        done = run(*words, stdin=points)
        return done.exit_code, done.stderr.splitlines()[-1]

    said = f"error: {folder}: kernels of an earlier run are there, and these are for gfx90a and"
    code, last = made(folder, "gfx90a", "gfx942")
    assert (code, last) == (2, f"{said} gfx942, a folder each: choose another folder")
    out = tmp_path / "several"
    assert made(out, "gfx90a", "gfx942")[0] == 0
    stay = "kernels of an earlier run stay there: remove the folder"
    assert made(out, "gfx908", "gfx942") == (0, f"{out / 'gfx90a'}: {stay}")
    assert made(out, "gfx942") == (0, f"{out / 'gfx942'}: {stay}")


def test_nothing_outside_the_folder_is_removed(folder: Path, tmp_path: Path) -> None:
    wrappers = folder / "dispatcher_wrappers"
    wrappers.rename(tmp_path / "wrappers")
    wrappers.symlink_to(tmp_path / "wrappers")
    kept = {p.name for p in (tmp_path / "wrappers").iterdir()}
    assert again(folder, 1, "--clean").endswith("(15 files)")
    assert kept <= {p.name for p in (tmp_path / "wrappers").iterdir()}
