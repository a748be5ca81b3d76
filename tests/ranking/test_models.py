"""Measurements, models that learn from them, and how their picks are judged."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name
from ckrules.kernels.families import problems_of
from ckrules.kernels.names import format_name
from ckrules.ranking import ranker, training
from ckrules.ranking.evaluation import figures, judge
from ckrules.ranking.kernels import KernelTable
from ckrules.ranking.measurements import MeasuredProblem, kernels_of, read
from ckrules.ranking.model_file import load, save
from ckrules.ranking.training import Samples, cross_validated, train
from ckrules.support.errors import UsageError
from ckrules.support.files import replace
from tests.cli.run import run
from tests.ranking.contents import MODEL

pytestmark = pytest.mark.whole

DATA = Path(__file__).parents[1] / "data" / "measured.csv"
BOOKS = Books("2026.06")


@pytest.fixture(scope="module")
def samples() -> Samples:
    return Samples.of(read(DATA, BOOKS), BOOKS)


def test_rows_become_kernels_and_problems(samples: Samples) -> None:
    assert len(samples) == 18
    assert {len(m.points) for m in samples.measured} == {20, 30}
    assert len(kernels_of(samples.measured)) == 30
    point = samples.measured[0].points[0]
    assert (point["tile_m"], point["wave_n"], point["pipeline"]) == (16, 4, "compv3")
    assert samples.measured[0].label == "training 0"


def test_a_named_kernel_says_what_its_problem_is(tmp_path: Path) -> None:
    name = (
        "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x64_2x2x1_32x32x16"
    )
    file = tmp_path / "times.csv"
    file.write_text(f"M,N,K,kernel,latency_us\n512,256,64,{name},9\n")
    (found,) = read(file, BOOKS, "gfx942")
    assert str(found.problem) == "M=512,N=256,K=64"
    file.write_text(f"M,N,K,kernel,latency_us,variant\n512,256,64,{name},9,forward\n")
    with pytest.raises(UsageError, match="variant is forward, but the kernel is of standard"):
        read(file, BOOKS, "gfx942")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("N,C\n1,2\n", "no column latency_us"),
        ("N,latency_ns\n1,2\n", "is 'latency_ns' meant"),
        ("N,N,latency_us\n1,1,2\n", ":1:1: the column N is there twice"),
        ("N,latency_us,latency_ms\n1,2,3\n", ":1:1: both latency_us and latency_ms are there"),
        (("N,C,K,Hi,Wi,Y,X,tile_m,tile_n,tile_k,pipeline,latency_us\n"
         "1,8,8,9,9,1,1,16,64,64,compv3,1_0\n"), ":2:1: '1_0' is not a time"),
        (("N,C,K,Hi,Wi,Y,X,tile_m,tile_n,tile_k,pipeline,latency_us\n"
         "1,8,8,9,9,1,1,17,64,64,compv3,3\n"), ":2:1: no measured kernel 17x64x64"),
        (("N,C,K,Hi,Wi,Y,X,tile_m,tile_n,tile_k,pipeline,latency_us\n"
         "1,8,8,9,9,1,1,16,64,64,compv3,nan\n"), ":2:1: nan is not a time above 0"),
        ("N,C,K,Hi,Wi,Y,X,kernel,latency_ms\n1,8,8,9,9,1,1,nonsense,3\n", ":2:1: "),
        ("N,C,K,Hi,Wi,Y,X,latency_ms\n1,8,8,9,9,1,1,3\n", ":2:1: no kernel"),
        ("N,C,K,Hi,Wi,Y,X,latency_ms\n1,8,8,9,9,1\n", ":2:1: 8 columns"),
        (("N,C,K,Hi,Wi,Y,X,tile_m,tile_n,tile_k,pipeline,latency_us\n"
         "0,8,8,9,9,1,1,16,64,64,compv3,3\n"), ":2:1: N = 0"),
        (("N,C,K,Hi,Wi,Y,X,tile_m,tile_n,tile_k,pipeline,op_type,latency_us\n"
         "1,8,8,9,9,1,1,16,64,64,compv3,bwd_data,3\n"),
         ":2:1: variant is bwd_data, but the kernel is of forward, as all that tile_m, "),
        (("N,C,K,Hi,Wi,Y,X,tile_m,tile_n,tile_k,pipeline,dtype,latency_us\n"
         "1,8,8,9,9,1,1,16,64,64,compv3,fp16,3\n"), ":2:1: dtype is fp16, but"),
        ("M,N,K,variant,latency_us\n1,8,8,nonsense,3\n", ":2:1: unknown variant 'nonsense'"),
        (f"N,latency_ms\n{'1' * 140_000},3\n", ":2:1: field larger than field limit"),
        (f"{'N' * 140_000},latency_ms\n1,3\n", ":1:1: field larger than field limit"),
    ],
)  # fmt: skip
def test_rows_that_are_no_measurements(tmp_path: Path, text: str, what: str) -> None:
    file = tmp_path / "m.csv"
    file.write_text(text)
    with pytest.raises(UsageError, match=what):
        read(file, BOOKS)
    found = run("evaluate", "--measurements", str(file))
    assert found.exit_code == 2
    assert what.split(": ")[-1] in found.stderr.replace("\n", " ")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_names_and_milliseconds(tmp_path: Path, end: str) -> None:
    name = (
        "grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x64_4x1x1_16x16x32_vec8_8_8"
    )
    file = tmp_path / "m.csv"
    file.write_text(
        f"kernel,problem_idx,N,C,K,G,Hi,Wi,Y,X,latency_ms\n{name},7,1,8,8,1,9,9,1,1,0.5\n",
        newline=end,
    )
    (found,) = read(file, BOOKS)
    assert (found.label, found.microseconds, found.points[0]["tile_m"]) == ("7", [500.0], 64)


def test_what_is_not_compared_is_read_apart_and_a_kernel_counts_once(tmp_path: Path) -> None:
    """The order of two times of one kernel said which kernel was the best; GPUs were refused."""
    head = "problem, N,C,K,Hi,Wi,Y,X,tile_m,tile_n,tile_k,pipeline,arch,latency_us\n"
    row = "0,1,8,8,9,9,1,1,16,64,64,compv3,{},{}\n"
    given = (("gfx950", 50), ("gfx950", 5), ("gfx942", 7), ("gfx950", 8))
    file = tmp_path / "m.csv"
    file.write_text(head + "".join(row.format(*each) for each in given))
    found = read(file, BOOKS)
    assert [(m.points[0]["arch"], m.microseconds) for m in found] == [
        ("gfx950", [8.0]), ("gfx942", [7.0]),
    ]  # fmt: skip
    text = "".join(
        f"{i},{i + 1},8,8,9,9,1,1,16,64,64,compv3,{arch},5\n"
        for i in range(10) for arch in ("gfx942", "gfx950")
    )  # fmt: skip
    file.write_text(head + text)
    assert run("evaluate", str(file), "--model", "none").exit_code == 0
    done = run("train", str(file), "-o", str(tmp_path / "m.gz"))
    assert done.exit_code == 2
    assert "a model is of one arch, these measurements have gfx942, gfx950" in done.stderr


def test_exported_runs_are_measurements(tmp_path: Path) -> None:
    from ckrules.compiling.database import FILE
    from ckrules.compiling.folder import ManifestEntry
    from ckrules.constraints.conv.problem import parse
    from ckrules.device.jobs import RunOutcome, RunStatus
    from ckrules.device.store import Runs, StoredRun

    points = kernels_of(read(DATA, BOOKS))[:2]
    with Runs(tmp_path / FILE) as runs:
        for i, point in enumerate(points):
            name = format_name(point)
            entry = ManifestEntry(
                tmp_path, name, "2026.06", "gfx950", (), "r", True, None, {**point}
            )
            for text in ("N=1,C=64,K=64,H=9,W=9,Y=3,X=3,pad=1", "N=2,C=64,K=64,H=9,W=9,Y=1,X=1"):
                outcome = RunOutcome(RunStatus.OK, "", time_ms=0.01 * (i + 1))
                runs.put(StoredRun(entry, parse(text), outcome, "test", None, True, None, 1, 1))
            bad = RunOutcome(RunStatus.WRONG, "", time_ms=0.001)
            runs.put(
                StoredRun(
                    entry, parse("N=1,C=8,K=8,H=9,W=9,Y=1,X=1"), bad, "test", None, True, None, 1, 1
                )
            )
    out = tmp_path / "times.csv"
    assert run("results", str(tmp_path), "--runs", "-o", str(out)).exit_code == 0
    found = read(out, BOOKS)
    assert [sorted(m.microseconds) for m in found] == [[10.0, 20.0]] * 2
    assert {str(m.problem) for m in found} == {m.label for m in found}


def test_picks_are_judged_by_measured_times() -> None:
    assert judge([1, 2], [5.0, 4.0]).efficiency == 0.8
    found = figures([judge([1, 2], [5.0, 4.0]), judge([2, 1], [5.0, 4.0])])
    assert (found.mean, found.top1, found.top5, found.problems) == (90.0, 50.0, 100.0, 2)


def test_models_learn_and_survive_files(samples: Samples, tmp_path: Path) -> None:
    model = train(samples, BOOKS, members=2)
    before = samples.estimated()
    after = samples.predicted(model)
    assert after.mean > before.mean
    assert after.mean > 97
    again = train(samples, BOOKS, members=2)
    for made, name in ((model, "a.gz"), (again, "b.gz")):
        save(made, tmp_path / name)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    read_back = load(tmp_path / "a.gz")
    t, m, e = samples.tables[0], samples.measured[0], samples.estimates[0]
    one, two = (x.predict(t, m.problem, e) for x in (model, read_back))
    assert np.array_equal(one.microseconds, two.microseconds)
    assert (one.low < one.microseconds).all()
    assert (one.microseconds < one.high).all()


def test_measured_kernels_have_ensembles_of_their_own() -> None:
    """What differs from them in a number that counts has the other ones."""
    model, problem = load(MODEL), problems_of("forward").parse("N=2,C=64,K=64,H=9,W=9,Y=3,X=3")
    known = list(model.kernels[:3])
    others = [{**p, "vector_c": 1} for p in known]
    alike = [{**p, "pad_m": not p["pad_m"]} for p in known]  # estimates do not look at it
    table = KernelTable.of_points([*known, *others, *alike], BOOKS)
    assert model.known(table).tolist() == [True] * 3 + [False] * 3 + [True] * 3
    assert model.measured(table).all()
    same = dataclasses.replace(model, carried=model.relative)
    before, after = (m.predict(table, problem, table.estimate(problem)) for m in (model, same))
    differ = before.microseconds != after.microseconds
    assert differ.tolist() == [False] * 3 + [True] * 3 + [False] * 3


def test_more_kernels_than_a_model_is_of(monkeypatch: Any, samples: Samples) -> None:
    monkeypatch.setattr(training, "MOST_KERNELS", 29)
    with pytest.raises(UsageError, match="30 kernels, a model is of 29 at most"):
        train(samples, BOOKS)


def test_folds_hold_problems_apart(samples: Samples) -> None:
    found = cross_validated(samples, BOOKS, folds=3, members=1)
    assert found.problems == len(samples)
    assert 80 < found.mean <= 100


def test_a_model_can_do_without_a_tile(samples: Samples) -> None:
    model = train(samples, BOOKS, members=1, left_out=lambda p: p["tile_m"] == 128)
    assert all(p["tile_m"] != 128 for p in model.kernels)
    assert samples.predicted(model).mean > 85


def test_the_shipped_model_speaks_of_what_it_was_trained_on(samples: Samples) -> None:
    assert ranker.names() == ["forward_bf16_gfx950"]
    model = ranker.shipped("forward", "bf16", "gfx950")
    assert model is not None
    assert model.why_not(samples.tables[0]) is None
    assert model.card["about"]["measurements"] == 7210
    assert samples.judged(ranker.Ranker()).mean > 95  # these problems are among its own
    assert ranker.shipped("forward", "fp16", "gfx950") is None


def test_estimates_are_not_told_as_a_model(samples: Samples) -> None:
    """Of kernels that the package has no model of, the times are estimates."""
    traits = "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False"
    name = f"{traits}_128x128x64_2x2x1_32x32x16"
    point = config_from_name(name, BOOKS, arch="gfx942").point
    other = KernelTable.of_points([point], BOOKS)
    found = ranker.Ranker()
    found.times(other, problems_of("standard").parse("M=64,N=64,K=64"))
    assert found.said() == "estimates alone: the package has no model of such kernels"
    samples.judged(found)
    assert found.said() == "the package's model where it has one, else estimates"


def test_too_few_problems(samples: Samples) -> None:
    with pytest.raises(UsageError, match="too few"):
        train(samples.only(lambda m: m is samples.measured[0]), BOOKS)


def test_evaluate_prints_figures() -> None:
    found = run("evaluate", "--measurements", str(DATA), "--format", "json")
    assert found.exit_code == 0
    keys = {
        "mean",
        "p10",
        "median",
        "min",
        "top1",
        "top5",
        "problems",
        "source",
        "trained_on",
        "cross_validated",
    }
    assert json.loads(found.stdout).keys() == keys
    plain = run("evaluate", "--measurements", str(DATA), "--model", "none")
    assert "10th percentile" in plain.stdout
    assert "estimates alone" in plain.stderr


def test_train_writes_a_model_that_rank_takes(tmp_path: Path) -> None:
    file = tmp_path / "m.model.gz"
    assert run("train", "--measurements", str(DATA), "-o", str(file)).exit_code == 0
    found = run(
        "rank", "--problem", "N=8,C=256,K=256,H=28,W=28,Y=3,X=3,pad=1", "--variant", "forward",
        "--arch", "gfx950", "--dtype", "bf16", "--catalog", "default",
        "--model", str(file), "-n", "3",
    )  # fmt: skip
    assert found.exit_code == 0
    assert "learned from measurements" in found.stderr
    other = run(
        "rank", "--problem", "N=8,C=256,K=256,H=28,W=28,Y=3,X=3", "--variant", "forward",
        "--arch", "gfx942", "--dtype", "bf16", "--catalog", "default", "--model", str(file),
    )  # fmt: skip
    assert other.exit_code == 2
    assert "gfx950" in other.stderr


def test_a_model_goes_into_a_pipe_and_replaces_no_device(tmp_path: Path) -> None:
    """`-o /dev/stdout` put a file in the place of the device."""
    pipe, got = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    assert run("train", str(DATA), "-o", str(pipe), "-q").exit_code == 0
    reader.join()
    (tmp_path / "m.gz").write_bytes(got[0])
    assert load(tmp_path / "m.gz").card["about"]["arch"] == "gfx950"
    with pytest.raises(OSError, match="expected a file"):
        replace(pipe, b"")
    assert pipe.is_fifo()


def test_measured_is_what_its_docstring_says() -> None:
    assert MeasuredProblem("a", None, [], [3.0, 2.0]).best == 2.0
