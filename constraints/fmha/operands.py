"""The tensors that a kernel of attention forward takes, in the order in which it takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class KernelOperand(NamedTuple):
    """A tensor of a kernel."""

    name: str
    member: str
    """Of the templates' ``Attention``, which holds its address."""
    written: bool = False
    updated: bool = False
    """Whether it is read, and written in part or whole."""
    optional: bool = False
    """Whether it may be left out, being the last one: the kernel does not write it then."""

    @property
    def direction(self) -> str:
        """``in``, ``out`` or ``inout``."""
        return "inout" if self.updated else "out" if self.written else "in"


def stores_lse(config: Mapping[str, Any]) -> bool:
    """Whether LSE is a result; that of splits is not, but joins them."""
    return bool(config["lse"]) and config.get("variant") != "fmha_fwd_splitkv"


def lists_rows(config: Mapping[str, Any]) -> bool:
    """Whether rows of K and V are listed one by one: pages of a row, each sequence behind the other."""
    return config.get("variant") == "fmha_batch_prefill"


#: The random bytes by which forward drops probabilities, where there is a place for them.
RANDOM = KernelOperand("random", "random", written=True, optional=True)


def can_store_random(config: Mapping[str, Any]) -> bool:
    """Whether forward stores the random byte of each probability that it drops, if it is told to.

    Of what a mask hides, or columns that a sequence of a group lacks, there is none.

    >>> can_store_random({"variant": "fmha_fwd", "dropout": True, "mode": "batch", "mask": "no"})
    True
    """
    whole = config.get("mode") == "batch" and config.get("mask", "no") == "no"
    return whole and config.get("dropout") is True and config.get("variant") == "fmha_fwd"


def operands(config: Mapping[str, Any]) -> tuple[KernelOperand, ...]:
    """The tensors of a kernel.

    >>> [o.name for o in operands({"bias": "alibi", "mode": "group", "lse": True})]
    ['q', 'k', 'v', 'slopes', 'start_q', 'start_k', 'o', 'lse']
    >>> [o.name for o in operands({"bias": "no", "mode": "batch", "lse": False, "paged_kv": True})]
    ['q', 'k', 'v', 'pages', 'o']
    """
    found = [KernelOperand(n, n) for n in "qkv"]
    if config["bias"] != "no":
        found.append(KernelOperand("bias" if config["bias"] == "bias" else "slopes", "bias"))
    grouped = config["mode"] == "group"
    found += [KernelOperand("start_q", "start_q")] if grouped else []
    found += [KernelOperand("start_k", "start_k")] if grouped or lists_rows(config) else []
    if config.get("paged_kv"):
        found.append(KernelOperand("pages", "pages"))
    found.append(KernelOperand("o", "o", written=True))
    if stores_lse(config):
        found.append(KernelOperand("lse", "lse", written=True))
    return tuple(found)
