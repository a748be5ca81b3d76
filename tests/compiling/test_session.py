"""Builds with a fake compiler: results, resuming, faults of compilers, executors, commands."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckrules.arch import load
from ckrules.codegen.generate import MANIFEST, Generator
from ckrules.compiling import execution, executors, tasks
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.database import FILE
from ckrules.compiling.folder import manifests
from ckrules.compiling.precompiled import SharedHeaders
from ckrules.compiling.tasks import BuildOutcome
from ckrules.constraints import book
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.support.errors import UsageError
from tests.cli.run import run
from tests.compiling import fake
from tests.compiling.fake import build, rows

pytestmark = pytest.mark.whole


def test_results_are_stored_and_known_next_time(folder: Path, include: Path) -> None:
    first = build(folder, include)
    assert (first.total, first.built, first.failed) == (4, 4, 0)
    found = rows(folder)
    assert len(found) == 4
    assert all(r.status == "ok" and r.tool_version == "fake compiler 1.0" for r in found)
    assert all((folder / f"{r.name}.o").is_file() for r in found)
    again = build(folder, include)
    assert (again.built, again.known) == (0, 4)
    assert not (folder / ".ckrules-tmp" / str(os.getpid())).exists()


def test_what_changed_or_vanished_is_built_again(folder: Path, include: Path) -> None:
    build(folder, include)
    name = rows(folder)[0].name
    (folder / f"{name}.o").unlink()
    assert build(folder, include).built == 1
    unit = folder / f"{name}.cpp"
    unit.write_text(unit.read_text() + "// more\n")
    assert build(folder, include).built == 1
    assert build(folder, include, flags=("-DX",)).built == 4


@pytest.mark.parametrize("how", ["fail", "kill"])
def test_what_fails_to_build_again_leaves_no_older_artifact(
    how: str, folder: Path, include: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was run, and went into the library, as the artifact of sources that do not compile."""
    build(folder, include)
    name = next(r.name for r in rows(folder) if "_64x64x" in r.name)
    unit = folder / f"{name}.cpp"
    unit.write_text(unit.read_text() + "more\n")
    monkeypatch.setenv("FAKE_COMPILER", how)
    assert build(folder, include).failed == 1
    assert {p.stem for p in folder.glob("*.o")} == {r.name for r in rows(folder)} - {name}


@pytest.mark.parametrize("content", [b"", b"x", None])
def test_another_file_in_the_place_of_an_artifact_is_built_again(
    content: bytes | None, folder: Path, include: Path
) -> None:
    build(folder, include)
    found = rows(folder)
    made = folder / f"{found[0].name}.o"
    right = made.read_bytes()
    assert {(r.artifact_bytes, len(r.artifact_digest or "")) for r in found[:1]} == {
        (len(right), 32)
    }
    if content is None:  # as long as it was
        content = right[:-1] + b"?"
    made.write_bytes(content)
    assert (build(folder, include).built, made.read_bytes()) == (1, right)
    made.rename(folder / "elsewhere")
    made.symlink_to("elsewhere")
    assert build(folder, include).built == 1
    assert not made.is_symlink()


