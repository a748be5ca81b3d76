"""Attention: the kernels before and after the products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ckrules.constraints.fmha.attention_family import AttentionFamily
from ckrules.constraints.fmha_steps.words import SYNONYMS, VARIANTS

if TYPE_CHECKING:
    from ckrules.engine.expr import Value


class FmhaSteps(AttentionFamily):
    """Results of splits combined, K and V appended, dO times O, dQ converted."""

    name = "fmha_steps"
    title = "attention_steps"
    variants = VARIANTS
    rank = 52
    products = ""
    topics = {  # noqa: RUF012
        "FSTP": "kernels before and after attention",
        "KPROB": "problems that these kernels compute right (`ckrules check --problem`)",
        "SGEN": "which of these kernels upstream's generator of CK 2025.11 lists (profiles receipt_...)",
        "SDSP": "which of these kernels upstream's dispatcher of June 2026 writes (profile dispatcher)",
    }
    synonyms = SYNONYMS
    parts = {  # noqa: RUF012
        "naming": "ckrules.constraints.fmha_steps.names:NAMING",
        "styles": "ckrules.constraints.fmha_steps.names:STYLES",
        "problems": "ckrules.constraints.fmha_steps.problems:StepProblems",
        "library": "ckrules.constraints.fmha.library:AttentionLibrary",
        "generation": "ckrules.codegen.fmha_steps.generation:GENERATION",
        "timing": "ckrules.constraints.fmha_steps.device.timing:StepTiming",
    }

    def defaults(self, variant: str, ndim: object = None) -> Mapping[str, Value]:
        from ckrules.constraints.fmha_steps.vocabulary import DEFAULTS

        return DEFAULTS[variant]


FAMILY = FmhaSteps()
