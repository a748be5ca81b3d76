"""The options that CK's kernels need: given where the compiler takes them, and noted."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ckrules.arch import CK_VERSIONS
from ckrules.codegen.ck_options import NO_SINKING, REGISTERS_READ_EARLY, lacking, options
from ckrules.codegen.model import own_options
from ckrules.compiling import toolchain
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.compile_commands import Recipe, flags
from ckrules.compiling.database import FILE
from ckrules.compiling.known_options import taken
from ckrules.compiling.toolchain import MissingToolError, Toolchain
from ckrules.kernels.books import Books
from ckrules.kernels.families import family_of
from tests.cli.run import run
from tests.compiling import fake
from tests.helpers.toolchain import require_toolchain

pytestmark = pytest.mark.whole

POST = "-mllvm -enable-post-misched=0"
COERCE = "-mllvm -amdgpu-coerce-illegal-types=1"
EARLY = "-mllvm -amdgpu-early-inline-all=true"
"""What has LLVM's own compilers, from 18 on, compile a kernel for a quarter of an hour."""
AGAIN = (
    "-mllvm -amdgpu-disable-unclustered-high-rp-reschedule",
    "-mllvm -amdgpu-disable-clustered-low-occupancy-reschedule",
)
"""What keeps LLVM before 20 from scheduling a region again."""
OURS = " (for compilers before LLVM 20)"


def texts(compiler: Path, ck: str = "2025.11") -> list[str]:
    return [o.text for o in taken(compiler, ck)]


@pytest.mark.toolchain
def test_they_stand_in_cks_own_files() -> None:
    require_toolchain()
    tree = toolchain.root() / toolchain.TREES["2025.11"]
    for option in options("2025.11"):
        if option.text in AGAIN:
            continue
        place, line = re.match(r"([\w/.]+):(\d+)", option.source).groups()  # type: ignore[union-attr]
        assert option.text in (tree / place).read_text().splitlines()[int(line) - 1], option
    given = (tree / "CMakeLists.txt").read_text()
    own = set(re.findall(r'add_compile_options\((?:"SHELL: )?(-(?:mllvm|fno)[^")]*)', given))
    assert own == {o.text for o in options("2025.11") if o.source.startswith("CMake")}


@pytest.mark.toolchain
def test_clang_takes_what_it_knows() -> None:
    """Each is one that a real compiler accepts, but for those that only AMD's own have or stand."""
    tools = require_toolchain()
    every = [o.text for o in options("2025.11")]
    assert texts(tools.compiler) == [text for text in every if text not in (COERCE, EARLY)]


