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


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    """A driver, with kernels that are not built and no cuBLAS."""
    from ckrules_cutlass import timing

    monkeypatch.setattr(timing, "open_kernel", lambda folder, name: (Kernel(name), b"cubin"))
    monkeypatch.setattr(timing, "_cublas", lambda problem: [])
    monkeypatch.setattr(timing, "COVER", 64)
    return FakeCuda()


def timer(fake: FakeCuda, names: list[str], told: list[Any]) -> Any:
    from ckrules_cutlass import timing
    from ckrules_cutlass.device import CudaPlugin
    from ckrules_cutlass.driver import CudaDriver

    plugin = CudaPlugin(CudaDriver(fake))
    return timing.KernelTimer(Path(), names, lambda *at: told.append(at), plugin)


def test_rounds_are_interleaved_and_the_median_counts(fake: FakeCuda) -> None:
    from ckrules_cutlass import timing

    told: list[Any] = []
    bench = timer(fake, ["x", "y"], told)
    rows = list(bench.times(MatrixProduct(64, 64, 64)))
    many = timing.ROUNDS * timing.REPEAT
    assert [(r["kernel"], r["ms"], len(r["spans"])) for r in rows] == [
        ("x", 1.5, many), ("y", 1.5, many)
    ]  # fmt: skip
    order = [kernel for kernel, what in told if what == "M=64,N=64,K=64"]
    assert order == ["x", "y", "y", "x", "x", "y"]
    assert len(fake.launches) == 2 * timing.ROUNDS * (1 + timing.REPEAT)
    assert len(fake.memory) == 1  # the buffer that is cleared before launches
    assert list(bench.times(MatrixProduct(63, 64, 64))) == []


def test_barriers_are_cleared_before_every_launch(fake: FakeCuda) -> None:
    """Stream-K's count up and are never set back: seven of seven kernels hung at the second."""
    bench = timer(fake, ["x"], [])
    fake.calls.clear()
    list(bench.times(MatrixProduct(64, 64, 64)))
    kept = ("cuMemsetD8Async", "cuEventRecord", "cuLaunchKernelEx")
    steps = [c for c in fake.calls if c in kept]
    places = [i for i, c in enumerate(steps) if c == "cuLaunchKernelEx"]
    for at in places:
        before = steps[at - 1 - (steps[at - 1] == "cuEventRecord")]
        assert before == "cuMemsetD8Async"


def test_a_kernel_that_cannot_be_started_is_named_and_left_out(fake: FakeCuda) -> None:
    bench = timer(fake, ["x"], [])
    fake.fails = {"cuLaunchKernelEx": 2}
    (row,) = bench.times(MatrixProduct(64, 64, 64))
    assert row["kernel"] == "x"
    assert row["fault"].startswith("cuLaunchKernelEx: CUDA_ERROR_OUT_OF_MEMORY")
    fake.fails = {}
    assert list(bench.times(MatrixProduct(64, 64, 64))) == []


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
    every = len(measure.PROBLEMS)
    assert asked == [(names, every), (["good"], every)]
    assert list(measure.time_kernels(tmp_path, names, 60.0)) == []
    assert len(asked) == 2


def test_the_process_that_times_finds_its_function() -> None:
    """A function of the program itself is not there in a process that is started."""
    from ckrules_cutlass import measure

    assert measure.serve.__module__ == "ckrules_cutlass.timing"
