"""How GEMMs with scales become C++: the files of a kernel, and the question to the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ckrules.codegen.gemm.generation import TEMPLATES as GEMM_TEMPLATES
from ckrules.codegen.gemm.generation import GemmGeneration
from ckrules.codegen.gemm.model import GemmModel
from ckrules.codegen.scaled import probe
from ckrules.codegen.scaled.cpp_names import ACTIVATIONS, PIPELINES, WIDENING
from ckrules.codegen.scaled.model import (
    ExpertModel,
    MaskedModel,
    MicroModel,
    ScaledModel,
    entries,
)
from ckrules.constraints.scaled.words import EXPERTS, MX, NARROW, TENSORS, WIDENED
from ckrules.engine.expr import Value
from ckrules.support.errors import UsageError

TEMPLATES = Path(__file__).resolve().parent / "templates"


class ScaledGeneration(GemmGeneration):
    """flatmm, for experts too, written against CK 2025.11 with the templates of GEMMs."""

    templates: tuple[Path, ...] = (TEMPLATES, GEMM_TEMPLATES)
    library = "scaled"
    template = "scaled_2025_11.hpp.j2"
    probed = probe.TEMPLATE
    probe_values = staticmethod(probe.values)
    pipelines = PIPELINES
    quantities = ("lds_bytes", "wave_size", "threads", "launch_threads", "splits_k")

    def model(
        self, point: Mapping[str, Value], name: str, ck: str, quantities: Mapping[str, Any]
    ) -> ScaledModel:
        """The model of a point whose words there is C++ for.

        Raises:
            UsageError: For scales and activations that the kernels do not have.
        """
        variant, narrow = point["variant"], point["dtype"] in NARROW
        if narrow and point["dtype"] not in WIDENED:
            raise UsageError(f"{variant} of CK {ck} has no kernel with dtype = {point['dtype']}")
        small = narrow or variant == MX
        if point["scales"] not in TENSORS or small != (point["scales"] == "per_1x32"):
            raise UsageError(f"{variant} of CK {ck} has no scales = {point['scales']}")
        if point["activation"] not in ACTIVATIONS:
            raise UsageError(f"{variant} of CK {ck} has no activation {point['activation']}")
        masked = point["grouping"] == "masked"
        if masked and variant != "flatmm":
            raise UsageError(f"{variant} of CK {ck} has no groups")
        made = {EXPERTS: ExpertModel, MX: MicroModel}.get(str(variant), ScaledModel)
        made = MaskedModel if masked else made
        found = entries(bool(quantities["splits_k"]) and not masked)
        pipeline = WIDENING if narrow else PIPELINES[str(point["pipeline"])]
        return made(name, ck, point, quantities, found, pipeline)

    def files(self, kernel: GemmModel) -> Iterator[tuple[str, str]]:
        """Header and units of a kernel; those for experts have their own."""
        own: dict[str, str] = {}
        if isinstance(kernel, MaskedModel):
            own = {self.template: "masked_2025_11.hpp.j2", "gemm_host.cpp.j2": "masked_host.cpp.j2"}
        if isinstance(kernel, MicroModel):
            own = {self.template: "mx_2025_11.hpp.j2", "gemm_host.cpp.j2": "mx_host.cpp.j2"}
        if isinstance(kernel, ExpertModel):
            own = {
                self.template: "moe_2025_11.hpp.j2",
                self.device: "moe_device.cpp.j2",
                "gemm_host.cpp.j2": "moe_host.cpp.j2",
            }
        for name, template in super().files(kernel):
            yield name, own.get(template, template)


GENERATION = ScaledGeneration()
