"""`ckrules search --device`: kernels are built and timed in a folder that remembers them."""

from __future__ import annotations

import fcntl
import functools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ckrules.codegen.generate import MANIFEST
from ckrules.compiling import folder
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.database import FILE
from ckrules.compiling.folder import ManifestEntry
from ckrules.compiling.results import Results
from ckrules.compiling.session import BuildOptions
from ckrules.device import measure_loop, session
from ckrules.device.store import Runs
from tests.cli.run import run
from tests.compiling import fake
from tests.device.descriptors import OPENER
from tests.device.reference_device import simulated_ms
from tests.device.test_interruption import ROOT, children, stored
from tests.device.test_session import kernel
from tests.helpers.waiting import until

pytestmark = pytest.mark.whole

Double = Callable[..., str]
PROBLEM = "N=1,C=64,K=64,H=8,W=8,Y=1,X=1"
#: Few enough kernels that all of them are looked at.
PART = (
    "tile_m <= 64 & tile_n == 64 & tile_k == 64 & pipeline == 'compv3' & epilogue == 'cshuffle'"
    " & vector_a == 8 & vector_b == 8 & vector_c == 8 & specialization == 'default'"
    " & num_groups_to_merge == 1 & pad_m & pad_n & pad_k"
)
WORDS = (
    *("search", "--problem", PROBLEM, "--variant", "forward", "--arch", "gfx942"),
    *("--dtype", "fp16", "--ck", "2025.11", "--where", PART),
    *("--draw", "4000", "--device", "reference", "--device-option", "clock=simulated"),
)


def describe(home: Path) -> None:
    """In place of a compiler: what the test device needs of each kernel."""
    for each in folder.manifests(home):
        if each.missing:
            kernel(each.folder, each.name, **each.config)


@pytest.fixture
def described(double: Double, monkeypatch: pytest.MonkeyPatch) -> Double:
    """No kernel is compiled; the test device runs them by their descriptions."""
    options = functools.partial(session.RunOptions, opener=OPENER)
    monkeypatch.setattr("ckrules.device.session.RunOptions", options)
    monkeypatch.setattr(
        "ckrules.device.measure_loop.ToolchainBuilder.build", lambda _, home: describe(home)
    )
    double()
    return double


@pytest.mark.usefixtures("described")
def test_a_search_measures_and_remembers(tmp_path: Path) -> None:
    home = tmp_path / "tried"
    words = (*WORDS, "--dir", str(home), "--format", "json", "-n", "99")
    first = run(*words, "--measure", "6")
    assert first.exit_code == 0, first.stderr
    assert first.stderr == "6 kernels tried; ended: kernels\n"
    found = json.loads(first.stdout)["kernels"]
    times = [k["measured"] for k in found]
    assert len(times) == 6
    assert times == sorted(times)
    from ckrules.constraints.conv.problem import parse

    for each in found:
        assert each["measured"] == pytest.approx(1e3 * simulated_ms(each["config"], parse(PROBLEM)))
    again = run(*words, "--measure", "6")
    assert again.stderr == "6 kernels tried, 6 of them before; ended: kernels\n"
    assert json.loads(again.stdout)["kernels"] == found
    more = run(*words[:-4], "--measure", "8")
    assert more.stderr == "8 kernels tried, 6 of them before; ended: kernels\n"
    assert more.stdout.splitlines()[0].split() == ["us", "predicted", "TFLOPS", "kernel"]


@pytest.mark.usefixtures("described")
def test_a_search_measures_on_several_problems(tmp_path: Path) -> None:
    """One that no kernel takes stops none; kernels of the folder serve all of them."""
    other, none = "N=1,G=1,C=128,K=64,H=8,W=8,Y=1,X=1", "N=1,G=1,C=3,K=64,H=8,W=8,Y=1,X=1"
    words = (*WORDS, "--problem", none, "--problem", other, "--dir", str(tmp_path / "tried"))
    done = run(*words, "--measure", "2", "--format", "jsonl")
    first = PROBLEM.replace("N=1,", "N=1,G=1,")
    assert done.exit_code == 3
    assert done.stderr.splitlines() == [
        f"2 kernels tried; ended: kernels; {first}",
        f"no kernel accepts {none}",
        f"2 kernels tried; ended: kernels; {other}",
    ]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["problem"] for r in rows] == [first, first, other, other]
    table = run(*words, "--measure", "2").stdout.splitlines()
    assert table[0].split() == ["problem", "us", "predicted", "TFLOPS", "kernel"]


