"""How quantised GEMMs become C++: the files of a kernel, and the question to the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ckrules.codegen.gemm.generation import TEMPLATES as GEMM_TEMPLATES
from ckrules.codegen.gemm.generation import GemmGeneration
from ckrules.codegen.gemm.model import GemmModel
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

    def model(
        self, point: Mapping[str, Value], name: str, ck: str, quantities: Mapping[str, Any]
    ) -> QuantModel:
        """The model of a point whose words there is C++ for."""
        found = entries(point, int(quantities["mem_stages"] or 2))
        classes = pipeline(str(point["variant"]), str(point["pipeline"]))
        return QuantModel(name, ck, point, quantities, found, classes)

    def covers(self, kernels: Sequence[GemmModel]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """The header that includes every kernel."""
        yield "include_all_quant_kernels.hpp", "gemm_include_all.hpp.j2", {"kernels": kernels}

    def probe_values(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """See `ckrules.codegen.quant.probe.values`."""
        return probe.values(point)


GENERATION = QuantGeneration()
