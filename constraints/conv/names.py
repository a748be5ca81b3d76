"""Names of grouped-convolution kernels, as upstream's generator of June 2026 writes them.

They are, in this order::

    grouped_conv_{fwd|bwd_data|bwd_weight}_{dtype}_{layout}_{ndim}d
        _{pipeline}_{epilogue}_{scheduler}_{tile MxNxK}_{waves MxNxK}_{warp tile MxNxK}
        [_vec{a}_{b}_{c}][_wg{n}][_gm{n}][_dsb][_2stage][_{specialization}][_explicit_gemm]
        [_streamk_{tree|linear}[_persistent]][_large_tensor][_pad{m}{n}{k}][_bpc{n}]

``_pad`` takes one digit, 0 or 1, for each of m, n, k: ``_pad110`` pads m and n only.
``_large_tensor`` is ``split_image``. ``_bpc`` is not upstream's, whose names do not say the launch
bound: it is written where a configuration asks for one (``block_per_cu``). Two values have a second spelling, kept beside the point in a
*spelling*, so that a name is printed back as it came:

* layout: a point holds nwgc, nhwgc or ndhwgc by its dimensions. Upstream's generator and its rule
  sets write ``nhwgc`` for every dimension, so that is what is written unless the spelling says
  otherwise; configuration files also write ``ndhwgc``.
* pipeline: a point holds basic_v1 or basic_v2, and that is what is written. Upstream's command
  line does the same, but its rule sets always write ``compv1`` for basic_v1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ckrules.constraints.conv.words import LAYOUTS, PIPELINE_ALIASES, UPSTREAM_LAYOUT
from ckrules.kernels.name_grammar import (
    Grammar,
    Piece,
    Suffix,
    fail,
    flag,
    literal,
    number,
    numbers,
    one_of,
)
from ckrules.kernels.names import strip_file_decoration
from ckrules.kernels.parts import ParsedName, Point
from ckrules.support.errors import UsageError, unknown

VARIANTS = {"fwd": "forward", "bwd_data": "bwd_data", "bwd_weight": "bwd_weight"}
DTYPES = ("fp16", "bf16", "fp32")
PIPELINES = (
    "basic_v1", "basic_v2", "basic_async_v1", "mem", "compv3", "compv4", "compv5", "compv6",
    "comp_async", "wavelet",
)  # fmt: skip
SPECIALIZATIONS = ("filter1x1_pad0", "filter1x1_stride1_pad0", "filter3x3")
NDIMS = {"1d": 1, "2d": 2, "3d": 3}

TILES = tuple(f"{g}_{x}" for g in ("tile", "wave", "warp_tile") for x in "mnk")


def start(variants: Mapping[str, str], layouts: Iterable[str]) -> list[Piece]:
    """The tokens up to the dimensions, which depthwise kernels have, too."""
    return [
        literal("grouped_conv_"), one_of("variant", variants), literal("_"),
        one_of("dtype", DTYPES), literal("_"), one_of("layout", layouts), literal("_"),
        one_of("ndim", NDIMS), literal("_"),
    ]  # fmt: skip


_PIECES = (
    *start(VARIANTS, LAYOUTS.values()),
    one_of("pipeline", {**{p: p for p in PIPELINES}, **PIPELINE_ALIASES}),
    literal("_"), one_of("epilogue", ("cshuffle", "default")),
    literal("_"), one_of("scheduler", ("intrawave", "interwave")), literal("_"),
    *numbers(TILES[:3], "x"), literal("_"), *numbers(TILES[3:6], "x"), literal("_"),
    *numbers(TILES[6:], "x"),
)  # fmt: skip
_SUFFIXES = (
    Suffix(
        "_vec", "_vecA_B_C",
        (literal("_vec"), *numbers(("vector_a", "vector_b", "vector_c"), "_")),
        {"vector_a": 4, "vector_b": 8, "vector_c": 8},
    ),
    Suffix("_wg", "_wgN", (literal("_wg"), number("num_wave_groups")), {"num_wave_groups": 1}),
    Suffix(
        "_gm", "_gmN", (literal("_gm"), number("num_groups_to_merge")), {"num_groups_to_merge": 1}
    ),
    flag("_dsb", "double_smem_buffer"),
    flag("_2stage", "two_stage"),
    Suffix(
        "_filter", "_filter…", (literal("_"), one_of("specialization", SPECIALIZATIONS)),
        {"specialization": "default"},
    ),
    flag("_explicit_gemm", "explicit_gemm"),
    Suffix(
        "_streamk", "_streamk_tree|linear",
        (literal("_streamk_"), one_of("streamk", ("tree", "linear"))), {"streamk": "off"},
    ),
    flag("_persistent", "streamk_persistent", needs="streamk"),
    flag("_large_tensor", "split_image"),
    Suffix(
        "_pad", "_padMNK",
        (
            literal("_pad"),
            *(Piece(f"pad_{d} (0 or 1)", {"0": False, "1": True}, f"pad_{d}") for d in "mnk"),
        ),
        {f"pad_{d}": True for d in "mnk"},
    ),
    Suffix("_bpc", "_bpcN", (literal("_bpc"), number("block_per_cu")), {"block_per_cu": 0}),
)  # fmt: skip


def layout_words(ndim: int) -> tuple[str, ...]:
    """Every spelling of the layout of ``ndim`` dimensions, the point's own value first."""
    return tuple(dict.fromkeys((LAYOUTS[ndim], UPSTREAM_LAYOUT)))


