"""GEMM: plain, with pre-shuffled weights, and with further D tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ckrules.constraints.gemm.words import (
    PIPELINE_ALIASES,
    SYNONYMS,
    TWO_BUFFERS,
    TYPES,
    USUAL_C,
    VARIANTS,
)
from ckrules.constraints.tile_gemm import TOPICS
from ckrules.constraints.tile_gemm.tile_gemm_family import TileGemmFamily
from ckrules.kernels.family import Family

if TYPE_CHECKING:
    from ckrules.engine.expr import Value
    from ckrules.engine.rules import RuleDef


class Gemm(TileGemmFamily):
    """C = A B."""

    name = "gemm"
    title = "gemm"
    variants = VARIANTS
    since = "2025.11"
    rank = 20
    topics = {  # noqa: RUF012 - a constant of the class
        "GEMM": "what GEMM kernels ask beside what all tile GEMMs do: types, layouts, D, weights",
        **TOPICS,
        "GPROB": "matrix products that a kernel accepts (`ckrules check --problem`)",
        "TENG": "what upstream's tile_engine lists (profile tile_engine)",
        "GDSP": "what upstream's dispatcher generates (profile dispatcher)",
    }
    profiles = {  # noqa: RUF012
        **Family.profiles,
        "tile_engine": "what upstream's tile_engine of November 2025 lists",
        "dispatcher": "what upstream's dispatcher filter of June 2026 lets through to its generator",
    }
    aliases = {"pipeline": PIPELINE_ALIASES}  # noqa: RUF012
    synonyms = SYNONYMS
    parts = {  # noqa: RUF012
        "readers": "ckrules.constraints.gemm.readers:TABLES",
        "naming": "ckrules.constraints.gemm.naming:NAMING",
        "problems": "ckrules.constraints.gemm.problems:GemmProblems",
        "generation": "ckrules.codegen.gemm.generation:GENERATION",
        "timing": "ckrules.constraints.gemm.device.timing:TIMING",
        "styles": "ckrules.constraints.gemm.tool_names:STYLES",
        "padding": "ckrules.constraints.gemm.device.padding:GemmPadding",
        "library": "ckrules.constraints.gemm.library:GemmLibrary",
    }
    follows = ("family", "dtype_a", "dtype_b", "preshuffle")

    def rules(self) -> list[RuleDef]:
        from ckrules.constraints import gemm, tile_gemm
        from ckrules.constraints.gemm.inherited import inherited
        from ckrules.engine.rules.book import collect

        return [*inherited(collect(tile_gemm)), *collect(gemm)]

    def defaults(self, variant: str, ndim: object = None) -> Mapping[str, Value]:
        from ckrules.constraints.gemm.vocabulary import DEFAULTS

        return {**DEFAULTS, "streamk": "atomic"} if variant == "stream_k" else DEFAULTS

    def complete(self, full: dict[str, Any], spelling: dict[str, str]) -> None:
        """Types, buffers and D tensors follow from the type, the pipeline and the variant."""
        super().complete(full, spelling)
        variant = full.get("variant")
        self._types(full)
        types = TYPES.get(str(full.get("dtype")))
        if types is not None:
            full.setdefault("dtype_acc", types[2])
            full.setdefault("dtype_c", USUAL_C[str(full["dtype"])])
        if isinstance(full.get("pipeline"), str):
            full.setdefault("double_smem_buffer", full["pipeline"] in TWO_BUFFERS)
        if variant != "multi_d":
            full.setdefault("num_d", 0)
            full.setdefault("elementwise_op", "passthrough")
        if full.get("preshuffle") is (variant == "preshuffle"):
            del full["preshuffle"]
        if full.get("family") == self.name:
            del full["family"]

    def _types(self, full: dict[str, Any]) -> None:
        """The word of the types of A and B, or these types where the word says the same."""
        known = {(a, b): word for word, (a, b, _) in TYPES.items()}
        pair = tuple(
            "int4" if v == "pk_int4" else v for v in (full.get("dtype_a"), full.get("dtype_b"))
        )
        first, second = (p if isinstance(p, str) else None for p in pair)
        if first is None and second is None:
            return
        meant = known.get((first or second or "", second or first or ""))
        if meant is not None and full.setdefault("dtype", meant) == meant:
            full.pop("dtype_a", None)
            full.pop("dtype_b", None)


FAMILY = Gemm()
