"""`ckrules bench`: sweeps that measure nothing twice, whatever ends them."""

from __future__ import annotations

import csv
import functools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ckrules.cli.group import cli
from ckrules.compiling.artifacts import RUNNABLE
from ckrules.compiling.database import FILE
from ckrules.constraints.conv.problem import parse
from ckrules.device import session
from ckrules.device.bench import BenchSession, timed
from ckrules.device.pool import discover
from ckrules.device.session import RunOptions, ValidationSummary
from ckrules.device.store import Runs
from ckrules.kernels.books import Books
from ckrules.ranking import measurements
from ckrules.ranking.written import COLUMNS, Measurement, write
from tests.cli.run import run
from tests.device.descriptors import OPENER
from tests.device.reference_device import simulated_ms
from tests.device.test_interruption import ROOT, children, stored
from tests.device.test_session import kernel
from tests.device.whole_path import PART
from tests.helpers.terminal import in_this_process
from tests.helpers.waiting import until

pytestmark = pytest.mark.whole

Double = Callable[..., str]
PROBLEMS = [parse("N=1,C=8,K=8,H=5,W=5,Y=3,X=3,pad=1"), parse("N=2,C=16,K=8,H=4,W=4,Y=1,X=1")]
SIMULATED = {"clock": "simulated"}


def sweep(
    folder: Path, names: list[str], repeat: int = 2, retry: bool = False
) -> tuple[int, ValidationSummary]:
    """A sweep over described kernels on the test device; how many runs were known, and the rest."""
    kernels = [kernel(folder, name) for name in names]
    options = RunOptions(
        "reference", timeout=600, warmup=0, repeat=repeat, opener=OPENER, device_options=SIMULATED
    )
    devices = discover("reference").devices
    with Runs(folder / FILE) as runs:
        found = BenchSession(
            kernels, PROBLEMS, devices, options, runs, retry=retry, predictor=lambda *_: None
        )
        total = found.count()
        known = found.known
        summary = found.run(runs)
    assert summary.runs == total
    return known, summary


def made(folder: Path, name: str, when: float) -> None:
    """Gives the files of a kernel a date."""
    for artifact in RUNNABLE:
        path = folder / artifact.result(name)
        path.touch()
        os.utime(path, (when, when))


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels were built long ago, though the tests' files are made again."""
    monkeypatch.setattr("ckrules.device.store.made", lambda _: 0.0)


@pytest.mark.usefixtures("old")
def test_what_was_measured_is_not_measured_again(tmp_path: Path, double: Double) -> None:
    double()
    assert sweep(tmp_path, ["a"])[1].runs == 2
    known, summary = sweep(tmp_path, ["a", "b"])
    assert (known, summary.runs) == (2, 2)
    assert sweep(tmp_path, ["a", "b"]) == (4, ValidationSummary())
    # More timed runs than before are another measurement, fewer are not.
    assert sweep(tmp_path, ["a"], repeat=1)[0] == 2
    assert sweep(tmp_path, ["a"], repeat=5)[1].runs == 2


@pytest.mark.usefixtures("old")
def test_failures_are_known_until_they_are_retried(tmp_path: Path, double: Double) -> None:
    double({"bad": "nan"})
    assert sweep(tmp_path, ["bad"])[1].by_status == {"wrong": 2}
    double()
    assert sweep(tmp_path, ["bad"])[0] == 2
    assert sweep(tmp_path, ["bad"], retry=True)[1].by_status == {"ok": 2}


def test_a_kernel_that_was_built_anew_is_measured_anew(tmp_path: Path, double: Double) -> None:
    double()
    kernel(tmp_path, "a")
    # Clocks may have jumped: what was measured is not of other files, whenever these are from.
    for when, runs in ((1e9, 2), (1e9, 0), (4e9, 2), (2e9, 2), (2e9, 0)):
        built = kernel(tmp_path, "a")
        made(tmp_path, "a", when)
        options = RunOptions("reference", repeat=1, opener=OPENER)
        with Runs(tmp_path / FILE) as database:
            found = BenchSession(
                [built], PROBLEMS, discover("reference").devices, options, database,
                predictor=lambda *_: None,
            )  # fmt: skip
            assert found.run(database).runs == runs


