"""What the templates of attention see as ``k``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckrules.codegen.model import KernelModel
from ckrules.constraints.fmha.operands import Operand, operands
from ckrules.constraints.fmha.problem import WORDS


@dataclass(frozen=True, slots=True)
class AttentionModel(KernelModel):
    """A kernel of attention forward."""

    words: Mapping[str, Any]
    """The C++ words of its configuration (`ckrules.codegen.fmha.probe.words_of`)."""

    @property
    def tensors(self) -> tuple[Operand, ...]:
        """The tensors in the order in which the host library takes their addresses."""
        return operands(self.point)

    @property
    def grouped(self) -> bool:
        """Whether sequences have lengths of their own."""
        return self.point["mode"] == "group"

    @property
    def rows(self) -> bool:
        """Whether rows of V are contiguous."""
        return self.point["v_layout"] == "row"

    @property
    def masked(self) -> bool:
        """Whether it has a mask."""
        return self.point["mask"] != "no"

    @property
    def windowless(self) -> bool:
        """Whether its mask has one edge only."""
        return self.point["mask"] == "causal"

    @property
    def bias(self) -> int:
        """What it adds to the scores, as problems number it."""
        return WORDS["bias"].index(str(self.point["bias"]))
