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


def lists_rows(config: Mapping[str, Any]) -> bool:
    """Whether rows of K and V are listed one by one: pages of a row, each sequence behind the other."""
    return config.get("variant") == "fmha_batch_prefill"


#: What is stored where there is a place for it: the random bytes by which forward drops
#: probabilities, and LSE of the whole, which the splits of K are joined by in any case.
RANDOM = KernelOperand("random", "random", written=True, optional=True)
JOINED_LSE = KernelOperand("lse", "lse", written=True, optional=True)


def can_store_random(config: Mapping[str, Any]) -> bool:
    """Whether forward stores the random byte of each probability that it drops, if it is told to.

    Of what a mask hides, or columns that a sequence of a group lacks, there is none.

    >>> can_store_random({"variant": "fmha_fwd", "dropout": True, "mode": "batch", "mask": "no"})
    True
    """
    whole = config.get("mode") == "batch" and config.get("mask", "no") == "no"
    return whole and config.get("dropout") is True and config.get("variant") == "fmha_fwd"


def joins_splits(config: Mapping[str, Any]) -> bool:
    """Whether it computes splits of K, which a second launch joins."""
    return config.get("variant") == "fmha_fwd_splitkv"


def left_out(config: Mapping[str, Any]) -> tuple[KernelOperand, ...]:
    """The tensor that a kernel can store and that may be left out, if there is one.

    >>> [o.name for o in left_out({"variant": "fmha_fwd_splitkv", "lse": True})]
    ['lse']
    """
    if joins_splits(config):
        return (JOINED_LSE,)
    return (RANDOM,) if can_store_random(config) else ()


def operands(config: Mapping[str, Any]) -> tuple[KernelOperand, ...]:
    """The tensors of a kernel, but for the one that may be left out.

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
    if config["lse"] and not joins_splits(config):
        found.append(KernelOperand("lse", "lse", written=True))
    return tuple(found)