def _disagree(text: str, begins: Mapping[str, int]) -> tuple[int, str] | None:
    ndim, at = int(text[begins["ndim"]]), begins["layout"]
    words = layout_words(ndim)
    if text[at : begins["ndim"] - 1] in words:
        return None
    return at, f"layout of {ndim}d ({', '.join(words)})"


# Two upstream producers write shorter names that several kernels share.
_CONFIG_NAME = re.compile(
    r"grouped_conv_(?:forward|fwd|bwd_data|bwd_weight)_(?:fp16|bf16|fp32)_(?=[123]d_)"
)
_LIBRARY_NAME = re.compile(r"(?:lib)?dispatcher_conv_")
_LIBRARY_LACKS = "layout, epilogue and vector sizes"
_CONFIG_LACKS = (
    "layout, epilogue, waves, warp tile, vector sizes, specialization, stream-K and pads"
)


def refuse_other_forms(text: str) -> None:
    """Raises for texts that are near a kernel name in a known way: lossy, or a file's name."""
    what = "a kernel name with every field"
    if match := _CONFIG_NAME.match(text):
        lossy = f"the name of a Python configuration is lossy: it lacks {_CONFIG_LACKS}"
        fail(text, match.end(), what, lossy)
    if _LIBRARY_NAME.match(text):
        fail(text, 0, what, f"the name of a library is lossy: it lacks {_LIBRARY_LACKS}")
    bare = strip_file_decoration(text)
    if bare != text and bare.startswith("grouped_conv_"):
        from ckrules.kernels.names import naming_of

        naming = naming_of(bare)
        if naming is not None and naming.span(bare, "dtype") is not None:
            at = len(bare) if text.startswith(bare) else 0
            expected = "the end" if at else "'grouped_conv_'"
            fail(text, at, expected, "strip_file_decoration takes the name out of a file's name")


GRAMMAR = Grammar(
    _PIECES,
    _SUFFIXES,
    ahead={"layout": [f"{w}_{n}d" for n in LAYOUTS for w in layout_words(n)]},
    disagree=_disagree,
    refuse=refuse_other_forms,
)


def layout_word(point: Point, layouts: Mapping[int, str], spelt: str | None) -> str:
    """The layout as the name spells it; ``spelt`` None: in upstream's own way."""
    ndim, layout = point.get("ndim"), point.get("layout")
    if type(ndim) is not int or ndim not in layouts:
        raise UsageError(f"ndim must be {' or '.join(map(str, layouts))}, not {ndim!r}")
    if layout != layouts[ndim]:
        raise unknown("layout", str(layout), (layouts[ndim],))
    words = layout_words(ndim) if layouts is LAYOUTS else (layouts[ndim],)
    word = words[-1] if spelt is None else spelt
    if word not in words:
        raise UsageError(f"layout {layouts[ndim]!r} is not spelt {word!r}")
    return word


class ConvolutionNames:
    """The names of the three directions."""

    prefix = "grouped_conv_"

    def parse(self, text: str) -> ParsedName:
        """See `ckrules.kernels.names.parse_name`."""
        point, words = GRAMMAR.parse(text)
        spelling = {}
        if words["pipeline"] in PIPELINE_ALIASES:
            spelling["pipeline"] = words["pipeline"]
        if point["ndim"] != 2:
            spelling["layout"] = words["layout"]
        point["layout"] = LAYOUTS[point["ndim"]]
        if not point["block_per_cu"]:  # which upstream's names do not say
            del point["block_per_cu"]
        return ParsedName(point, spelling)

    def format(self, point: Point, spelling: Mapping[str, str] | None = None) -> str:
        """See `ckrules.kernels.names.format_name`."""
        spelt: dict[str, Any] = dict(spelling or {})
        for key in spelt.keys() - {"layout", "pipeline"}:
            raise unknown("spelling", key, ("layout", "pipeline"))
        if "layout" not in point:
            raise UsageError("a configuration without 'layout' has no name")
        layout = layout_word(point, LAYOUTS, spelt.pop("layout", None))
        return GRAMMAR.format({"block_per_cu": 0, **point, "layout": layout}, spelt)

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        """Where a name writes the field; of the dimensions the digit alone."""
        found = GRAMMAR.span(text, name)
        return (found[0], found[0] + 1) if found and name == "ndim" else found

    def without_defaults(self, text: str) -> str:
        """The text without ``_vec4_8_8``, ``_wg1``, ``_gm1`` and ``_pad111``."""
        return GRAMMAR.without_defaults(text)

    def rule_set_spelling(self, point: Point) -> dict[str, str]:
        """``compv1`` for basic_v1, and ``nhwgc`` for every layout."""
        spelling = {}
        if point.get("pipeline") == "basic_v1":
            spelling["pipeline"] = "compv1"
        if point.get("ndim") != 2:
            spelling["layout"] = UPSTREAM_LAYOUT
        return spelling


NAMING = ConvolutionNames()


def short_name(point: Point) -> str:
    """The name that upstream's Python objects give a point; it leaves much out."""
    tile = f"{point['tile_m']}x{point['tile_n']}x{point['tile_k']}"
    text = f"grouped_conv_{point['variant']}_{point['dtype']}_{point['ndim']}d_{tile}"
    text += f"_{point['pipeline']}_{point['scheduler']}"
    if point["num_groups_to_merge"] != 1:
        text += f"_gm{point['num_groups_to_merge']}"
    flags = {"double_smem_buffer": "_dsb", "split_image": "_si", "two_stage": "_2stage"}
    return text + "".join(tail for field, tail in flags.items() if point[field])
