"""Kernels with other tensors than a convolution's: any number is read, and any number written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckrules.device import execute
from ckrules.device.dtypes import decode, from_bytes
from ckrules.device.execute import Runner
from ckrules.device.hostlib import Fill, HostLaunch, Info
from ckrules.device.jobs import Job
from ckrules.device.tensors import from_memory, placed, size, to_memory
from ckrules.kernels.parts import Division, ResultAxis, Tensor
from tests.device.reference_device import ReferenceDevice

OPENER = "tests.device.test_tensors:opened"
INFO = Info(
    "k", "2026.06", "gfx942", "toy", "toy", {"tile": 8}, 64, 64, 0, ("k__main",),
    {"a": "in", "b": "in", "d": "in", "total": "inout", "sum": "out", "product": "out"},
)  # fmt: skip


@dataclass(frozen=True)
class Length:
    """A problem: the length of every tensor."""

    n: int

    @property
    def flops(self) -> int:
        return 5 * self.n


@dataclass(frozen=True)
class Toy:
    """Three tensors are read, two are written, and one is added to."""

    problem: Length

    @property
    def all(self) -> tuple[Tensor, ...]:
        shape = (self.problem.n,)
        return tuple(
            Tensor(name, direction, shape, "fp32" if name == "total" else "fp16", (0,))
            for name, direction in INFO.tensors.items()
        )

    def key(self) -> str:
        return str(self.problem)

    def reference(self, data: Mapping[str, Any]) -> dict[str, Any]:
        a, b, d = (data[name].astype(np.float64) for name in "abd")
        return {"sum": a + b + d, "product": a * b * d, "total": data["total"] + a}

    def depth(self, name: str) -> int:
        return 3

    def parts(self, name: str) -> int:
        return 1

    def axes(self, name: str, mask: Any) -> tuple[list[ResultAxis], Any]:
        tiles = np.arange(self.problem.n) // 8
        return [ResultAxis("X", self.problem.n, [Division("tile", tiles, "tile")])], mask

    def slices(self, name: str, length: int) -> Iterator[tuple[str, Any]]:
        yield from ()

    def products(self, name: str, data: Mapping[str, Any], at: tuple[int, ...]) -> Any:
        raise AssertionError("slices are not known")


class ToyProblems:
    """The one method of a kind of problem that runs ask for."""

    def tensors(self, problem: Length, config: Mapping[str, Any]) -> Toy:
        return Toy(problem)


class ToyKernel:
    """Gives its launch the addresses in their order."""

    def __init__(self, info: Info) -> None:
        self.info = info

    def reason(self, problem: Length) -> str | None:
        return None

    def workspace_bytes(self, problem: Length, room: Any = None) -> int:
        return 0

    def plan(
        self, problem: Length, addresses: Sequence[int], workspace: int = 0, room: Any = None
    ) -> list[Fill | HostLaunch]:
        args = b"".join(a.to_bytes(8, "little") for a in addresses)
        launch = HostLaunch("k__main", (1, 1, 1), (64, 1, 1), args, 0)
        result = next(t for t in Toy(problem).all if t.name == "sum")
        clear = Fill(addresses[list(INFO.tensors).index("sum")], size(result))
        return [clear, launch] if self.info.name == "cleared" else [launch]


def opened(folder: Path, name: str) -> tuple[ToyKernel, bytes]:
    tensors = dict(INFO.tensors)
    if name == "old":
        del tensors["d"]
    return ToyKernel(replace(INFO, name=name, tensors=tensors)), b"code"


class ToyDevice(ReferenceDevice):
    """Computes what is launched; ``spoilt`` loses its last tile, 0 is added behind ``passed``.

    Ones are stored between the rows of ``crossed``.
    """

    def __init__(self, spoilt: str = "", passed: str = "", crossed: str = "") -> None:
        super().__init__()
        self._spoilt, self._passed, self._crossed = spoilt, passed, crossed

    def launch(self, module: bytes, entry: str, grid: Any, block: Any, args: bytes) -> None:
        assert self._work is not None
        assert isinstance(self._work.problem, Length)
        tensors = Toy(self._work.problem)
        places = [int.from_bytes(args[i : i + 8], "little") for i in range(0, len(args), 8)]
        given = dict(zip(tensors.all, places, strict=True))
        data = {t.name: from_memory(t, self.read(at, size(t))) for t, at in given.items()}
        results = tensors.reference(data)
        if self._spoilt:
            results[self._spoilt][8:] = 0
        for tensor, at in given.items():
            if tensor.name in results:
                made = to_memory(tensor, results[tensor.name])
                held = from_bytes(self.read(at, size(tensor)), tensor.dtype).copy()
                if tensor.name == self._crossed:
                    held[...] = 1
                placed(tensor, held)[...] = placed(tensor, made.ravel())
                self.write(at, held.tobytes())
            if tensor.name == self._passed:
                one = replace(tensor, shape=(1,))
                there = from_memory(one, self.read(at + size(tensor), size(one)))
                self.write(at + size(tensor), to_memory(one, there + 0.0).tobytes())


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "problems_of", lambda variant: ToyProblems())


def job(name: str = "k") -> Job:
    return Job(Path(), name, Length(12), repeat=0, opener=OPENER)


def test_every_result_is_compared() -> None:
    device = ToyDevice()
    outcome = Runner(device).run(job())
    assert (outcome.status, outcome.detail) == ("ok", "")
    assert (outcome.elements, outcome.wrong) == (36, 0)
    device.close()


@pytest.mark.parametrize("name", ["sum", "product", "total"])
def test_a_wrong_result_is_named(name: str) -> None:
    outcome = Runner(ToyDevice(name)).run(job())
    assert (outcome.status, outcome.wrong) == ("wrong", 4)
    assert outcome.where == f"{name}: all zeros: last tile"


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32", "fp8", "bf8"])
def test_zero_that_is_added_behind_a_result_is_seen(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Toy(Length(12)).all
    changed = tuple(replace(t, dtype=dtype) if t.name in "sum total" else t for t in own)
    monkeypatch.setattr(Toy, "all", changed)
    for name in ("sum", "total"):
        outcome = Runner(ToyDevice(passed=name)).run(job())
        assert (outcome.status, outcome.detail) == ("wrong", f"wrote after the {name}")


def test_a_library_that_was_built_for_other_tensors_is_refused() -> None:
    outcome = Runner(ToyDevice()).run(job("old"))
    assert outcome.status == "error"
    assert outcome.detail.startswith("old was built for other tensors: a (in), b (in), total")


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16", "fp8", "bf8", "fp8_fnuz", "bf8_fnuz"])
def test_what_lies_around_and_between_operands_is_nan(dtype: str) -> None:
    guard = execute.guard_of(dtype, written=False)
    assert np.isnan(decode(from_bytes(guard, dtype), dtype)).all()
    apart = Tensor("a", "in", (3, 4), dtype, (0, 1), pitch=6)
    held = to_memory(apart, np.ones((3, 4), np.float32))
    assert np.isnan(decode(held, dtype)).sum() == 4


def apart(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives a result of the toy three rows, with gaps between them."""
    own = [replace(t, shape=(3, 4), order=(0, 1)) for t in Toy(Length(12)).all]
    changed = tuple(replace(t, dtype=dtype, pitch=6) if t.name == name else t for t in own)
    monkeypatch.setattr(Toy, "all", changed)


@pytest.mark.parametrize("dtype", ["fp16", "fp8", "fp8_fnuz"])
@pytest.mark.parametrize("name", ["sum", "total"])
def test_what_lies_between_rows_of_a_result_is_left_alone(
    dtype: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of one that is read and written, such as a cache to which rows are appended."""
    apart(name, dtype, monkeypatch)
    outcome = Runner(ToyDevice()).run(job())
    assert (outcome.status, outcome.detail) == ("ok", "")
    outcome = Runner(ToyDevice(crossed=name)).run(job())
    assert (outcome.status, outcome.detail) == ("wrong", f"wrote between the rows of {name}")


def test_what_lies_between_rows_may_be_cleared_before_a_single_part_is_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of a token's rows, to which each of its experts adds."""
    apart("sum", "fp16", monkeypatch)
    outcome = Runner(ToyDevice()).run(job("cleared"))
    assert (outcome.status, outcome.detail) == ("ok", "")
    outcome = Runner(ToyDevice(crossed="sum")).run(job("cleared"))
    assert (outcome.status, outcome.detail) == ("wrong", "wrote between the rows of sum")
