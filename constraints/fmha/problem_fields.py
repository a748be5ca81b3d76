"""The sizes of an attention problem as fields, so that rules read them beside those of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from ckrules.constraints.fmha import vocabulary as kernels
from ckrules.constraints.fmha.problem import (
    OF_SINKS,
    RULED,
    SIZES,
    STRIDED,
    STRIDES,
    UNSAID,
    WORDS,
    AttentionProblem,
)
from ckrules.constraints.fmha.vocabulary import AttentionQuantities
from ckrules.engine.expr import (
    FALSE,
    BoolExpr,
    EnumExpr,
    Expr,
    IntExpr,
    Value,
    all_of,
    any_of,
    ceil_div,
    implies,
    ite,
    maximum,
)
from ckrules.engine.expr.variables import Int
from ckrules.engine.rules.book import Vocabulary, quantity, quantity_in

if TYPE_CHECKING:
    from ckrules.arch import Gpu

V = TypeVar("V", bound=Vocabulary)

_DOCS: Mapping[str, str] = {
    "batch": "sequences", "heads": "heads of Q", "heads_k": "heads of K and V",
    "seqlen_q": "rows of Q; of the longest sequence in group mode",
    "seqlen_k": "rows of K and V; of the longest sequence in group mode",
    "hdim": "head dimension of Q and K", "hdim_v": "head dimension of V",
    "page": "rows of K and V in a page", "appended": "rows that are appended to K and V",
    "sink_size": "first columns that a window keeps", "splits": "splits of K",
    "rotary": "elements of a head that are rotated",
    **{f"stride_{x}": f"elements from a row of {x.upper()} to the next; 0: packed" for x in "qko"},
    "stride_v": "elements from a row of V, or a column of column-major V, to the next; 0: packed",
    **{f"head_stride_{x}": f"elements from a head of {x.upper()} to the next; 0: as the order has it"
       for x in STRIDED},
    "total_q": "rows of Q of all sequences of a group; -1: not said",
    "total_k": "rows of K and V of all sequences of a group; -1: not said",
    "left": "columns before the diagonal that a window shows; -1: all",
    "right": "columns behind the diagonal that a window shows; -1: all",
}  # fmt: skip
_COMMON: Mapping[str, Sequence[int]] = {
    "batch": (1, 2, 8), "heads": (1, 8, 32), "heads_k": (1, 8, 32),
    "seqlen_q": (1, 100, 128, 1024), "seqlen_k": (1, 100, 128, 1024),
    "hdim": (64, 80, 128), "hdim_v": (64, 80, 128), "page": (16, 128, 256),
    "appended": (1, 64, 100), "rotary": (16, 64, 128), **dict.fromkeys(STRIDES, (0,)),
    "total_q": (-1, 1024, 2048), "total_k": (-1, 1024, 2048), "left": (-1, 0, 127),
    "right": (-1, 0, 127), "sink_size": (0, 4, 128), "splits": (1, 4),
}  # fmt: skip

#: A problem that the baseline of the kernels accepts.
BASELINE: Mapping[str, Value] = {
    **{f"p_{n}": 0 for n in (*WORDS, *STRIDES)}, **{f"p_{n}": -1 for n in UNSAID}, "p_page": 256, "p_appended": 64, "p_rotary": 128, "p_batch": 1, "p_heads": 8, "p_heads_k": 8,
    "p_sink_size": 0, "p_splits": 4,
    "p_seqlen_q": 1024, "p_seqlen_k": 1024, "p_hdim": 128, "p_hdim_v": 128,
}  # fmt: skip


def fields() -> list[Expr]:
    """The sizes of a problem; words are numbers, their places among `WORDS`."""
    words = [
        Int(f"p_{name}", tuple(range(len(known))),
            doc=f"{name} of the problem: {', '.join(f'{i} {w}' for i, w in enumerate(known))}")
        for name, known in WORDS.items()
    ]  # fmt: skip

    least = {**dict.fromkeys((*STRIDES, "sink_size"), 0), **dict.fromkeys(UNSAID, -1)}

    def numbers(names: Sequence[str]) -> list[Expr]:
        return [
            Int(f"p_{n}", _COMMON[n], lo=least.get(n, 1), hi=2**31 - 1, doc=_DOCS[n]) for n in names
        ]

    return [*numbers(SIZES), *words, *numbers((*RULED, *OF_SINKS))]


def values(problem: AttentionProblem) -> dict[str, Value]:
    """The values of `fields` for a problem."""
    return {f"p_{name}": value for name, value in problem.sizes().items()}


class ProblemSizes:
    """The sizes of a problem beside the fields of a kernel, which has `mode`, and `mask` or none."""

    mode: EnumExpr
    mask: EnumExpr
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
    p_order_q: IntExpr
    p_order_k: IntExpr
    p_order_v: IntExpr
    p_order_o: IntExpr
    p_v_layout: IntExpr
    p_sink: IntExpr
    p_sink_size: IntExpr
    p_splits: IntExpr
    p_page: IntExpr
    p_appended: IntExpr
    p_rotary: IntExpr
    p_stride_q: IntExpr
    p_stride_k: IntExpr
    p_stride_v: IntExpr
    p_stride_o: IntExpr
    p_head_stride_q: IntExpr
    p_head_stride_k: IntExpr
    p_head_stride_v: IntExpr
    p_head_stride_o: IntExpr
    p_total_q: IntExpr
    p_total_k: IntExpr
    p_left: IntExpr
    p_right: IntExpr

    @property
    def grouped(self) -> BoolExpr:
        """True for kernels of group mode."""
        return self.mode == "group"

    @property
    def several(self) -> BoolExpr:
        """Whether other sequences than the longest have lengths of their own."""
        return self.grouped & (self.p_batch > 1)

    def rows_for_all(self, name: str) -> BoolExpr:
        """Whether rows of Q or K are enough for every sequence of a group to have one.

        Lengths are known on the GPU alone, one by one; what is known is what the longest leaves.
        """
        total: IntExpr = getattr(self, f"p_total_{name}")
        longest: IntExpr = getattr(self, f"p_seqlen_{name}")
        return (total < 0) | (total - longest >= self.p_batch - 1)

    def first_tile(self, row: IntExpr | int, tile: IntExpr) -> IntExpr:
        """The column with which the tiles of K begin that a window shows of a row of Q."""
        column = maximum(row - self.p_left + self.p_seqlen_k - self.p_seqlen_q, 0)
        ended = all_of(self.asks("mask", "window"), self.p_left >= 0)
        return ite(ended, column // tile * tile, 0)

    def asks(self, name: str, word: str) -> BoolExpr:
        """Whether the problem has this word."""
        node: IntExpr = getattr(self, f"p_{name}")
        return node == WORDS[name].index(word)

    @property
    def packed_tensors(self) -> BoolExpr:
        """Whether rows lie one behind the other, with their heads side by side."""
        orders = self.p_order_q + self.p_order_k + self.p_order_v + self.p_order_o
        rows = self._largest("stride")
        return all_of(orders == 0, rows == 0, self._largest("head_stride") == 0)

    def _largest(self, kind: str) -> IntExpr:
        """The largest stride of this kind of Q, K, V and O."""
        q, k, v, o = (getattr(self, f"p_{kind}_{x}") for x in STRIDED)
        return maximum(maximum(q, k), maximum(v, o))

    def same(self, name: str, *words: str) -> BoolExpr:
        """Whether kernel and problem have the same word of a field."""
        kernel = getattr(self, name)
        return any_of(*((kernel == word) & self.asks(name, word) for word in words))

    @property
    def keeps_columns(self) -> BoolExpr:
        """Whether a window is asked to show first columns of K that it would not."""
        hidden = all_of(self.p_left >= 0, self.p_seqlen_k > self.p_left + 1)
        return all_of(self.asks("mask", "window"), self.p_sink_size > 0, hidden)

    @property
    def columns_of_v(self) -> BoolExpr:
        """Whether the columns of V are contiguous."""
        return FALSE

    @property
    def paged(self) -> BoolExpr:
        """Whether K and V lie in pages."""
        return FALSE

    @property
    def listed(self) -> BoolExpr:
        """Whether rows of K and V are listed one by one."""
        return FALSE

    @property
    def held_rows(self) -> IntExpr:
        """Rows of K and V that one tensor has."""
        return self.p_seqlen_k

    def columns(self, name: str) -> IntExpr:
        """Elements of a row of a head."""
        return self.p_hdim if name in "qk" else self.p_hdim_v

    def heads_of(self, name: str) -> IntExpr:
        """Heads of a tensor."""
        return self.p_heads if name in "qo" else self.p_heads_k

    def packed(self, name: str) -> IntExpr:
        """Elements of a row of all heads, or of one, from its first; of column-major V of a column."""
        columns, apart = self.columns(name), self.head_stride(name)
        node: IntExpr = ite(
            self.asks(f"order_{name}", "bhsd"),
            columns,
            self.heads_of(name) * ite(apart == 0, columns, apart),
        )
        return ite(self.columns_of_v, self.held_rows, node) if name == "v" else node

    def head_stride(self, name: str) -> IntExpr:
        """Elements from a head to the next as the problem says them; 0: it does not."""
        node: IntExpr = getattr(self, f"p_head_stride_{name}")
        return node

    def row_step(self, name: str) -> IntExpr:
        """Elements from a row, or column of column-major V, to the next."""
        stride: IntExpr = getattr(self, f"p_stride_{name}")
        return ite(stride == 0, self.packed(name), stride)

    def _by_head(self, name: str) -> BoolExpr:
        """Whether the rows, or columns, of a head follow each other."""
        found = self.asks(f"order_{name}", "bhsd")
        return found | (self.columns_of_v) if name == "v" else found

    def head_step(self, name: str) -> IntExpr:
        """Elements from a head to the next."""
        rows = self.p_seqlen_q if name in "qo" else self.held_rows
        if name == "v":
            rows = ite(self.columns_of_v, self.p_hdim_v, rows)
        follows = ite(self._by_head(name), rows * self.row_step(name), self.columns(name))
        stride = self.head_stride(name)
        return ite(stride == 0, follows, stride)

    def follows(self, name: str) -> BoolExpr:
        """Whether nothing lies between the rows and heads of Q, K or O."""
        by_head, columns = self._by_head(name), self.columns(name)
        stride, row, heads = self.head_stride(name), self.row_step(name), self.heads_of(name)
        head = ite(by_head, self.lying_rows(name) * columns, columns)
        rows = row == ite(by_head, columns, heads * columns)
        return all_of(rows, any_of(stride == 0, stride == head))

    def batch_step(self, name: str) -> IntExpr:
        """Elements from a sequence, or page, to the next."""
        rows = self.p_seqlen_q if name in "qo" else self.held_rows
        return ite(
            self._by_head(name),
            self.heads_of(name) * self.head_step(name),
            rows * self.row_step(name),
        )

    def spanned(self, name: str, rows: IntExpr) -> IntExpr:
        """Elements from the first to the last of so many rows of a head, or of its columns of V."""
        lines, line = rows, self.columns(name)
        if name == "v":
            lines = ite(self.columns_of_v, self.p_hdim_v, rows)
            line = ite(self.columns_of_v, rows, self.p_hdim_v)
        return (lines - 1) * self.row_step(name) + line

    def rows_apart(self) -> BoolExpr:
        """Whether what is contiguous in Q, K, V and O does not overlap, nor do heads that lie apart."""
        return all_of(*map(self._rows_apart, STRIDED), *map(self._heads_apart, STRIDED))

    def _rows_apart(self, name: str) -> BoolExpr:
        """Whether rows, or columns, do not overlap; those of several heads that lie apart may."""
        several = all_of(self.head_stride(name) != 0, ~self._by_head(name))
        return any_of(self.row_step(name) >= self.packed(name), several)

    def _heads_apart(self, name: str) -> BoolExpr:
        """Whether heads whose distance is said do not overlap, nor do rows of all of them."""
        stride, columns = self.head_stride(name), self.columns(name)
        by_head, heads = self._by_head(name), self.heads_of(name)
        head = ite(by_head, self.spanned(name, self.lying_rows(name)), columns)
        rows = self.row_step(name) >= (heads - 1) * stride + columns
        return any_of(stride == 0, all_of((heads == 1) | (stride >= head), by_head | rows))

    def lying_rows(self, name: str) -> IntExpr:
        """Rows of Q, K, V or O that follow each other: of a group those of all, where they are said."""
        queries = name in "qo"
        longest = self.p_seqlen_q if queries else self.held_rows
        total = self.p_total_q if queries else self.p_total_k
        together = all_of(self.grouped, total >= 0)
        if not queries:
            together = all_of(together, ~self.paged | self.listed)
        return ite(together, total, longest)

    def parts_reach(self, parts: IntExpr, columns: IntExpr) -> IntExpr:
        """Bytes from a head of a sequence in the first part to its end in the last, in fp32."""
        sequences = ite(self.grouped, 1, self.p_batch)
        part = sequences * self.p_heads * self.lying_rows("q") * columns
        return ((parts - 1) * part + self.p_seqlen_q * columns) * 4

    @property
    def mask_as_asked(self) -> BoolExpr:
        """Whether the kernel's mask can say the problem's: simplified and generic ones every mask."""
        return any_of(
            (self.mask == "no") & self.asks("mask", "no"),
            self.mask.isin("mask", "generic") & ~self.asks("mask", "no"),
            (self.mask == "causal") & self.asks("mask", "causal"),
        )

    def v_as_asked(self) -> BoolExpr:
        """Whether V has the layout that a kernel takes, which is one of the two."""
        return self.asks("v_layout", "any") | self.same("v_layout", "row", "col")

    def short_steps(self) -> BoolExpr:
        """Whether steps from head to head, and sequence to sequence or page to page, have 32 bits."""
        batches, paged, listed = ~self.grouped & (self.p_batch > 1), self.paged, self.listed

        def short(name: str) -> list[BoolExpr]:
            several = any_of(paged & ~listed, ~paged & batches) if name in "kv" else batches
            return [
                implies(self.heads_of(name) > 1, self.head_step(name) < 2**31),
                implies(several, self.batch_step(name) < 2**31),
            ]

        return self.of_each(short)

    def of_each(self, holds: Callable[[str], Sequence[BoolExpr]]) -> BoolExpr:
        """What holds of Q, K, V and O, first where heads lie as the order has it, then where apart.

        Each has a sentence of its own, of which the second says how far apart (`with_heads`).
        """
        terms = [(self.head_stride(x) != 0, term) for x in STRIDED for term in holds(x)]
        ordered = (apart | term for apart, term in terms)
        return all_of(*ordered, *(~apart | term for apart, term in terms))


class AttentionFit(ProblemSizes, AttentionQuantities):
    """An attention kernel and a problem."""

    @property
    def masks_tail(self) -> BoolExpr:
        """Whether scores of rows behind K's sequence are set to minus infinity."""
        always = (self.pipeline == "qr_async_trload") if self.ck == "2025.11" else FALSE
        return any_of(self.pad_sk, self.mask != "no", self.variant == "fmha_fwd_splitkv", always)

    @quantity_in("columns")
    def window_begins(self) -> IntExpr:
        """Where the tiles of K begin that a window shows of them, of the block where it is latest.

        Of groups of several sequences it is the latest that there can be.
        """
        block = (ceil_div(self.p_seqlen_q, self.tile_m0) - 1) * self.tile_m0
        row: IntExpr = ite(self.several, self.p_seqlen_q - 1, block)
        return self.first_tile(row, self.tile_n0)

    @quantity
    def split_length(self) -> IntExpr:
        """Columns of a split of K that is not the last; of kernels without splits all."""
        split = (self.variant == "fmha_fwd_splitkv") & ~self.paged_kv  # of pages tiles are aligned
        length: IntExpr = ite(split, ceil_div(self.p_seqlen_k, self.p_splits), self.p_seqlen_k)
        return maximum(length, 1)

    @quantity
    def last_split(self) -> IntExpr:
        """Columns of the last split that has any."""
        begins = maximum(self.p_seqlen_k - 1, 0) // self.split_length * self.split_length
        return self.p_seqlen_k - begins

    @quantity
    def bias_vector(self) -> IntExpr:
        """Elements of a tensor of biases that a lane loads at once (kCM1PerLane)."""
        return ite(self.wave_size == 64, 4, 8)

    @quantity_in("bytes")
    def result_bytes(self) -> IntExpr:
        """Size of an element of O."""
        half = self.dtype.isin("fp8fp16", "fp8bf16")
        return ite(self.dtype == "fp8fp32", 4, ite(half, 2, self.element_bytes))

    @property
    def paged(self) -> BoolExpr:
        """Whether K and V lie in pages."""
        return self.paged_kv

    @property
    def listed(self) -> BoolExpr:
        """Whether rows of K and V are listed one by one."""
        return self.variant == "fmha_batch_prefill"

    @property
    def found_by_page(self) -> BoolExpr:
        """Whether pages of batch prefill have addresses of their own, as since 2026.06.

        Those shorter than a tile have offsets in the whole cache, unless loads take 64 bits.
        """
        return all_of(self.listed, any_of(self.page_size >= self.tile_n0, self.kv_global))

    @property
    def columns_of_v(self) -> BoolExpr:
        """Whether the columns of V are contiguous."""
        return self.v_layout == "col"

    @property
    def held_rows(self) -> IntExpr:
        """Rows of K and V that one tensor has: of a sequence, a page, or of all that are listed."""
        return ite(
            self.listed,
            self.p_batch * self.p_seqlen_k,
            ite(self.paged_kv, self.p_page, self.p_seqlen_k),
        )

    def reach(self, name: str) -> IntExpr:
        """Bytes from the first element of a head of a sequence to its last that has an offset.

        Rows of O's last tile have one where rows are not padded.
        """
        rows = self.p_seqlen_q if name in "qo" else self.held_rows
        if name == "o":
            rows = ite(self.pad_s, rows, whole_tiles(rows, self.tile_m0))
        elif name in "kv" and self.since("2026.06"):
            rows = ite(self.found_by_page, self.p_page, rows)
        return self.spanned(name, rows) * (self.result_bytes if name == "o" else self.element_bytes)


def whole_tiles(rows: IntExpr, tile: IntExpr) -> IntExpr:
    """Rows with those that a last tile has more."""
    return ceil_div(rows, tile) * tile


def fitted(fit: type[V], own: Vocabulary) -> V:
    """Fields of kernels and of a problem, with what follows from them.

    Args:
        fit: The class of both.
    """
    words = fit([*own.variables.values(), *fields()], own.facts, own.ck)
    words.baseline = {**own.baseline, **BASELINE}
    return words


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> AttentionFit:
    """Fields of kernel and problem, with what follows from them."""
    return fitted(AttentionFit, kernels.vocabulary(ck, gpus))
