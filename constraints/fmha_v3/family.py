"""Attention, forward, with two groups of waves that take turns: CK's pipeline v3."""

from __future__ import annotations

from ckrules.constraints.fmha.attention_family import AttentionFamily
from ckrules.constraints.fmha_v3.words import EXAMPLE, SYNONYMS, VARIANT
from ckrules.kernels.family import Family


class FmhaTwoGroups(AttentionFamily):
    """O = softmax(Q K) V by eight waves, four of which multiply while the others exponentiate."""

    name = "fmha_v3"
    title = "attention_v3"
    variants = (VARIANT,)
    rank = 53
    topics = {  # noqa: RUF012
        "FTG": "attention forward with two groups of waves (pipeline v3)",
        "TPROB": "problems that these kernels compute right (`ckrules check --problem`)",
        "TGEN": "which of these kernels upstream's example of CK 2025.11 has (profile example)",
    }
    profiles = {  # noqa: RUF012
        **Family.profiles, EXAMPLE: "what upstream's example of CK 2025.11 instantiates",
    }  # fmt: skip
    synonyms = SYNONYMS
    parts = {  # noqa: RUF012
        "naming": "ckrules.constraints.fmha_v3.names:NAMING",
        "problems": "ckrules.constraints.fmha_v3.problems:TwoGroupProblems",
        "library": "ckrules.constraints.fmha.library:AttentionLibrary",
        "generation": "ckrules.codegen.fmha_v3.generation:GENERATION",
    }


FAMILY = FmhaTwoGroups()
