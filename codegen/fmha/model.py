"""What the templates of attention see as ``k``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from ckrules.codegen.model import KernelModel
from ckrules.constraints.fmha.operands import (
    KernelOperand,
    joins_splits,
    left_out,
    lists_rows,
    operands,
)
from ckrules.constraints.fmha.problem import WORDS


class AttentionEntry(NamedTuple):
    """A launch of a kernel; names are those of its header."""

    suffix: str
    cls: str
    args: str = "kernel_args"
    grid: str = "grid_of"
    few: bool | None = None
    """Whether it is launched for few splits alone, or for more; None: always."""


class OwnFunction(NamedTuple):
    """A function that kernels have or have not."""

    mine: bool
    member: str
    """Of ``ckrules_attention``."""
    what: str


class OwnChoice(NamedTuple):
    """A function of which kernels have one of several."""

    member: str
    """Of ``ckrules_attention``."""
    number: int
    """As problems number it."""
    what: str

    @classmethod
    def of(cls, name: str, word: object, what: str) -> Self:
        """The choice of a word.

        >>> OwnChoice.of("bias", "alibi", "bias").number
        2
        """
        return cls(name, WORDS[name].index(str(word)), what)


@dataclass(frozen=True, slots=True)
class AttentionModel(KernelModel):
    """A kernel of attention, forward."""

    operands = staticmethod(operands)
    """The tensors of a point, but for one that may be left out."""

    words: Mapping[str, Any]
    """The C++ words of its configuration (`ckrules.codegen.fmha.generation.words_of`)."""

    @property
    def tensors(self) -> tuple[KernelOperand, ...]:
        """The tensors in the order in which the host library takes their addresses."""
        return (*self.operands(self.point), *left_out(self.point))

    @property
    def joins(self) -> bool:
        """Whether it computes splits of K, which a second launch joins, or joins them."""
        return joins_splits(self.point)

    @property
    def optional(self) -> KernelOperand | None:
        """The last tensor, where it may be left out."""
        last = self.tensors[-1]
        return last if last.optional else None

    @property
    def workspace(self) -> bool:
        """Whether it needs memory beside the tensors."""
        return self.joins

    @property
    def cleared(self) -> tuple[KernelOperand, ...]:
        """The tensors that are zero before the launch."""
        return ()

    @property
    def entries(self) -> tuple[AttentionEntry, ...]:
        """Its launches, in order."""
        main = AttentionEntry("main", "Kernel")
        if not self.joins:
            return (main,)
        grid = "combine_grid_of"
        return (
            main,
            AttentionEntry("combine", "CombineKernel", "combine_args", grid, few=True),
            AttentionEntry(
                "combine_many", "CombineManyKernel", "combine_many_args", grid, few=False
            ),
        )

    @property
    def launches(self) -> tuple[tuple[str, tuple[AttentionEntry, ...]], ...]:
        """The entries that are launched, and on which condition; the last ones on none."""
        few = tuple(e for e in self.entries if e.few is not False)
        rest = tuple(e for e in self.entries if not e.few)
        return (("", rest),) if few == rest else (("few_splits(p)", few), ("", rest))

    @property
    def arguments(self) -> str:
        """The template of what it is handed."""
        paged = self.point["variant"] == "fmha_fwd_pagedkv"
        return f"fmha_{'splitkv' if self.joins else 'pagedkv' if paged else 'fwd'}_args.hpp.j2"

    @property
    def paged(self) -> bool:
        """Whether K and V lie in pages."""
        return bool(self.point.get("paged_kv"))

    @property
    def listed(self) -> bool:
        """Whether rows of K and V are listed one by one."""
        return lists_rows(self.point)

    @property
    def functions(self) -> tuple[OwnFunction, ...]:
        """What tells kernels apart that compute different things."""
        switches = {
            "logits": "soft cap", "lse": "LSE", "dropout": "dropout",
            "squant": "static quantisation",
        }  # fmt: skip
        return (
            self.own_mode,
            self.own_mask,
            *(
                OwnFunction(bool(self.point[n]), n, text)
                for n, text in switches.items()
                if n != "lse" or not self.joins
            ),
        )

    @property
    def own_mode(self) -> OwnFunction:
        """What tells kernels of groups apart."""
        return OwnFunction(self.grouped, "mode", "sequences of different lengths (group mode)")

    @property
    def own_mask(self) -> OwnFunction:
        """What tells kernels with a mask apart."""
        return OwnFunction(self.masked, "mask", "mask")

    @property
    def grouped(self) -> bool:
        """Whether sequences have lengths of their own."""
        return self.point["mode"] == "group"

    @property
    def rows(self) -> bool:
        """Whether rows of V are contiguous."""
        return self.point["v_layout"] == "row"

    @property
    def strided(self) -> str:
        """The tensors whose order and strides its problems say."""
        return "qkvo"

    @property
    def lying(self) -> tuple[str, ...]:
        """Further tensors whose steps are of 32 bits."""
        return ()

    @property
    def masked(self) -> bool:
        """Whether it has a mask."""
        return self.point["mask"] != "no"

    @property
    def windowless(self) -> bool:
        """Whether its mask has one edge only."""
        return self.point["mask"] == "causal"

    @property
    def choices(self) -> tuple[OwnChoice, ...]:
        """What tells kernels apart that have one of several."""
        return (OwnChoice.of("bias", self.point["bias"], "bias"),)

    @property
    def appends(self) -> bool:
        """Whether it appends rows to K and V."""
        return False

    @property
    def bias(self) -> int:
        """What it adds to the scores, as problems number it."""
        return WORDS["bias"].index(str(self.point["bias"]))
