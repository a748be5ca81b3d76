"""What an instruction sees in place of a cohort, so that its meaning writes C."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ckrules.emulator.instruction import Run
from ckrules.emulator.native.trace import NativeForm, Trace
from ckrules.emulator.native.values import Parts, Traced, UntraceableError
from ckrules.emulator.operands import Special
from ckrules.emulator.wave import LaneAddresses


class _Vectors:
    def __init__(self, trace: Trace, file: str) -> None:
        self.trace, self.file = trace, file

    def __getitem__(self, key: int | slice) -> Any:
        if isinstance(key, slice):
            return Parts(
                [self.trace.register(self.file, i) for i in range(int(key.start), int(key.stop))]
            )
        return self.trace.register(self.file, int(key))


class _Scalars:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __getitem__(self, index: int) -> Traced:
        if not isinstance(index, int):
            raise UntraceableError("several scalar registers")
        return self.trace.register("s", int(index))

    def __setitem__(self, index: int, value: Any) -> None:
        self.trace.scalar(int(index), value)


class _Condition(Traced):
    def __setitem__(self, key: object, value: Any) -> None:
        self.trace.condition(value)


class _Lds:
    """The LDS, as instructions use it."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def load(self, c: Any, address: Any, size: int) -> tuple[Any, list[Any]]:
        self.trace.touched.append((size, False))
        return self.trace.access("lds_load", address, size), [True]

    def store(self, c: Any, address: Any, data: Any, size: int) -> list[Any]:
        self.trace.touched.append((size, True))
        self.trace.access("lds_store", address, size, data=data)
        return [True]


class TracedCohort:
    """What an instruction sees in place of a cohort."""

    signalled = False
    __slots__ = ("a", "chunk", "exec", "full", "lanes", "native", "s", "slots", "trace", "v")

    def __init__(self, lanes: int) -> None:
        self.trace = trace = Trace(lanes)
        self.lanes, self.full, self.native = lanes, False, self
        self.v, self.a, self.s = _Vectors(trace, "v"), _Vectors(trace, "a"), _Scalars(trace)
        self.exec: Any = trace.new(bool, "c->exec[x]", lane=True)
        self.chunk = SimpleNamespace(lds=_Lds(trace))
        self.slots = SimpleNamespace(shape=(1,))

    @property
    def scc(self) -> _Condition:
        """The condition of each block."""
        found = self.trace.new(bool, "c->scc[b]", lane=False)
        return _Condition(self.trace, found.dtype, found.text, lane=False)

    def mask(self, register: int) -> Traced:
        """One bit a lane."""
        return self.trace.mask(register)

    def set_mask(self, register: int, bits: Any) -> None:
        """Stores one bit a lane."""
        self.trace.set_mask(register, bits)
        if register == Special.EXEC:
            self.trace.refreshes = True

    def refresh(self) -> None:
        """The mask of active lanes has changed."""
        self.trace.refreshes = True

    def issue(self, counter: str, operation: Any) -> None:
        """Notes an operation that a wait has to follow."""
        self.trace.issues.append((counter, operation.registers, operation.ordered, operation.stamp))

    def read_parts(self, places: LaneAddresses, size: int) -> Parts:
        """What is in memory."""
        name, room = _memory(places, "load")
        found: Parts = self.trace.access(name, places.start, size, room)
        return found

    def write_parts(self, places: LaneAddresses, data: Any, size: int) -> None:
        """Stores to memory."""
        name, room = _memory(places, "store")
        self.trace.access(name, places.start, size, room, data)


def _memory(places: LaneAddresses, what: str) -> tuple[str, Any]:
    """Which function accesses memory, and up to where; a lane's own memory has its size."""
    return (f"private_{what}", None) if places.private else (f"memory_{what}", places.room)


def traced(run: Run, lanes: int) -> NativeForm | None:
    """The C form of an instruction's meaning, or None if only numpy can compute it."""
    cohort = TracedCohort(lanes)
    given: Any = cohort  # a meaning takes a cohort, and uses of it what is here
    try:
        run(given)
        return cohort.trace.finished()
    except Exception:  # whatever else a meaning does with what is not an array
        return None
