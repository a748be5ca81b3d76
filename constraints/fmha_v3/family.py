"""Attention, forward, with two groups of waves that take turns: CK's pipeline v3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.fmha_v3.words import EXAMPLE, SYNONYMS, VARIANT
from ckrules.kernels.family import Family

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.engine.expr import Value
    from ckrules.engine.rules.book import Vocabulary
    from ckrules.kernels.block_map import BlockMap


class FmhaTwoGroups(Family):
    """O = softmax(Q K) V by eight waves, four of which multiply while the others exponentiate."""

    name = "fmha_v3"
    title = "attention_v3"
    variants = (VARIANT,)
    since = "2025.11"
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

    def vocabulary(self, ck: str, gpus: Sequence[Gpu]) -> Vocabulary:
        from ckrules.constraints.fmha_v3.alike import ALIKE
        from ckrules.engine.rules.alike import claims

        words = super().vocabulary(ck, gpus)
        words.alike = claims(ALIKE, words, ck)
        return words

    def block_maps(self, point: Mapping[str, Value]) -> tuple[BlockMap, ...]:
        from ckrules.constraints.fmha.picture import products

        return products(point)

    def defaults(self, variant: str, ndim: object = None) -> Mapping[str, Value]:
        from ckrules.constraints.fmha_v3.vocabulary import DEFAULTS

        return DEFAULTS


FAMILY = FmhaTwoGroups()
