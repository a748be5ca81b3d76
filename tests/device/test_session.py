"""ValidationSession: what runs, what is stored, and what counts as a finding."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckrules.compiling.artifacts import RUNNABLE, Artifact
from ckrules.compiling.database import FILE, ResultsError
from ckrules.compiling.folder import ManifestEntry
from ckrules.compiling.results import COLUMNS as BUILD_COLUMNS
from ckrules.compiling.results import Results
from ckrules.constraints.conv.problem import Convolution, parse
from ckrules.device.interface import DeviceInfo
from ckrules.device.jobs import RunOutcome
from ckrules.device.pool import discover
from ckrules.device.prediction import SupportPrediction, predict
from ckrules.device.session import RunOptions, ValidationSession, ValidationSummary, finding
from ckrules.device.store import COLUMNS, Runs, place_for
from ckrules.kernels.families import problems_of
from tests.cli.run import run
from tests.device.descriptors import CONFIG, OPENER

PROBLEMS = [parse("N=2,G=2,C=64,K=96,H=7,W=12,Y=3,X=3,pad=1"), parse("N=1,C=7,K=5,H=5,W=5,Y=3,X=3")]
#: With these, pipeline mem has two block tiles under way.
TWO_STAGES = {"tile_m": 128, "tile_n": 128, "tile_k": 64, "wave_m": 2, "wave_n": 2, "dtype": "fp16"}
REFUSAL = "Conv C is not a multiple of vector load size for input image!"
Double = Callable[..., str]


def kernel(folder: Path, name: str, **changes: Any) -> ManifestEntry:
    config = {**CONFIG, **changes}
    (folder / f"{name}.json").write_text(json.dumps(config))
    found = ManifestEntry(folder, name, "2025.11", config["arch"], (), "rules", True, None, config)
    for artifact in RUNNABLE:
        found.result(artifact).touch()
    return found


def vectors_divide(built: ManifestEntry, problem: Convolution) -> SupportPrediction:
    """The rule that described kernels follow."""
    channels = (problem.in_channels // problem.groups, problem.out_channels // problem.groups)
    fits = all(n % 8 == 0 for n in channels)
    return SupportPrediction(fits, () if fits else ("PROB999",))


def validate(
    folder: Path, device: str, kernels: list[ManifestEntry], predictor: Any = vectors_divide
) -> tuple[ValidationSession, ValidationSummary]:
    devices = discover(device).devices
    options = RunOptions(device, timeout=600, warmup=0, repeat=1, opener=OPENER)
    validation = ValidationSession(kernels, PROBLEMS, devices, options, predictor)
    with Runs(folder / FILE) as runs:
        return validation, validation.run(runs)


def test_every_run_is_a_row(tmp_path: Path, double: Double) -> None:
    device = double({"bad": "nan", "dead": "crash"})
    kernels = [kernel(tmp_path, n) for n in ("good", "bad", "dead")]
    validation, summary = validate(tmp_path, device, kernels)
    assert validation.count() == summary.runs == 6
    assert summary.by_status == {"ok": 1, "wrong": 1, "crash": 1, "refused": 3}
    assert summary.failed == 2
    assert len(summary.findings) == 2
    with Runs(tmp_path / FILE) as runs:
        rows = list(runs.records())
        assert runs.count() == 6
        assert runs.fields()["tile_m"] == "int"
    assert {r["status"] for r in rows} == {"ok", "wrong", "crash", "refused"}
    good = next(r for r in rows if r["status"] == "ok")
    assert good.keys() >= COLUMNS.keys()
    assert (good["supported"], good["predicted"], good["finding"]) == (True, True, None)
    assert (good["device"], good["device_name"]) == ("reference", "CPU reference (test double)")
    assert (good["Hi"], good["Ho"], good["tile_n"], good["latency_ms"]) == (7, 7, 32, 0.5)
    bad = next(r for r in rows if r["status"] == "wrong")
    assert (bad["pattern"], bad["pattern_text"]) == ("nan", "NaN: image 0 of 2")
    assert bad["finding"] == "legal by the rules, wrong: NaN: image 0 of 2"
    assert bad["tflops"] is None


def test_a_time_out_without_a_clock_is_undecided(tmp_path: Path, double: Double) -> None:
    """A GPU's is against the rules; without one the kernel may only be slow."""
    device = double({"stuck": "hang"})
    kernels = [kernel(tmp_path, "stuck")]
    counted = []
    for clock in ({}, {"clock": "none"}):
        options = RunOptions(
            device, timeout=1, warmup=0, repeat=1, opener=OPENER, device_options=clock
        )
        devices = discover(device).devices
        validation = ValidationSession(kernels, PROBLEMS[:1], devices, options, vectors_divide)
        with Runs(tmp_path / FILE) as runs:
            s = validation.run(runs)
        counted.append((s.by_status, s.failed, s.unfinished, len(s.findings)))
    assert counted == [({"hang": 1}, 1, 0, 1), ({"unfinished": 1}, 0, 1, 0)]


