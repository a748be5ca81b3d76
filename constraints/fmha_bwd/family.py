"""Attention, backward: the kernel of five matrix products that computes dQ, dK and dV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.fmha.words import PROFILES
from ckrules.constraints.fmha_bwd.words import SYNONYMS
from ckrules.kernels.family import Family

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.engine.expr import Value
    from ckrules.engine.rules.book import Vocabulary
    from ckrules.kernels.block_map import BlockMap


class FmhaBackward(Family):
    """dQ, dK and dV of attention."""

    name = "fmha_bwd"
    title = "attention_bwd"
    variants = ("fmha_bwd",)
    since = "2025.11"
    rank = 51
    topics = {  # noqa: RUF012
        "FBWD": "attention backward: shapes and pipelines",
        "BPROB": "problems whose gradients attention kernels compute right (`ckrules check --problem`)",
        "BGEN": "which kernels of attention backward upstream's generator of CK 2025.11 lists (profiles receipt_...)",
        "BDSP": "which kernels of attention backward upstream's dispatcher of June 2026 writes (profile dispatcher)",
    }
    profiles = {  # noqa: RUF012
        **PROFILES, "dispatcher": "what upstream's dispatcher of June 2026 writes with receipt 0",
    }  # fmt: skip
    synonyms = SYNONYMS
    parts = {  # noqa: RUF012
        "naming": "ckrules.constraints.fmha_bwd.names:NAMING",
        "styles": "ckrules.constraints.fmha_bwd.names:STYLES",
        "problems": "ckrules.constraints.fmha_bwd.problems:BackwardProblems",
        "library": "ckrules.constraints.fmha.library:AttentionLibrary",
        "generation": "ckrules.codegen.fmha_bwd.generation:GENERATION",
        "timing": "ckrules.constraints.fmha_bwd.device.timing:BackwardTiming",
    }

    def vocabulary(self, ck: str, gpus: Sequence[Gpu]) -> Vocabulary:
        from ckrules.constraints.fmha_bwd.alike import ALIKE
        from ckrules.engine.rules.alike import claims

        words = super().vocabulary(ck, gpus)
        words.alike = claims(ALIKE, words, ck)
        return words

    def block_maps(self, point: Mapping[str, Value]) -> tuple[BlockMap, ...]:
        from ckrules.constraints.fmha_bwd.picture import products

        return products(point)

    def defaults(self, variant: str, ndim: object = None) -> Mapping[str, Value]:
        from ckrules.constraints.fmha_bwd.vocabulary import DEFAULTS

        return DEFAULTS


FAMILY = FmhaBackward()
