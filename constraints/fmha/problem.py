"""Problems of attention: lengths, heads, head dimensions and functions, and the line that says them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckrules.engine.expr import Value
from ckrules.kernels.problem_text import size, sizes_of, values_by_name
from ckrules.support.errors import UsageError, unknown

#: What a problem computes, in words.
FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "mode": ("batch", "group"),
    "mask": ("no", "causal", "window"),
    "bias": ("no", "bias", "alibi"),
    **dict.fromkeys(("logits", "lse", "dropout", "squant"), ("no", "yes")),
    "rope": ("no", "inter", "halves"),
}
#: Tensors whose order in memory and strides a problem can say.
STRIDED = ("q", "k", "v", "o")
#: How tensors lie: rows of all heads, or a head's rows, one behind the other; V as the kernel has it.
ORDERS: Mapping[str, tuple[str, ...]] = {
    **{f"order_{x}": ("bshd", "bhsd") for x in STRIDED}, "v_layout": ("any", "row", "col"),
}  # fmt: skip
#: Whether each softmax has a further score of its head, as kernels of 2026 can have.
SINKS: Mapping[str, tuple[str, ...]] = {"sink": ("no", "yes")}
#: The words of a problem, by size; their places are the numbers that rules read.
WORDS: Mapping[str, tuple[str, ...]] = {**FUNCTIONS, **ORDERS, **SINKS}
#: Elements from a row to the next (of column-major V from a column); 0: none lie between.
_ROW_STRIDES = tuple(f"stride_{x}" for x in STRIDED)
#: Elements from a head to the next; 0: as the order has it.
HEAD_STRIDES = tuple(f"head_stride_{x}" for x in STRIDED)
STRIDES = (*_ROW_STRIDES, *HEAD_STRIDES)
SIZES = ("batch", "heads", "heads_k", "seqlen_q", "seqlen_k", "hdim", "hdim_v")
#: What can be said of groups, windows, splits of K, pages, appended rows, and of random numbers (1:
#: they are stored); -1: as the others say.
FURTHER = (
    "total_q", "total_k", "left", "right", "splits", "page", "appended", "rotary", "random",
)  # fmt: skip
#: Those of them that rules read, and that may be unknown or without an end, which is -1.
UNSAID = ("total_q", "total_k", "left", "right")
#: What rules read beside sizes and words, as the problem has it where nothing is said.
RULED = ("page", "appended", "rotary", *STRIDES, *UNSAID)
#: The numbers at the beginning of ``ckrules_attention``, in order.
PACKED = (*SIZES, *FUNCTIONS, *ORDERS, *RULED)
#: What rules on sinks read beside: columns that windows keep, and splits.
OF_SINKS = ("sink_size", "splits")
SOFT_CAP = 8.0
"""What scores are capped by where that is asked for; small, so that it shows."""
P_SCALE = 128.0
"""What static quantisation multiplies P by, and O divides by again."""
P_DROP, SEED, OFFSET = 0.25, 0x1234567890ABCDEF, 40
"""How many probabilities are dropped where that is asked for, and which."""
_ALIASES = {
    "b": "batch", "h": "heads", "hq": "heads", "heads_q": "heads", "nhead_q": "heads",
    "h_k": "heads_k", "hk": "heads_k", "heads_kv": "heads_k", "nhead_k": "heads_k",
    "s": "seqlen_q", "s_k": "seqlen_k", "sq": "seqlen_q", "sk": "seqlen_k", "d": "hdim",
    "hdim_q": "hdim", "d_v": "hdim_v", "dv": "hdim_v", "window_left": "left",
    "window_right": "right", "vlayout": "v_layout", "layout_v": "v_layout",
    **{f"nhead_stride_{x}": f"head_stride_{x}" for x in STRIDED},
}  # fmt: skip
_NUMBERS = (*FURTHER, *STRIDES, "sink_size")
_NAMES = (*SIZES, *WORDS, *_NUMBERS)
#: What is said of several at once.
_OF_ALL: Mapping[str, tuple[str, ...]] = {"order": tuple(f"order_{x}" for x in STRIDED)}
_SAME = {
    "none": "no", "0": "no", "false": "no", "1": "yes", "true": "yes", "elementwise": "bias",
    "varlen": "group", "interleaved": "inter", "half": "halves", "r": "row", "c": "col",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class AttentionProblem:
    """O = softmax(Q K + bias) V for each head of each sequence.

    In group mode the lengths are those of the longest sequence, and others may have any: together
    they have ``total_q`` and ``total_k`` rows (`rows_of`). A window shows ``left`` columns before
    the diagonal, which ends at the last row and column, and ``right`` behind it. Orders and strides
    say how Q, K, V and O lie in memory: packed, with all heads of a row side by side, unless said.
    With ``sink`` each head has a score beside those of K; a window shows the first ``sink_size``
    columns, too, up to its own right side, to rows that have a number below K's length.

    >>> str(AttentionProblem(2, 32, 8, 1024, 1024, 128, 128))
    'batch=2,heads=32,heads_k=8,seqlen_q=1024,seqlen_k=1024,hdim=128'
    """

    batch: int
    heads: int
    heads_k: int
    seqlen_q: int
    seqlen_k: int
    hdim: int
    hdim_v: int
    mode: str = "batch"
    mask: str = "no"
    bias: str = "no"
    logits: str = "no"
    lse: str = "no"
    dropout: str = "no"
    squant: str = "no"
    rope: str = "no"
    order_q: str = "bshd"
    order_k: str = "bshd"
    order_v: str = "bshd"
    order_o: str = "bshd"
    v_layout: str = "any"
    total_q: int = -1
    total_k: int = -1
    left: int = -1
    right: int = -1
    splits: int = -1
    page: int = -1
    appended: int = -1
    rotary: int = -1
    random: int = -1
    stride_q: int = 0
    stride_k: int = 0
    stride_v: int = 0
    stride_o: int = 0
    head_stride_q: int = 0
    head_stride_k: int = 0
    head_stride_v: int = 0
    head_stride_o: int = 0
    sink: str = "no"
    sink_size: int = 0

    @property
    def window(self) -> tuple[int, int]:
        """Columns left and right of the diagonal that count; -1: all.

        >>> parse("b=1,h=1,s=8,d=64,mask=causal").window
        (-1, 0)
        >>> parse("b=1,h=1,s=8,d=64,mask=window").window
        (127, 0)
        """
        if self.mask == "window":
            return (127 if self.left < 0 else self.left), max(self.right, 0)
        return -1, (0 if self.mask == "causal" else -1)

    @property
    def parts(self) -> int:
        """The splits of K; 4 unless it is said."""
        return 4 if self.splits < 0 else self.splits

    @property
    def page_rows(self) -> int:
        """Rows of K and V in a page, of kernels that read pages; 256 unless it is said."""
        return 256 if self.page < 0 else self.page

    @property
    def appended_rows(self) -> int:
        """Rows that are appended to K and V, which have ``seqlen_k`` then; as Q has unless said.

        >>> parse("b=1,h=1,s=8,s_k=100,d=64").appended_rows
        8
        """
        return min(self.seqlen_q, self.seqlen_k) if self.appended < 0 else self.appended

    @property
    def rotary_size(self) -> int:
        """Elements of a head that are rotated: all, in multiples of 16, unless it is said.

        >>> parse("b=1,h=1,s=8,d=72").rotary_size
        64
        """
        return max(16, self.hdim // 16 * 16) if self.rotary < 0 else self.rotary

    @property
    def cached_rows(self) -> tuple[int, ...]:
        """Rows of K and V before others are appended: of the first sequence most.

        Of others with pages so many that the last new row is the first of a page, if there are.

        >>> parse("b=3,h=1,s=4,s_k=100,d=64").cached_rows
        (96, 60, 60)
        >>> parse("b=3,h=1,s=4,s_k=100,d=64,page=16").cached_rows
        (96, 93, 93)
        """
        longest = self.seqlen_k - self.appended_rows
        other = longest * 5 // 8
        if self.page > 0 and (last := longest - (self.seqlen_k - 1) % self.page) >= 0:
            other = last
        return (longest, *[other] * (self.batch - 1))

    def rows_of(self, name: str) -> tuple[int, ...]:
        """The lengths of the sequences of ``q`` or ``k``: one has the longest, others the rest.

        >>> parse("b=3,h=1,s=100,d=64").rows_of("q")
        (100, 100, 100)
        >>> parse("b=3,h=1,s=100,d=64,mode=group").rows_of("q")
        (100, 62, 62)
        >>> parse("b=3,h=1,s=100,d=64,mode=group,total_q=101").rows_of("q")
        (100, 1, 0)
        """
        longest: int = getattr(self, f"seqlen_{name}")
        if self.mode != "group":
            return (longest,) * self.batch
        others, total = self.batch - 1, getattr(self, f"total_{name}")
        rest = others * max(1, longest * 5 // 8) if total < 0 else total - longest
        return (longest, *(rest // others + (i < rest % others) for i in range(others)))

    @property
    def flops(self) -> int:
        """Both products, of half the scores where a causal mask leaves half of them out."""
        whole = 2 * self.batch * self.heads * self.seqlen_q * self.seqlen_k
        products = whole * (self.hdim + self.hdim_v)
        return products // 2 if self.mask == "causal" else products

    def sizes(self) -> dict[str, int]:
        """Every size by name, words by their places, and what rules read of the others."""
        numbers = {name: getattr(self, name) for name in SIZES}
        words = {n: known.index(getattr(self, n)) for n, known in WORDS.items()}
        said = (getattr(self, name) for name in (*STRIDES, "total_q", "total_k"))
        ruled = (self.page_rows, self.appended_rows, self.rotary_size, *said, *self.window)
        late = dict(zip(OF_SINKS, (self.sink_size, self.parts), strict=True))
        return {**numbers, **words, **dict(zip(RULED, ruled, strict=True)), **late}

    def __str__(self) -> str:
        text = ",".join(f"{n}={getattr(self, n)}" for n in SIZES[:-1])
        text += "" if self.hdim_v == self.hdim else f",hdim_v={self.hdim_v}"
        return text + "".join(f",{n}={v}" for n, v in self.said().items())

    def said(self) -> dict[str, str | int]:
        """Words and further numbers that are not as they are where nothing is said.

        >>> parse("b=1,h=2,s=8,d=64,order=bhsd,order_o=bshd,stride_k=72").said()
        {'order_q': 'bhsd', 'order_k': 'bhsd', 'order_v': 'bhsd', 'stride_k': 72}
        """
        usual = {**{n: words[0] for n, words in WORDS.items()}, **dict.fromkeys(FURTHER, -1)}
        usual |= dict.fromkeys((*STRIDES, "sink_size"), 0)
        return {n: getattr(self, n) for n, value in usual.items() if getattr(self, n) != value}


def parse(text: str) -> AttentionProblem:
    """The problem that a text says; K has Q's heads, length and V its head dimension unless said.

    >>> parse("batch=1,heads=8,seqlen_q=100,hdim=128,mask=causal").seqlen_k
    100
    >>> parse("b=1,h=8,s=100,d=128,mode=group").mode
    'group'

    A window whose side is -1 shows all columns there, as callers of kernels say it.

    >>> str(parse("b=1,h=1,s=8,s_k=9,d=64,mask=window,left=-1,right=2"))
    'batch=1,heads=1,heads_k=1,seqlen_q=8,seqlen_k=9,hdim=64,mask=window,left=8,right=2'

    Raises:
        UsageError: For what is not a problem of attention, with the reason.
    """
    return from_mapping(sizes_of(text))


def from_mapping(given: Mapping[str, Any]) -> AttentionProblem:
    """`parse` for names and values that are already apart, such as a JSON object.

    Raises:
        UsageError: For what is not a problem of attention, with the reason.
    """
    values = values_by_name(given, _ALIASES)
    for name in values:
        if name not in (*_NAMES, *_OF_ALL):
            raise unknown("size of an attention problem", str(name), (*_NAMES, *_OF_ALL))
    for name in (n for n in _OF_ALL if n in values):
        value = values.pop(name)
        values = {**dict.fromkeys(_OF_ALL[name], value), **values}
    for name in ("batch", "heads", "seqlen_q", "hdim"):
        if name not in values:
            raise UsageError(f"the problem has no {name}")
    otherwise = {"heads_k": "heads", "seqlen_k": "seqlen_q", "hdim_v": "hdim"}
    numbers = {n: size(n, values.get(n, values.get(otherwise.get(n, n)))) for n in SIZES}
    words = {n: _word(n, values[n]) for n in WORDS if n in values}
    if numbers["heads"] % numbers["heads_k"]:
        text = f"heads = {numbers['heads']} is not a multiple of heads_k = {numbers['heads_k']}"
        raise UsageError(text)
    least = {"splits": 1, "page": 1, "appended": 1, "rotary": 2}
    least |= dict.fromkeys((*STRIDES, "sink_size"), 0)
    further = {n: size(n, values[n], least.get(n, -1)) for n in _NUMBERS if n in values}
    if words.get("mask") == "window":
        ends = {"left": numbers["seqlen_k"] - 1, "right": numbers["seqlen_q"] - 1}
        further |= {n: most for n, most in ends.items() if further.get(n) == -1}
    everything: dict[str, Any] = {**numbers, **words, **further}
    found = AttentionProblem(**everything)
    _check_further(found)
    return found


def _check_further(problem: AttentionProblem) -> None:
    """Complains of sizes that others do not leave, and of windows without use."""
    if problem.random > 1:
        raise UsageError(f"random = {problem.random}, expected 0 or 1")
    if problem.random > 0 and (problem.dropout, problem.mask, problem.mode) != (
        "yes",
        "no",
        "batch",
    ):
        raise UsageError("random = 1 is for dropout = yes, mask = no, mode = batch")
    if problem.appended_rows > problem.seqlen_k:
        text = f"seqlen_k = {problem.seqlen_k}, of which they are the last"
        raise UsageError(f"appended = {problem.appended} is larger than {text}")
    if problem.rotary % 2 and problem.rotary > 0:
        raise UsageError(f"rotary = {problem.rotary} is odd: elements are rotated in pairs")
    for name in "qk":
        total, longest = getattr(problem, f"total_{name}"), getattr(problem, f"seqlen_{name}")
        if total < 0:
            continue
        if problem.mode != "group":
            raise UsageError(f"total_{name} = {total} is for mode = group")
        most = longest * problem.batch
        if not longest <= total <= most:
            text = f"seqlen_{name} = {longest} and batch * seqlen_{name} = {most}"
            raise UsageError(f"total_{name} = {total} is not between {text}")
    for name in ("left", "right"):
        if getattr(problem, name) >= 0 and problem.mask != "window":
            raise UsageError(f"{name} = {getattr(problem, name)} is for mask = window")
    if problem.sink_size and problem.mask != "window":
        raise UsageError(f"sink_size = {problem.sink_size} is for mask = window")


def _word(name: str, value: Any) -> str:
    word = str(value).strip().lower()
    found = word if word in WORDS[name] else _SAME.get(word, word)
    if found not in WORDS[name]:
        raise unknown(name, word, WORDS[name])
    return found


def from_row(cells: Mapping[str, str]) -> AttentionProblem:
    """The problem of a table's row, whose other columns mean nothing.

    Raises:
        UsageError: For what is not a problem of attention, with the reason.
    """
    known = {*_NAMES, *_OF_ALL, *_ALIASES}
    return from_mapping({k: v.strip() for k, v in cells.items() if k in known and v.strip()})


def pack(problem: AttentionProblem) -> bytes:
    """``ckrules_attention`` of ``runtime/ckrules_attention.h``: 38 numbers of 64 bits, 5 doubles.

    Raises:
        UsageError: For a problem with sinks, which no kernel has that can be built.
    """
    if problem.sink == "yes" or problem.sink_size:
        raise UsageError("attention with sinks is not run: kernels are built for CK 2025.11 alone")
    sizes = problem.sizes() | {f"total_{n}": sum(problem.rows_of(n)) for n in "qk"}
    numbers = (*(sizes[name] for name in PACKED), SEED, OFFSET, problem.parts)
    return struct.pack("=38q5d", *numbers, 0.0, SOFT_CAP, P_SCALE, 1 / P_SCALE, P_DROP)


def row(problem: AttentionProblem, variant: str) -> dict[str, Value]:
    """The columns that a problem fills in tables of results."""
    sizes = {n: getattr(problem, n) for n in SIZES}
    return {**sizes, **problem.said(), "flops": problem.flops}
