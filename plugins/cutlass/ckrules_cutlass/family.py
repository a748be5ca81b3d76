"""The family's object: what a plug-in's entry point names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ckrules.engine.rules import RuleDef
from ckrules.engine.rules.book import collect
from ckrules.kernels.family import Family
from ckrules_cutlass.vocabulary import VARIANT, HopperGemm, facts, fields
from ckrules_cutlass.words import SYNONYMS

HEADERS = "CUTLASS 4.2.0"


class CutlassFamily(Family):
    """GEMMs of CUTLASS's SM90 collective builder that read A and B from shared memory by TMA."""

    name = "cutlass"
    title = "cutlass_hopper_gemm"
    variants = (VARIANT,)
    headers = HEADERS
    rank = 200
    topics: ClassVar[Mapping[str, str]] = {
        "CUTT": "tiles of CUTLASS",
        "CUTD": "types and layouts of CUTLASS",
        "CUTE": "epilogues of CUTLASS",
        "CUTS": "schedules of CUTLASS",
        "CUTP": "problems of CUTLASS",
        "CUTL": "the generator of cutlass_library",
    }
    profiles: ClassVar[Mapping[str, str]] = {
        **Family.profiles,
        "library": "what the generator of cutlass_library lets through (is_tile_desc_valid, "
        "get_valid_schedules)",
    }
    synonyms = SYNONYMS
    parts: ClassVar[Mapping[str, str]] = {
        "targets": "ckrules_cutlass.targets:TARGETS",
        "naming": "ckrules_cutlass.names:NAMING",
        "problems": "ckrules_cutlass.problems:PROBLEMS",
        "generation": "ckrules_cutlass.generation:GENERATION",
        "timing": "ckrules_cutlass.estimates:TIMING",
    }

    def vocabulary(self, ck: str, gpus: Sequence[Any]) -> HopperGemm:
        """The fields and quantities; the GPUs are `HopperTarget`."""
        return HopperGemm(fields([g.name for g in gpus]), facts(gpus), ck)

    def rules(self) -> list[RuleDef]:
        """Those of the headers, and of the generator's profile."""
        from ckrules_cutlass import rules

        return collect(rules)

    def defaults(self, variant: str, ndim: object = None) -> Mapping[str, Any]:
        """What a configuration may leave out."""
        return {
            "stages": 0, "fast_accum": False, "epilogue_n": 0, "tile_scheduler": "persistent",
            "swizzle": 1,
        }  # fmt: skip


FAMILY = CutlassFamily()
