"""What the templates of GEMMs with scales see as ``k``."""

from __future__ import annotations

from ckrules.codegen.entries import TemplateEntry
from ckrules.codegen.gemm import cpp_names as words
from ckrules.codegen.gemm.model import GemmWithScales, KernelTensor
from ckrules.codegen.scaled.cpp_names import ACTIVATIONS, ELEMENTS, GRANULARITIES, KINDS
from ckrules.constraints.scaled.words import ROUTING, TENSORS, TYPES, VARIANTS, WIDENED


def entries(splits: bool) -> tuple[TemplateEntry, ...]:
    """The entries of a kernel's device object: flatmm has one for odd and for even sums."""
    return tuple(
        TemplateEntry(f"hot_{tail.lower()}_{operation}", True, tail, operation)
        for operation in (("set", "atomic_add") if splits else ("set",))
        for tail in ("Odd", "Even")
    )


class ScaledModel(GemmWithScales):
    """A GEMM kernel whose operands have scales."""

    __slots__ = ()
    dtypes = TYPES
    rows = (True, False, True)
    """Whether rows are contiguous in A, B and C."""
    strided: tuple[str, ...] = VARIANTS
    """The variants whose tensors may have strides: all."""
    tile_each = True
    """Blocks of a persistent grid look behind their first tile whether more are left."""
    shuffled = True
    """B is always shuffled beforehand."""
    kernel = "FlatmmKernel"

    @property
    def types(self) -> tuple[str, str, str, str]:
        a, b, sums = self.dtypes[str(self.point["dtype"])]
        found = (ELEMENTS[t] for t in (a, b, sums, str(self.point["dtype_c"])))
        first, second, third, c = found
        return first, second, third, c

    @property
    def layouts(self) -> tuple[str, ...]:
        """K is contiguous in A and in B, N in C."""
        return tuple(words.LAYOUTS[letter] for letter in "rcr")

    @property
    def granularity(self) -> str:
        """The argument of ``FlatmmScalePointer``."""
        return GRANULARITIES[str(self.point["scales"])]

    @property
    def scales(self) -> tuple[str, ...]:
        return TENSORS[str(self.point["scales"])]


class MaskedModel(ScaledModel):
    """A GEMM of several groups, of whose rows a list says how many count."""

    __slots__ = ()
    kernel = "GroupedFlatmmKernel"
    strided = ()
    tile_each = False
    fills_gpu = True
    asks_grid = True
    result = "INOUT"
    """Rows that do not count stay as they are."""

    @property
    def tensors(self) -> tuple[KernelTensor, ...]:
        """How many rows of each group count, and the tensors of all groups."""
        return (KernelTensor("rows", "rows"), *super().tensors)


class MicroModel(ScaledModel):
    """A GEMM whose operands have 4 bits, and scales for every 32 along K."""

    __slots__ = ()
    kernel = "MXFlatmmKernel"
    narrow = (True, True)
    """Two elements share a byte, of A and of B."""


class ExpertModel(ScaledModel):
    """One of the two GEMMs of a mixture of experts."""

    __slots__ = ()
    kernel = "MoeFlatmmKernel"

    @property
    def kind(self) -> str:
        """The enumerator of ``MoeFlatmmKind``."""
        return KINDS[int(self.point["stage"])]

    @property
    def widens(self) -> bool:
        """Whether weights have 4 bits, which are widened to the type of A."""
        return self.point["dtype"] in WIDENED

    @property
    def granularity(self) -> str:
        """The argument of ``FlatmmScalePointer`` of A's rows, which 4-bit weights do not have."""
        return GRANULARITIES["no"] if self.widens else super().granularity

    @property
    def scales(self) -> tuple[str, ...]:
        """The tensors of scales; 4-bit weights alone have them."""
        return ("bq",) if self.widens else super().scales

    @property
    def activation(self) -> str:
        """The class of the activation; empty: that of the header."""
        return ACTIVATIONS[str(self.point["activation"])]

    @property
    def tensors(self) -> tuple[KernelTensor, ...]:
        """The routing, A, B, their scales, the bias and C."""
        bias = ("bias",) if self.point["bias"] else ()
        names = (*ROUTING, "a", "b", *self.scales, *bias, "c")
        return tuple(KernelTensor(name, name) for name in names)

    @property
    def columns(self) -> str:
        """The columns of C, in C++: gate and up halves become one."""
        return "n / 2" if self.point["stage"] == 1 else "n"

    @property
    def added(self) -> str:
        """The elements of C, to which the second GEMM adds what each expert has for a token."""
        if self.point["stage"] == 2:
            return "static_cast<int64_t>(kargs.NumTokens - 1) * kargs.stride_C + kargs.N"
        rows = "static_cast<int64_t>(kargs.NumTokens * kargs.TopK - 1)"
        return f"{rows} * kargs.stride_C + kargs.N / 2" if self.splits_k else ""