DRIVER = """
import sys
from pathlib import Path
from ckrules.device import store
store.made = lambda _: 0.0
from tests.device.test_bench import sweep
if __name__ == "__main__":
    sweep(Path(sys.argv[1]), ["a", "b", "c", "stuck", "d", "e"])
"""


@pytest.mark.usefixtures("old")
def test_a_killed_sweep_goes_on(tmp_path: Path, double: Double) -> None:
    """Killed at once in the middle; afterwards each run is there, and those before as they were."""
    double({"stuck": "hang"}, count=2)
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    path = os.pathsep.join([str(ROOT), str(tmp_path / "site")])
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.DEVNULL,
    )
    try:
        # The kernel that hangs takes one of the two workers; the other one goes on.
        until(lambda: stored(tmp_path) >= 6 or process.poll() is not None)
        workers = children(process.pid)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    until(lambda: not any(Path(f"/proc/{w}/cmdline").exists() for w in workers))
    with Runs(tmp_path / FILE) as runs:
        before = {(r["name"], r["problem"]): r for r in runs.records()}
    assert 6 <= len(before) < 12
    double(count=2)
    known, summary = sweep(tmp_path, ["a", "b", "c", "stuck", "d", "e"])
    assert (known, summary.runs) == (len(before), 12 - len(before))
    with Runs(tmp_path / FILE) as runs:
        after = {(r["name"], r["problem"]): r for r in runs.records()}
    assert len(after) == 12
    assert {r["status"] for r in after.values()} == {"ok"}
    assert all(after[key] == row for key, row in before.items())
    assert sweep(tmp_path, ["a", "b", "c", "stuck", "d", "e"]) == (12, ValidationSummary())


