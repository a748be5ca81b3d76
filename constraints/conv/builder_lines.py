"""Lines of CK Builder's ``.conf`` files: which argument means what in each kind of instance.

Positions count from 0 after the opening ``<``; ``Seq(…)`` is one argument. Facts: the generator
and instance files of ``experimental/builder`` in ROCm/rocm-libraries, June 2026.
"""

from __future__ import annotations

import os
import re
from typing import Any

from ckrules.constraints.conv.words import NDIMS_BY_LAYOUT, OTHER_LAYOUTS, SPECIALIZATIONS
from ckrules.kernels.reader_tables import Arguments, Instance, LineError, LineTable, split_arguments

_NUMBER = re.compile(r"\d{1,9}")
_STEM = re.compile(r"(nwgc|nhwgc|ndhwgc|ngchw|ngcdhw)_(fp16|bf16|fp32|int8|fp8|bf8)(?:_|\.|$)")
_DTYPES = ("fp16", "bf16", "fp32")

PIPELINES = {
    "basic_v1": "basic_v1", "basic_v2": "basic_v2", "memory": "mem", "compute_v3": "compv3",
    "compute_v4": "compv4", "compute_v5": "compv5", "compute_v6": "compv6",
    "basic_async_v1": "basic_async_v1", "compute_async": "comp_async", "wavelet": "wavelet",
}  # fmt: skip
#: Versions of the XDL families; v5 of old CK is what CK Tile calls compv6.
VERSIONS = {"v1": "basic_v1", "v2": "mem", "v3": "compv3", "v4": "compv4", "v5": "compv6"}
DIRECT = {"v1": "basic_async_v1", "v4": "comp_async"}

#: Arguments of short forms, some of which say too little for a kernel (no output vector).
_SHORTEST = range(13, 21)


def _xdl(spec: int, block: int, first: int, k1: int, xdl: int, vectors: str, **more: int) -> Any:
    a, b, c = map(int, vectors.split())
    return {
        "spec": spec, "block": block, "m": first, "n": first + 1, "k": first + 2, "k1": k1,
        "xdl_m": xdl, "xdl_n": xdl + 1, "per_m": xdl + 2, "per_n": xdl + 3,
        "vector_a": a, "vector_b": b, "vector_c": c, **more,
    }  # fmt: skip


_FWD = {"ndim": 0, "layout": 1, "dtype": 5}
_BWD_W = {"ndim": 0, "layout": 1, "dtype": 4}
_NATIVE = {
    "ndim": 0, "spec": 1, "layout": 2, "vector_a": 6, "vector_b": 7, "vector_c": 8,
    "num_groups_to_merge": 9, "split_image": 10, "explicit_gemm": 11,
    "tile_m": 12, "tile_n": 13, "tile_k": 14, "wave_m": 15, "wave_n": 16, "wave_k": 17,
    "warp_tile_m": 18, "warp_tile_n": 19, "warp_tile_k": 20, "dtype": 21, "pipeline": 23,
    "scheduler": 24, "double_smem_buffer": 25, "num_wave_groups": 26,
    "streamk": 31, "reduction": 32, "streamk_persistent": 33,
}  # fmt: skip
_SHORT = _xdl(4, 0, 1, -1, 5, "9 10 11")

#: By the name before ``<``; short forms, which name no type, have their own table.
INSTANCES = {
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle": Instance(
        "forward", (49,), {**_FWD, **_xdl(14, 17, 18, 21, 23, "31 38 44", merge=48)}),
    "DeviceGroupedConvFwdMultipleD_Xdl_CShuffle_Large_Tensor": Instance(
        "forward", (49,), {**_FWD, **_xdl(14, 17, 18, 21, 23, "31 38 44")}),
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3": Instance(
        "forward", (50,),
        {**_FWD, **_xdl(14, 16, 17, 20, 22, "30 37 43",
                        sched=44, version=45, direct=48, merge=49)}),
    "DeviceGroupedConvBwdWeight_Xdl_CShuffle": Instance(
        "bwd_weight", (43,), {**_BWD_W, **_xdl(11, 12, 13, 16, 17, "25 32 38", k0=15)}),
    "DeviceGroupedConvBwdWeight_Xdl_CShuffleV3": Instance(
        "bwd_weight", (45,),
        {**_BWD_W, **_xdl(11, 12, 13, 16, 17, "25 32 38",
                          sched=39, version=40, direct=43, merge=44)}),
    "DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle": Instance(
        "bwd_weight", (46,),
        {**_BWD_W, **_xdl(11, 12, 13, 16, 17, "25 32 38", sched=39, version=40, merge=41)}),
    "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1": Instance(
        "bwd_data", (51,), {**_FWD, **_xdl(13, 17, 18, 21, 23, "31 38 44", version=46)}),
    "GroupedConvolutionForwardKernel": Instance("forward", (31, 32, 33, 34), _NATIVE, True),
    "GroupedConvolutionBackwardDataKernel": Instance("bwd_data", (31, 32, 33, 34), _NATIVE, True),
    "GroupedConvolutionBackwardWeightKernel": Instance("bwd_weight", (31, 32, 33, 34), _NATIVE, True),
}  # fmt: skip
SHORT = {
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle": Instance(
        "forward", (14, 15), {**_SHORT, "merge": 14}),
    "DeviceGroupedConvFwdMultipleD_Xdl_CShuffle_Large_Tensor": Instance(
        "forward", (14, 15), {**_SHORT, "merge": 14}),
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3": Instance(
        "forward", (16,), {**_SHORT, "sched": 14, "version": 15}),
}  # fmt: skip


