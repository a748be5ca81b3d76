"""Every run of an instruction by numpy in this folder's tests, done again by native code."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ckrules.emulator.errors import EmulatorError
from ckrules.emulator.native import drive
from ckrules.emulator.native.library import compiler
from tests.helpers import isa
from tests.helpers.isa import Bench, Ran, State

pytestmark = pytest.mark.skipif(compiler() is None, reason="native code needs clang")
_TOGETHER = 250
WORKER = "PYTEST_XDIST_WORKER"


@pytest.mark.parametrize("lanes", [64, 32])
def test_native_code_does_what_numpy_does(lanes: int) -> None:
    if WORKER in os.environ:  # a worker has not run the whole folder
        assert _folder_alone() == ""
    else:
        _compare(lanes)


def _compare(lanes: int) -> None:
    runs = [r for r in isa.RUNS or () if r.bench.lanes == lanes]
    if not runs:
        pytest.skip("it repeats what other tests of this folder have run")
    kept, isa.RUNS = isa.RUNS, None
    wrong, native_steps = [], 0
    try:
        for start in range(0, len(runs), _TOGETHER):
            some = runs[start : start + _TOGETHER]
            programs = [r.bench.chunk.program.instructions for r in some]
            natives = drive.native_of(programs, lanes)
            assert natives is not None
            for ran, native in zip(some, natives, strict=True):
                text, ours = _again(ran, native)
                native_steps += ours
                if text:
                    wrong.append(f"{ran.bench.arch}: {ran.bench.text!r}: {text}")
    finally:
        isa.RUNS = kept
    assert not wrong, f"{len(wrong)} of {len(runs)}:\n" + "\n".join(wrong[:40])
    assert native_steps > len(runs)


@cache
def _folder_alone() -> str:
    """What the tests of this folder print in one process where one fails, this comparison last."""
    given = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider",
         str(Path(__file__).parent)],
        cwd=Path(__file__).parents[2], env=given, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout if done.returncode else ""


def _again(ran: Ran, native: drive.Native) -> tuple[str, int]:
    """What native code does otherwise, and how many instructions it ran."""
    given = ran.bench
    bench = Bench(
        given.text, given.arch, given.blocks, given.waves, given.lds, scratch=given.scratch
    )
    ran.before.restore(bench, given.memory)
    bench.chunk.limit, bench.chunk.patience = given.chunk.limit, given.chunk.patience
    bench.chunk.program.natives[bench.lanes] = native
    error = ""
    try:
        with np.errstate(all="ignore"):
            bench.chunk.run(ran.order)
    except EmulatorError as caught:
        error = str(caught)
    found = State.of(bench)
    steps = bench.chunk.native_steps
    if error != ran.error:
        return f"error {error!r}, expected {ran.error!r}", steps
    if found.faults != ran.after.faults:
        return f"faults {found.faults}, expected {ran.after.faults}", steps
    for name in found.others:
        if found.others[name] != ran.after.others[name]:
            return f"{name} differs", steps
    keys = found.registers.keys() | ran.after.registers.keys()
    bad = [k for k in keys if not _alike(found.registers.get(k), ran.after.registers.get(k))]
    if bad:
        return f"registers {sorted(bad)[:4]} differ", steps
    return "", steps


def _alike(one: bytes | None, other: bytes | None) -> bool:
    """Whether dwords are the same, or are NaN both: what a NaN carries, processors differ about."""
    if one == other:
        return True
    if one is None or other is None or len(one) % 4:
        return False
    for kind in (np.float16, np.float32):
        a, b = np.frombuffer(one, kind), np.frombuffer(other, kind)
        same = a.view(f"u{a.itemsize}") == b.view(f"u{a.itemsize}")
        if (same | np.isnan(a) & np.isnan(b)).all():
            return True
    return False
