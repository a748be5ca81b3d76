"""The tensors that a kernel of attention backward takes, in the order in which it takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.fmha import operands as forward
from ckrules.constraints.fmha.operands import KernelOperand
from ckrules.constraints.fmha_bwd.words import STORED


def stores_random(config: Mapping[str, Any]) -> bool:
    """Whether the random bytes by which probabilities are dropped are a result."""
    return config.get("dropout") in STORED


def operands(config: Mapping[str, Any]) -> tuple[KernelOperand, ...]:
    """The tensors of a kernel; dQ is summed in ``dq_acc`` but where Q is one tile.

    >>> point = {"bias": "bias", "mode": "batch", "dbias": True, "max_seqlen_q": 0}
    >>> [o.name for o in operands(point)]
    ['q', 'k', 'v', 'bias', 'lse', 'do', 'd', 'dq_acc', 'dk', 'dv', 'dbias']
    """
    read = [o for o in forward.operands({**config, "lse": False}) if not o.written]
    read += [KernelOperand("lse", "lse"), KernelOperand("do", "d_o"), KernelOperand("d", "d")]
    summed = "dq" if config["max_seqlen_q"] else "dq_acc"
    written = [summed, "dk", "dv", *(["dbias"] if config["dbias"] else [])]
    written += ["random"] if stores_random(config) else []
    return (*read, *(KernelOperand(n, n, written=True) for n in written))
