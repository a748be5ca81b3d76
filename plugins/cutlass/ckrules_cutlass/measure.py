"""Compiles, validates and times drawn kernels on this machine, in a limit of seconds.

``python -m ckrules_cutlass.measure FOLDER --seconds 560`` goes on where the last call stopped:
every result is kept in the folder at once. ``--out`` gets copies of the results.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Any

from ckrules.compiling.database import FILE
from ckrules.compiling.folder import ManifestEntry, manifests
from ckrules.device.bench import BenchSession
from ckrules.device.interface import DeviceError
from ckrules.device.pool import discover
from ckrules.device.session import RunOptions
from ckrules.device.store import Runs
from ckrules.support.processes import PipedProcess
from ckrules_cutlass import build
from ckrules_cutlass.build import rows
from ckrules_cutlass.draw import ALIKE
from ckrules_cutlass.program import end
from ckrules_cutlass.timing import LOAD, PROBLEMS, serve

START = "start"
TIMES, RUNS, SUMMARY = "cutlass-times.jsonl", "cutlass-runs.jsonl", "cutlass-summary.json"
PATIENCE, STARTING = 15.0, 120.0
"""Seconds without a word from the process that times, after which a kernel hangs; the second
before the first problem, when libraries are read."""


def alike(kernels: Sequence[ManifestEntry]) -> list[ManifestEntry]:
    """The kernels whose times are compared: legal, and of the same types."""
    return [k for k in kernels if k.legal and all(k.config[f] == v for f, v in ALIKE.items())]


class SpentError(Exception):
    """There is no time left."""


def validate(folder: Path, stop: Callable[[], bool]) -> str:
    """Runs every built kernel on its smoke set but for runs that are known; says how it ended.

    Args:
        stop: Asked after each run whether it is to be the last.
    """

    def in_time(run: object) -> None:
        if stop():
            raise SpentError

    found = discover("cuda")
    if not found.devices:
        return f"no GPU: {found.reason()}"
    options = RunOptions("cuda", timeout=15.0, warmup=0, repeat=1)
    with Runs(folder / FILE) as runs:
        session = BenchSession(manifests(folder), None, found.devices, options, runs)
        try:
            session.run(runs, in_time)
        except SpentError:
            return "not all: no time is left"
        except DeviceError as error:
            return str(error)
    return "all"


def build_and_validate(
    folder: Path,
    compiler: build.Nvcc,
    jobs: int,
    left: Callable[[], float],
    names: Collection[str] | None = None,
) -> None:
    """Builds kernels, and runs at the same time those that are built: the GPU is idle."""
    with ThreadPoolExecutor(1) as pool:
        # what is under way when the budget is spent takes a minute more
        building = pool.submit(
            partial(
                build.build, folder, compiler, jobs=jobs, budget=left() - 90, timeout=300.0,
                names=names,
            )
        )  # fmt: skip
        while not building.done():
            said = validate(folder, lambda: building.done() or left() < 30)
            if said.startswith("no GPU") or left() < 30:
                print(said, flush=True)
                break
            wait([building], timeout=10)
        building.result()


def time_kernels(folder: Path, names: Sequence[str], seconds: float) -> Iterator[str]:
    """Times kernels on the problems that have no rows yet; yields what went wrong.

    A kernel that hangs or ends the process is left out from then on.
    """
    end = time.monotonic() + seconds
    place = folder / TIMES
    bad: set[str] = {r["kernel"] for r in rows(place) if "fault" in r}
    while time.monotonic() < end:
        done = {r["problem"] for r in rows(place) if "ms" in r}
        left = [str(p) for p in PROBLEMS if str(p) not in done]
        good = [n for n in names if n not in bad]
        if not left or not good:
            return
        kernel, why = _timed(place, folder, good, left, end)
        if kernel:
            bad.add(kernel)
            with place.open("a") as log:
                log.write(json.dumps({"kernel": kernel, "problem": "", "fault": why}) + "\n")
            yield f"{kernel}: {why}"
        elif why:
            yield why
            return


def _timed(
    place: Path, folder: Path, names: Sequence[str], problems: Sequence[str], end: float
) -> tuple[str, str]:
    """One process that times: the kernel at which it ended and why; empty if it came to its end."""
    process = PipedProcess(serve, str(folder), list(names), list(problems))
    at, what = "", START
    try:
        while (left := end - time.monotonic()) > 0:
            patience = STARTING if what in (START, LOAD) else PATIENCE
            if not process.pipe.poll(min(patience, left)):
                if end - time.monotonic() <= 0:
                    break
                return at, f"no answer for {patience:g} s at {what}"
            match process.pipe.recv():
                case ("at", str(kernel), str(text)):
                    at, what = kernel, text
                case ("rows", list(found)):
                    with place.open("a") as log:
                        log.writelines(json.dumps(row) + "\n" for row in found)
                case _:
                    return "", ""
        return "", "the time is spent"
    except (EOFError, OSError):
        return at, f"the process ended at {what}"
    finally:
        process.end()


def export_runs(folder: Path) -> None:
    """Writes the runs of the results database as JSON lines."""
    command = [sys.executable, "-m", "ckrules", "results", str(folder), "--runs"]
    done = subprocess.run([*command, "--format", "jsonl"], capture_output=True, text=True)
    (folder / RUNS).write_text(done.stdout)


def summary(folder: Path) -> dict[str, Any]:
    """Counts of what there is: the confusion table, outcomes of runs, and times."""
    built = list(build.lines(folder).values())
    outcomes: dict[str, int] = {}
    for row in rows(folder / RUNS):
        outcomes[row["status"]] = outcomes.get(row["status"], 0) + 1
    times = [r for r in rows(folder / TIMES) if "ms" in r]
    return {
        "kernels": len(manifests(folder)),
        "compiled": len(built),
        "confusion": dict(build.confusion(built)),
        "disagreeing": [
            {"name": b.name, "legal": b.legal, "failure": b.failure}
            for b in built
            if b.legal is not b.ok
        ],
        "compile_seconds": round(sum(b.seconds for b in built), 1),
        "runs": outcomes,
        "timed_kernels": len({r["kernel"] for r in times}),
        "timed_problems": len({r["problem"] for r in times}),
        "times": len(times),
        "faults": [r for r in rows(folder / TIMES) if "fault" in r],
    }


def main(words: Sequence[str] | None = None) -> int:
    """Measures until the seconds are spent."""
    parser = argparse.ArgumentParser(prog="ckrules_cutlass.measure", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=560.0)
    parser.add_argument("--out", type=Path, help="a folder that gets copies of the results")
    parser.add_argument("--nvcc", default="")
    parser.add_argument("--cutlass", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(words)
    start = time.monotonic()

    def left() -> float:
        return float(given.seconds) - (time.monotonic() - start)

    compiler = build.found_compiler(given.nvcc, given.cutlass)
    kernels = manifests(given.folder)
    names = {k.name for k in alike(kernels)}
    build_and_validate(given.folder, compiler, given.jobs, left, names)
    known = build.lines(given.folder)
    if names <= known.keys() and left() > 30:
        print(f"compiled what is timed, {left():.0f} s left", flush=True)
        good = [n for n in sorted(names) if known[n].ok]
        for fault in time_kernels(given.folder, good, left() - 20):
            print(fault, flush=True)
        print(f"timed, {left():.0f} s left", flush=True)
        if left() > 100:
            build_and_validate(given.folder, compiler, given.jobs, left)
        if left() > 30:
            print(f"validated: {validate(given.folder, lambda: left() < 20)}", flush=True)
    print(f"compiled {len(build.lines(given.folder))} of {len(kernels)} kernels", flush=True)
    export_runs(given.folder)
    found = summary(given.folder)
    (given.folder / SUMMARY).write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps({k: v for k, v in found.items() if k != "disagreeing"}))
    if given.out is not None:
        for name in (build.RESULTS, TIMES, RUNS, SUMMARY):
            if (given.folder / name).exists():
                shutil.copy(given.folder / name, given.out / name)
    return 0


if __name__ == "__main__":
    end(main)