def _read(line: str, source: str, wave_size: int | None) -> Arguments:
    start, end = line.find("<"), line.rfind(">")
    if start < 0 or end < start:
        raise LineError("expected an instance, NAME<ARGUMENTS>, or twelve depthwise numbers")
    name = line[:start].strip()
    a = _instance(name, line, start, end)
    if a.instance.native:
        _read_native(a)
    elif wave_size is None:
        raise LineError("no GPU: waves depend on its wave size, so give --arch")
    else:
        _read_xdl(a, name, wave_size)
    if "dtype" not in a.fields:
        _read_file_name(a, source)
    return a


def _instance(name: str, line: str, start: int, end: int) -> Arguments:
    texts, spans = split_arguments(line[start + 1 : end], start + 1)
    short = SHORT.get(name)
    if short is not None and texts and _NUMBER.fullmatch(texts[0]) and len(texts) < 20:
        kind = short
    elif name not in INSTANCES or (name.startswith("Device") and len(texts) in _SHORTEST):
        raise KeyError(name)
    else:
        kind = INSTANCES[name]
    if len(texts) not in kind.counts:
        wanted = " or ".join(map(str, (kind.counts[0], kind.counts[-1])[: len(kind.counts)]))
        joined = wanted.replace(" or ", " to ") if len(kind.counts) > 2 else wanted
        raise LineError(f"{name} has {len(texts)} arguments, expected {joined}")
    return Arguments(kind, texts, spans)


def _read_native(a: Arguments) -> None:
    for key in ("vector_a", "vector_b", "vector_c", "num_groups_to_merge", "num_wave_groups",
                *(f"{g}_{x}" for g in ("tile", "wave", "warp_tile") for x in "mnk")):  # fmt: skip
        a.put(key, key, a.number(key))
    for key in ("split_image", "explicit_gemm", "double_smem_buffer"):
        a.put(key, key, a.flag(key))
    _common(a)
    pipeline = (a.word("pipeline") or "").lower()
    a.put("pipeline", "pipeline", PIPELINES.get(pipeline, pipeline))
    streamk = a.word("streamk") is not None and a.flag("streamk")
    if not streamk:
        a.fields["streamk"] = "off"
    else:
        said = a.word("reduction") is not None
        way = a.number("reduction") if said else 1
        a.fields["streamk"] = {1: "linear", 2: "tree"}.get(way, str(way))
        a.made_from["streamk"] = a.instance.at["reduction" if said else "streamk"]
        if a.word("streamk_persistent") is not None:
            a.put("streamk_persistent", "streamk_persistent", a.flag("streamk_persistent"))
    if a.instance.variant == "bwd_weight":
        two = a.fields.get("dtype") != "fp32" and a.fields["vector_c"] == 1
        a.fields["two_stage"] = two
        a.made_from["two_stage"] = a.instance.at["vector_c"]