def test_amds_own_compilers_take_all(include: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "HIP version: 6.4.43482-0f2d60242\nAMD clang version 19.0.0git (https://github.com/ROCm)"
    monkeypatch.setenv("FAKE_VERSION", said)
    hipcc = include.parent / "bin" / "hipcc"
    assert texts(hipcc) == [o.text for o in options("2025.11")]
    assert Toolchain("2025.11", hipcc, "hipcc", include, include).version == said.split("\n")[0]


def test_every_release_has_them() -> None:
    for ck in CK_VERSIONS:
        assert POST in [o.text for o in options(ck)]
    with pytest.raises(toolchain.CkrulesError, match=r"unknown CK version '2025\.1'"):
        options("2025.1")


def test_what_a_compiler_does_not_take_is_left_out(
    include: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_UNKNOWN", "-fno-offload-uniform-block -enable-post-misched=0")
    hipcc = include.parent / "bin" / "hipcc"
    tools = Toolchain("2025.11", hipcc, "hipcc", include.parent, include)
    for artifact in Artifact:
        words = flags(Recipe("2025.11", "gfx942", (), flags=("-DLAST",)), artifact, tools)
        absent = [o.text for o in lacking(options("2025.11"), words)]
        assert absent == ["-fno-offload-uniform-block", POST, EARLY]
        assert words[-1] == "-DLAST"


def test_a_compiler_that_compiles_nothing_is_an_error(tmp_path: Path) -> None:
    program = tmp_path / "hipcc"
    program.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo 1.0 && exit\necho error: no licence\nexit 1\n'
    )
    program.chmod(0o755)
    with pytest.raises(MissingToolError, match=r"cannot compile an empty file: error: no licence"):
        taken(program, "2025.11")


def test_a_build_without_them_is_marked(folder: Path, include: Path) -> None:
    assert fake.build(folder, include).built == 4
    assert {r.lacks for r in fake.rows(folder)} == {""}
    assert "without options" not in run("results", str(folder)).stderr
    fake.build(folder, include, flags=("-mllvm", "-enable-post-misched=1"))
    assert {r.lacks for r in fake.rows(folder)} == {POST}
    said = run("results", str(folder)).stderr
    assert said == "4 results, 0 failed, 4 built without options that CK's kernels need\n"


def test_an_option_that_the_compiler_does_not_take_is_no_lack(
    folder: Path, include: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_UNKNOWN", "-amdgpu-coerce-illegal-types=1")
    fake.build(folder, include)
    assert {r.lacks for r in fake.rows(folder)} == {""}
    assert not any("coerce" in r.flags for r in fake.rows(folder))


def test_rows_from_before_say_what_they_lack(folder: Path, include: Path) -> None:
    fake.build(folder, include)
    with closing(sqlite3.connect(folder / FILE)) as db:
        db.execute("UPDATE build SET flags = '-O3 -mllvm -enable-noalias-to-md-conversion=0'")
        db.execute("ALTER TABLE build DROP COLUMN lacks")
        db.commit()
    before = (folder / FILE).read_bytes()
    assert all(POST in r.lacks and "noalias" not in r.lacks for r in fake.rows(folder))
    assert (folder / FILE).read_bytes() == before
    assert fake.build(folder, include).known == 4  # and opened to be written
    assert all(POST in r.lacks for r in fake.rows(folder))


def logged(tmp_path: Path, include: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> Path:
    """Has build files call a compiler of a version that keeps its words; the file that has them."""
    log = tmp_path / "words"
    hipcc = tmp_path / "my-hipcc"
    hipcc.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {include.parent}/bin/hipcc "$@"\n')
    hipcc.chmod(0o755)
    monkeypatch.setenv("FAKE_VERSION", version)
    monkeypatch.setenv("HIPCC", str(hipcc))
    monkeypatch.setenv("CK_INCLUDE", str(include))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    return log


@pytest.mark.parametrize(
    ("program", "version", "absent"),
    [
        ("make", "clang version 19.1.4", [COERCE, EARLY]),
        ("make", "clang version 20.1.0", [COERCE, EARLY, *AGAIN]),
        ("make", "clang version 22.1.8", [COERCE, EARLY, *AGAIN]),
        ("make", "AMD clang version 20.0.0git", [COERCE]),
        ("make", "AMD clang version 19.0.0git", [COERCE]),
        ("ninja", "AMD clang version 19.0.0git", [COERCE]),
    ],
)
def test_generated_build_files_ask_the_compiler(
    program: str,
    version: str,
    absent: list[str],
    tmp_path: Path,
    include: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = fake.kernels(tmp_path / "project", 1, ninja=True)
    (name,) = (p.stem for p in out.glob("grouped*.cpp") if p.suffixes == [".cpp"])
    monkeypatch.setenv("FAKE_UNKNOWN", "-amdgpu-coerce-illegal-types=1")
    log = logged(tmp_path, include, monkeypatch, version)
    tool = shutil.which(program)
    if tool is None:
        pytest.skip(f"no {program}")
    done = subprocess.run([tool, f"{name}.o"], cwd=out, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    words = log.read_text().splitlines()[-1].split()
    assert [o.text for o in lacking(options("2026.06"), words)] == absent
    assert "-c" in words


@pytest.mark.parametrize("program", ["make", "ninja"])
@pytest.mark.parametrize(("version", "early"), [("19.1.7", False), ("22.1.8", True)])
def test_generated_build_files_know_what_some_kernels_need(
    program: str,
    version: str,
    early: bool,
    tmp_path: Path,
    include: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pre-shuffled weights are read across barriers without their option (clang before 20)."""
    out = tmp_path / "out"
    words = ["--dtype", "fp16", "--arch", "gfx942", "--ck", "2025.11", "--limit", "1"]
    words += ["--format", "jsonl", "--where"]
    kinds = [("standard", "pipeline == 'compv3'"), ("preshuffle", "pipeline == 'preshufflev2'")]
    listed = "".join(run("enumerate", "--variant", v, *words, w).stdout for v, w in kinds)
    made = run("generate", "-", "-o", str(out), "--ck", "2025.11", "--ninja", stdin=listed)
    assert made.exit_code == 0, made.stderr
    log = logged(tmp_path, include, monkeypatch, f"clang version {version}")
    own: dict[bool, list[bool]] = {}
    for name in (k.stem for k in out.glob("gemm_*.cpp") if k.suffixes == [".cpp"]):
        done = subprocess.run([program, f"{name}.o"], cwd=out, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        words = log.read_text().splitlines()[-1].split()
        assert not lacking(options("2025.11")[:3], words)
        own.setdefault("preshuffle" in name, []).append(not lacking([REGISTERS_READ_EARLY], words))
    assert own == {False: [False], True: [not early]}


def test_build_files_stop_at_a_compiler_that_compiles_nothing(tmp_path: Path) -> None:
    out = fake.kernels(tmp_path / "project", 1)
    env = {**os.environ, "HIPCC": "false"}
    script = out / "runtime" / "ckrules_options.sh"
    done = subprocess.run(["sh", str(script)], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "false cannot compile an empty file\n"


def test_doctor_says_which_a_compiler_takes(include: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(include.parent / "bin"))
    monkeypatch.setenv("FAKE_UNKNOWN", "-amdgpu-coerce-illegal-types=1")
    listed = json.loads(run("doctor", "--format", "json").stdout)
    (found,) = (f for f in listed if f["what"] == "options for CK")
    only = f"{EARLY} (for AMD's own compilers)"
    assert (found["ok"], found["detail"]) == (True, f"hipcc takes 7 of 9, not {COERCE}, {only}")


@pytest.mark.parametrize(("variant", "arch"), [("forward", "gfx1201"), ("standard", "gfx1100")])
def test_last_products_stay_with_all_lanes(variant: str, arch: str) -> None:
    """Kernels of WMMA that store from registers; those that go through LDS have no such stores."""
    book = Books("2025.11").of(variant)
    point = {**book.vocabulary.baseline, "arch": arch}

    def own(**changed: str | bool) -> list[str]:
        return [o.text for o in own_options(family_of(variant), {**point, **changed})]

    sunk = [NO_SINKING.text]
    assert (own(epilogue="default"), own(epilogue="cshuffle")) == (sunk, [])
    assert own(epilogue="default", arch="gfx942") == []
    assert own(epilogue="cshuffle", permute_n=True) == sunk
    assert own(epilogue="default", arch="of-a-file") == sunk
