"""The grammar of kernel names: one table makes the fast pattern and the walk that explains.

:data:`NAME` and :data:`DEPTHWISE_NAME` accept exactly the texts that :mod:`ckrules.names` would
write; :func:`explain` says where another text leaves the grammar. Both come from the same tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, NoReturn

from ckrules.engine.errors import UsageError, nearest

#: The largest number that a name may hold.
MAX_NUMBER = 1_000_000

VARIANTS = {"fwd": "forward", "bwd_data": "bwd_data", "bwd_weight": "bwd_weight"}
DEPTHWISE = "forward_depthwise"
DTYPES = ("fp16", "bf16", "fp32")
PIPELINES = (
    "basic_v1", "basic_v2", "basic_async_v1", "mem", "compv3", "compv4", "compv5", "compv6",
    "comp_async", "wavelet",
)  # fmt: skip
PIPELINE_ALIASES = {"compv1": "basic_v1", "compv2": "basic_v2"}
SPECIALIZATIONS = ("filter1x1_pad0", "filter1x1_stride1_pad0", "filter3x3")
LAYOUTS = {1: "nwgc", 2: "nhwgc", 3: "ndhwgc"}
DEPTHWISE_LAYOUTS = {2: "ngchw"}
#: The layout that upstream writes whatever the number of dimensions.
UPSTREAM_LAYOUT = "nhwgc"

TILES = tuple(f"{g}_{x}" for g in ("tile", "wave", "warp_tile") for x in "mnk")
VECTORS = ("vector_a", "vector_b", "vector_c")
DEFAULT_VECTORS = (4, 8, 8)
PADS = ("pad_m", "pad_n", "pad_k")
DEPTHWISE_NUMBERS = (
    "tile_h", "tile_w", "filter", "stride_h", "stride_w", "pad_h", "pad_w", "nbatch",
    "sub_h", "sub_w", "in_vec", "out_vec",
)  # fmt: skip


class KernelNameError(UsageError):
    """A text is no kernel name; ``column`` (from 1) is where, ``expected`` what should be there."""

    def __init__(self, text: str, column: int, expected: str, hint: str = "") -> None:
        self.text, self.column, self.expected, self.hint = text, column, expected, hint
        rest = text[column - 1 : column + 23]
        found = repr(rest + ("…" if len(text) > column + 23 else "")) if rest else "the end"
        shown = text if len(text) <= 200 else text[:200] + "…"
        super().__init__(
            f"kernel name, column {column}: expected {expected}, found {found}"
            f"{'; ' + hint if hint else ''} (in {shown!r})"
        )

    def __reduce__(self) -> tuple[type[KernelNameError], tuple[str, int, str, str]]:
        return type(self), (self.text, self.column, self.expected, self.hint)


@dataclass(frozen=True, slots=True)
class _Piece:
    """One token of a name: a literal, one of several words, or a number."""

    what: str
    words: tuple[str, ...] = ()  # empty: a number
    field: str = ""  # empty: nothing to remember
    low: int = 1

    @property
    def pattern(self) -> str:
        if self.words:
            found = "|".join(re.escape(w) for w in sorted(self.words, key=len, reverse=True))
        else:
            found = rf"{'0|' if not self.low else ''}{MAX_NUMBER}|[1-9][0-9]{{0,5}}"
        return f"(?P<{self.field}>{found})" if self.field else f"(?:{found})"


@dataclass(frozen=True, slots=True)
class _Suffix:
    """One optional part: its first letters, its tokens, and the text nobody writes."""

    head: str
    shown: str
    pieces: tuple[_Piece, ...]
    default: str = ""
    guard: str = ""

    @property
    def pattern(self) -> str:
        guard = rf"(?!{self.default}(?![0-9]))" if self.default else self.guard
        return f"(?:{guard}{''.join(p.pattern for p in self.pieces)})?"


def _lit(text: str, field: str = "") -> _Piece:
    return _Piece(repr(text), (text,), field)


def _one(field: str, words: Iterable[str]) -> _Piece:
    pool = tuple(words)
    return _Piece(f"{field} ({', '.join(pool)})", pool, field)


def _num(field: str, low: int = 1) -> _Piece:
    return _Piece(f"{field} (a number from {low} to {MAX_NUMBER})", (), field, low)


def _numbers(fields: Iterable[str], sep: str) -> list[_Piece]:
    out: list[_Piece] = []
    for f in fields:
        out += [*([_lit(sep)] if out else []), _num(f)]
    return out


def _flag(text: str, field: str, guard: str = "") -> _Suffix:
    return _Suffix(text, text, (_lit(text, field),), guard=guard)


def _start(variants: Iterable[str], layouts: Iterable[str]) -> list[_Piece]:
    """The tokens up to the dimensions."""
    return [
        _lit("grouped_conv_"), _one("variant", variants), _lit("_"), _one("dtype", DTYPES),
        _lit("_"), _one("layout", layouts), _lit("_"), _one("ndim", ("1d", "2d", "3d")),
        _lit("_"),
    ]  # fmt: skip


FIXED = (
    *_start(VARIANTS, LAYOUTS.values()),
    _one("pipeline", (*PIPELINES, *PIPELINE_ALIASES)), _lit("_"),
    _one("epilogue", ("cshuffle", "default")), _lit("_"),
    _one("scheduler", ("intrawave", "interwave")), _lit("_"),
    *_numbers(TILES[:3], "x"), _lit("_"), *_numbers(TILES[3:6], "x"), _lit("_"),
    *_numbers(TILES[6:], "x"),
)  # fmt: skip
SUFFIXES = (
    _Suffix("_vec", "_vecA_B_C", (_lit("_vec"), *_numbers(VECTORS, "_")), "_vec4_8_8"),
    _Suffix("_wg", "_wgN", (_lit("_wg"), _num("num_wave_groups")), "_wg1"),
    _Suffix("_gm", "_gmN", (_lit("_gm"), _num("num_groups_to_merge")), "_gm1"),
    _flag("_dsb", "double_smem_buffer"),
    _flag("_2stage", "two_stage"),
    _Suffix("_filter", "_filter…", (_lit("_"), _one("specialization", SPECIALIZATIONS))),
    _flag("_explicit_gemm", "explicit_gemm"),
    _Suffix(
        "_streamk", "_streamk_tree|linear", (_lit("_streamk_"), _one("streamk", ("tree", "linear")))
    ),
    _flag("_persistent", "streamk_persistent", guard="(?(streamk)|(?!))"),
    _flag("_large_tensor", "split_image"),
    _Suffix(
        "_pad",
        "_padMNK",
        (_lit("_pad"), *(_Piece(f"{f} (0 or 1)", ("0", "1"), f) for f in PADS)),
        "_pad111",
    ),
)
DEPTHWISE_FIXED = (
    *_start(("fwd_depthwise",), DEPTHWISE_LAYOUTS.values()),
    *_numbers(("tile_h", "tile_w"), "x"), _lit("_f"), _num("filter"),
    _lit("_s"), *_numbers(("stride_h", "stride_w"), "x"),
    _lit("_p"), _num("pad_h", 0), _lit("x"), _num("pad_w", 0),
    _lit("_nb"), _num("nbatch"), _lit("_sub"), *_numbers(("sub_h", "sub_w"), "x"),
    _lit("_vec"), *_numbers(("in_vec", "out_vec"), "_"),
)  # fmt: skip


def layout_words(layouts: Mapping[int, str], ndim: int) -> tuple[str, ...]:
    """Every spelling of the layout of ``ndim`` dimensions, the point's own value first."""
    own = (layouts[ndim],) if ndim in layouts else ()
    return own if layouts is DEPTHWISE_LAYOUTS else tuple(dict.fromkeys((*own, UPSTREAM_LAYOUT)))


