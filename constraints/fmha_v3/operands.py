"""The tensors that a kernel of attention with two groups of waves takes, in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha import operands as forward
from ckrules.constraints.fmha.operands import KernelOperand


def operands(config: Mapping[str, Any]) -> tuple[KernelOperand, ...]:
    """The tensors of a kernel: those of forward without bias.

    >>> [o.name for o in operands({"mode": "group", "lse": True})]
    ['q', 'k', 'v', 'start_q', 'start_k', 'o', 'lse']
    """
    return forward.operands({**config, "bias": "no"})
