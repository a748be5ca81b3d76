"""GEMMs with scales: flatmm, its form for mixtures of experts, and block scales."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ckrules.constraints.scaled.words import (
    EIGHT_WAVES,
    GROUP,
    PIPELINES,
    SYNONYMS,
    USUAL,
    VARIANTS,
)
from ckrules.constraints.tile_gemm import TOPICS
from ckrules.kernels.family import Family

if TYPE_CHECKING:
    from ckrules.engine.expr import Value
    from ckrules.engine.rules import RuleDef


class Scaled(Family):
    """C = A B, where A and B have scales."""

    name = "scaled"
    title = "scaled_gemm"
    variants = VARIANTS
    since = "2025.11"
    rank = 30
    topics = {  # noqa: RUF012
        "SCAL": "GEMMs with scales: flatmm, experts, block scales",
        "GEMM": "what GEMM kernels ask beside what all tile GEMMs do: permuted columns of weights",
        **TOPICS,
        "SPROB": "matrix products that kernels with scales accept (`ckrules check --problem`)",
        "AITR": "which kernels aiter can be asked for (profile aiter)",
    }
    profiles = {  # noqa: RUF012
        **Family.profiles,
        "aiter": "what the wrappers of aiter (August 2026) instantiate",
    }
    synonyms = SYNONYMS
    parts = {  # noqa: RUF012
        "readers": "ckrules.constraints.scaled.readers:TABLES",
        "naming": "ckrules.constraints.scaled.names:NAMING",
        "styles": "ckrules.constraints.scaled.names:STYLES",
        "problems": "ckrules.constraints.scaled.problems:ScaledProblems",
        "generation": "ckrules.codegen.scaled.generation:GENERATION",
        "timing": "ckrules.constraints.scaled.device.timing:TIMING",
    }
    follows = ("family",)

    def rules(self) -> list[RuleDef]:
        from ckrules.constraints import gemm, scaled, tile_gemm
        from ckrules.constraints.scaled.inherited import EXAMPLES, inherited
        from ckrules.engine.rules.book import collect

        shared = collect(tile_gemm, gemm, examples=EXAMPLES)
        return [*inherited(shared), *collect(scaled)]

    def defaults(self, variant: str, ndim: object = None) -> Mapping[str, Value]:
        from ckrules.constraints.scaled.vocabulary import DEFAULTS

        return DEFAULTS

    def complete(self, full: dict[str, Any], spelling: dict[str, str]) -> None:
        """The pipeline follows from the variant, and of block scales from the waves."""
        super().complete(full, spelling)
        found = PIPELINES.get(str(full.get("variant")))
        if found is None:
            return
        waves: list[Any] = [full.get(f"wave_{x}") for x in "mnk"]
        if all(type(n) is int for n in waves):
            many = waves[0] * waves[1] * waves[2] == 8 and full.get("warp_tile_k") == GROUP
            eight = many and EIGHT_WAVES in found
            full.setdefault("pipeline", EIGHT_WAVES if eight else found[0])
        full.setdefault("scales", USUAL[str(full["variant"])])
        if full.get("family") == self.name:
            del full["family"]


FAMILY = Scaled()
