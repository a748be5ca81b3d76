"""Depthwise convolution: forward kernels that are not GEMMs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ckrules.constraints.depthwise.words import LAYOUTS, SYNONYMS
from ckrules.kernels.family import Family

if TYPE_CHECKING:
    from ckrules.engine.expr import Value


class Depthwise(Family):
    """Forward convolution with one channel in each group."""

    name = "depthwise"
    title = "depthwise"
    variants = ("forward_depthwise",)
    since = "2026.06"
    rank = 10
    topics = {"DW": "depthwise convolution"}  # noqa: RUF012
    synonyms = SYNONYMS
    parts = {  # noqa: RUF012
        "readers": "ckrules.constraints.depthwise.readers:TABLES",
        "naming": "ckrules.constraints.depthwise.names:NAMING",
        "problems": "ckrules.constraints.depthwise.problems:DepthwiseProblems",
        "generation": "ckrules.codegen.depthwise.generation:GENERATION",
        "padding": "ckrules.constraints.depthwise.device.padding:DepthwisePadding",
    }

    def defaults(self, variant: str, ndim: object = None) -> Mapping[str, Value]:
        layout = LAYOUTS.get(ndim) if isinstance(ndim, int) else None
        return {"layout": layout} if layout else {}

    def complete(self, full: dict[str, Any], spelling: dict[str, str]) -> None:
        """The layout follows from the dimensions."""
        super().complete(full, spelling)
        ndim = full.get("ndim")
        if type(ndim) is int and ndim in LAYOUTS and full.get("layout") is None:
            full.setdefault("layout", LAYOUTS[ndim])


FAMILY = Depthwise()
