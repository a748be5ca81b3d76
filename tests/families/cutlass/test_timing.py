"""Times on a double of the driver, and kernels that hang or end the process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.device.hostlib import Fill, HostLaunch, Info
from tests.families.cutlass.fake_cuda import FakeCuda


class Kernel:
    """A kernel that takes products with an even M."""

    def __init__(self, name: str) -> None:
        tensors = {"a": "in", "b": "in", "d": "out"}
        self.info = Info(
            name, "", "sm_90a", "cutlass", "hopper_gemm", {}, 32, 384, 0, (name,), tensors, True, 9
        )

    def is_supported(self, problem: MatrixProduct) -> bool:
        return problem.m % 2 == 0

    def workspace_bytes(self, problem: Any, room: Any) -> int:
        return 64

    def plan(self, problem: Any, addresses: Any, workspace: int, room: Any) -> list[Any]:
        launch = HostLaunch(self.info.name, (1, 1, 1), (384, 1, 1), b"args", 0, 9, (2, 1, 1))
        return [Fill(workspace, 64), launch]


def test_rounds_are_interleaved_and_the_median_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    from ckrules_cutlass import timing
    from ckrules_cutlass.device import CudaPlugin
    from ckrules_cutlass.driver import CudaDriver

    monkeypatch.setattr(timing, "open_kernel", lambda folder, name: (Kernel(name), b"cubin"))
    monkeypatch.setattr(timing, "_cublas", lambda problem: [])
    fake, told = FakeCuda(), []
    plugin = CudaPlugin(CudaDriver(fake))
    bench = timing.KernelTimer(Path(), ["x", "y"], lambda *at: told.append(at), plugin)
    rows = list(bench.times(MatrixProduct(64, 64, 64)))
    assert [(r["kernel"], r["ms"], len(r["rounds"])) for r in rows] == [
        ("x", 1.5 / timing.REPEAT, timing.ROUNDS), ("y", 1.5 / timing.REPEAT, timing.ROUNDS)
    ]  # fmt: skip
    order = [kernel for kernel, what in told if what == "M=64,N=64,K=64"]
    assert order == ["x", "y", "y", "x", "x", "y"]
    assert len(fake.launches) == 2 * timing.ROUNDS * (1 + timing.REPEAT)
    assert fake.memory == {}
    assert list(bench.times(MatrixProduct(63, 64, 64))) == []


def test_a_kernel_that_hangs_is_left_out_from_then_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from ckrules_cutlass import measure

    asked: list[tuple[list[str], int]] = []

    def timed(place: Path, folder: Path, names: Any, problems: Any, end: float) -> tuple[str, str]:
        asked.append((list(names), len(problems)))
        if "bad" in names:
            return "bad", "no answer for 60 s"
        with place.open("a") as log:
            for problem in problems:
                log.write(json.dumps({"kernel": "good", "problem": problem, "ms": 1.0}) + "\n")
        return "", ""

    monkeypatch.setattr(measure, "_timed", timed)
    names = ["good", "bad"]
    assert list(measure.time_kernels(tmp_path, names, 60.0)) == ["bad: no answer for 60 s"]
    assert asked == [(names, 60), (["good"], 60)]
    assert list(measure.time_kernels(tmp_path, names, 60.0)) == []
    assert len(asked) == 2


def test_the_process_that_times_finds_its_function() -> None:
    """A function of the program itself is not there in a process that is started."""
    from ckrules_cutlass import measure

    assert measure.serve.__module__ == "ckrules_cutlass.timing"
