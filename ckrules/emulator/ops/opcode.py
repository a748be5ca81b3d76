"""What a row of an instruction table says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ckrules.emulator.kinds import OperandKind, Values

Function = Callable[..., Values]


@dataclass(frozen=True)
class OpcodeRow:
    """One instruction: result, operands, and what it computes of them."""

    result: OperandKind
    sources: tuple[OperandKind, ...]
    compute: Function
    accumulates: bool = False
    """Whether the destination is the last source, which the text leaves out."""
    saturates: bool = False
    """Whether ``clamp`` keeps whole numbers in range: `compute` on numbers of 64 bits is exact."""
