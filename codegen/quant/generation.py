"""How quantised GEMMs become C++: the files of a kernel, and the question to the compiler."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ckrules.codegen.entries import TemplateEntry
from ckrules.codegen.gemm import cpp_names as words
from ckrules.codegen.gemm.generation import TEMPLATES as GEMM_TEMPLATES
from ckrules.codegen.gemm.generation import GemmGeneration
from ckrules.codegen.gemm.model import GemmWithScales
from ckrules.codegen.gemm.model import entries as gemm_entries
from ckrules.codegen.gemm.probe import common
from ckrules.codegen.probing import Point, integer, pick, truth
from ckrules.codegen.quant.cpp_names import KINDS, pipeline
from ckrules.codegen.render import cpp
from ckrules.constraints.quant.words import GROUPED, SCALED, TYPES, VARIANTS
from ckrules.engine.expr import Value


def values(point: Point) -> dict[str, Any]:
    """The values of the template's names for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    a, b, both = pick(point, "dtype", TYPES)
    variant = str(point.get("variant"))
    word = str(point.get("pipeline"))
    pick(point, "pipeline", words.PROBED)
    return {
        "layouts": [words.LAYOUTS[letter] for letter in str(point.get("layout"))],
        **common(point),
        "a": words.ELEMENTS[a],
        "b": words.ELEMENTS[b],
        "compute": words.ELEMENTS[both],
        "scale": pick(point, "dtype_scale", words.ELEMENTS),
        "variant": variant,
        "kind": pick(point, "variant", KINDS),
        "groups": [integer(point, f"group_{d}") for d in "mnk"],
        "preshuffle_quant": cpp(truth(point, "preshuffle_quant")),
        "preshuffle": cpp(word == "preshufflev2"),
        "pipeline": pipeline(variant, word).cls,
        "tail": "Even" if word == "preshufflev2" else "Full",
        "operation_on_c": "set",
        "wave_groups": 1,
    }


def entries(point: Mapping[str, Value], stages: int) -> tuple[TemplateEntry, ...]:
    """The entries of a kernel's device object, the most used first.

    mem of aquant has a tail of one tile and one of two (BaseAQuantGemmPipelineAgBgCrMem).
    """
    if (point["variant"], point["pipeline"]) != ("aquant", "mem"):
        return gemm_entries(point, stages, splits=False)
    return tuple(
        TemplateEntry(f"{'hot' if hot else 'cold'}_{tail.lower()}_set", hot, tail, "set")
        for hot in (True, False)
        for tail in ("Odd", "Even")
    )


class QuantModel(GemmWithScales):
    """A quantised GEMM kernel."""

    __slots__ = ()
    dtypes = TYPES
    kernel = "QuantGemmKernel"
    persistent = False
    wave_groups = 1
    strided = VARIANTS
    """The variants whose tensors may have strides: all."""

    @property
    def types(self) -> tuple[str, str, str, str]:
        a, b, _ = self.dtypes[str(self.point["dtype"])]
        c = str(self.point["dtype_c"])
        first, second, result = (words.ELEMENTS[t] for t in (a, b, c))
        return first, second, "float", result

    @property
    def compute(self) -> str:
        """The C++ type that instructions see on both sides."""
        return words.ELEMENTS[self.dtypes[str(self.point["dtype"])][2]]

    @property
    def scale(self) -> str:
        """The C++ type of the scales."""
        return words.ELEMENTS[str(self.point["dtype_scale"])]

    @property
    def kind(self) -> str:
        """The enumerator of QuantType."""
        return KINDS[str(self.point["variant"])]

    @property
    def grouped(self) -> bool:
        """Whether scales belong to groups along K."""
        return self.point["variant"] in GROUPED

    @property
    def groups(self) -> tuple[Value, ...]:
        """The rows, columns and elements of K that share a scale."""
        return self._triple("group")

    @property
    def scales(self) -> tuple[str, ...]:
        return SCALED[str(self.point["variant"])]

    @property
    def shuffled(self) -> bool:
        return self.point["pipeline"] == "preshufflev2"


TEMPLATES = Path(__file__).resolve().parent / "templates"


class QuantGeneration(GemmGeneration):
    """Quantised GEMMs, written against CK 2025.11: the templates of GEMMs with other blocks."""

    templates: tuple[Path, ...] = (TEMPLATES, GEMM_TEMPLATES)
    library = "quant"
    template = "quant_2025_11.hpp.j2"
    device = "quant_device.cpp.j2"
    unit = "quant_unit.cpp.j2"
    probed = "quant_probe_2025_11.cpp.j2"
    probe_values = staticmethod(values)

    def model(
        self, point: Mapping[str, Value], name: str, ck: str, quantities: Mapping[str, Any]
    ) -> QuantModel:
        found = entries(point, int(quantities["mem_stages"] or 2))
        classes = pipeline(str(point["variant"]), str(point["pipeline"]))
        return QuantModel(name, ck, point, quantities, found, classes)


GENERATION = QuantGeneration()
