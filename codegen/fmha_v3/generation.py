"""How attention with two groups of waves becomes C++: as forward, with types of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ckrules.codegen.fmha.generation import TEMPLATES as FORWARD
from ckrules.codegen.fmha.generation import AttentionGeneration
from ckrules.codegen.fmha.model import AttentionModel, OwnChoice, OwnFunction
from ckrules.codegen.fmha_v3 import probe
from ckrules.constraints.fmha_v3.operands import operands
from ckrules.engine.expr import Value

TEMPLATES = Path(__file__).resolve().parent / "templates"


class TwoGroupModel(AttentionModel):
    """A kernel of attention with two groups of waves."""

    __slots__ = ()
    operands = staticmethod(operands)
    arguments = "fmha_v3_args.hpp.j2"
    strided = ""
    """None: their tensors are packed."""

    @property
    def functions(self) -> tuple[OwnFunction, ...]:
        """What tells kernels apart that compute different things, and what none of these has."""
        absent = {"logits": "soft cap", "dropout": "dropout", "squant": "static quantisation"}
        return (
            self.own_mode,
            self.own_mask,
            OwnFunction(bool(self.point["lse"]), "lse", "LSE"),
            *(OwnFunction(False, member, text) for member, text in absent.items()),
        )

    @property
    def choices(self) -> tuple[OwnChoice, ...]:
        """There is no bias."""
        return (OwnChoice.of("bias", "no", "bias"),)


class TwoGroupGeneration(AttentionGeneration):
    """Kernels of attention with two groups of waves."""

    templates = (TEMPLATES, FORWARD)
    model = TwoGroupModel
    words = staticmethod(probe.words_of)

    def why_not(self, point: Mapping[str, Value]) -> str:
        """Nothing: every kernel can be built, those that read columns of V as rows, too."""
        return ""


GENERATION = TwoGroupGeneration()
