"""A kernel's name says everything about a point but its GPU; this module writes and reads it.

A grouped-convolution kernel is named, in this order::

    grouped_conv_{fwd|bwd_data|bwd_weight}_{dtype}_{layout}_{ndim}d
        _{pipeline}_{epilogue}_{scheduler}_{tile MxNxK}_{waves MxNxK}_{warp tile MxNxK}
        [_vec{a}_{b}_{c}][_wg{n}][_gm{n}][_dsb][_2stage][_{specialization}][_explicit_gemm]
        [_streamk_{tree|linear}[_persistent]][_large_tensor][_pad{m}{n}{k}]

and a depthwise one::

    grouped_conv_fwd_depthwise_{dtype}_{layout}_{ndim}d_{tile_h}x{tile_w}_f{filter}
        _s{stride_h}x{stride_w}_p{pad_h}x{pad_w}_nb{nbatch}_sub{h}x{w}_vec{in}_{out}

A suffix is written only where its value is not the default: vectors 4, 8, 8; one wave group;
one merged group; all three paddings on. ``_pad`` takes one digit, 0 or 1, for each of m, n, k:
``_pad110`` pads m and n only. ``_large_tensor`` is ``split_image``.

Two values have a second spelling, kept beside the point in a *spelling*, so that a name is
printed back as it came:

* layout: a point holds nwgc, nhwgc or ndhwgc by its dimensions. Upstream's generator and its
  rule sets of June 2026 write ``nhwgc`` for every dimension, so that is what is written unless
  the spelling says otherwise; configuration files also write ``ndhwgc``.
* pipeline: a point holds basic_v1 or basic_v2, and that is what is written. Upstream's command
  line does the same, but its rule sets always write ``compv1`` for basic_v1: use
  :func:`rule_set_spelling` to write a point as they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ckrules.engine.errors import UsageError, unknown
from ckrules.name_grammar import (
    DEFAULT_VECTORS,
    DEPTHWISE,
    DEPTHWISE_FIXED,
    DEPTHWISE_LAYOUTS,
    DEPTHWISE_NAME,
    DEPTHWISE_NUMBERS,
    DEPTHWISE_START,
    DTYPES,
    FIXED,
    LAYOUTS,
    MAX_NUMBER,
    NAME,
    PADS,
    PIPELINE_ALIASES,
    PIPELINES,
    SPECIALIZATIONS,
    SUFFIXES,
    TILES,
    UPSTREAM_LAYOUT,
    VARIANTS,
    VECTORS,
    KernelNameError,
    explain,
    layout_words,
    strip_file_decoration,
)

__all__ = [
    "MAX_NUMBER",
    "KernelNameError",
    "ParsedName",
    "format_name",
    "parse_name",
    "rule_set_spelling",
    "strip_file_decoration",
]

Value = int | str | bool


@dataclass(frozen=True, slots=True)
class ParsedName:
    """A name read: the point without ``arch``, and the spellings that print the same text."""

    point: dict[str, Value]
    spelling: Mapping[str, str] = field(default_factory=dict)


def parse_name(text: str) -> ParsedName:
    """Exactly the names that print back unchanged are read; anything else is an error.

    >>> p = parse_name("grouped_conv_fwd_fp16_nhwgc_3d_compv1_cshuffle_intrawave"
    ...                "_128x64x32_2x2x1_32x32x16_vec8_8_4_pad110")
    >>> p.point["pipeline"], p.point["layout"], p.point["vector_c"], p.point["pad_k"]
    ('basic_v1', 'ndhwgc', 4, False)
    >>> dict(p.spelling)
    {'pipeline': 'compv1', 'layout': 'nhwgc'}
    >>> try:
    ...     parse_name("grouped_conv_fwd_fp16_nhwgc_2d_mem_cshufle_intrawave_128x64x32")
    ... except KernelNameError as error:
    ...     print(error.column, error.expected, error.hint, sep=" | ")
    36 | epilogue (cshuffle, default) | did you mean 'cshuffle'?
    """
    if text.startswith(DEPTHWISE_START):
        match = DEPTHWISE_NAME.fullmatch(text)
        if match is None:
            explain(text, DEPTHWISE_FIXED, (), DEPTHWISE_LAYOUTS)
        got = match.groupdict()
        head: dict[str, Value] = {
            "variant": DEPTHWISE,
            "dtype": got["dtype"],
            "ndim": int(got["ndim"][0]),
            "layout": got["layout"],
        }
        return ParsedName(head | {f: int(got[f]) for f in DEPTHWISE_NUMBERS})
    match = NAME.fullmatch(text)
    if match is None:
        explain(text, FIXED, SUFFIXES, LAYOUTS)
    got = match.groupdict()
    ndim, pipeline, spelling = int(got["ndim"][0]), got["pipeline"], {}
    if pipeline in PIPELINE_ALIASES:
        spelling["pipeline"] = pipeline
        pipeline = PIPELINE_ALIASES[pipeline]
    if ndim != 2:
        spelling["layout"] = got["layout"]
    point: dict[str, Value] = {
        "variant": VARIANTS[got["variant"]],
        "dtype": got["dtype"],
        "ndim": ndim,
        "layout": LAYOUTS[ndim],
    }
    for f in TILES:
        point[f] = int(got[f])
    point["pipeline"] = pipeline
    point["scheduler"] = got["scheduler"]
    point["epilogue"] = got["epilogue"]
    for f, default in zip(VECTORS, DEFAULT_VECTORS, strict=True):
        point[f] = int(got[f] or default)
    point["double_smem_buffer"] = got["double_smem_buffer"] is not None
    point["num_wave_groups"] = int(got["num_wave_groups"] or 1)
    point["num_groups_to_merge"] = int(got["num_groups_to_merge"] or 1)
    for f in PADS:
        point[f] = got[f] != "0"
    point["specialization"] = got["specialization"] or "default"
    point["two_stage"] = got["two_stage"] is not None
    point["explicit_gemm"] = got["explicit_gemm"] is not None
    point["split_image"] = got["split_image"] is not None
    point["streamk"] = got["streamk"] or "off"
    point["streamk_persistent"] = got["streamk_persistent"] is not None
    return ParsedName(point, spelling)


# What a field of a point may hold: one of these words, true or false, or a number from `low` up.
_WORDS: dict[str, tuple[str, ...]] = {
    "dtype": DTYPES,
    "pipeline": PIPELINES,
    "scheduler": ("intrawave", "interwave"),
    "epilogue": ("cshuffle", "default"),
    "specialization": ("default", *SPECIALIZATIONS),
    "streamk": ("off", "linear", "tree"),
}
_BOOLEANS = (
    *("double_smem_buffer", *PADS, "two_stage", "explicit_gemm", "split_image"),
    "streamk_persistent",
)
_NUMBERS = (*TILES, *VECTORS, "num_wave_groups", "num_groups_to_merge")
_TAGS = {variant: tag for tag, variant in VARIANTS.items()}


def format_name(point: Mapping[str, Value], spelling: Mapping[str, str] | None = None) -> str:
    """The upstream name of ``point``; ``arch`` and other keys that names lack are passed over.

    >>> p = parse_name("grouped_conv_bwd_data_bf16_ndhwgc_3d_mem_default_intrawave"
    ...                "_64x64x32_1x1x1_16x16x32")
    >>> format_name(p.point)
    'grouped_conv_bwd_data_bf16_nhwgc_3d_mem_default_intrawave_64x64x32_1x1x1_16x16x32'
    >>> format_name(p.point | {"pad_m": False, "two_stage": True}, {"layout": "ndhwgc"})
    'grouped_conv_bwd_data_bf16_ndhwgc_3d_mem_default_intrawave_64x64x32_1x1x1_16x16x32_2stage_pad011'
    """
    spelt = dict(spelling or {})
    for key in spelt.keys() - {"layout", "pipeline"}:
        raise unknown("spelling", key, ("layout", "pipeline"))
    variant = _word(point, "variant", (*_TAGS, DEPTHWISE))
    dtype = _word(point, "dtype", DTYPES)
    ndim = _number(point, "ndim")
    if variant == DEPTHWISE:
        if "pipeline" in spelt:
            raise UsageError("a depthwise kernel has no pipeline to spell")
        layout = _layout(point, ndim, DEPTHWISE_LAYOUTS, spelt)
        n = {f: _number(point, f, 0 if f[:3] == "pad" else 1) for f in DEPTHWISE_NUMBERS}
        return (
            f"{DEPTHWISE_START}_{dtype}_{layout}_{ndim}d_{n['tile_h']}x{n['tile_w']}"
            f"_f{n['filter']}_s{n['stride_h']}x{n['stride_w']}_p{n['pad_h']}x{n['pad_w']}"
            f"_nb{n['nbatch']}_sub{n['sub_h']}x{n['sub_w']}_vec{n['in_vec']}_{n['out_vec']}"
        )
    layout = _layout(point, ndim, LAYOUTS, spelt)
    w = {f: _word(point, f, words) for f, words in _WORDS.items()}
    n = {f: _number(point, f) for f in _NUMBERS}
    on = {f: _boolean(point, f) for f in _BOOLEANS}
    if on["streamk_persistent"] and w["streamk"] == "off":
        raise UsageError("streamk_persistent without stream-K has no name")
    pipeline = spelt.get("pipeline", w["pipeline"])
    if PIPELINE_ALIASES.get(pipeline, pipeline) != w["pipeline"]:
        raise UsageError(f"pipeline {w['pipeline']!r} is not spelt {pipeline!r}")
    vectors = tuple(n[f] for f in VECTORS)
    parts = [
        f"grouped_conv_{_TAGS[variant]}_{dtype}_{layout}_{ndim}d",
        f"_{pipeline}_{w['epilogue']}_{w['scheduler']}",
        *("_" + "x".join(str(n[f]) for f in TILES[i : i + 3]) for i in (0, 3, 6)),
        "" if vectors == DEFAULT_VECTORS else "_vec" + "_".join(map(str, vectors)),
        "" if n["num_wave_groups"] == 1 else f"_wg{n['num_wave_groups']}",
        "" if n["num_groups_to_merge"] == 1 else f"_gm{n['num_groups_to_merge']}",
        "_dsb" if on["double_smem_buffer"] else "",
        "_2stage" if on["two_stage"] else "",
        "" if w["specialization"] == "default" else f"_{w['specialization']}",
        "_explicit_gemm" if on["explicit_gemm"] else "",
        "" if w["streamk"] == "off" else f"_streamk_{w['streamk']}",
        "_persistent" if on["streamk_persistent"] else "",
        "_large_tensor" if on["split_image"] else "",
        "" if all(on[f] for f in PADS) else "_pad" + "".join(str(int(on[f])) for f in PADS),
    ]
    return "".join(parts)


def rule_set_spelling(point: Mapping[str, Value]) -> dict[str, str]:
    """How upstream's rule sets of June 2026 spell ``point``: compv1, and nhwgc everywhere.

    >>> rule_set_spelling({"variant": "forward", "ndim": 3, "pipeline": "basic_v1"})
    {'pipeline': 'compv1', 'layout': 'nhwgc'}
    """
    spelling: dict[str, str] = {}
    if point.get("variant") != DEPTHWISE:
        if point.get("pipeline") == "basic_v1":
            spelling["pipeline"] = "compv1"
        if point.get("ndim") != 2:
            spelling["layout"] = UPSTREAM_LAYOUT
    return spelling


def _get(point: Mapping[str, Value], key: str) -> Value:
    try:
        return point[key]
    except KeyError:
        raise UsageError(f"a point without {key!r} has no name") from None


def _word(point: Mapping[str, Value], key: str, known: tuple[str, ...]) -> str:
    value = _get(point, key)
    if value in known:
        return str(value)
    raise unknown(key, str(value), known)


def _number(point: Mapping[str, Value], key: str, low: int = 1) -> int:
    value = _get(point, key)
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= MAX_NUMBER:
        return value
    raise UsageError(f"{key} must be a whole number from {low} to {MAX_NUMBER}, not {value!r}")


def _boolean(point: Mapping[str, Value], key: str) -> bool:
    value = _get(point, key)
    if isinstance(value, bool):
        return value
    raise UsageError(f"{key} must be true or false, not {value!r}")


def _layout(
    point: Mapping[str, Value], ndim: int, layouts: Mapping[int, str], spelt: Mapping[str, str]
) -> str:
    """The layout as the name spells it."""
    if ndim not in layouts:
        raise UsageError(f"ndim must be {' or '.join(map(str, layouts))}, not {ndim}")
    _word(point, "layout", (layouts[ndim],))
    words = layout_words(layouts, ndim)  # upstream's own habit is the last
    word = spelt.get("layout", words[-1])
    if word not in words:
        raise UsageError(f"layout {layouts[ndim]!r} is not spelt {word!r}")
    return word
