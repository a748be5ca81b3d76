"""Attention, forward: kernels of two matrix products with a softmax between them."""

from __future__ import annotations

from ckrules.constraints.fmha.attention_family import AttentionFamily
from ckrules.constraints.fmha.words import SYNONYMS, VARIANTS


class Fmha(AttentionFamily):
    """O = softmax(Q K + bias) V."""

    name = "fmha"
    title = "attention"
    variants = VARIANTS
    rank = 50
    topics = {  # noqa: RUF012
        "FMHA": "attention forward: shapes, pipelines, LDS",
        "FPROB": "problems that attention kernels compute right (`ckrules check --problem`)",
        "FGEN": "which attention kernels upstream's generator of CK 2025.11 lists (profiles receipt_...)",
        "FDSP": "which ones upstream's dispatcher of June 2026 writes (profile dispatcher)",
    }
    synonyms = SYNONYMS
    parts = {  # noqa: RUF012
        "naming": "ckrules.constraints.fmha.names:NAMING",
        "styles": "ckrules.constraints.fmha.names:STYLES",
        "problems": "ckrules.constraints.fmha.problems:AttentionProblems",
        "library": "ckrules.constraints.fmha.library:AttentionLibrary",
        "generation": "ckrules.codegen.fmha.generation:GENERATION",
        "timing": "ckrules.constraints.fmha.device.timing:AttentionTiming",
    }


FAMILY = Fmha()
