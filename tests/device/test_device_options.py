"""Options of a device, what it prints, and what is stored of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ckrules.cli.device_options import options_of
from ckrules.compiling.database import FILE
from ckrules.device import registry
from ckrules.device.execute import Runner
from ckrules.device.interface import DeviceInfo, LaunchContext
from ckrules.device.pool import discover
from ckrules.device.session import RunOptions, ValidationSession
from ckrules.device.store import Runs
from ckrules.support.errors import UnknownNameError, UsageError
from tests.cli.run import run
from tests.compiling import fake
from tests.device.descriptors import OPENER
from tests.device.reference_device import ReferenceDevice
from tests.device.test_pool import SMALL, described
from tests.device.test_session import PROBLEMS, kernel, vectors_divide

Double = Callable[..., str]


def validate(
    folder: Path, options: Mapping[str, str], said: list[str] | None = None
) -> list[dict[str, Any]]:
    """The rows after a run of one kernel on one problem."""
    how = RunOptions("reference", 20, 1, 2, OPENER, options)
    found = discover("reference").devices
    kernels = [kernel(folder, "k")]
    session = ValidationSession(kernels, PROBLEMS[:1], found, how, vectors_divide)
    with Runs(folder / FILE) as runs:
        session.run(runs, listener=None if said is None else said.append)
        return list(runs.records())


def test_runs_with_other_options_are_other_rows(tmp_path: Path, double: Double) -> None:
    double()
    validate(tmp_path, {})
    rows = validate(tmp_path, {"say": "two words", "fault": "last-tile"})
    assert [(r["device_options"], r["status"]) for r in rows] == [
        ("", "ok"),
        ("fault=last-tile 'say=two words'", "wrong"),
    ]
    assert validate(tmp_path, {"fault": "last-tile", "say": "two words"})[1]["status"] == "wrong"
    assert len(validate(tmp_path, {})) == 2


def test_what_a_device_does_not_know_is_refused(tmp_path: Path, double: Double) -> None:
    double()
    with pytest.raises(UsageError, match=r"unknown option of the device reference 'clok': did you"):
        validate(tmp_path, {"clok": "none"})


def test_options_are_read_from_words() -> None:
    for words, said in ((["a"], "expected NAME=VALUE"), (["a=1", "a=2"], "a: given twice")):
        with pytest.raises(UsageError, match=said):
            options_of(words)
    assert options_of(["a=1=2", "b="]) == {"a": "1=2", "b": ""}


def test_a_plug_in_of_before_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Before:
        def open(self, index: int) -> str:
            return f"device {index}"

    monkeypatch.setattr(registry, "load", lambda name: Before())
    assert registry.open_device("before", 3, {}) == "device 3"  # type: ignore[comparison-overlap]
    with pytest.raises(UsageError, match=r"device before takes no options: order, seed"):
        registry.open_device("before", 3, {"order": "x", "seed": "1"})
    monkeypatch.undo()
    with pytest.raises(UsageError, match="device hip takes no options: order"):
        registry.open_device("hip", 0, {"order": "reversed"})
    with pytest.raises(UnknownNameError, match=r"unknown option of the device cpu 'ordr'"):
        registry.open_device("cpu", 0, {"ordr": "reversed"})


def test_without_a_clock_nothing_is_timed(tmp_path: Path, double: Double) -> None:
    double()
    (row,) = validate(tmp_path, {"clock": "none"})
    assert row["status"] == "ok"
    assert {row[n] for n in ("latency_ms", "latency_min_ms", "tflops")} == {None}
    assert (row["warmup"], row["repeat"]) == (0, 0)
    assert validate(tmp_path, {})[0]["latency_ms"] == 0.5


def test_a_device_without_a_clock_needs_no_events() -> None:
    from ckrules.device.worker import checked

    class Timeless(ReferenceDevice):
        event = record = elapsed_ms = property()  # type: ignore[assignment]

    device = Timeless()
    with pytest.raises(Exception, match=r"no elapsed_ms, event, record"):
        checked(device)
    device.info = DeviceInfo(0, "timeless", "", has_clock=False)
    assert checked(device) is device  # type: ignore[comparison-overlap]


def test_what_a_device_prints_is_told_with_its_job(tmp_path: Path, double: Double) -> None:
    double()
    said: list[str] = []
    validate(tmp_path, {"say": "hello"}, said)
    assert said == [f"# device 0, k on {PROBLEMS[0]}\nhello\n"]


def test_a_crash_says_where_and_its_stack_is_kept(tmp_path: Path, double: Double) -> None:
    double()
    said: list[str] = []
    (row,) = validate(tmp_path, {"fault": "segv", "say": "about to crash"}, said)
    assert row["status"] == "crash"
    assert row["detail"].startswith(
        "worker ended by SIGSEGV in phase launch: about to crash: __init__.py:"
    )
    assert "Fatal Python error: Segmentation fault" in said[0]
    assert "in _before" in said[0]


def test_a_device_is_told_how_large_its_buffers_are(tmp_path: Path) -> None:
    device = ReferenceDevice()
    seen: list[LaunchContext] = []
    tell = device.announce
    device.announce = lambda work: (seen.append(work), tell(work))[1]  # type: ignore[assignment]
    Runner(device).run(described(tmp_path, "k", SMALL))
    (work,) = seen
    assert work.sizes.keys() == work.addresses.keys() >= {"input", "weight", "output"}
    assert all(size > 0 for size in work.sizes.values())


def test_faulty_options_of_the_commands(tmp_path: Path, double: Double) -> None:
    folder = str(fake.kernels(tmp_path / "out", 1))
    done = run("validate", folder, "--device", double(), "--device-option", "clock")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "error: --device-option 'clock': expected NAME=VALUE\n"
