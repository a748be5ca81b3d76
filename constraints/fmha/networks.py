"""Attention of well-known networks: what kernels are compared by where nobody names a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ckrules.constraints.fmha.problem import WORDS, AttentionProblem, parse
from ckrules.constraints.fmha.words import MASKS
from ckrules.kernels.networks import networks_of

#: Functions that a problem asks for where the kernels have nothing else.
_FUNCTIONS = ("bias", "logits", "lse", "dropout", "squant")
#: Kernels of single rows of Q, which come one after the other.
_SINGLE = {"fmha_fwd_splitkv", "fmha_fwd_splitkv_combine", "fmha_fwd_appendkv"}


def usual(values: Mapping[str, Sequence[Any]]) -> Sequence[AttentionProblem]:
    """The problems that kernels with these values of fields are made for.

    Those of one head dimension, 128 where kernels of several are compared; with a causal mask where
    any of them has masks, and none else; single rows of Q for split-KV and what comes before and after it, and more for the others.

    >>> str(usual({"hdim": (64, 128), "mask": ("no",)})[0])
    'batch=1,heads=24,heads_k=24,seqlen_q=4608,seqlen_k=4608,hdim=128'
    >>> str(usual({"hdim": (64,), "mask": ("no", "mask"), "lse": (True,)})[0])
    'batch=8,heads=12,heads_k=12,seqlen_q=1024,seqlen_k=1024,hdim=64,mask=causal,lse=yes'
    """
    heads = values.get("hdim", (128,))
    head = 128 if 128 in heads else max(heads)
    variants = set(values.get("variant", ()))
    single = bool(variants) and variants <= _SINGLE
    known = [parse(p) for n in networks_of(__package__) for p in n.problems]
    known = [p for p in known if (p.seqlen_q == 1) == single]
    nearest = min((p.hdim for p in known), key=lambda d: abs(d - head))
    masked = any(m != "no" for m in values.get("mask", MASKS))
    fit = [p for p in known if p.hdim == nearest]
    fit = [p for p in fit if (p.mask == "causal") == masked] or fit
    if nearest != head:
        fit = [replace(p, hdim=head, hdim_v=head) for p in fit]
    words: dict[str, Any] = {n: _word(n, values) for n in ("mode", *_FUNCTIONS)}
    words["mask"] = "causal" if masked else "no"
    return list(dict.fromkeys(replace(p, **words) for p in fit))


def _word(name: str, values: Mapping[str, Sequence[Any]]) -> str:
    """The plainest word of a function that kernels have."""
    words, known = WORDS[name], values.get(name, ())
    has = [words[int(v)] if isinstance(v, bool) else str(v) for v in known]
    has = [word if word in words else words[-1] for word in has]  # kinds of dropout, of backward
    return next((w for w in words if w in has), words[0])