def _compile(
    pieces: Iterable[_Piece], suffixes: Iterable[_Suffix], layouts: Mapping[int, str]
) -> re.Pattern[str]:
    pairs = (f"{w}_{n}d" for n in layouts for w in layout_words(layouts, n))
    agree = f"(?={'|'.join(pairs)})"
    body = "".join((agree if p.field == "layout" else "") + p.pattern for p in pieces)
    return re.compile(body + "".join(s.pattern for s in suffixes))


class _Grammar:
    """A pattern that is compiled at its first use: most commands read no names."""

    def __init__(self, *parts: Any) -> None:
        self._parts = parts
        self._pattern: re.Pattern[str] | None = None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """The match of the whole text."""
        if self._pattern is None:
            self._pattern = _compile(*self._parts)
        return self._pattern.fullmatch(text)


NAME = _Grammar(FIXED, SUFFIXES, LAYOUTS)
DEPTHWISE_NAME = _Grammar(DEPTHWISE_FIXED, (), DEPTHWISE_LAYOUTS)
DEPTHWISE_START = "grouped_conv_fwd_depthwise"


def explain(
    text: str, pieces: Iterable[_Piece], suffixes: tuple[_Suffix, ...], layouts: Mapping[int, str]
) -> NoReturn:
    """Walk ``text`` token by token and raise where it leaves the grammar."""
    _refuse_other_forms(text)
    at, begins = 0, {"": 0}
    for piece in pieces:
        begins[piece.field] = at
        at = _step(text, at, piece)
    ndim = int(text[begins["ndim"]])
    words = layout_words(layouts, ndim)
    if text[begins["layout"] : begins["ndim"] - 1] not in words:
        if not words:
            _fail(text, begins["ndim"], f"ndim ({', '.join(f'{n}d' for n in layouts)})")
        _fail(text, begins["layout"], f"layout of {ndim}d ({', '.join(words)})")
    last = -1
    while at < len(text):
        left = "the end" + "".join(f", {s.shown}" for s in suffixes[last + 1 :])
        index = next((i for i, s in enumerate(suffixes) if text.startswith(s.head, at)), None)
        if index is None:
            _fail(text, at, left, _near(text, at, [s.head for s in suffixes]))
        suffix = suffixes[index]
        if index <= last:
            why = "stands twice" if index == last else f"goes before {suffixes[last].head!r}"
            _fail(text, at, left, f"{suffix.head!r} {why}")
        begin = at
        for piece in suffix.pieces:
            at = _step(text, at, piece)
        if text[begin:at] == suffix.default:
            _fail(text, begin, left, f"{suffix.default!r} is the default and is not written")
        if suffix.guard and not text.endswith(("_tree", "_linear"), 0, begin):
            _fail(text, begin, left, f"{suffix.head!r} only follows '_streamk_…'")
        last = index
    _fail(text, 0, "a kernel name")  # never reached while pattern and walk agree