def test_a_second_run_replaces_the_first(tmp_path: Path, double: Double) -> None:
    kernels = [kernel(tmp_path, "k")]
    validate(tmp_path, double({"k": "nan"}), kernels)
    validate(tmp_path, double(), kernels)
    with Runs(tmp_path / FILE) as runs:
        assert {r["status"] for r in runs.records()} == {"ok", "refused"}


def test_a_prediction_that_is_not_met_is_a_finding(tmp_path: Path, double: Double) -> None:
    wrong = lambda built, problem: SupportPrediction(problem is PROBLEMS[1], ("PROB001",))  # noqa: E731
    _, summary = validate(tmp_path, double(), [kernel(tmp_path, "k")], wrong)
    assert sorted(r.finding or "" for r in summary.findings) == [
        "refused by the rules (PROB001), supported by the kernel",
        f"supported by the rules, refused by the kernel: {REFUSAL}",
    ]


def test_what_illegal_kernels_do_is_no_finding(tmp_path: Path) -> None:
    built = kernel(tmp_path, "k")
    illegal = replace(built, legal=False)
    for status in ("wrong", "crash", "hang"):
        assert finding(built, RunOutcome(status, "x"), None) is not None
        assert finding(illegal, RunOutcome(status, "x"), None) is None
    assert finding(built, RunOutcome("error", "out of memory"), None) is None


def test_a_finding_says_what_the_kernel_was_built_without(tmp_path: Path, double: Double) -> None:
    double(faults=dict.fromkeys(("bad", "good", "unknown"), "last-tile"))
    kernels = [kernel(tmp_path, name) for name in ("bad", "good", "unknown")]
    row = dict.fromkeys(BUILD_COLUMNS, "") | {"arch": "gfx942", "ck": "2025.11"}
    numbers = {n: 0 for n, sort in BUILD_COLUMNS.items() if sort != "enum"}
    with Results(tmp_path / FILE) as builds:
        for name, lacks in (("bad", "-mllvm -x=0"), ("good", "")):
            builds.store({**row, **numbers, "name": name, "artifact": "device", "lacks": lacks})
    _, summary = validate(tmp_path, "reference", kernels)
    said = "; built without options that CK's kernels need (-mllvm -x=0)"
    assert {r.kernel.name for r in summary.findings} == {"bad", "good", "unknown"}
    assert {r.kernel.name for r in summary.findings if (r.finding or "").endswith(said)} == {"bad"}
    with Runs(tmp_path / FILE) as runs:
        assert {r["name"]: r["lacks"] for r in runs.records()} == {
            "bad": "-mllvm -x=0",
            "good": "",
            "unknown": None,
        }


def test_kernels_run_where_they_belong(tmp_path: Path) -> None:
    kernels = [kernel(tmp_path, "a"), kernel(tmp_path, "b", arch="gfx1201")]
    absent = kernel(tmp_path, "c")
    absent.result(Artifact.HOST).unlink()
    devices = [DeviceInfo(0, "MI300X", "gfx942"), DeviceInfo(1, "MI300X", "gfx942")]
    validation = ValidationSession([*kernels, absent], PROBLEMS, devices, RunOptions("hip"))
    assert validation.count() == 2
    assert validation.absent == [absent]
    assert absent.missing == "not built: no host artifact"
    assert validation.elsewhere == [kernels[1]]


def test_other_dimensions_are_left_out(tmp_path: Path) -> None:
    devices = [DeviceInfo(0, "any", "")]
    built = kernel(tmp_path, "a", ndim=3)
    assert ValidationSession([built], PROBLEMS, devices, RunOptions("hip")).count() == 0
    smoke = ValidationSession([built], None, devices, RunOptions("hip"))
    assert {job.problem.ndim for _, job in smoke.jobs([built])} == {3}


def test_the_rule_book_predicts(tmp_path: Path) -> None:
    from ckrules import constraints

    config = {**constraints.defaults("forward"), **CONFIG}
    built = kernel(tmp_path, "k", **config)
    assert predict(built, PROBLEMS[0]) == SupportPrediction(True)
    refused = predict(built, PROBLEMS[1])
    assert refused is not None
    assert not refused.supported
    assert all(code.startswith("PROB") for code in refused.codes)
    assert predict(replace(built, config={**config, "variant": "none"}), PROBLEMS[0]) is None


def test_a_wrong_result_that_a_rule_foretells_is_no_finding(tmp_path: Path) -> None:
    """A kernel may take a problem and compute something else; the rules know some of these."""
    from ckrules import constraints

    config = {**constraints.defaults("bwd_data"), **CONFIG, "variant": "bwd_data"}
    built = kernel(tmp_path, "k", **{**config, "pipeline": "mem", **TWO_STAGES})
    strided = parse("N=2,C=64,K=64,H=16,W=16,Y=3,X=3,stride=2,pad=1")
    found = predict(replace(built, ck="2025.11"), strided)
    assert found is not None
    assert (found.supported, found.wrong) == (True, ("PROB020",))
    wrong = RunOutcome("wrong", supported=True, detail="1 of 9")
    assert finding(built, wrong, found) is None
    assert finding(built, wrong, SupportPrediction(True)) == "legal by the rules, wrong: 1 of 9"
    refused = RunOutcome("refused", "the kernel has LSE", supported=False)
    assert finding(built, refused, found) is None
    assert "refused by the kernel: the kernel has LSE" in str(
        finding(built, refused, SupportPrediction(True))
    )


