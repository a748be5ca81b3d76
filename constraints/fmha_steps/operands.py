"""The tensors of the kernels before and after attention, in the order in which they take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckrules.constraints.fmha.operands import KernelOperand
from ckrules.constraints.fmha_steps.words import APPEND, COMBINE, CONVERT, DOT

_READ: Mapping[str, Sequence[KernelOperand]] = {
    COMBINE: (KernelOperand("o_acc", "o_acc"), KernelOperand("lse_acc", "lse_acc")),
    DOT: (KernelOperand("o", "o"), KernelOperand("do", "d_o")),
    CONVERT: (KernelOperand("dq_acc", "dq_acc"),),
}
_WRITTEN: Mapping[str, str] = {COMBINE: "o", DOT: "d", CONVERT: "dq"}


def operands(config: Mapping[str, Any]) -> tuple[KernelOperand, ...]:
    """The tensors of a kernel.

    >>> point = {"variant": "fmha_fwd_splitkv_combine", "mode": "group", "lse": True}
    >>> [o.name for o in operands(point)]
    ['o_acc', 'lse_acc', 'start_q', 'o', 'lse']
    >>> point = {"variant": "fmha_fwd_appendkv", "rope": "inter", "paged_kv": True}
    >>> [o.name for o in operands(point)]
    ['q', 'k', 'v', 'k_new', 'v_new', 'cached', 'cos', 'sin', 'pages']
    """
    variant = str(config["variant"])
    if variant == APPEND:
        return _appended(rotated=config["rope"] != "no", paged=bool(config["paged_kv"]))
    found = list(_READ[variant])
    if config["mode"] == "group":
        found.append(KernelOperand("start_q", "start_q"))
        if config.get("deterministic"):
            found.append(KernelOperand("start_k", "start_k"))
    found.append(KernelOperand(_WRITTEN[variant], _WRITTEN[variant], written=True))
    if config.get("lse"):
        found.append(KernelOperand("lse", "lse", written=True))
    return tuple(found)


def _appended(*, rotated: bool, paged: bool) -> tuple[KernelOperand, ...]:
    """Q where it is rotated, K and V, new rows, rows there are, cosines, sines and pages."""
    updated = ("q", "k", "v") if rotated else ("k", "v")
    read = ["k_new", "v_new", "cached", *(("cos", "sin") if rotated else ())]
    return (
        *(KernelOperand(n, n, updated=True) for n in updated),
        *(KernelOperand(n, n) for n in (*read, *(["pages"] if paged else []))),
    )