def _read_xdl(a: Arguments, name: str, wave_size: int) -> None:
    """The fields of an XDL instance, of which waves and the warp tile's K are derived."""
    n = a.number
    block, m, n_, per = n("block"), n("m"), n("n"), (n("per_m"), n("per_n"))
    xdl = n("xdl_m"), n("xdl_n")
    k1 = n("k1") if a.instance.at["k1"] >= 0 else 1
    k = n("k0") * k1 if "k0" in a.instance.at else n("k")
    a.put("tile_m", "m", m)
    a.put("tile_n", "n", n_)
    if "k0" in a.instance.at:
        a.fields["tile_k"] = k
        a.made_from["tile_k"] = a.instance.at["k0"]
    else:
        a.put("tile_k", "k", k)
    a.put("warp_tile_m", "xdl_m", xdl[0])
    a.put("warp_tile_n", "xdl_n", xdl[1])
    for v in ("vector_a", "vector_b", "vector_c"):
        a.put(v, v, n(v))
    waves = [_whole(a, x, y * p, f"per_{d}", d) for x, y, p, d in
             ((m, xdl[0], per[0], "m"), (n_, xdl[1], per[1], "n"))]  # fmt: skip
    a.fields |= {"wave_m": waves[0], "wave_n": waves[1]}
    a.fields["wave_k"] = _whole(a, block, wave_size * waves[0] * waves[1], "block", "k")
    a.made_from |= {"wave_m": a.instance.at["per_m"], "wave_n": a.instance.at["per_n"],
                    "wave_k": a.instance.at["block"]}  # fmt: skip
    a.made_from["warp_tile_k"] = max(a.instance.at["k1"], a.instance.at["k"] if k1 == 1 else 0)
    _common(a)
    if a.fields.get("dtype") == "fp32":
        least = 2 if xdl[0] == 32 else 4
    else:
        least = 16 if xdl[0] == 32 else 32
    short = a.instance.at["k1"] < 0
    guess = 8 if a.fields.get("dtype") == "fp32" else 16  # what the short form's reader takes
    a.fields["warp_tile_k"] = guess if short else min(max(k1, least), k)
    _version(a, name)
    if "merge" in a.instance.at and a.word("merge") is not None:
        a.put("num_groups_to_merge", "merge", n("merge"))
    a.fields["split_image"] = "Large" in name
    a.fields["two_stage"] = "TwoStage" in name


def _version(a: Arguments, name: str) -> None:
    words = {key: (a.word(key) or "").split(":")[-1].strip() for key in ("sched", "version")}
    version = words["version"].lower() or "v1"
    if "sched" in a.instance.at:
        a.put("scheduler", "sched", words["sched"].lower())
    else:
        a.fields["scheduler"] = "intrawave"
    direct = "direct" in a.instance.at and a.flag("direct")
    table = DIRECT if direct else VERSIONS
    if version not in table:
        what = f"pipeline version {version!r}{' with direct loads' if direct else ''}"
        raise LineError(f"{what} is not one of {', '.join(table)}", a.span("version"))
    a.fields["pipeline"] = table[version]
    if "version" in a.instance.at:
        a.made_from["pipeline"] = a.instance.at["version"]
        a.made_from["double_smem_buffer"] = a.instance.at["version"]
    a.fields["double_smem_buffer"] = version == "v4"


def _whole(a: Arguments, whole: int, part: int, key: str, letter: str) -> int:
    if part and whole % part == 0 and whole >= part:
        return whole // part
    what = "the block" if letter == "k" else f"the tile's {letter.upper()}"
    raise LineError(f"{what} is {whole}, not a multiple of a step of {part}", a.span(key))


def _common(a: Arguments) -> None:
    """Dimensions, type, layout, scheduler and specialization, where the line says them."""
    if a.word("ndim") is not None:
        a.put("ndim", "ndim", a.number("ndim"))
    for key in ("dtype", "layout", "scheduler"):
        if key in a.instance.at:
            a.put(key, key, (a.word(key) or "").lower())
    spec = (a.word("spec") or "").lower()
    a.put("specialization", "spec", SPECIALIZATIONS.get(spec, spec))
    a.fields["epilogue"] = "cshuffle"


def file_words(source: str) -> tuple[str, str] | None:
    """Layout and type that a file's name says, as in ``nhwgc_fp16.conf``."""
    named = _STEM.search(os.path.basename(source))
    return None if named is None else (named[1], named[2])


def _read_file_name(a: Arguments, source: str) -> None:
    named = file_words(source)
    if named is None:
        what = "the short form names neither type nor layout"
        raise LineError(f"{what}: expected a file name such as nhwgc_fp16.conf")
    layout, dtype = named
    a.fields |= {"dtype": dtype, "layout": layout, "ndim": NDIMS_BY_LAYOUT.get(layout, 2)}
    if dtype == "fp32":
        a.fields["warp_tile_k"] = 8


LINES = LineTable(
    names=tuple(INSTANCES),
    bare=None,
    read=_read,
    outside={"layout": lambda v: v in OTHER_LAYOUTS, "dtype": lambda v: v not in _DTYPES},
    fixed=frozenset({"wave_k", "tile_k"}),
)