def test_what_a_rule_foretells_is_counted_apart(tmp_path: Path, double: Double) -> None:
    def foretells(built: ManifestEntry, problem: Convolution) -> SupportPrediction:
        wrong = ("PROB020",) if built.name == "bad" else ()
        return SupportPrediction(problem is not PROBLEMS[1], ("PROB001",), wrong)

    kernels = [kernel(tmp_path, n) for n in ("good", "bad", "worse")]
    device = double({"bad": "nan", "worse": "nan"})
    _, summary = validate(tmp_path, device, kernels, foretells)
    assert summary.by_status["wrong"] == 2
    assert (summary.foretold, summary.failed) == ({"wrong": 1}, 1)
    assert [r.kernel.name for r in summary.findings if r.outcome.status == "wrong"] == ["worse"]
    with Runs(tmp_path / FILE) as runs:
        told = {r["name"]: r["foretold"] for r in runs.records() if r["status"] == "wrong"}
    assert told == {"bad": "PROB020", "worse": None}


def test_results_lists_runs(tmp_path: Path, double: Double) -> None:
    validate(tmp_path, double({"bad": "last-tile"}), [kernel(tmp_path, n) for n in ("good", "bad")])
    done = run("results", str(tmp_path), "--runs", "--failed", "--format", "jsonl")
    assert done.exit_code == 0
    assert done.stderr == "1 run, 1 failed, 1 contradict the rule book\n"
    row = json.loads(done.stdout)
    assert (row["name"], row["pattern_text"]) == ("bad", "all zeros: last M tile")
    assert row["warp_tile_m"] == 16
    assert "config" not in row
    target = tmp_path / "runs.parquet"
    assert run("results", str(tmp_path), "--runs", "-o", str(target), "-q").exit_code == 0
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(target)
    assert table.num_rows == 4
    assert {"status", "tflops", "N", "Hi", "tile_m", "pipeline", "gemm_k"} <= set(
        table.column_names
    )
    unknown = run("results", str(tmp_path), "--runs", "--fields", "laytency_ms")
    assert unknown.exit_code == 2
    assert "did you mean 'latency_ms'" in unknown.stderr
    assert run("results", str(tmp_path), "--runs", "--arch", "gfx90a").exit_code == 3


def test_databases_with_a_column_for_each_size_are_upgraded(tmp_path: Path, double: Double) -> None:
    """They are those from before sizes were one JSON object."""
    identity = "name TEXT, arch TEXT, ck TEXT, problem TEXT, device TEXT, device_name TEXT"
    key = "PRIMARY KEY (name, arch, ck, problem, device, device_name)"
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        db.execute(
            f"CREATE TABLE run ({identity}, op_type TEXT, dtype TEXT, ndim_spatial INTEGER,"
            f" N INTEGER, status TEXT, config TEXT, {key}) STRICT"
        )
        db.execute("PRAGMA user_version=1")
        row = ("old", "gfx942", "2025.11", str(PROBLEMS[0]), "hip", "MI300X", "forward", "fp16", 2)
        config = json.dumps(CONFIG)
        db.execute(f"INSERT INTO run VALUES ({'?, ' * 11} ?)", (*row, 2, "ok", config))
        db.commit()
    validate(tmp_path, double(), [kernel(tmp_path, "new")])
    with Runs(tmp_path / FILE) as runs:
        columns = runs.columns()
        old, *new = sorted(runs.records(), key=lambda r: r["name"] != "old")
    assert {"ndim_spatial", "N", "Hi", "gemm_k", "dtype", "tile_m"} <= columns.keys()
    assert (columns["Hi"], columns["dtype"]) == ("int", "enum")
    assert "sizes" not in columns
    same = next(r for r in new if r["problem"] == old["problem"])
    sizes = problems_of("forward").row(PROBLEMS[0], "forward")
    assert {n: old[n] for n in sizes} == {n: same[n] for n in sizes} == sizes
    assert old["ndim_spatial"] == 2


def test_no_database_is_said(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="there are no results"):
        Runs(tmp_path / "none.sqlite", reading=True)
    (tmp_path / "text").write_text("no database" * 100)
    with pytest.raises(ResultsError, match="cannot open the results"):
        Runs(tmp_path / "text")


def test_runs_go_beside_the_builds(tmp_path: Path) -> None:
    one, two = tmp_path / "gfx942", tmp_path / "gfx90a"
    for folder in (one, two):
        folder.mkdir()
    kernels = [kernel(one, "a"), kernel(two, "b")]
    assert place_for(kernels, None) == tmp_path / FILE
    assert place_for(kernels[:1], None) == one / FILE
    (tmp_path / FILE).touch()
    assert place_for(kernels[:1], None) == tmp_path / FILE
    assert place_for(kernels, "x.sqlite") == Path("x.sqlite")
