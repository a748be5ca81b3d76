"""The tensors of the kernels before and after attention, in the order in which they take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckrules.constraints.fmha.operands import KernelOperand
from ckrules.constraints.fmha_steps.words import COMBINE, CONVERT, DOT

_READ: Mapping[str, Sequence[KernelOperand]] = {
    COMBINE: (KernelOperand("o_acc", "o_acc"), KernelOperand("lse_acc", "lse_acc")),
    DOT: (KernelOperand("o", "o"), KernelOperand("do", "d_o")),
    CONVERT: (KernelOperand("dq_acc", "dq_acc"),),
}
_WRITTEN: Mapping[str, str] = {COMBINE: "o", DOT: "d", CONVERT: "dq"}


def operands(config: Mapping[str, Any]) -> tuple[KernelOperand, ...]:
    """The tensors of a kernel; one that appends K and V has none here, and is not run.

    >>> point = {"variant": "fmha_fwd_splitkv_combine", "mode": "group", "lse": True}
    >>> [o.name for o in operands(point)]
    ['o_acc', 'lse_acc', 'start_q', 'o', 'lse']
    """
    variant = str(config["variant"])
    found = list(_READ[variant])
    if config["mode"] == "group":
        found.append(KernelOperand("start_q", "start_q"))
        if config.get("deterministic"):
            found.append(KernelOperand("start_k", "start_k"))
    found.append(KernelOperand(_WRITTEN[variant], _WRITTEN[variant], written=True))
    if config.get("lse"):
        found.append(KernelOperand("lse", "lse", written=True))
    return tuple(found)
