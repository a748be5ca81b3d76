"""What the templates of GEMMs with scales see as ``k``."""

from __future__ import annotations

from ckrules.codegen.entries import TemplateEntry
from ckrules.codegen.gemm import cpp_names as words
from ckrules.codegen.gemm.model import GemmModel, KernelTensor
from ckrules.codegen.scaled.cpp_names import GRANULARITIES
from ckrules.constraints.scaled.words import TENSORS, TYPES, VARIANTS


def entries(splits: bool) -> tuple[TemplateEntry, ...]:
    """The entries of a kernel's device object: flatmm has one for odd and for even sums."""
    return tuple(
        TemplateEntry(f"hot_{tail.lower()}_{operation}", True, tail, operation)
        for operation in (("set", "atomic_add") if splits else ("set",))
        for tail in ("Odd", "Even")
    )


class ScaledModel(GemmModel):
    """A GEMM kernel whose operands have scales."""

    __slots__ = ()
    dtypes = TYPES

    @property
    def types(self) -> tuple[str, str, str, str]:
        """The C++ types of A, B, the sums and C."""
        a, b, sums = self.dtypes[str(self.point["dtype"])]
        found = (words.ELEMENTS[t] for t in (a, b, sums, str(self.point["dtype_c"])))
        first, second, third, c = found
        return first, second, third, c

    @property
    def layouts(self) -> tuple[str, ...]:
        """K is contiguous in A and in B, N in C."""
        return tuple(words.LAYOUTS[letter] for letter in "rcr")

    @property
    def rows(self) -> tuple[bool, ...]:
        """Whether rows are contiguous in A, B and C."""
        return True, False, True

    @property
    def granularity(self) -> str:
        """The argument of ``FlatmmScalePointer``."""
        return GRANULARITIES[str(self.point["scales"])]

    @property
    def tensors(self) -> tuple[KernelTensor, ...]:
        """A, B, their scales, and C."""
        names = ("a", "b", *TENSORS[str(self.point["scales"])], "c")
        return tuple(KernelTensor(name, name) for name in names)

    @property
    def kernel(self) -> str:
        """The kernel class."""
        return "FlatmmKernel"

    @property
    def operation(self) -> str:
        """The class of the operation on C: none."""
        return words.OPERATIONS["passthrough"]

    @property
    def ds(self) -> int:
        """There are no D tensors."""
        return 0

    @property
    def tile_each(self) -> bool:
        """Blocks of a persistent grid look behind their first tile whether more are left."""
        return True

    @property
    def strided(self) -> tuple[str, ...]:
        """The variants whose tensors may have strides: all."""
        return VARIANTS

    @property
    def shuffled(self) -> bool:
        """B is always shuffled beforehand."""
        return True
