"""What can go wrong in an emulated launch: limits of the emulator, and faults of the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ckrules.support.errors import CkrulesError


class EmulatorError(CkrulesError, RuntimeError):
    """The emulator cannot go on; the message says why."""


class UnknownInstructionError(EmulatorError):
    """An instruction, or a form of one, that has no semantics here."""


class FaultKind(StrEnum):
    """What the emulator sees and a GPU hides, most severe first."""

    LDS_RACE = "lds-race"
    """Two waves touch a part of LDS, one of them writes, and no barrier is between."""
    LDS_OUTSIDE = "lds-outside"
    """An access outside of the block's LDS."""
    NOT_WAITED = "not-waited"
    """A register is used while a load into it is under way."""
    BARRIER = "barrier"
    """A wave ended while others wait for it at a barrier."""
    WRITE_CONFLICT = "write-conflict"
    """Two waves write one address without atomics, and not the same."""
    ORDER = "order"
    """The results depend on the order in which waves and blocks ran."""
    MEMORY_OUTSIDE = "memory-outside"
    """An access to memory that belongs to nobody."""
    LDS_UNWRITTEN = "lds-unwritten"
    """LDS is read before it is written."""
    REPEATED_WRITE = "repeated-write"
    """Several waves write the same to one address: worth a remark, and not a fault."""

    @property
    def harmless(self) -> bool:
        """Whether results do not depend on it.

        >>> [kind.value for kind in FaultKind if kind.harmless]
        ['repeated-write']
        """
        return self is FaultKind.REPEATED_WRITE


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, at the first place where it was seen."""

    kind: FaultKind
    detail: str
    place: str = ""
    """The instruction with its address, and its line of C++ where that is known."""
    block: tuple[int, int, int] = (0, 0, 0)
    wave: int = -1
    lane: int = -1

    def __str__(self) -> str:
        if not self.place:
            return self.detail
        where = f"block {','.join(map(str, self.block))}, wave {self.wave}"
        lane = f", lane {self.lane}" if self.lane >= 0 else ""
        return f"{self.detail} ({where}{lane}: {self.place})"
