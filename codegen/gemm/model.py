"""What the templates of GEMMs see as ``k``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ckrules.codegen.entries import TemplateEntry, tails
from ckrules.codegen.gemm import cpp_names as words
from ckrules.codegen.gemm.cpp_names import GemmPipelineName
from ckrules.codegen.tile_gemm import TileGemmModel
from ckrules.constraints.gemm.problem_fields import STRIDED
from ckrules.constraints.gemm.problem_rules.several import MOST_GROUPS
from ckrules.constraints.gemm.words import TYPES
from ckrules.engine.expr import Value

_HALVES = {
    "compv6": [(True, "Odd"), (True, "Even"), (False, "Odd"), (False, "Even")],
    "comp_async": [(True, "Three"), (True, "Two"), (False, "Two"), (False, "One")],
    "preshufflev2": [(True, "Odd"), (True, "Even")],
}


def decides(point: Mapping[str, Value]) -> bool:
    """Whether hot loop and tail are chosen on the device, so that they are not compiled in.

    Stream-K does so, and grouped kernels where they are persistent or have two LDS buffers
    (grouped_gemm_kernel.hpp, GroupedGemmKernel::Run).
    """
    if point["variant"] == "stream_k":
        return True
    return point["variant"] == "grouped" and bool(
        point["persistent"] or point["double_smem_buffer"]
    )


def entries(point: Mapping[str, Value], stages: int, splits: bool) -> tuple[TemplateEntry, ...]:
    """The entries of a kernel's device object, the most used first.

    Args:
        stages: Block tiles that the pipeline ``mem`` has under way (`mem_stages` of the rules).
        splits: Whether results can be added to memory (`splits_k` of the rules).
    """
    pipeline = str(point["pipeline"])
    if decides(point):
        stored = {"atomic": ("atomic_add",), "linear": ("set",)}
        named = stored.get(str(point["streamk"]), ("set", "atomic_add") if splits else ("set",))
        return tuple(TemplateEntry(f"main_{op}", True, "Full", op) for op in named)
    found = _HALVES[pipeline] if pipeline in _HALVES else tails(pipeline, stages)
    return tuple(
        TemplateEntry(f"{'hot' if hot else 'cold'}_{tail.lower()}_{op}", hot, tail, op)
        for op in (("set", "atomic_add") if splits else ("set",))
        for hot, tail in found
    )


@dataclass(frozen=True, slots=True)
class KernelTensor:
    """A tensor of a kernel: its name, and the member of ``Product`` that holds its address."""

    name: str
    member: str


@dataclass(frozen=True, slots=True)
class GemmModel(TileGemmModel):
    """A GEMM kernel."""

    entries: tuple[TemplateEntry, ...]
    pipeline: GemmPipelineName
    dtypes: ClassVar[Mapping[str, tuple[str, str, str]]] = TYPES
    """The types that a word of the field ``dtype`` means, of A and of B first."""
    result: ClassVar[str] = "OUT"
    """What a kernel does with C, an enumerator of ckrules_kernel.h."""
    most_groups: ClassVar[int] = MOST_GROUPS
    """Groups that the arguments of a launch describe."""

    @property
    def types(self) -> tuple[str, str, str, str]:
        """The C++ types of A, B, the sums and C."""
        a, b, _ = self.dtypes[str(self.point["dtype"])]
        rest = (str(self.point["dtype_acc"]), str(self.point["dtype_c"]))
        first, second, sums, c = (words.ELEMENTS[t] for t in (a, b, *rest))
        return first, second, sums, c

    @property
    def layouts(self) -> tuple[str, ...]:
        """The layouts of A, B, C and, last, of every D."""
        return tuple(words.LAYOUTS[letter] for letter in str(self.point["layout"]))

    @property
    def rows(self) -> tuple[bool, ...]:
        """Whether rows are contiguous in A, B, C and, last, in every D."""
        return tuple(letter == "r" for letter in str(self.point["layout"]))

    @property
    def kernel(self) -> str:
        """The kernel class."""
        return words.KERNELS[str(self.point["variant"])]

    @property
    def operation(self) -> str:
        """The class of the operation on C and every D."""
        return words.OPERATIONS[str(self.point["elementwise_op"])]

    @property
    def scheduler(self) -> str:
        """The enumerator of GemmPipelineScheduler."""
        return words.SCHEDULERS[str(self.point["scheduler"])]

    @property
    def splits_k(self) -> bool:
        """Whether there is an instantiation for sums that are split into parts."""
        return len({e.operation for e in self.entries}) > 1

    @property
    def decides(self) -> bool:
        """Whether hot loop and tail are chosen on the device."""
        return decides(self.point)

    @property
    def strategy(self) -> str:
        """The enumerator of StreamKReductionStrategy."""
        return words.STRATEGIES[str(self.point["streamk"])]

    @property
    def ds(self) -> int:
        """How many D tensors there are."""
        return int(self.point["num_d"])

    @property
    def tensors(self) -> tuple[KernelTensor, ...]:
        """The tensors in the order in which the host library takes their addresses."""
        ds = (KernelTensor(f"d{n}", f"ds[{n}]") for n in range(self.ds))
        return (KernelTensor("a", "a"), KernelTensor("b", "b"), *ds, KernelTensor("c", "c"))

    @property
    def columns(self) -> str:
        """The columns of C, in C++: a member of a problem, and what is made of it."""
        return "n"

    @property
    def added(self) -> str:
        """The elements of C, in C++, where every launch adds to it; empty: none does."""
        return ""

    @property
    def persistent(self) -> bool:
        """Whether as many blocks are launched as run at once."""
        return bool(self.point["persistent"])

    @property
    def tile_each(self) -> bool:
        """Whether every block computes a tile, be there one for it or not."""
        return False

    @property
    def fills_gpu(self) -> bool:
        """Whether the grid has as many blocks as run at once."""
        return self.persistent

    @property
    def asks_grid(self) -> bool:
        """Whether the kernel says the grid by its arguments."""
        return self.tile_each

    @property
    def wave_groups(self) -> int:
        """The wave groups of a block."""
        return int(self.point["num_wave_groups"])

    @property
    def needs_room(self) -> bool:
        """Whether a launch depends on how many blocks the GPU has room for."""
        return self.fills_gpu or self.point["variant"] == "stream_k"

    def entry_args(self, number: int) -> str:
        """The type of an entry's arguments; those of several classes are laid out alike."""
        own = self.point["variant"] in ("batched", "stream_k")
        return f"Entry{number}::KernelArgs" if own else "kernel::KernelArgs"

    @property
    def strided(self) -> tuple[str, ...]:
        """The variants whose tensors may have strides."""
        return STRIDED

    @property
    def narrow(self) -> tuple[bool, bool]:
        """Whether two elements of A share a byte, and whether two of B do."""
        a, b, _ = self.dtypes[str(self.point["dtype"])]
        return a == "int4", b == "int4"

    @property
    def shuffled(self) -> bool:
        """Whether B is shuffled beforehand."""
        return self.point["variant"] == "preshuffle"


class GemmWithScales(GemmModel, ABC):
    """A GEMM kernel that has scales beside A and B, and no D tensors."""

    __slots__ = ()
    operation = words.OPERATIONS["passthrough"]
    ds = 0

    @property
    @abstractmethod
    def scales(self) -> tuple[str, ...]:
        """The tensors of scales."""

    @property
    def tensors(self) -> tuple[KernelTensor, ...]:
        """A, B, their scales, and C."""
        return tuple(KernelTensor(name, name) for name in ("a", "b", *self.scales, "c"))
