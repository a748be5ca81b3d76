"""How the kernels before and after attention become C++."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ckrules.codegen.fmha.generation import TEMPLATES as FORWARD
from ckrules.codegen.fmha.generation import AttentionGeneration
from ckrules.codegen.fmha.model import AttentionModel, OwnChoice, OwnFunction
from ckrules.codegen.fmha_steps import probe
from ckrules.constraints.fmha_steps.operands import operands
from ckrules.constraints.fmha_steps.words import APPEND, COMBINE

TEMPLATES = Path(__file__).resolve().parent / "templates"


class StepModel(AttentionModel):
    """A kernel before or after attention."""

    __slots__ = ()
    operands = staticmethod(operands)
    workspace = False
    windowless = False
    """They have no mask."""

    @property
    def joins(self) -> bool:
        """Whether it joins splits."""
        return self.point["variant"] == COMBINE

    @property
    def arguments(self) -> str:
        return f"fmha_{'appendkv' if self.appends else 'steps'}_args.hpp.j2"

    @property
    def appends(self) -> bool:
        return self.point["variant"] == APPEND

    @property
    def rotates(self) -> bool:
        """Whether it rotates Q and the rows that it appends to K."""
        return self.point["rope"] != "no"

    @property
    def entries(self) -> Any:
        """One launch."""
        return super().entries[:1]

    @property
    def functions(self) -> tuple[OwnFunction, ...]:
        if not self.joins:
            return (self.own_mode,)
        return (
            self.own_mode,
            OwnFunction(bool(self.point["lse"]), "lse", "LSE"),
            OwnFunction(bool(self.point["squant"]), "squant", "static quantisation"),
        )

    @property
    def choices(self) -> tuple[OwnChoice, ...]:
        """They see no scores; those that append rotate or do not."""
        rope = OwnChoice.of("rope", self.point["rope"], "rotary embedding")
        return (rope,) if self.appends else ()


class StepGeneration(AttentionGeneration):
    """Splits combined, K and V appended, dO times O, dQ converted."""

    templates = (TEMPLATES, FORWARD)
    model = StepModel
    words = staticmethod(probe.words_of)


GENERATION = StepGeneration()
