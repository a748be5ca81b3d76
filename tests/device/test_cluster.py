"""Sweeps over the workers of a dask cluster, with the test device and the device `cpu`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ckrules.compiling import executors
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.database import FILE
from ckrules.device.bench import BenchSession
from ckrules.device.cluster import Cluster, ClusterPool
from ckrules.device.interface import DeviceError
from ckrules.device.jobs import Job
from ckrules.device.session import RunOptions
from ckrules.device.store import Runs, StoredRun
from tests.cli.run import run
from tests.device import whole_path
from tests.device.descriptors import DescribedKernel
from tests.device.test_bench import PROBLEMS, SIMULATED
from tests.device.test_session import kernel

pytestmark = pytest.mark.whole

Double = Callable[..., str]
OPENER = "tests.device.test_cluster:open_shipped"


def open_shipped(folder: Path, name: str) -> tuple[DescribedKernel, bytes]:
    """A described kernel in the files that go to workers; its folder is not that of the sweep."""
    config = json.loads((folder / Artifact.HOST.result(name)).read_text())
    assert not (folder / f"{name}.json").exists()
    return DescribedKernel(name, config), (folder / Artifact.DEVICE.result(name)).read_bytes()


def shipped(folder: Path, name: str) -> Any:
    found = kernel(folder, name)
    shutil.copy(folder / f"{name}.json", folder / Artifact.HOST.result(name))
    (folder / Artifact.DEVICE.result(name)).write_bytes(b"code")
    return found


@pytest.fixture
def cluster(double: Double) -> Iterator[Any]:
    """Two workers of one thread that both see the machine's two devices.

    They are threads of this process, which start sooner; a crash has a cluster of processes.
    """
    from distributed import LocalCluster

    double(count=2)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp://",
        dashboard_address=":0",
    ) as found:  # fmt: skip
        yield found


def where(cluster: Any) -> str:
    return f"dask://{cluster.scheduler_address.removeprefix('tcp://')}"


def sweep(
    folder: Path, kernels: list[Any], address: str, tell: Callable[[StoredRun], None] | None = None
) -> tuple[int, Any, list[Any]]:
    options = RunOptions(
        "reference", timeout=600, warmup=0, repeat=2, opener=OPENER, device_options=SIMULATED
    )
    with executors.client(address) as client, Runs(folder / FILE) as runs:
        there = Cluster(client)
        devices = there.discover("reference").devices
        assert [d.index for d in devices] == [0, 1]  # each once, though both workers see them
        found = BenchSession(kernels, PROBLEMS, devices, options, runs, predictor=lambda *_: None)
        found.count()
        known = found.known
        said: list[str] = []
        summary = found.run(runs, tell, said.append, there.pool)
        rows = runs.ends("reference", SIMULATED)
        return known, summary, list(rows)


class StoppedError(Exception):
    pass


def test_a_sweep_goes_on_where_it_was_stopped(tmp_path: Path, cluster: Any) -> None:
    kernels = [shipped(tmp_path, f"k{i}") for i in range(4)]

    def stop(run: StoredRun) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        sweep(tmp_path, kernels, where(cluster), stop)
    known, summary, rows = sweep(tmp_path, kernels, where(cluster))
    assert known == 1
    assert summary.by_status == {"ok": 7}
    assert len(rows) == 8
    again = sweep(tmp_path, kernels, where(cluster))
    assert (again[0], again[1].runs) == (8, 0)


def test_a_crash_costs_one_job(tmp_path: Path, double: Double) -> None:
    from distributed import LocalCluster

    double({"bad": "segv"}, count=2)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as own:
        _, summary, _ = sweep(
            tmp_path, [shipped(tmp_path, n) for n in ("a", "bad", "b")], where(own)
        )
    assert summary.by_status == {"ok": 4, "crash": 2}


def test_a_worker_that_goes_away_costs_its_devices(tmp_path: Path, cluster: Any) -> None:
    """There is no other machine here: the sweep says so instead of waiting for ever."""

    kernels = [shipped(tmp_path, f"k{i}") for i in range(8)]

    def lose(run: StoredRun) -> None:
        cluster.scale(0)

    with pytest.raises(DeviceError, match="cluster"):
        sweep(tmp_path, kernels, where(cluster), lose)


class Departed:
    """A job's end whose result was on a worker that has gone: dask would wait for another one."""

    def result(self, timeout: float | None = None) -> None:
        assert timeout is not None, "waits for ever"
        raise TimeoutError

    def cancel(self) -> None:
        pass


def test_a_result_that_went_with_its_worker_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler still lists the worker when its job has ended, and not any more later."""
    listed = iter([{"tcp://w": {}}])
    client = SimpleNamespace(
        submit=lambda *_, **__: Departed(),
        cancel=lambda futures: None,
        scheduler_info=lambda **_: {"workers": next(listed, {})},
    )
    monkeypatch.setattr("distributed.wait", lambda futures, **_: SimpleNamespace(done=futures))
    made = shipped(tmp_path, "k")
    job = Job(made.folder, made.name, PROBLEMS[0], 1, 1, OPENER)
    given = ("reference", 30.0, ())
    with (
        pytest.raises(DeviceError, match="no worker of the cluster"),
        ClusterPool(client, [("tcp://w", 0)], given, None) as pool,
    ):
        list(pool.run([job]))


@pytest.mark.toolchain
@pytest.mark.slow
def test_the_command_on_the_cpu(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = shutil.copytree(whole_path.built(), tmp_path / "out")
    words = [str(out), "--device", "cpu", "--problem", "N=1,C=8,K=8,H=3,W=3,Y=1,X=1"]
    done = run("bench", *words, "--executor", where(cluster))
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    assert done.stderr.startswith("1 run: 1 ok\n")
    done = run("bench", *words)  # at home it is known
    assert done.stderr.startswith("0 runs; 1 known already\n")
    monkeypatch.setattr(executors, "_PATIENCE", 0.5)
    done = run("bench", *words, "--executor", "dask://127.0.0.1:1")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "no scheduler answers" in done.stderr
    done = run("bench", *words, "--executor", "slurm://x")
    assert "neither local nor dask" in done.stderr