def test_what_another_database_knows_is_built_again(
    folder: Path, include: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["build", str(folder), "--artifact", "object", "--compiler", "hipcc"]
    words += ["--include", str(include)]
    assert run(*words).stderr == "4 artifacts built\n"
    monkeypatch.setenv("FAKE_COMPILER", "other")
    other = [*words, "--optimize", "-O0", "--results", str(folder / "other.sqlite")]
    assert run(*other).stderr == "4 artifacts built\n"
    monkeypatch.delenv("FAKE_COMPILER")
    assert run(*words).stderr == "4 artifacts built\n"
    assert run(*words).stderr == "0 artifacts built, 4 known already\n"


def test_rows_without_a_digest_are_built_again(folder: Path, include: Path) -> None:
    build(folder, include)
    with closing(sqlite3.connect(folder / FILE)) as db:
        db.execute("ALTER TABLE build DROP COLUMN artifact_digest")
    assert build(folder, include).built == 4
    assert build(folder, include).known == 4


def test_the_macros_of_the_manifest_reach_the_compiler(folder: Path, include: Path) -> None:
    assert build(folder, include).built == 4
    manifest = folder / MANIFEST
    manifest.write_text(manifest.read_text().replace('"defines": []', '"defines": ["MY_MACRO=1"]'))
    assert build(folder, include).built == 4  # other flags, another result
    assert all("-DMY_MACRO=1" in row.command.split() for row in rows(folder))


def test_a_manifest_without_macros_is_for_a_gpu_of_the_package(folder: Path) -> None:
    manifest = folder / MANIFEST
    text = manifest.read_text().replace('"defines": [], ', "")
    manifest.write_text(text.replace('"arch": "gfx942", "rules"', '"arch": "gfx1201", "rules"'))
    assert {k.defines for k in manifests(folder)} == {load("gfx1201").defines}


def test_a_launcher_runs_the_compiler(folder: Path, include: Path) -> None:
    assert build(folder, include, launcher=("env", "FAKE_COMPILER=ok")).built == 4
    assert "env FAKE_COMPILER=ok" in rows(folder)[0].command
    assert build(folder, include).known == 4  # the same artifacts come out


def test_a_new_stamp_is_no_change(folder: Path, include: Path) -> None:
    build(folder, include)
    for path in folder.glob("*.?pp"):
        path.write_text(path.read_text().replace("rule book test", "rule book later"))
    assert build(folder, include).known == 4


def test_a_refused_legal_kernel_is_a_finding(
    folder: Path, include: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_COMPILER", "fail")
    summary = build(folder, include)
    assert (summary.built, summary.failed) == (3, 1)
    (bad,) = summary.findings
    assert bad.error_class == "static-assert"
    assert bad.diagnostic == "shape.hpp:7:3: error: static assertion failed: wrong!"
    assert bad.finding == "legal by the rules, refused by the compiler (static-assert)"
    # The command repeats the failure in a shell.
    done = subprocess.run(["sh", "-c", bad.command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "static assertion failed" in done.stdout
    # A failure is remembered, and repeated on request.
    again = build(folder, include)
    assert (again.known, again.failed_before) == (3, 1)
    words = ["build", str(folder), "--artifact", "object", "--compiler", "hipcc"]
    done = run(*words, "--include", str(include))
    assert (done.exit_code, done.stderr) == (
        1,
        "0 artifacts built, 3 known already, 1 failed before (--retry builds them again)\n",
    )
    monkeypatch.delenv("FAKE_COMPILER")
    assert build(folder, include, retry=True).built == 1


def test_a_refused_illegal_kernel_is_no_finding(
    folder: Path, include: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_COMPILER", "fail")
    manifest = folder / MANIFEST
    manifest.write_text(manifest.read_text().replace('"legal": true', '"legal": false'))
    summary = build(folder, include)
    assert (summary.failed, summary.findings) == (1, [])


@pytest.mark.parametrize(
    ("how", "kind"), [("kill", "killed"), ("full", "no-space"), ("hang", "timeout")]
)
def test_passing_faults_are_tried_again(
    how: str, kind: str, folder: Path, include: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_COMPILER", how)
    summary = build(folder, include, timeout=0.5 if how == "hang" else 60.0)
    assert (summary.failed, summary.transient, summary.findings) == (4, 4, [])
    assert {r.error_class for r in rows(folder)} == {kind}
    monkeypatch.delenv("FAKE_COMPILER")
    assert build(folder, include).built == 4


def test_headers_are_precompiled_on_this_machine_alone(
    folder: Path, include: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not behind a launcher, which would not know a unit again, nor for other machines."""
    given: list[tuple[Any, ...]] = []

    def run(*args: Any) -> BuildOutcome:
        given.append(args[1:])
        return BuildOutcome(None, 0.0, data=b"x")

    monkeypatch.setattr(tasks, "run", run)
    build(folder, include)
    assert [[(f.func.__func__, f.keywords) for f in args] for args in given] == (
        [[(SharedHeaders.flags, {"coming": 4})]] * 4
    )
    given.clear()
    build(folder, include, launcher=("ccache",), retry=True, flags=("-DX",))
    assert given == [()] * 4


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("spin", "the compiler took more than 1 s of processor time"),
        ("hang", "the compiler did nothing for 1 s"),
    ],
)
def test_a_limit_says_what_passed_it(
    how: str, said: str, tmp_path: Path, include: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = fake.kernels(tmp_path / "one", 1)
    monkeypatch.setenv("FAKE_COMPILER", how)
    assert build(one, include, timeout=1.0).transient == 1
    assert [(r.error_class, r.diagnostic) for r in rows(one)] == [("timeout", said)]


def test_a_limit_does_not_end_what_works_slowly(
    tmp_path: Path, include: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a machine that has other work: twice the limit on the clock, half of it at work."""
    two = fake.kernels(tmp_path / "two", 2)
    monkeypatch.setenv("FAKE_COMPILER", "slow")
    assert build(two, include, timeout=0.9).built == 2
    assert all(r.seconds > 1.8 for r in rows(two))


def test_builds_of_one_folder_at_once_share_the_database(folder: Path, include: Path) -> None:
    words = [sys.executable, "-m", "ckrules", "build", str(folder), "--compiler", "hipcc"]
    words += ["--include", str(include), "-q"]
    both = [
        subprocess.Popen([*words, "--artifact", kind], stderr=subprocess.PIPE)
        for kind in ("object", "host")
    ]
    assert [p.communicate()[1] for p in both] == [b"", b""]
    assert len(rows(folder)) == 8


def test_a_cluster_of_two_workers_builds_it(folder: Path, include: Path) -> None:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address.removeprefix("tcp://")
        summary = build(folder, include, where=f"dask://{address}")
    assert (summary.built, summary.failed) == (4, 0)
    assert all((folder / f"{r.name}.o").is_file() for r in rows(folder))


@pytest.mark.parametrize(
    ("where", "message"),
    [("slurm://x", "neither local nor dask"), ("dask://", "neither local nor dask")],
)
def test_unknown_executors(where: str, message: str) -> None:
    with pytest.raises(UsageError, match=message), executors.executor(where, 1):
        pass


def test_a_folder_without_kernels(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="make it with ckrules generate"):
        manifests(tmp_path)
    (tmp_path / MANIFEST).write_text("{}\n")
    with pytest.raises(UsageError, match="not a line of ckrules"):
        manifests(tmp_path)


def test_command_line(folder: Path, include: Path) -> None:
    words = ["--artifact", "object", "--compiler", "hipcc", "--include", str(include)]
    done = run("build", str(folder), *words)
    assert (done.exit_code, done.stderr) == (0, "4 artifacts built\n")
    done = run("results", str(folder), "--fields", "name,status,lds_bytes")
    assert done.exit_code == 0
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    assert [set(r) for r in shown] == [{"name", "status", "lds_bytes"}] * 4
    assert run("results", str(folder), "--failed").exit_code == 3
    assert run("results", str(folder / "no")).exit_code == 2
    assert run("build", str(folder), "--artifact", "bitcode").exit_code == 2
    assert "no such program" in run("build", str(folder), "--launcher", "no-such").stderr


def test_what_the_folder_of_several_gpus_has_built_is_known_in_its_folders(
    include: Path, tmp_path: Path
) -> None:
    words = ["--artifact", "object", "--compiler", "hipcc", "--include", str(include)]
    one, two = (fake.kernels(tmp_path / "out" / gpu, 2) for gpu in ("gfx942", "gfx90a"))
    assert run("build", str(tmp_path / "out"), *words).stderr == "4 artifacts built\n"
    again = run("build", str(one), *words)
    assert (again.exit_code, again.stderr) == (0, "0 artifacts built, 2 known already\n")
    assert not (one / FILE).exists()
    assert run("results", str(two), "--format", "jsonl").exit_code == 0
    own = fake.kernels(one / "own", 2)  # what lies in a folder of kernels is not a part of it
    assert run("build", str(own), *words).stderr == "2 artifacts built\n"
    build(one, include)
    (own / FILE).unlink()
    assert run("build", str(own), *words).stderr == "2 artifacts built\n"


def test_what_the_folder_of_one_gpu_has_built_is_known_in_that_of_several(
    include: Path, tmp_path: Path
) -> None:
    words = ["--artifact", "object", "--compiler", "hipcc", "--include", str(include)]
    out = tmp_path / "out"
    base = dict(book("forward").vocabulary.baseline)
    points = (Config({**base, "arch": gpu}) for gpu in ("gfx942", "gfx90a"))
    Generator(Books("2025.11"), out, force=True).run(points)
    assert run("build", str(out / "gfx942"), *words).stderr == "1 artifact built\n"
    done = run("build", str(out), *words)
    assert (done.exit_code, done.stderr) == (0, "1 artifact built, 1 known already\n")
    shown = run("results", str(out), "--format", "jsonl").stdout
    assert [json.loads(line)["arch"] for line in shown.splitlines()] == ["gfx90a", "gfx942"]
    (kernel,) = manifests(out / "gfx942")
    source = kernel.source(Artifact.OBJECT)
    source.write_text(f"{source.read_text()}\n")
    assert run("build", str(out / "gfx942"), *words).stderr == "1 artifact built\n"
    assert run("build", str(out), *words).stderr == "0 artifacts built, 2 known already\n"
    (out / "gfx942" / FILE).write_text("damaged")
    done = run("build", str(out), *words)
    left, built = done.stderr.splitlines()
    assert (done.exit_code, built) == (0, "0 artifacts built, 2 known already")
    assert left.startswith(f"left out: {out}/gfx942/{FILE}: cannot open the results: ")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_results_are_exported(suffix: str, folder: Path, include: Path, tmp_path: Path) -> None:
    build(folder, include)
    target = tmp_path / f"r.{suffix}"
    assert run("results", str(folder), "-o", str(target)).exit_code == 0
    if suffix == "parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(target)
        assert table.num_rows == 4
        assert "error_class" in table.column_names
    else:
        assert len(target.read_text().splitlines()) == 4 + (suffix == "csv")


def test_doctor_answers() -> None:
    done = run("doctor", "--format", "json")
    assert done.exit_code in (0, 1)
    found = json.loads(done.stdout)
    assert {"HIP headers", "lld", "AMD GPU"} <= {f["what"] for f in found}
    assert all(f["ok"] or f["remedy"] for f in found if f["needed"])


def test_temporary_files_have_no_percent_sign_in_their_names(tmp_path: Path) -> None:
    """LLVM fills in each of them, and found no place for temporary files of the linker."""
    folder = tmp_path / "a%b"
    folder.mkdir()
    ran = execution.execute(["sh", "-c", 'echo "$TMPDIR" && ls -d "$TMPDIR"'], folder, 60)
    assert ran.status == 0
    assert "%" not in ran.output
    assert (folder / "tmp").is_dir()
