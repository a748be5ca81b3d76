"""How GEMMs with scales become C++: the files of a kernel, and the question to the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ckrules.codegen.gemm.generation import TEMPLATES as GEMM_TEMPLATES
from ckrules.codegen.gemm.generation import GemmGeneration
from ckrules.codegen.gemm.model import GemmModel
from ckrules.codegen.scaled import probe
from ckrules.codegen.scaled.cpp_names import PIPELINES
from ckrules.codegen.scaled.model import ScaledModel, entries
from ckrules.constraints.scaled.words import TENSORS
from ckrules.engine.expr import Value
from ckrules.support.errors import UsageError

TEMPLATES = Path(__file__).resolve().parent / "templates"


class ScaledGeneration(GemmGeneration):
    """flatmm, written against CK 2025.11: the templates of GEMMs with other blocks."""

    templates: tuple[Path, ...] = (TEMPLATES, GEMM_TEMPLATES)
    library = "scaled"
    template = "scaled_2025_11.hpp.j2"
    probed = probe.TEMPLATE
    pipelines = PIPELINES
    quantities = ("lds_bytes", "wave_size", "threads", "launch_threads", "splits_k")

    def model(
        self, point: Mapping[str, Value], name: str, ck: str, quantities: Mapping[str, Any]
    ) -> ScaledModel:
        """The model of a point whose words there is C++ for.

        Raises:
            UsageError: For scales that flatmm does not have.
        """
        if point["scales"] not in TENSORS:
            raise UsageError(f"flatmm of CK {ck} has no scales = {point['scales']}")
        found = entries(bool(quantities["splits_k"]))
        return ScaledModel(name, ck, point, quantities, found, PIPELINES[str(point["pipeline"])])

    def covers(self, kernels: Sequence[GemmModel]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """The header that includes every kernel."""
        yield "include_all_scaled_kernels.hpp", "gemm_include_all.hpp.j2", {"kernels": kernels}

    def probe_values(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """See `ckrules.codegen.scaled.probe.values`."""
        return probe.values(point)


GENERATION = ScaledGeneration()
