"""How GEMMs with scales become C++: the files of a kernel, and the question to the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ckrules.codegen.gemm.generation import TEMPLATES as GEMM_TEMPLATES
from ckrules.codegen.gemm.generation import GemmGeneration
from ckrules.codegen.gemm.model import GemmModel
from ckrules.codegen.gemm.probe import common
from ckrules.codegen.probing import Point, integer, pick, truth
from ckrules.codegen.render import cpp
from ckrules.codegen.scaled.cpp_names import (
    ACTIVATIONS,
    ELEMENTS,
    GRANULARITIES,
    KINDS,
    PIPELINES,
    PROBED,
    WIDENING,
)
from ckrules.codegen.scaled.model import ExpertModel, MaskedModel, MicroModel, ScaledModel, entries
from ckrules.constraints.scaled.words import EXPERTS, MX, NARROW, TENSORS, TYPES, WIDENED
from ckrules.engine.expr import Value
from ckrules.support.errors import UsageError


def values(point: Point) -> dict[str, Any]:
    """The values of the template's names for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    a, b, _ = pick(point, "dtype", TYPES)
    experts = point.get("variant") == "moe_flatmm"
    plain = {"pipeline": pick(point, "pipeline", PROBED), "narrow": False, "blocked": 0}
    return {
        "experts": experts,
        "a": ELEMENTS[a],
        "b": ELEMENTS[b],
        **common(point),
        "persistent": cpp(truth(point, "persistent")),
        "wave_groups": integer(point, "num_wave_groups"),
        "scale": pick(point, "scales", GRANULARITIES),
        "operation_on_c": "set",
        **plain,
        "micro": point.get("variant") == MX,
        "masked": point.get("grouping") == "masked",
        **({"blocked": 2} if point.get("variant") == MX else {}),
        **(_of_experts(point) if experts else {}),
    }


def _of_experts(point: Point) -> dict[str, Any]:
    """What kernels for experts say beside flatmm: the stage, and the narrow weights' pipeline."""
    stage, narrow = integer(point, "stage"), point.get("dtype") in NARROW
    pipeline = pick(point, "pipeline", PROBED)
    if narrow and pipeline == PROBED["moe_flatmm"]:
        pipeline = WIDENING.cls
    return {
        "narrow": narrow,
        "pipeline": pipeline,
        # moe_flatmm.cpp: flatmm_calc (BlockedXDLN_PerWarp)
        "blocked": 2 if narrow or stage == 1 else 1,
        "kind": KINDS.get(stage, f"kFFN_gemm{stage}"),
        "scale_a": "-1" if narrow else pick(point, "scales", GRANULARITIES),
    }


TEMPLATES = Path(__file__).resolve().parent / "templates"


class ScaledGeneration(GemmGeneration):
    """flatmm, for experts too, written against CK 2025.11 with the templates of GEMMs."""

    templates: tuple[Path, ...] = (TEMPLATES, GEMM_TEMPLATES)
    library = "scaled"
    template = "scaled_2025_11.hpp.j2"
    probed = "scaled_probe_2025_11.cpp.j2"
    probe_values = staticmethod(values)
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
