"""Runs of instructions by numpy, done again by native code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ckrules.emulator.errors import EmulatorError
from ckrules.emulator.native import drive
from tests.helpers.isa import Bench, Ran, State

_TOGETHER = 250


def compare(runs: Sequence[Ran]) -> int:
    """Checks that native code does what numpy did, and returns how many instructions it ran."""
    wrong, steps = [], 0
    for lanes in (64, 32):
        mine = [r for r in runs if r.bench.lanes == lanes]
        for start in range(0, len(mine), _TOGETHER):
            some = mine[start : start + _TOGETHER]
            programs = [r.bench.chunk.program.instructions for r in some]
            natives = drive.native_of(programs, lanes)
            assert natives is not None
            for ran, native in zip(some, natives, strict=True):
                text, ours = _again(ran, native)
                steps += ours
                if text:
                    wrong.append(f"{ran.bench.arch}: {ran.bench.text!r}: {text}")
    assert not wrong, f"{len(wrong)} of {len(runs)}:\n" + "\n".join(wrong[:40])
    assert 2 * steps > len(runs) or not runs  # of some instructions there is no native code
    return steps


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