@pytest.mark.usefixtures("described")
def test_what_was_tried_elsewhere_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another release, on another GPU of the kind, or by a list that is damaged."""
    home = tmp_path / "tried"
    words = (*WORDS, "--dir", str(home), "--measure", "2")
    assert run(*words).stderr == "2 kernels tried; ended: kernels\n"
    other = run(*words[: words.index("--ck")], "--ck", "2026.09", *words[words.index("--ck") + 2 :])
    assert other.exit_code == 2
    assert "kernels for CK 2025.11 are there, and these are for CK 2026.09" in other.stderr
    with Runs(home / FILE) as runs:
        runs._db.execute("UPDATE run SET device_name = 'another GPU'")
    assert run(*words).stderr == "2 kernels tried; ended: kernels\n"
    listed = home / MANIFEST
    listed.write_text(listed.read_text()[:700])
    done = run(*words)
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    assert f"{MANIFEST}:1: not a JSON object" in done.stderr


@pytest.mark.usefixtures("described")
def test_another_search_waits_until_kernels_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would add its own to the list from before, and take the others off it."""
    listed, done = folder.manifests, list[bool]()

    def held(home: Path) -> list[ManifestEntry]:
        lock = os.open(home, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            done.append(True)
        os.close(lock)
        return listed(home)

    monkeypatch.setattr("ckrules.device.measure_loop.folder.manifests", held)
    assert run(*WORDS, "--dir", str(tmp_path / "tried"), "--measure", "8").exit_code == 0
    assert len(done) >= 3  # before kernels are added, but for the first, and after it


def test_kernels_that_fail_have_no_time(described: Double, tmp_path: Path) -> None:
    described({"grouped": "nan"})
    done = run(*WORDS, "--dir", str(tmp_path / "tried"), "--measure", "2")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "2 kernels tried, 2 without a time; ended: kernels\n"


DRIVER = """
import functools, sys
import ckrules.device.session, ckrules.device.measure_loop
from tests.device.descriptors import OPENER
from tests.device.test_workshop import WORDS, describe
from ckrules.cli.group import cli
if __name__ == "__main__":
    ckrules.device.session.RunOptions = functools.partial(
        ckrules.device.session.RunOptions, opener=OPENER
    )
    ckrules.device.measure_loop.ToolchainBuilder.build = lambda _, home: describe(home)
    cli([*WORDS, "--dir", sys.argv[1], "--measure", "50"])
"""


def there(home: Path) -> int:
    """Runs that are stored; -1 before there is a folder."""
    return stored(home) if home.is_dir() else -1


@pytest.mark.usefixtures("described")
def test_a_killed_search_goes_on(tmp_path: Path) -> None:
    home = tmp_path / "tried"
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    path = os.pathsep.join([str(ROOT), str(tmp_path / "site")])
    process = subprocess.Popen(
        [sys.executable, str(script), str(home)],
        env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for least in (0, 1, 3):  # on a loaded machine each may take most of a minute
            until(lambda n=least: process.poll() is not None or there(home) >= n)  # type: ignore[misc]
        workers = children(process.pid)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    until(lambda: not any(Path(f"/proc/{w}/cmdline").exists() for w in workers))
    before = stored(home)
    assert 3 <= before < 50
    done = run(*WORDS, "--dir", str(home), "--measure", str(before + 2))
    assert done.exit_code == 0, done.stderr
    assert f"{before + 2} kernels tried, {before} of them before" in done.stderr
    assert stored(home) == before + 2


def test_kernels_are_built_as_the_command_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a compiler that is a script; which of them failed is read again."""
    include = fake.install(tmp_path / "rocm", monkeypatch)
    options = BuildOptions(artifacts=(Artifact.OBJECT,), compiler="hipcc", include=include)
    monkeypatch.setattr(measure_loop, "BuildOptions", lambda: options)
    monkeypatch.setenv("FAKE_COMPILER", "fail")
    home = fake.kernels(tmp_path / "kernels", 2)
    builder = measure_loop.ToolchainBuilder()
    builder.build(home)
    bad, good = folder.manifests(home)
    assert builder.failed(home) == {bad.name}
    with Results(home / FILE) as results:  # such as of a disk that was full
        results._db.execute("UPDATE build SET error_class = 'no-space' WHERE status = 'failed'")
    assert builder.failed(home) == set()
    assert good.result(Artifact.OBJECT).is_file()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--device", "reference"), 2, "--device needs --dir DIR"),
        (("--device", "reference", "--dir", "x", "--explain"), 2, "--explain is about predictions"),
        (("--measure", "3"), 2, "--measure is about measuring: give --device"),
        (("--device", "refrence", "--dir", "x"), 2, "did you mean 'reference'?"),
        (("--device", "reference", "--dir", "x", "--kernels", "9"), 2, "say --measure"),
        (("--device", "cpu", "--dir", "x"), 2, "the device cpu has no clock: nothing can be timed"),
    ],
)
def test_what_cannot_be_measured(
    words: tuple[str, ...], code: int, said: str, tmp_path: Path, described: Double,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    done = run(*WORDS[: WORDS.index("--device")], *words)
    assert (done.exit_code, done.stdout, said in done.stderr) == (code, "", True), done.stderr


def test_no_gpu_of_the_kind(described: Double, tmp_path: Path) -> None:
    described(count=0)
    done = run(*WORDS, "--dir", str(tmp_path / "x"))
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr == "no gfx942 for --device reference: numpy: found\n"
