"""How quantised GEMMs become C++: the files of a kernel, and the question to the compiler."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ckrules.codegen.gemm.generation import TEMPLATES as GEMM_TEMPLATES
from ckrules.codegen.gemm.generation import GemmGeneration
from ckrules.codegen.quant import probe
from ckrules.codegen.quant.cpp_names import pipeline
from ckrules.codegen.quant.model import QuantModel, entries
from ckrules.engine.expr import Value

TEMPLATES = Path(__file__).resolve().parent / "templates"


class QuantGeneration(GemmGeneration):
    """Quantised GEMMs, written against CK 2025.11: the templates of GEMMs with other blocks."""

    templates: tuple[Path, ...] = (TEMPLATES, GEMM_TEMPLATES)
    library = "quant"
    template = "quant_2025_11.hpp.j2"
    device = "quant_device.cpp.j2"
    unit = "quant_unit.cpp.j2"
    probed = probe.TEMPLATE
    probe_values = staticmethod(probe.values)

    def model(
        self, point: Mapping[str, Value], name: str, ck: str, quantities: Mapping[str, Any]
    ) -> QuantModel:
        found = entries(point, int(quantities["mem_stages"] or 2))
        classes = pipeline(str(point["variant"]), str(point["pipeline"]))
        return QuantModel(name, ck, point, quantities, found, classes)


GENERATION = QuantGeneration()
