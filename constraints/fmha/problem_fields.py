"""The sizes of an attention problem as fields, so that rules read them beside those of the kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ckrules.constraints.fmha import vocabulary as kernels
from ckrules.constraints.fmha.problem import RULED, SIZES, WORDS, AttentionProblem
from ckrules.constraints.fmha.vocabulary import AttentionQuantities
from ckrules.engine.expr import (
    FALSE,
    BoolExpr,
    EnumExpr,
    Expr,
    IntExpr,
    Value,
    any_of,
    ite,
)
from ckrules.engine.expr.variables import Int
from ckrules.engine.rules.book import quantity

if TYPE_CHECKING:
    from ckrules.arch import Gpu

_DOCS: Mapping[str, str] = {
    "batch": "sequences", "heads": "heads of Q", "heads_k": "heads of K and V",
    "seqlen_q": "rows of Q; of the longest sequence in group mode",
    "seqlen_k": "rows of K and V; of the longest sequence in group mode",
    "hdim": "head dimension of Q and K", "hdim_v": "head dimension of V",
    "page": "rows of K and V in a page", "appended": "rows that are appended to K and V",
    "rotary": "elements of a head that are rotated",
}  # fmt: skip
_COMMON: Mapping[str, Sequence[int]] = {
    "batch": (1, 2, 8), "heads": (1, 8, 32), "heads_k": (1, 8, 32),
    "seqlen_q": (1, 100, 128, 1024), "seqlen_k": (1, 100, 128, 1024),
    "hdim": (64, 80, 128), "hdim_v": (64, 80, 128), "page": (16, 128, 256),
    "appended": (1, 64, 100), "rotary": (16, 64, 128),
}  # fmt: skip

#: A problem that the baseline of the kernels accepts.
BASELINE: Mapping[str, Value] = {
    **{f"p_{n}": 0 for n in WORDS}, "p_page": 256, "p_appended": 64, "p_rotary": 128, "p_batch": 1, "p_heads": 8, "p_heads_k": 8,
    "p_seqlen_q": 1024, "p_seqlen_k": 1024, "p_hdim": 128, "p_hdim_v": 128,
}  # fmt: skip


def fields() -> list[Expr]:
    """The sizes of a problem; words are numbers, their places among `WORDS`."""
    words = [
        Int(f"p_{name}", tuple(range(len(known))),
            doc=f"{name} of the problem: {', '.join(f'{i} {w}' for i, w in enumerate(known))}")
        for name, known in WORDS.items()
    ]  # fmt: skip

    def numbers(names: Sequence[str]) -> list[Expr]:
        return [Int(f"p_{n}", _COMMON[n], lo=1, hi=2**31 - 1, doc=_DOCS[n]) for n in names]

    return [*numbers(SIZES), *words, *numbers(RULED)]


def values(problem: AttentionProblem) -> dict[str, Value]:
    """The values of `fields` for a problem."""
    return {f"p_{name}": value for name, value in problem.sizes().items()}


class ProblemSizes:
    """The sizes of a problem beside the fields of a kernel, which has `mode`."""

    mode: EnumExpr
    p_batch: IntExpr
    p_heads: IntExpr
    p_heads_k: IntExpr
    p_seqlen_q: IntExpr
    p_seqlen_k: IntExpr
    p_hdim: IntExpr
    p_hdim_v: IntExpr
    p_mode: IntExpr
    p_mask: IntExpr
    p_bias: IntExpr
    p_logits: IntExpr
    p_lse: IntExpr
    p_dropout: IntExpr
    p_squant: IntExpr
    p_rope: IntExpr
    p_page: IntExpr
    p_appended: IntExpr
    p_rotary: IntExpr

    @property
    def grouped(self) -> BoolExpr:
        """True for kernels of group mode."""
        return self.mode == "group"

    def asks(self, name: str, word: str) -> BoolExpr:
        """Whether the problem has this word."""
        node: IntExpr = getattr(self, f"p_{name}")
        return node == WORDS[name].index(word)

    def same(self, name: str, *words: str) -> BoolExpr:
        """Whether kernel and problem have the same word of a field."""
        kernel = getattr(self, name)
        return any_of(*((kernel == word) & self.asks(name, word) for word in words))


class AttentionFit(ProblemSizes, AttentionQuantities):
    """An attention kernel and a problem."""

    @property
    def masks_tail(self) -> BoolExpr:
        """Whether scores of rows behind K's sequence are set to minus infinity."""
        always = (self.pipeline == "qr_async_trload") if self.ck == "2025.11" else FALSE
        return any_of(self.pad_sk, self.mask != "no", self.variant == "fmha_fwd_splitkv", always)

    @quantity
    def bias_vector(self) -> IntExpr:
        """Elements of a tensor of biases that a lane loads at once (kCM1PerLane)."""
        node: IntExpr = ite(self.wave_size == 64, 4, 8)
        return node


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> AttentionFit:
    """Fields of kernel and problem, with what follows from them."""
    names = [g.name for g in gpus]
    words = AttentionFit([*kernels.fields(names), *fields()], kernels.facts(gpus, ck), ck)
    words.baseline = {**kernels.BASELINE, **BASELINE}
    return words
