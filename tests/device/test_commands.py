"""The commands validate and run, and the whole path from points to compared results."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import process, run
from tests.compiling import kernels
from tests.device import reference_device, whole_path

pytestmark = pytest.mark.whole

PARAMS = kernels.convolutions().params()
Double = Callable[..., str]


def generated(folder: Path) -> str:
    """A generated folder with one kernel, not built; returns the kernel's name."""
    points = folder / "points.jsonl"
    assert run("enumerate", *whole_path.PART, "--format", "jsonl", "-o", str(points)).exit_code == 0
    done = run("generate", str(points), "-o", str(folder / "out"), "--ck", "2025.11", "-q")
    assert done.exit_code == 0, done.stderr
    return str(json.loads((folder / "out" / "ckrules-kernels.jsonl").read_text())["name"])


def test_faulty_arguments(tmp_path: Path) -> None:
    for words, said in (
        (["validate", str(tmp_path)], "no ckrules-kernels.jsonl: make it with ckrules generate"),
        (["validate", ".", "--device", "hpi"], "unknown device 'hpi': did you mean 'hip'?"),
        (["validate", ".", "--timeout", "0"], "'0' is not a number of seconds above 0"),
        (["build", ".", "--timeout", "nan"], "'nan' is not a number of seconds above 0"),
        *(
            ([*words, "--timeout", "nan"], "'nan' is not a number of seconds above 0")
            for words in (["why"], ["fix", "x"], ["lint"], ["cover", "x"])
        ),
        (["build", ".", "--optimize", "-O9"], "did you mean '-O"),
        (["results", ".", "--artifact", "devise"], "did you mean 'device'?"),
        (["generate", "x", "-o", ""], "-o: the folder has no name"),
        (["validate", str(tmp_path / "out")], "out: neither a folder nor a kernel of one"),
        (["run", "x"], "--problem"),
    ):
        done = run(*words)
        assert (done.exit_code, done.stdout) == (2, ""), words
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_faulty_problems(tmp_path: Path) -> None:
    """They are read as the kernels' family reads them, so that the kernels come first."""
    name = generated(tmp_path)
    out = str(tmp_path / "out")
    line = "N=1,C=8,K=8,W=9,X=3"
    for words, said in (
        (["validate", out, "--problem", "N=1"], "the problem has no C"),
        (["validate", out, "--problems", str(tmp_path / "none.csv")], "none.csv: No such file"),
        (["validate", out, "--vary", "3", "--problem", line], "--vary: not beside --problem"),
        (["run", name, "--dir", out, "--problem", "N=1,C=1"], "the problem has no K"),
        (
            ["run", name, "--dir", out, "--problem", line],
            f"{name} does not compute a convolution like N=1,G=1,C=8,K=8,W=9,X=3",
        ),
    ):
        done = run(*words)
        assert (done.exit_code, done.stdout) == (2, ""), words
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_run_of_a_folder_of_several_names_one_of_them(tmp_path: Path) -> None:
    name = generated(tmp_path)
    other = name[:-1] + ("4" if name[-1] != "4" else "2")
    out = str(tmp_path / "two")
    made = run("generate", name, other, "--arch", "gfx942", "-o", out, "--ck", "2025.11", "--force")
    assert made.exit_code == 0, made.stderr
    done = run("run", out, "--problem", "N=1,C=8,K=8,H=9,W=9,Y=3,X=3")
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{out}: 2 kernels, expected one, such as {out}/" in done.stderr
    assert name in done.stderr or other in done.stderr


def test_what_is_not_built_is_counted(tmp_path: Path, double: Double) -> None:
    name = generated(tmp_path)
    done = run("validate", str(tmp_path / "out"), "--device", double())
    assert done.exit_code == 3
    assert done.stderr.splitlines() == [
        f"1 kernel left out; {name}: not built: no device and no host artifact",
        "nothing to run",
    ]
    problem = ("--problem", "N=1,C=8,K=8,H=9,W=9,Y=3,X=3")
    one = run("run", name, "--dir", str(tmp_path / "out"), "--device", double(), *problem)
    assert one.exit_code == 2
    assert "not built" in one.stderr
    near = run("validate", name[:-1] + "8", "--dir", str(tmp_path / "out"), "--device", double())
    assert near.exit_code == 2
    assert f"did you mean '{name}'" in near.stderr


def test_no_gpu_is_said_in_one_line(tmp_path: Path, double: Double) -> None:
    generated(tmp_path)
    done = run("validate", str(tmp_path / "out"), "--device", double(count=0))
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr == "no GPU for --device reference: numpy: found\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the kernel of the whole path, with its results."""
    place = tmp_path_factory.mktemp("whole path") / "out"
    return Path(shutil.copytree(whole_path.built(), place))


