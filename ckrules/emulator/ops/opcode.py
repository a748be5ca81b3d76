"""What a row of an instruction table says."""

from __future__ import annotations

import operator
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ckrules.emulator.kinds import OperandKind, Values

Function = Callable[..., Values]

SPELLINGS: Mapping[str, str] = tomllib.loads(
    Path(__file__).with_name("spellings.toml").read_text(encoding="utf-8")
)
"""By mnemonic: the one whose meaning is the same, which tables of opcodes know."""


@dataclass(frozen=True)
class OpcodeRow:
    """One instruction: result, operands, and what it computes of them."""

    result: OperandKind
    sources: tuple[OperandKind, ...]
    compute: Callable[..., Any]
    accumulates: bool = False
    """Whether the destination is the last source, which the text leaves out."""
    saturates: bool = False
    """Whether ``clamp`` keeps whole numbers in range: `compute` on numbers of 64 bits is exact."""
    flag: bool = False
    """Whether it gives two results, of which the second is one bit a lane."""
    option: str = ""
    """A modifier whose number `compute` takes by its name."""


RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "eq": operator.eq, "ne": operator.ne, "lg": lambda a, b: (a < b) | (a > b),
    "neq": operator.ne, "nlt": lambda a, b: ~(a < b), "nle": lambda a, b: ~(a <= b),
    "ngt": lambda a, b: ~(a > b), "nge": lambda a, b: ~(a >= b),
    "nlg": lambda a, b: ~((a < b) | (a > b)),
    "o": lambda a, b: ~(np.isnan(a) | np.isnan(b)), "u": lambda a, b: np.isnan(a) | np.isnan(b),
}  # fmt: skip
"""Comparisons by their words. Of whole numbers ``lg`` is ``ne``; of reals NaN is neither."""