@pytest.fixture
def out(tmp_path: Path, double: Double, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A generated folder whose three kernels the test device runs without a compiler."""
    points, folder = tmp_path / "points.jsonl", tmp_path / "out"
    part = (*PART[: PART.index("--limit")], "--limit", "3")
    assert run("enumerate", *part, "--format", "jsonl", "-o", str(points)).exit_code == 0
    assert run("generate", str(points), "-o", str(folder), "--ck", "2025.11").exit_code == 0
    from ckrules.compiling import folder as built

    for each in built.find([str(folder)]):
        kernel(each.folder, each.name, **each.config)
    monkeypatch.setattr(
        "ckrules.device.session.RunOptions", functools.partial(session.RunOptions, opener=OPENER)
    )
    double()
    return folder


def test_the_command(out: Path, tmp_path: Path) -> None:
    shapes = tmp_path / "shapes.csv"
    shapes.write_text(
        "set,problem,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,tile_m,latency_us\n"
        "x,0,1,8,8,1,5,5,3,3,1,1,1,1,16,3\nx,0,1,8,8,1,5,5,3,3,1,1,1,1,32,4\n"
        "x,1,2,16,8,1,4,4,1,1,1,1,0,0,16,5\n"
    )
    words = ("bench", str(out), "--problems", str(shapes), "--device", "reference")
    words += ("--device-option", "clock=simulated", "--repeat", "2")
    first = run(*words)
    assert first.exit_code == 0, first.stderr
    assert first.stderr == "6 runs: 6 ok\n"
    lines = first.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["problem", *map(str, PROBLEMS)]
    times = tmp_path / "times.csv"
    again = run(*words, "-o", str(times))
    assert (again.exit_code, again.stderr) == (0, "0 runs; 6 known already\n")
    with times.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 6
    found = measurements.read(times, Books("2025.11"))
    assert [m.problem for m in found] == PROBLEMS
    for each in found:
        for point, us in zip(each.points, each.microseconds, strict=True):
            assert us == pytest.approx(1e3 * simulated_ms(point, each.problem), rel=1e-5)


def test_a_bar_says_how_many_runs_there_are(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["bench", str(out), "--problem", "N=1,C=8,K=8,H=5,W=5,Y=3,X=3", "-q"]
    words += ["--device", "reference", "--device-option", "clock=simulated", "--repeat", "2"]
    seen = in_this_process(monkeypatch, lambda: cli.run(words))
    assert re.search(r"runs.* 0/[1-9]", seen)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "on which problems?"),
        (("--problem", "N=1,C=8"), 2, "the problem has no K"),
        (("--problem", "N=1,C=8,K=8,W=9,X=3"), 3, "nothing to run"),
        (("--problems", "none.csv"), 2, "none.csv: No such file"),
        (("--problem", "N=1,C=8,K=8,H=9,W=9,Y=1,X=1", "-o", "x.png"), 2, "known suffixes"),
    ],
)
def test_what_cannot_be_measured(out: Path, words: tuple[str, ...], code: int, said: str) -> None:
    found = run("bench", str(out), "--device", "reference", *words)
    assert (found.exit_code, found.stdout) == (code, "")
    assert said in found.stderr


def test_without_a_clock_nothing_is_timed(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = discover("reference")
    clockless = tuple(replace(d, has_clock=False) for d in found.devices)
    monkeypatch.setattr("ckrules.device.pool.discover", lambda _: replace(found, devices=clockless))
    words = ("bench", str(out), "--device", "reference", "--device-option", "clock=none")
    words += ("--problem", str(PROBLEMS[0]))
    for said in ("3 runs: 3 ok", "0 runs; 3 known already"):
        done = run(*words)
        assert (done.exit_code, done.stdout) == (0, "")
        assert (
            done.stderr == f"{said}\nthe device reference has no clock: results were compared, "
            "nothing was timed\n"
        )


def test_words_of_a_stranger_are_no_formulas(tmp_path: Path) -> None:
    config = {"variant": "forward", "arch": "gfx950", "tile_m": 64, "pipeline": "=cmd|x"}
    with (tmp_path / "m.csv").open("w") as stream:
        write(stream, [Measurement("@k", config, parse("N=1,C=8,K=8,H=9,W=9,Y=3,X=3"), 12.5)])
    row = (tmp_path / "m.csv").read_text().splitlines()[1]
    assert row.endswith(",64,,,'=cmd|x,12.5,'@k,gfx950,forward")


@pytest.mark.parametrize(
    "text",
    [
        "N=1,C=8,K=8,W=9,X=3",
        "N=1,C=8,K=8,H=9,W=9,Y=3,X=3,dilation=2",
        "N=1,C=8,K=8,D=4,H=4,W=4,Z=1,Y=1,X=1",
        "N=1,C=8,K=8,H=9,W=9,Y=3,X=3,split_k=2",
    ],
)
def test_problems_that_upstream_has_no_columns_for(text: str, tmp_path: Path) -> None:
    name = (
        "grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x64_4x1x1_16x16x32_vec8_8_8"
    )
    config = {"variant": "forward", "arch": "gfx950"}
    with (tmp_path / "m.csv").open("w") as stream:
        assert write(stream, [Measurement(name, config, parse(text), 12.5)]) == 1
    (found,) = measurements.read(tmp_path / "m.csv", Books("2026.06"))
    assert (found.problem, found.microseconds) == (parse(text), [12.5])


@pytest.mark.usefixtures("old")
def test_times_are_of_right_results_only(tmp_path: Path, double: Double) -> None:
    double({"bad": "nan"})
    sweep(tmp_path, ["good", "bad"])
    kernels = [kernel(tmp_path, n) for n in ("good", "bad")]
    options = RunOptions("reference", device_options=SIMULATED)
    with Runs(tmp_path / FILE) as runs:
        found = timed(runs, kernels, None, options)
        assert [t.kernel.name for t in found] == ["good", "good"]
        assert timed(runs, kernels, PROBLEMS[:1], RunOptions("reference")) == []
