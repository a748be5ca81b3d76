"""Workers: right kernels pass, and every fault costs its own kernel only."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ckrules.constraints.conv.problem import parse
from ckrules.device import registry
from ckrules.device.execute import Runner
from ckrules.device.interface import Device, DeviceError
from ckrules.device.jobs import Job, RunOutcome
from ckrules.device.pool import WorkerPool, discover
from ckrules.support.errors import UnknownNameError
from tests.device.descriptors import described
from tests.device.reference_device import ReferenceDevice

pytestmark = pytest.mark.whole

SMALL = "N=2,G=2,C=64,K=96,H=7,W=12,Y=3,X=3,pad=1"
Double = Callable[..., str]


def outcomes(
    device: str, jobs: list[Job], timeout: float = 600.0, width: int = 1
) -> dict[str, RunOutcome]:
    with WorkerPool(device, range(width), timeout) as pool:
        return {job.name: outcome for job, outcome, _ in pool.run(jobs)}


def test_the_double_has_every_member_of_the_interface() -> None:
    assert isinstance(ReferenceDevice(), Device)


@pytest.mark.parametrize("variant", ["forward", "bwd_data", "bwd_weight"])
@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
def test_a_right_kernel_passes(tmp_path: Path, variant: str, dtype: str) -> None:
    device = ReferenceDevice()
    phases: list[str] = []
    job = described(tmp_path, "k", SMALL + ",split_k=2", variant=variant, dtype=dtype)
    outcome = Runner(device, phases.append).run(job)
    assert outcome.status == "ok", outcome
    assert (outcome.wrong, outcome.not_finite, outcome.supported) == (0, 0, True)
    assert (outcome.time_ms, outcome.time_min_ms) == (0.5, 0.5)
    assert outcome.tflops == pytest.approx(job.problem.flops / 0.5e-3 / 1e12)
    assert phases == ["load", "prepare", "load", "launch", "compare", "time"]
    assert len(device.launched) == 4
    device.close()


@pytest.mark.parametrize(
    "problem", ["N=2,C=16,K=8,W=40,X=3,pad=1", "N=2,C=16,K=8,D=4,H=5,W=6,Z=2,Y=3,X=2,stride=2x1x1"]
)
@pytest.mark.parametrize("variant", ["forward", "bwd_data", "bwd_weight"])
def test_other_dimensions(tmp_path: Path, variant: str, problem: str) -> None:
    ndim = parse(problem).ndim
    job = described(tmp_path, "k", problem, variant=variant, ndim=ndim)
    assert Runner(ReferenceDevice()).run(job).status == "ok"


def test_depthwise_kernels(tmp_path: Path) -> None:
    config = {"variant": "forward_depthwise", "dtype": "bf16", "vector_b": 1, "vector_c": 1}
    config |= {"tile_h": 8, "tile_w": 8, "sub_h": 2, "sub_w": 2, "out_vec": 2}
    problem = "N=2,G=7,C=7,K=7,H=20,W=21,Y=3,X=3,pad=1"
    assert Runner(ReferenceDevice()).run(described(tmp_path, "k", problem, **config)).status == "ok"
    device = ReferenceDevice(faults={"k": "nan"})
    outcome = Runner(device).run(described(tmp_path, "k", problem, **config))
    assert (outcome.status, outcome.where) == ("wrong", "NaN: image 0 of 2")


def test_two_stages_have_a_workspace(tmp_path: Path) -> None:
    device = ReferenceDevice()
    job = described(tmp_path, "k", SMALL, variant="bwd_weight", two_stage=True)
    assert Runner(device).run(job).status == "ok"
    assert len(device.launched) == 8


def test_a_refusal_is_no_failure(tmp_path: Path) -> None:
    outcome = Runner(ReferenceDevice()).run(described(tmp_path, "k", "N=1,C=7,K=8,H=5,W=5,Y=1,X=1"))
    assert (outcome.status, outcome.supported) == ("refused", False)
    assert "multiple of vector" in outcome.detail


def test_a_device_without_a_clock_may_only_be_slow(tmp_path: Path, double: Double) -> None:
    job = described(tmp_path, "kernel_stuck", SMALL)
    with WorkerPool(double({"kernel_stuck": "hang"}), (0,), 2.0, {"clock": "none"}) as pool:
        ((_, outcome, _),) = pool.run([job])
    assert outcome.status == "unfinished"
    assert outcome.detail.startswith("not done after 2 s in phase launch, perhaps only slow")
    assert "--timeout" in outcome.detail


def test_each_fault_is_told_apart(tmp_path: Path, double: Double) -> None:
    faults = {
        "a": "hang", "b": "crash", "c": "error", "d": "nan", "e": "last-tile", "f": "k-slice",
        "g": "overrun", "h": "silent", "i": "ones", "j": "zero-added",
    }  # fmt: skip
    names = {f"kernel_{letter}_{fault}": fault for letter, fault in faults.items()}
    device = double(dict(zip(names, faults.values(), strict=True)))
    hang, *jobs = [described(tmp_path, name, SMALL) for name in [*names, "kernel_right"]]
    found = outcomes(device, [hang], timeout=2.0) | outcomes(device, jobs)
    by_fault = {fault: found[name] for name, fault in names.items()}
    assert found["kernel_right"].status == "ok"
    assert {f: o.status for f, o in by_fault.items()} == {
        "hang": "hang", "crash": "crash", "error": "error", "nan": "wrong", "last-tile": "wrong",
        "k-slice": "wrong", "overrun": "wrong", "silent": "wrong",
        "ones": "wrong", "zero-added": "wrong",
    }  # fmt: skip
    assert by_fault["hang"].detail == "not done after 2 s in phase launch"
    assert re.fullmatch(
        r"worker ended by SIGABRT in phase launch: Memory access fault by GPU node-1 "
        r"\(test double\): reference_device\.py:\d+ in _before",
        by_fault["crash"].detail,
    )
    assert "hipErrorLaunchFailure" in by_fault["error"].detail
    assert (by_fault["nan"].pattern, by_fault["nan"].where) == ("nan", "NaN: image 0 of 2")
    assert by_fault["last-tile"].where == "all zeros: last M tile"
    assert by_fault["k-slice"].where is not None
    assert by_fault["k-slice"].where.startswith("K tile 1 of 9 missing")
    for fault in ("overrun", "zero-added"):
        assert by_fault[fault].detail == "wrote after the output"
        assert by_fault[fault].wrong == 0
    assert by_fault["silent"].where == "not written: everywhere"
    assert by_fault["ones"].where == "NaN: everywhere"
    assert (by_fault["ones"].max_abs, by_fault["ones"].nan) == (None, by_fault["ones"].wrong)


def test_a_device_that_is_lost_costs_one_job_and_its_worker(tmp_path: Path, double: Double) -> None:
    """What a kernel breaks for its process is not held against the kernels after it."""
    names = ["kernel_a", "kernel_lost_1", "kernel_b", "kernel_lost_2", "kernel_lost_3", "kernel_c"]
    device = double({"lost": "lost"})
    found = outcomes(device, [described(tmp_path, name, SMALL) for name in names])
    assert {n: o.status for n, o in found.items()} == {
        n: "crash" if "lost" in n else "ok" for n in names
    }
    assert found["kernel_lost_1"].detail == "cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS"


def test_an_end_before_the_kernel_ran_is_not_its_crash(tmp_path: Path, double: Double) -> None:
    job = described(tmp_path, "k", SMALL)
    job = replace(job, opener="tests.device.descriptors:open_without_reference")
    outcome = outcomes(double(), [job])["k"]
    where = r"worker ended by SIGABRT in phase prepare: descriptors\.py:\d+ in compute"
    assert outcome.status == "error"
    assert re.fullmatch(where, outcome.detail)


@pytest.mark.parametrize("variant", ["bwd_data", "bwd_weight"])
def test_faults_of_the_backward_directions(tmp_path: Path, double: Double, variant: str) -> None:
    device = double({"tile": "last-tile", "slice": "k-slice"})
    problem = SMALL.replace("K=96", "K=192")
    jobs = [described(tmp_path, name, problem, variant=variant) for name in ("tile", "slice")]
    found = outcomes(device, jobs)
    assert found["tile"].where == "all zeros: last M tile"
    assert found["slice"].where is not None
    assert found["slice"].where.startswith("K tile 1 of")


def test_several_devices_share_the_work(tmp_path: Path, double: Double) -> None:
    device = double({"k3": "crash"}, count=2)
    assert [d.index for d in discover(device).devices] == [0, 1]
    jobs = [described(tmp_path, f"k{i}", SMALL) for i in range(8)]
    with WorkerPool(device, [0, 1]) as pool:
        results = list(pool.run(jobs))
    assert {job.name for job, _, _ in results} == {f"k{i}" for i in range(8)}
    assert [o.status for j, o, _ in results if j.name == "k3"] == ["crash"]
    assert sum(o.status == "ok" for _, o, _ in results) == 7
    assert {info.index for _, _, info in results if info is not None} == {0, 1}


def test_a_device_that_never_opens_ends_the_run(tmp_path: Path, double: Double) -> None:
    device = double(count=0)
    assert discover(device).devices == ()
    with pytest.raises(DeviceError, match="the test double is switched off"):
        outcomes(device, [described(tmp_path, "k", SMALL)])


def test_a_kernel_that_cannot_be_opened_is_an_error(tmp_path: Path, double: Double) -> None:
    job = Job(tmp_path, "nothing", described(tmp_path, "k", SMALL).problem)
    found = outcomes(double(), [job, described(tmp_path, "k", SMALL)])
    assert found["nothing"].status == "error"
    assert "not built" in found["nothing"].detail
    assert found["k"].status == "ok"


def test_a_worker_that_ends_between_jobs_costs_none(tmp_path: Path, double: Double) -> None:
    jobs = [described(tmp_path, name, SMALL) for name in ("a_late", "b", "c")]

    def slowly() -> Iterator[Job]:
        for job in jobs:
            yield job
            if job.name == "a_late":
                time.sleep(1.0)  # longer than the fault takes to come

    with WorkerPool(double({"late": "late"}), [0]) as pool:
        results = {job.name: outcome.status for job, outcome, _ in pool.run(slowly())}
    assert results == {"a_late": "ok", "b": "ok", "c": "ok"}


def test_names_of_devices(double: Double) -> None:
    double()
    assert registry.names() == ["hip", "cpu", "reference"]
    with pytest.raises(UnknownNameError, match="did you mean 'reference'"):
        registry.check("referense")


def test_without_a_gpu_the_reason_is_said() -> None:
    found = discover("hip")
    if not found.devices:
        assert "/dev/kfd" in found.reason() or "hip" in found.reason()
