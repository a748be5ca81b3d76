"""Attention, forward: kernels of two matrix products with a softmax between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.fmha.words import PROFILES, SYNONYMS, VARIANTS
from ckrules.kernels.family import Family

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.engine.expr import Value
    from ckrules.engine.rules.book import Vocabulary
    from ckrules.kernels.block_map import BlockMap


class Fmha(Family):
    """O = softmax(Q K + bias) V."""

    name = "fmha"
    title = "attention"
    variants = VARIANTS
    since = "2025.11"
    rank = 50
    topics = {  # noqa: RUF012
        "FMHA": "attention forward: shapes, pipelines, LDS",
        "FPROB": "problems that attention kernels compute right (`ckrules check --problem`)",
        "FGEN": "which attention kernels upstream's generator of CK 2025.11 lists (profiles receipt_...)",
        "FDSP": "which ones upstream's dispatcher of June 2026 writes (profile dispatcher)",
    }
    profiles = {  # noqa: RUF012
        **PROFILES, "dispatcher": "what upstream's dispatcher of June 2026 writes with receipt 0",
    }  # fmt: skip
    synonyms = SYNONYMS
    parts = {  # noqa: RUF012
        "naming": "ckrules.constraints.fmha.names:NAMING",
        "styles": "ckrules.constraints.fmha.names:STYLES",
        "problems": "ckrules.constraints.fmha.problems:AttentionProblems",
        "library": "ckrules.constraints.fmha.library:AttentionLibrary",
        "generation": "ckrules.codegen.fmha.generation:GENERATION",
        "timing": "ckrules.constraints.fmha.device.timing:AttentionTiming",
    }

    def vocabulary(self, ck: str, gpus: Sequence[Gpu]) -> Vocabulary:
        from ckrules.constraints.fmha.alike import ALIKE
        from ckrules.engine.rules.alike import claims

        words = super().vocabulary(ck, gpus)
        words.alike = claims(ALIKE, words, ck)
        return words

    def block_maps(self, point: Mapping[str, Value]) -> tuple[BlockMap, ...]:
        from ckrules.constraints.fmha.picture import products

        return products(point)

    def defaults(self, variant: str, ndim: object = None) -> Mapping[str, Value]:
        from ckrules.constraints.fmha.vocabulary import DEFAULTS

        return DEFAULTS


FAMILY = Fmha()