def _step(text: str, at: int, piece: _Piece) -> int:
    """The offset behind ``piece``, which must stand at offset ``at``."""
    if not piece.words:
        end = at
        while end < len(text) and text[end] in "0123456789":
            end += 1
        value = int(text[at:end]) if 0 < end - at <= len(str(MAX_NUMBER)) else -1
        if end - at > 1 and text[at] == "0":
            _fail(text, at, piece.what, "numbers have no leading zeros")
        if not piece.low <= value <= MAX_NUMBER:
            _fail(text, at, piece.what)
        return end
    hits = [w for w in piece.words if text.startswith(w, at)]
    if not piece.field:  # a literal: point at the first letter that differs
        word = piece.words[0]
        if hits:
            return at + len(word)
        same = 0
        while at + same < len(text) and text[at + same] == word[same]:
            same += 1
        _fail(text, at + same, repr(word[same:]))
    end = at + len(max(hits, key=len, default=""))
    whole = len(piece.words) == 1 or piece.words == ("0", "1")
    if not hits or (not whole and text[end : end + 1].isalnum()):
        _fail(text, at, piece.what, _near(text, at, piece.words))
    return end


def _near(text: str, at: int, words: Iterable[str]) -> str:
    """The hint naming the ``words`` closest to the letters at offset ``at``, or nothing."""
    parts = text[at : at + 40].split("_")
    tries = ["_".join(parts[:i]) for i in range(1, min(len(parts), 4) + 1)]
    pool = tuple(words)
    pairs = [(t, w) for t in tries if t for w in nearest(t, pool, n=1)]
    best = [max(pairs, key=_likeness)[1]] if pairs else []
    begun = [w for w in pool if parts[0] and w.startswith(parts[0] + "_")]
    if begun and not set(best) & set(begun):
        best = begun
    return f"did you mean {' or '.join(map(repr, best))}?" if best else ""


def _likeness(pair: tuple[str, str]) -> float:
    return SequenceMatcher(None, pair[0].lower(), pair[1]).ratio()


def _fail(text: str, at: int, expected: str, hint: str = "") -> NoReturn:
    raise KernelNameError(text, at + 1, expected, hint)


# Two upstream producers write shorter names that several kernels share.
_CONFIG_NAME = re.compile(
    r"grouped_conv_(?:forward|fwd|bwd_data|bwd_weight)_(?:fp16|bf16|fp32)_(?=[123]d_)"
)
_LIBRARY_NAME = re.compile(r"(?:lib)?dispatcher_conv_")
_LIBRARY_LACKS = "layout, epilogue and vector sizes"
_CONFIG_LACKS = (
    "layout, epilogue, waves, warp tile, vector sizes, specialization, stream-K and pads"
)


def _refuse_other_forms(text: str) -> None:
    """Raise for texts that are near a kernel name in a known way: lossy, or a file's name."""
    what = "a kernel name with every field"
    if match := _CONFIG_NAME.match(text):
        lossy = f"the name of a Python configuration is lossy: it lacks {_CONFIG_LACKS}"
        _fail(text, match.end(), what, lossy)
    if _LIBRARY_NAME.match(text):
        _fail(text, 0, what, f"the name of a library is lossy: it lacks {_LIBRARY_LACKS}")
    bare = strip_file_decoration(text)
    if bare != text and (NAME.fullmatch(bare) or DEPTHWISE_NAME.fullmatch(bare)):
        at = len(bare) if text.startswith(bare) else 0
        expected = "the end" if at else "'grouped_conv_'"
        _fail(text, at, expected, "strip_file_decoration takes the name out of a file's name")


def strip_file_decoration(text: str) -> str:
    """The kernel name inside a generated file's or namespace's name; other texts stay.

    >>> strip_file_decoration("out/dispatcher_wrappers/dispatcher_wrapper_grouped_conv_x.hpp")
    'grouped_conv_x'
    >>> strip_file_decoration("ns_grouped_conv_x")
    'grouped_conv_x'
    """
    name = re.split(r"[/\\]", text)[-1]
    name = name.removesuffix(".hpp").removesuffix(".cpp")
    return name.removeprefix("dispatcher_wrapper_").removeprefix("ns_")