@pytest.mark.toolchain
@pytest.mark.slow
def test_runs_and_builds_share_a_database(built: Path, double: Double) -> None:
    done = run("validate", str(built), "--device", double(), "--repeat", "2")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "10 runs: 8 ok, 2 refused" in done.stderr
    rows = run("results", str(built), "--runs", "--format", "jsonl", "-q").stdout.splitlines()
    runs = [json.loads(row) for row in rows]
    assert len(runs) == 10
    assert {r["latency_ms"] for r in runs if r["status"] == "ok"} == {0.5}
    builds = run("results", str(built), "--format", "jsonl", "-q").stdout.splitlines()
    assert {json.loads(b)["artifact"] for b in builds} >= {"device", "host"}


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("last-tile", "all zeros: last M tile"),
        ("k-slice", "K tile 1 of 36 missing"),
        ("crash", "worker ended by SIGABRT in phase launch"),
        ("hang", "not done after 2 s in phase launch"),
    ],
)
def test_faults_of_a_real_kernel(built: Path, double: Double, fault: str, said: str) -> None:
    words = ("--device", double({"fwd": fault}), "--timeout", "2" if fault == "hang" else "600")
    problem = ("--problem", "N=2,C=64,K=64,H=9,W=13,Y=3,X=3,pad=1")
    done = run("validate", str(built), *words, *problem)
    assert done.exit_code == 1
    assert said in done.stdout
    assert "finding: legal by the rules" in done.stdout


@pytest.mark.toolchain
@pytest.mark.slow
def test_a_real_kernel_that_a_clockless_device_does_not_finish(built: Path, double: Double) -> None:
    words = ("--device", double({"fwd": "hang"}), "--timeout", "1", "--device-option", "clock=none")
    problem = ("--problem", "N=2,C=64,K=64,H=9,W=13,Y=3,X=3,pad=1")
    done = run("validate", str(built), *words, *problem)
    assert done.exit_code == 4
    assert done.stdout.startswith("unfinished: ")
    assert "finding" not in done.stdout
    assert done.stderr == "1 run: 1 unfinished\n"
    listed = json.loads((built / "ckrules-kernels.jsonl").read_text())
    assert run("run", listed["name"], "--dir", str(built), *words, *problem).exit_code == 4


@pytest.mark.toolchain
@pytest.mark.slow
def test_run_prints_what_upstreams_helper_prints(built: Path, double: Double) -> None:
    listed = json.loads((built / "ckrules-kernels.jsonl").read_text())
    code = built / f"{listed['name']}.hsaco"
    problem = ("--problem", "N=2,C=64,K=64,H=9,W=13,Y=3,X=3,pad=1")
    done = run("run", str(code), "--device", double(), *problem)
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["status"] == "success"
    assert answer["kernel"] == code.stem
    assert set(answer["execution"]) >= {"time_ms", "tflops", "flops"}
    assert answer["validation"]["accuracy"] == 100.0
    assert answer["validation"]["total_elements"] == 2 * 64 * 9 * 13
    bad = run("run", str(code), "--device", double({"fwd": "nan"}), *problem)
    assert bad.exit_code == 1
    answer = json.loads(bad.stdout)
    assert answer["status"] == "wrong"
    assert answer["validation"]["pattern"].startswith("NaN")
    refused = run(
        "run", str(code), "--device", double(), "--problem", "N=1,C=7,K=8,H=9,W=9,Y=3,X=3"
    )
    assert json.loads(refused.stdout)["status"] == "refused"


@pytest.mark.toolchain
@pytest.mark.slow
def test_the_double_is_found_from_another_process(built: Path, tmp_path: Path) -> None:
    site = reference_device.registered(tmp_path / "site")
    root = Path(__file__).resolve().parents[2]
    env = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{site}"}
    problem = ("--problem", "N=1,C=8,K=8,H=9,W=9,Y=3,X=3")
    done = process("validate", str(built), "--device", "reference", *problem, env=env)
    assert done.returncode == 0, done.stderr
    assert "1 run: 1 ok" in done.stderr


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.parametrize("point", PARAMS)
def test_every_built_kernel_answers_as_predicted(
    point: dict[str, Any], tmp_path: Path, double: Double
) -> None:
    """All kernels of the build tests: directions, types, pipelines and GPUs."""
    kernel = kernels.convolutions().build(point)
    store = tmp_path / "runs.sqlite"
    words = ("--device", double(), "--repeat", "0", "--results", str(store))
    done = run("validate", str(kernel.folder), *words)
    assert (done.exit_code, done.stdout) == (0, ""), done.stdout
    rows = run("results", str(store), "--runs", "--format", "jsonl", "-q").stdout.splitlines()
    runs = [json.loads(row) for row in rows]
    assert {(r["name"], r["op_type"]) for r in runs} == {(kernel.name, point["variant"])}
    assert "ok" in {r["status"] for r in runs} <= {"ok", "refused"}
    assert all(r["predicted"] is r["supported"] for r in runs)
