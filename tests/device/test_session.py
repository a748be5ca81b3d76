"""Validation: what runs, what is stored, and what counts as a finding."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckrules.build.database import FILE, ResultsError
from ckrules.build.folder import RUNNABLE, Listed
from ckrules.device.interface import DeviceInfo
from ckrules.device.jobs import Outcome
from ckrules.device.pool import discover
from ckrules.device.prediction import Prediction, predict
from ckrules.device.problem import Problem, parse
from ckrules.device.session import Options, Summary, Validation, finding
from ckrules.device.store import COLUMNS, Runs, place_for
from tests.cli.run import run
from tests.device.descriptors import CONFIG, OPENER

PROBLEMS = [parse("N=2,G=2,C=64,K=96,H=7,W=12,Y=3,X=3,pad=1"), parse("N=1,C=7,K=5,H=5,W=5,Y=3,X=3")]
#: With these, pipeline mem has two block tiles under way.
TWO_STAGES = {"tile_m": 128, "tile_n": 128, "tile_k": 64, "wave_m": 2, "wave_n": 2, "dtype": "fp16"}
REFUSAL = "Conv C is not a multiple of vector load size for input image!"
Double = Callable[..., str]


def kernel(folder: Path, name: str, **changes: Any) -> Listed:
    config = {**CONFIG, **changes}
    (folder / f"{name}.json").write_text(json.dumps(config))
    found = Listed(folder, name, "2025.11", config["arch"], "rules", True, None, config)
    for artifact in RUNNABLE:
        found.result(artifact).touch()
    return found


def vectors_divide(built: Listed, problem: Problem) -> Prediction:
    """The rule that described kernels follow."""
    shape = problem.shape()
    fits = shape.in_channels % 8 == 0 and shape.out_channels % 8 == 0
    return Prediction(fits, () if fits else ("PROB999",))


def validate(
    folder: Path, device: str, kernels: list[Listed], predictor: Any = vectors_divide
) -> tuple[Validation, Summary]:
    devices = discover(device).devices
    options = Options(device, timeout=20, warmup=0, repeat=1, opener=OPENER)
    validation = Validation(kernels, PROBLEMS, devices, options, predictor)
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


def test_a_second_run_replaces_the_first(tmp_path: Path, double: Double) -> None:
    kernels = [kernel(tmp_path, "k")]
    validate(tmp_path, double({"k": "nan"}), kernels)
    validate(tmp_path, double(), kernels)
    with Runs(tmp_path / FILE) as runs:
        assert {r["status"] for r in runs.records()} == {"ok", "refused"}


def test_a_prediction_that_is_not_met_is_a_finding(tmp_path: Path, double: Double) -> None:
    wrong = lambda built, problem: Prediction(problem is PROBLEMS[1], ("PROB001",))  # noqa: E731
    _, summary = validate(tmp_path, double(), [kernel(tmp_path, "k")], wrong)
    assert sorted(r.finding or "" for r in summary.findings) == [
        "refused by the rules (PROB001), supported by the kernel",
        f"supported by the rules, refused by the kernel: {REFUSAL}",
    ]


def test_what_illegal_kernels_do_is_no_finding(tmp_path: Path) -> None:
    built = kernel(tmp_path, "k")
    illegal = replace(built, legal=False)
    for status in ("wrong", "crash", "hang"):
        assert finding(built, Outcome(status, "x"), None) is not None
        assert finding(illegal, Outcome(status, "x"), None) is None
    assert finding(built, Outcome("error", "out of memory"), None) is None


def test_kernels_run_where_they_belong(tmp_path: Path) -> None:
    kernels = [kernel(tmp_path, "a"), kernel(tmp_path, "b", arch="gfx1201")]
    absent = kernel(tmp_path, "c")
    absent.result("host").unlink()
    devices = [DeviceInfo(0, "MI300X", "gfx942"), DeviceInfo(1, "MI300X", "gfx942")]
    validation = Validation([*kernels, absent], PROBLEMS, devices, Options("hip"))
    assert validation.count() == 2
    assert validation.absent == [absent]
    assert absent.missing == "not built: no host artifact"
    assert validation.elsewhere == [kernels[1]]


def test_other_dimensions_are_left_out(tmp_path: Path) -> None:
    devices = [DeviceInfo(0, "any", "")]
    built = kernel(tmp_path, "a", ndim=3)
    assert Validation([built], PROBLEMS, devices, Options("hip")).count() == 0
    smoke = Validation([built], None, devices, Options("hip"))
    assert {job.problem.ndim for _, job in smoke.jobs([built])} == {3}


def test_the_rule_book_predicts(tmp_path: Path) -> None:
    from ckrules import constraints

    config = {**constraints.defaults("forward"), **CONFIG}
    built = kernel(tmp_path, "k", **config)
    assert predict(built, PROBLEMS[0]) == Prediction(True)
    refused = predict(built, PROBLEMS[1])
    assert refused is not None
    assert not refused.supported
    assert all(code.startswith("PROB") for code in refused.codes)
    assert predict(replace(built, ck="2020.01"), PROBLEMS[0]) is None


def test_a_wrong_result_that_a_rule_foretells_is_no_finding(tmp_path: Path) -> None:
    """A kernel may take a problem and compute something else; the rules know some of these."""
    from ckrules import constraints

    config = {**constraints.defaults("bwd_data"), **CONFIG, "variant": "bwd_data"}
    built = kernel(tmp_path, "k", **{**config, "pipeline": "mem", **TWO_STAGES})
    strided = parse("N=2,C=64,K=64,H=16,W=16,Y=3,X=3,stride=2,pad=1")
    found = predict(replace(built, ck="2025.11"), strided)
    assert found is not None
    assert (found.supported, found.wrong) == (True, ("PROB020",))
    wrong = Outcome("wrong", supported=True, detail="1 of 9")
    assert finding(built, wrong, found) is None
    assert finding(built, wrong, Prediction(True)) == "legal by the rules, wrong: 1 of 9"


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


def test_no_database_is_said(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="there are no results"):
        Runs(tmp_path / "none.sqlite", must_exist=True)
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
