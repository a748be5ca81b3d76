"""Blocks on several processes: what they write alike, and what they write otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ckrules.device.cpu import CpuDevice
from ckrules.device.interface import DeviceInfo
from ckrules.emulator import grid
from ckrules.emulator.errors import FaultKind
from ckrules.emulator.grid import GridOutcome, Plan
from ckrules.emulator.machine import Chunk, Order, Shared
from ckrules.emulator.memory import Memory
from tests.helpers.isa import Bench

LANE = np.arange(64)
BLOCKS = [(i, 0, 0) for i in range(4)]
STORE = "global_store_dword v0, v2, s[0:1]"
_PROGRAM = SimpleNamespace(worked=lambda _: None, native=lambda _: None, instructions=())
_KERNEL = SimpleNamespace(descriptor=SimpleNamespace(wave_size=64))


@dataclass(frozen=True)
class FourBlocks:
    """What a grid asks of a launch."""

    program: Any = field(default_factory=lambda: _PROGRAM)
    kernel: Any = field(default_factory=lambda: _KERNEL)
    threads: int = 64
    waves: int = 1
    banks: object = None

    def blocks(self) -> list[tuple[int, int, int]]:
        """All of them."""
        return BLOCKS


def launched(
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    values: Sequence[int],
    plan: Plan,
    memory: Memory | None = None,
) -> tuple[GridOutcome, Memory]:
    """Four blocks of a wave, whose lanes all store a value of the block at the same addresses."""
    memory = memory or Memory(1 << 24)
    address = memory.allocate(4096)

    def prepared(launch: Any, shared: Shared, group: Sequence[tuple[int, int, int]]) -> Chunk:
        b = Bench(text, blocks=len(group), memory=shared.memory)
        b.s(0, address & 0xFFFFFFFF, address >> 32)
        b.v(0, (8 * LANE).astype(np.uint32))
        b.v(2, np.array([[values[x]] * 64 for x, _, _ in group], np.uint32))
        b.chunk.shared, b.chunk.blocks = shared, group
        b.chunk.numbers = np.array([x for x, _, _ in group])
        return b.chunk

    monkeypatch.setattr(grid, "prepared", prepared)
    monkeypatch.setattr(grid, "_LANES", 128)
    launch: Any = FourBlocks()
    return grid.run(launch, memory, plan)[0], memory


@pytest.mark.parametrize("jobs", [1, 2])
def test_blocks_may_write_the_same(monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    outcome, memory = launched(monkeypatch, STORE, [7] * 4, Plan(jobs=jobs))
    assert set(outcome.faults) == {FaultKind.REPEATED_WRITE}
    assert outcome.repeated == 256
    assert outcome.met is (jobs > 1)
    assert memory.words[1024] == 7


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_block_of_another_process_writes_otherwise(
    monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    outcome, _ = launched(monkeypatch, STORE, [7, 7, 7, 8], Plan(jobs=jobs))
    fault = outcome.faults[FaultKind.WRITE_CONFLICT]
    assert STORE in fault.place
    assert "with other bytes by several waves" in fault.detail


def test_what_one_process_finds_is_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(tuple(Order), jobs=2)
    found = [launched(monkeypatch, STORE, [7, 7, 7, 9], plan)[0].faults for _ in range(3)]
    assert found[0] == found[1] == found[2]
    assert set(found[0]) >= {FaultKind.WRITE_CONFLICT, FaultKind.ORDER}


@pytest.mark.parametrize("jobs", [1, 2])
def test_sums_lost_between_blocks_are_wrong(monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    """Two that read, add and store in step write the same, and one of the sums is lost."""
    text = (
        "global_load_dword v3, v0, s[0:1]\ns_waitcnt vmcnt(0)\n"
        "v_add_u32_e32 v3, v3, v2\nglobal_store_dword v0, v3, s[0:1]"
    )
    outcome, memory = launched(monkeypatch, text, [1] * 4, Plan(jobs=jobs))
    assert memory.words[1024] < 4
    assert FaultKind.WRITE_CONFLICT in outcome.faults


class CountedBytes(np.ndarray[Any, np.dtype[np.uint8]]):
    """Memory that notes how often it is copied."""

    copies = 0

    def copy(self, order: Any = "C") -> Any:
        CountedBytes.copies += 1
        return super().copy(order)


@pytest.mark.parametrize(("orders", "jobs", "copies"), [
    ((Order.FORWARD,), 1, 0), ((Order.FORWARD,), 2, 1),
    ((Order.FORWARD, Order.REVERSED), 1, 2), ((Order.FORWARD, Order.REVERSED), 2, 2),
])  # fmt: skip
def test_memory_is_copied_as_often_as_needed(
    monkeypatch: pytest.MonkeyPatch, orders: tuple[Order, ...], jobs: int, copies: int
) -> None:
    memory = Memory(1 << 24)
    memory.bytes = memory.bytes.view(CountedBytes)
    monkeypatch.setattr(CountedBytes, "copies", 0)
    launched(monkeypatch, STORE, [7] * 4, Plan(orders, jobs=jobs), memory)
    assert CountedBytes.copies == copies


def test_repeated_writes_are_a_remark_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, _ = launched(monkeypatch, STORE, [7] * 4, Plan())
    device = CpuDevice(DeviceInfo(0, "CPU", ""))
    assert (list(device.observed()), list(device.remarks())) == ([], [])
    device.note(outcome)
    assert not device.observed()
    (remark,) = device.remarks()
    assert remark.startswith("256 bytes were written by several waves with equal values; the first")
    assert STORE in remark
