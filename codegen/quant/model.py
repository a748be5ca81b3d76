"""What the templates of quantised GEMMs see as ``k``: a GEMM with scales beside A and B."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.codegen.entries import TemplateEntry
from ckrules.codegen.gemm import cpp_names as words
from ckrules.codegen.gemm.model import GemmWithScales
from ckrules.codegen.gemm.model import entries as gemm_entries
from ckrules.codegen.quant.cpp_names import KINDS
from ckrules.constraints.quant.words import GROUPED, SCALED, TYPES, VARIANTS
from ckrules.engine.expr import Value


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
