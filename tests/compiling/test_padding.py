"""The padding of the dispatcher library: no number of a caller overflows."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ckrules.codegen.generate import Generator
from ckrules.constraints import book
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_name("padding_user.cpp")
COMPILERS = ("g++", "clang++")


def test_no_size_overflows(tmp_path: Path) -> None:
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        pytest.skip("no C++ compiler")
    for variant in ("forward", "standard"):  # whose headers declare the problems
        Generator(Books("2025.11"), tmp_path / variant, force=True, ninja=False).run(
            [Config(dict(book(variant).vocabulary.baseline))]
        )
    folders = {p.parent for p in tmp_path.rglob("ckrules_*.h")}
    words = [f"-I{p}" for p in (ROOT / "ckrules" / "compiling" / "data", *folders)]
    program = tmp_path / "pad"
    # Trapping needs no library of the compiler, which may not be there.
    undefined = ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
    command = [compiler, "-std=c++17", *undefined, *words, str(SOURCE), "-o", str(program)]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
