"""Attention, backward: the kernel of five matrix products that computes dQ, dK and dV."""

from __future__ import annotations

from ckrules.constraints.fmha.attention_family import AttentionFamily
from ckrules.constraints.fmha_bwd.words import SYNONYMS


class FmhaBackward(AttentionFamily):
    """dQ, dK and dV of attention."""

    name = "fmha_bwd"
    title = "attention_bwd"
    variants = ("fmha_bwd",)
    rank = 51
    products = "ckrules.constraints.fmha_bwd.picture:products"
    topics = {  # noqa: RUF012
        "FBWD": "attention backward: shapes and pipelines",
        "BPROB": "problems whose gradients attention kernels compute right (`ckrules check --problem`)",
        "BGEN": "which kernels of attention backward upstream's generator of CK 2025.11 lists (profiles receipt_...)",
        "BDSP": "which kernels of attention backward upstream's dispatcher of June 2026 writes (profile dispatcher)",
    }
    synonyms = SYNONYMS
    parts = {  # noqa: RUF012
        "naming": "ckrules.constraints.fmha_bwd.names:NAMING",
        "styles": "ckrules.constraints.fmha_bwd.names:STYLES",
        "problems": "ckrules.constraints.fmha_bwd.problems:BackwardProblems",
        "library": "ckrules.constraints.fmha.library:AttentionLibrary",
        "generation": "ckrules.codegen.fmha_bwd.generation:GENERATION",
        "timing": "ckrules.constraints.fmha_bwd.device.timing:BackwardTiming",
    }


FAMILY = FmhaBackward()
