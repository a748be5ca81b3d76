"""How Q, K, V and O lie in memory, as a problem says it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ckrules.constraints.fmha.problem import AttentionProblem
from ckrules.kernels.parts import Tensor


class TensorMemory(NamedTuple):
    """Where the rows of a tensor of heads, rows and columns lie."""

    order: tuple[int, ...]
    """Heads, rows and columns in the order of memory, slowest first."""
    inner: int
    """How many of them, the fastest, lie side by side."""
    pitch: int
    """Elements from one of those parts to the next; 0: none lie between."""
    outer: int = 0
    """Elements from a part of one axis more to the next; 0: none lie between."""

    @classmethod
    def of(cls, problem: AttentionProblem, name: str, columns: bool) -> TensorMemory:
        """How a problem has a tensor lie; ``columns``: those of V are contiguous.

        >>> from ckrules.constraints.fmha.problem import parse
        >>> said = parse("b=1,h=2,s=8,d=16,stride_k=48,order_v=bhsd")
        >>> TensorMemory.of(said, "k", False)
        TensorMemory(order=(1, 0, 2), inner=2, pitch=48, outer=0)
        >>> TensorMemory.of(said, "v", False)
        TensorMemory(order=(0, 1, 2), inner=1, pitch=0, outer=0)
        >>> TensorMemory.of(said, "v", True)
        TensorMemory(order=(0, 2, 1), inner=1, pitch=0, outer=0)
        """
        pitch: int = getattr(problem, f"stride_{name}")
        heads: int = getattr(problem, f"head_stride_{name}")
        if columns:
            return cls((0, 2, 1), 1, pitch, heads)
        if getattr(problem, f"order_{name}") == "bhsd":
            return cls((0, 1, 2), 1, pitch, heads)
        return cls((1, 0, 2), 1, heads, pitch) if heads else cls((1, 0, 2), 2, pitch)

    def of_tensor(self, tensor: Tensor) -> Tensor:
        """A tensor whose fastest axes are these, which lie so."""
        return replace(tensor, pitch=self.pitch, inner=self.inner, outer=self.outer)
