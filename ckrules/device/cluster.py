"""Devices of a dask cluster: each keeps a process of its own on its machine, as at home.

A task is one job. What the kernel needs goes with the first job that a device gets of it, so that
machines need not share a file system. A worker of the cluster that goes away costs its devices; the
job that it had is done by another one.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from ckrules.compiling.artifacts import RUNNABLE
from ckrules.device import pool
from ckrules.device.interface import DeviceError, DeviceInfo
from ckrules.device.jobs import Job, RunOutcome
from ckrules.device.pool import Discovery, Listener, WorkerPool

_PATIENCE = 2.0
_SEES = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")

Done = tuple[RunOutcome, "DeviceInfo | None", str]


@dataclass
class Cluster:
    """The devices that the workers of a cluster have.

    Workers of one machine that see the same GPUs count once: a GPU has one process.

    Args:
        client: A connected `distributed.Client`.
    """

    client: Any
    _places: list[tuple[str, int]] = field(default_factory=list)

    def discover(self, device: str) -> Discovery:
        """All devices of a plug-in, numbered through."""
        found: dict[str, tuple[str, Discovery]] = self.client.run(_look, device)
        infos: list[DeviceInfo] = []
        seen: set[str] = set()
        for worker, (sees, answer) in sorted(found.items()):
            if sees in seen:
                continue
            seen.add(sees)
            for info in answer.devices:
                self._places.append((worker, info.index))
                infos.append(replace(info, index=len(infos)))
        if not found:
            return Discovery((), (), "the cluster has no workers")
        every = [answer for _, answer in found.values()]
        return Discovery(tuple(infos), every[0].looked_for, every[0].error)

    def pool(
        self,
        device: str,
        indices: Sequence[int],
        timeout: float,
        options: Mapping[str, str],
        listener: Listener | None,
    ) -> ClusterPool:
        """What `ckrules.device.pool.WorkerPool` is for devices at home."""
        places = [self._places[i] for i in indices]
        given = (device, timeout, tuple(sorted(options.items())))
        return ClusterPool(self.client, places, given, listener)


@dataclass
class ClusterPool:
    """The devices that a run uses; use it as a context manager."""

    client: Any
    places: Sequence[tuple[str, int]]
    given: tuple[Any, ...]
    listener: Listener | None
    _sent: set[tuple[Any, ...]] = field(default_factory=set)
    _last: str = "no worker of the cluster that has devices is left"

    def __enter__(self) -> ClusterPool:
        return self

    def __exit__(self, *exc: object) -> None:
        there = self._workers()
        if used := sorted({w for w, _ in self.places if w in there}):
            # One that goes away meanwhile takes its devices with it.
            for worker, said in self.client.run(_leave, workers=used, on_error="ignore").items():
                self._tell(worker, said)

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, RunOutcome, DeviceInfo | None]]:
        """As `WorkerPool.run`.

        Raises:
            UsageError: If the device does not take the options.
            DeviceError: If no device is left.
        """
        from distributed import CancelledError, wait
        from distributed.scheduler import KilledWorker

        queue, held = iter(jobs), list[Job]()
        busy: dict[Any, tuple[tuple[str, int], Job]] = {}
        free = list(self.places)
        try:
            while True:
                while free and (job := held.pop() if held else next(queue, None)) is not None:
                    place = free.pop()
                    busy[self._give(place, job)] = place, job
                if not busy:
                    if held:
                        raise DeviceError(self._last)
                    return
                finished = self._finished(wait, list(busy))
                there = self._workers()
                for future in [f for f, (place, _) in busy.items() if place[0] not in there]:
                    future.cancel()
                    held.append(busy.pop(future)[1])
                    free = [p for p in free if p[0] in there]
                for future in (f for f in finished if f in busy):
                    place, job = busy[future]
                    try:
                        outcome, info, said = future.result(timeout=_PATIENCE)
                    except TimeoutError:
                        continue  # its worker went away with the result: the next look sees that
                    except (DeviceError, CancelledError, KilledWorker) as error:
                        self._last = f"{place[0]}: {error}"
                        held.append(job)  # another device may do it
                        del busy[future]
                        continue
                    del busy[future]
                    free.append(place)
                    self._tell(place[0], said)
                    yield job, outcome, info
        finally:
            self.client.cancel(list(busy))

    def _give(self, place: tuple[str, int], job: Job) -> Any:
        worker, index = place
        paths = [job.folder / artifact.result(job.name) for artifact in RUNNABLE]
        made = tuple((str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in paths)
        known = (place, made) in self._sent
        self._sent.add((place, made))
        files = {} if known else {path.name: path.read_bytes() for path in paths}
        work = partial(_work, (self.given[0], index), self.given[1:], job, repr(made), files)
        return self.client.submit(work, workers=[worker], pure=False, retries=0)

    def _workers(self) -> Mapping[str, Any]:
        workers: Mapping[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        return workers

    def _finished(self, wait: Any, futures: list[Any]) -> list[Any]:
        """Those that have ended; none if that takes longer than it takes to look for workers."""
        try:
            return list(wait(futures, timeout=_PATIENCE, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            return []

    def _tell(self, worker: str, said: str) -> None:
        if said and self.listener is not None:
            self.listener(f"# {worker}\n{said}")


class _Lane:
    """One device on a worker's machine, with the kernels that it got."""

    def __init__(self, device: str, index: int, given: tuple[Any, ...]) -> None:
        self.given = given
        timeout, options = given
        self.said: list[str] = []
        # What a thread starts is told to end when that thread ends, and dask's come and go.
        self.thread = ThreadPoolExecutor(1)
        self.home = tempfile.TemporaryDirectory(prefix="ckrules-")
        self.pool = WorkerPool(
            device, [index], timeout, dict(options), self.said.append
        ).__enter__()

    def run(self, job: Job, made: str, files: Mapping[str, bytes]) -> Done:
        return self.thread.submit(self._run, job, made, files).result()

    def _run(self, job: Job, made: str, files: Mapping[str, bytes]) -> Done:
        folder = Path(self.home.name) / sha256(made.encode()).hexdigest()[:16]
        for name, data in files.items():
            folder.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
        ((_, outcome, info),) = self.pool.run([replace(job, folder=folder)])
        said, self.said[:] = "".join(self.said), []
        return outcome, info, said

    def close(self) -> str:
        self.thread.submit(self.pool.__exit__).result()  # behind a job that was given up
        self.thread.shutdown()
        self.home.cleanup()
        return "".join(self.said)


_LANES: dict[tuple[str, int], _Lane] = {}
_GUARD = threading.Lock()


def _look(device: str) -> tuple[str, Discovery]:
    """On a worker: which GPUs of which machine it sees, and the devices."""
    sees = " ".join([os.uname().nodename, *(os.environ.get(name, "") for name in _SEES)])
    return sees, pool.discover(device)


def _work(
    place: tuple[str, int], given: tuple[Any, ...], job: Job, made: str, files: Mapping[str, bytes]
) -> Done:
    """On a worker: one job on one of its devices."""
    import distributed

    secede: Any = distributed.secede
    secede()  # a machine may have more devices than the worker has threads
    with _GUARD:
        lane = _LANES.get(place)
        if lane is None or lane.given != given:
            if lane is not None:  # of a run that was killed: a device has one process
                lane.close()
            lane = _LANES[place] = _Lane(*place, given)
    return lane.run(job, made, files)


def _leave() -> str:
    """On a worker: gives the devices back."""
    with _GUARD:
        lanes = list(_LANES.values())
        _LANES.clear()
    return "".join(lane.close() for lane in lanes)
