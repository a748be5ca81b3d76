"""GEMMs of 8-bit types whose sums are scaled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ckrules.constraints.gemm.words import PIPELINE_ALIASES
from ckrules.constraints.quant.words import GROUP, GROUPED, NARROW_A, NARROW_B, SYNONYMS, VARIANTS
from ckrules.constraints.tile_gemm import TOPICS
from ckrules.constraints.tile_gemm.tile_gemm_family import TileGemmFamily
from ckrules.kernels.family import Family

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.engine.expr import Value
    from ckrules.engine.rules import RuleDef
    from ckrules.engine.rules.book import Vocabulary
    from ckrules.kernels.lds_map import LdsMap


class Quant(TileGemmFamily):
    """C = A B, with scales."""

    name = "quant"
    title = "quant_gemm"
    variants = VARIANTS
    since = "2025.11"
    rank = 25
    topics = {  # noqa: RUF012
        "QUANT": "quantised GEMMs: groups, scales, pipelines",
        "GEMM": "what GEMM kernels ask beside what all tile GEMMs do: types, layouts, D, weights",
        **TOPICS,
        "GPROB": "matrix products that a kernel accepts (`ckrules check --problem`)",
        "QPROB": "matrix products with scales that a kernel accepts (`ckrules check --problem`)",
        "QTEN": "what upstream's tile_engine lists (profile tile_engine)",
    }
    profiles = {  # noqa: RUF012
        **Family.profiles,
        "tile_engine": "what upstream's tile_engine of 2026 lists",
    }
    aliases = {"pipeline": PIPELINE_ALIASES}  # noqa: RUF012
    synonyms = SYNONYMS
    parts = {  # noqa: RUF012
        "readers": "ckrules.constraints.quant.readers:TABLES",
        "naming": "ckrules.constraints.quant.names:NAMING",
        "styles": "ckrules.constraints.quant.names:STYLES",
        "problems": "ckrules.constraints.quant.problems:QuantProblems",
        "generation": "ckrules.codegen.quant.generation:GENERATION",
        "timing": "ckrules.constraints.quant.device.timing:TIMING",
        "padding": "ckrules.constraints.gemm.device.padding:GemmPadding",
    }
    follows = ("family",)

    def lds_map(self, point: Mapping[str, Value], words: Vocabulary, gpu: Gpu) -> LdsMap | str:
        """As other GEMMs', whose policy these pipelines take; 4 bits are not modelled."""
        if point["dtype"] in (*NARROW_A, *NARROW_B):
            return "the way of int4 operands through LDS is not modelled"
        return super().lds_map(point, words, gpu)

    def rules(self) -> list[RuleDef]:
        from ckrules.constraints import gemm, quant, tile_gemm
        from ckrules.constraints.quant.inherited import EXAMPLES, inherited
        from ckrules.engine.rules.book import collect

        return [*inherited(collect(tile_gemm, gemm, examples=EXAMPLES)), *collect(quant)]

    def defaults(self, variant: str, ndim: object = None) -> Mapping[str, Value]:
        from ckrules.constraints.quant.vocabulary import DEFAULTS

        return DEFAULTS

    def complete(self, full: dict[str, Any], spelling: dict[str, str]) -> None:
        """The type of C, the groups and LDS buffers follow from variant and pipeline."""
        super().complete(full, spelling)
        full.setdefault("dtype_c", "fp16")
        full.setdefault("group_k", GROUP if full.get("variant") in GROUPED else 1)
        if isinstance(full.get("pipeline"), str):
            full.setdefault("double_smem_buffer", full["pipeline"] == "preshufflev2")
        if full.get("family") == self.name:
            del full["family"]


FAMILY = Quant()
