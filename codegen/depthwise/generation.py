"""How depthwise convolutions become C++: as other convolutions, with a header of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ckrules.codegen.conv import cpp_names as words
from ckrules.codegen.conv.cpp_names import FORWARD
from ckrules.codegen.conv.generation import TEMPLATES, GroupedConvGeneration
from ckrules.codegen.conv.model import GroupedConvModel
from ckrules.codegen.entries import MAIN
from ckrules.engine.expr import Value
from ckrules.support.errors import UsageError, unknown


class DepthwiseGeneration(GroupedConvGeneration):
    """Depthwise convolutions: one instantiation each, in forward direction."""

    templates = (Path(__file__).resolve().parent / "templates", TEMPLATES)
    quantities = ("lds_bytes", "wave_size")

    def kernel(
        self, point: Mapping[str, Value], name: str, ck: str, quantities: Mapping[str, Any]
    ) -> GroupedConvModel:
        """The model of a point for one CK release.

        Raises:
            UsageError: For a release without such kernels.
            UnknownNameError: For one that there are no templates for.
        """
        if ck == "2025.11":
            raise UsageError(f"CK {ck} has no depthwise kernels")
        known = words.PIPELINES.keys() - {"2025.11"}
        if ck not in known:
            raise unknown("CK release with templates", ck, known)
        return GroupedConvModel(name, ck, point, quantities, direction=FORWARD, entries=(MAIN,))


GENERATION = DepthwiseGeneration()
