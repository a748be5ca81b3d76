"""How the kernels before and after attention become C++."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ckrules.codegen.fmha.generation import TEMPLATES as FORWARD
from ckrules.codegen.fmha.generation import AttentionGeneration
from ckrules.codegen.fmha.model import AttentionModel, OwnFunction
from ckrules.codegen.fmha_steps import probe
from ckrules.constraints.fmha.operands import KernelOperand
from ckrules.constraints.fmha_steps.operands import operands
from ckrules.constraints.fmha_steps.words import APPEND, COMBINE
from ckrules.engine.expr import Value

TEMPLATES = Path(__file__).resolve().parent / "templates"


class StepModel(AttentionModel):
    """A kernel before or after attention."""

    __slots__ = ()

    @property
    def tensors(self) -> tuple[KernelOperand, ...]:
        """The tensors in the order in which the host library takes their addresses."""
        return operands(self.point)

    @property
    def joins(self) -> bool:
        """Whether it joins splits."""
        return self.point["variant"] == COMBINE

    @property
    def workspace(self) -> bool:
        """None needs any."""
        return False

    @property
    def arguments(self) -> str:
        """The template of what it is handed."""
        return "fmha_steps_args.hpp.j2"

    @property
    def entries(self) -> Any:
        """One launch."""
        return super().entries[:1]

    @property
    def functions(self) -> tuple[OwnFunction, ...]:
        """What tells kernels apart that compute different things."""
        mode = OwnFunction(self.grouped, "mode", "sequences of different lengths (group mode)")
        if not self.joins:
            return (mode,)
        return (
            mode,
            OwnFunction(bool(self.point["lse"]), "lse", "LSE"),
            OwnFunction(bool(self.point["squant"]), "squant", "static quantisation"),
        )

    @property
    def biased(self) -> bool:
        """They see no scores."""
        return False

    @property
    def windowless(self) -> bool:
        """They have no mask."""
        return False


class StepGeneration(AttentionGeneration):
    """Splits combined, dO times O, dQ converted."""

    templates = (TEMPLATES, FORWARD)
    model = StepModel
    words = staticmethod(probe.words_of)

    def why_not(self, point: Mapping[str, Value]) -> str:
        """Why a kernel cannot be built; empty: it can."""
        return "appending is not modelled" if point["variant"] == APPEND else ""


GENERATION = StepGeneration()
