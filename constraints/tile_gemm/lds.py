"""The way of A and B through LDS: what lanes load, where it is stored, and what they read back.

Modelled is what CK 2025.11 does in the pipelines that share one policy, with one wave group.

Sources: core/algorithm/static_encoding_pattern.hpp: tile_distribution_encoding_pattern_2d, thread
raked, and its shuffled form; ops/gemm/pipeline/gemm_universal_pipeline_ag_bg_cr_policy.hpp:
MakeALdsBlockDescriptor, MakeBLdsBlockDescriptor, GetSmemPackA, from which those of quantised GEMMs
with groups derive (ops/gemm_quant/pipeline/gemm_{aquant,bquant}_pipeline_ag_bg_cr_policy.hpp);
core/algorithm/coordinate_transform.hpp: xor_t; ops/gemm/block/block_universal_gemm_as_bs_cr.hpp:
MakeABlockDistributionEncode, MakeBBlockDistributionEncode; ops/gemm/warp/
warp_gemm_attribute_mfma.hpp and warp_gemm_attribute_wmma_impl_base_traits.hpp: the lanes of
fragments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.arch import Gpu
from ckrules.constraints.tile_gemm.vocabulary import TileGemm
from ckrules.engine.evaluate.pointwise import At
from ckrules.kernels.lds_map import Fragment, Layout, LdsMap, Loads, OperandMap

_PIPELINES = ("basic_v1", "mem", "compv3", "compv4", "compv6")
_VARIANTS = (
    *("forward", "bwd_data", "bwd_weight", "standard"),
    *("aquant", "bquant", "rowcol_quant", "tensor_quant"),
)


def lds_map(c: TileGemm, point: Mapping[str, Any], gpu: Gpu) -> LdsMap | str:
    """The way of A and B through LDS, or why it is not modelled.

    Args:
        c: The family's words, of the version of the headers.
        point: A legal configuration.

    >>> from ckrules.arch import load
    >>> from ckrules.kernels.books import Books
    >>> book = Books("2025.11").of("forward")
    >>> point = {**book.vocabulary.baseline, "arch": "gfx942"}
    >>> found = lds_map(book.vocabulary, point, load("gfx942"))
    >>> found.operands[0].loads.owner(0, 0), found.operands[0].layout.place(1, 0)
    ((0, 0, 0), 144)
    >>> lds_map(book.vocabulary, {**point, "pipeline": "comp_async"}, load("gfx942"))
    'the way of pipeline comp_async through LDS is not modelled'
    """
    if reason := _unknown(c, point, gpu):
        return reason
    lanes = _lanes_along_k(point, gpu)
    if lanes is None:
        tile = " x ".join(str(point[f"warp_tile_{d}"]) for d in "mnk")
        return f"how lanes share out the operands of warp tiles {tile} is not modelled"
    at = At(point)
    k = int(point["tile_k"])
    pack = int(point["warp_tile_k"]) // lanes
    size = int(at.value(c.a_bytes))
    layers = max(1, gpu.lds_banks * 4 // k // size)
    waves = (int(point["wave_m"]), int(point["wave_n"]))
    start = 0
    found = []
    for name, pattern, along, turned in (
        ("A", c.a, "m", c.a_shuffled), ("B", c.b, "n", c.b_shuffled),
    ):  # fmt: skip
        extent, rows, width, across, down, many, passes = (
            int(at.value(pattern.terms[f"{pattern.name}_{what}"]))
            for what in (
                "extent", "rows", "width", "lanes_x", "lanes_y", "wave_rows", "passes_y",
            )
        )  # fmt: skip
        own, other = waves if along == "m" else waves[::-1]
        found.append(
            OperandMap(
                name, along.upper(), at.holds(turned),
                Loads(extent, rows, width, (across, down), many, passes),
                Layout(start, k, pack, layers, size),
                Fragment(
                    int(point[f"warp_tile_{along}"]), int(point["warp_tile_k"]), lanes,
                    (own, other), other if along == "m" else 1,
                ),
                gpu.wave_size,
            )
        )  # fmt: skip
        start += -(-int(point[f"tile_{along}"]) * k * size // 16) * 16
    return LdsMap((found[0], found[1]), gpu.isa, gpu.lds_banks)


def _unknown(c: TileGemm, point: Mapping[str, Any], gpu: Gpu) -> str:
    """Why the way of a kernel is not modelled; "" if it is."""
    at = At(point)
    if c.since("2026.06"):
        return "the LDS layouts of CK 2026.06 are not modelled, only those of 2025.11"
    if point["variant"] not in _VARIANTS:
        return f"the way of {point['variant']} kernels through LDS is not modelled"
    if point["pipeline"] not in _PIPELINES:
        return f"the way of pipeline {point['pipeline']} through LDS is not modelled"
    if point.get("num_wave_groups", 1) != 1 or point["wave_k"] != 1:
        return "the way of several wave groups through LDS is not modelled"
    if at.holds(c.a_transpose_load) or at.holds(c.b_transpose_load):
        return f"reads that transpose on {gpu.name} are not modelled"
    if at.value(c.a_bytes) != at.value(c.b_bytes):
        return "the way of A and B of different sizes through LDS is not modelled"
    return ""


def _lanes_along_k(point: Mapping[str, Any], gpu: Gpu) -> int | None:
    """Lanes that share a row of a warp tile's operand along K; None: not known."""
    m, n, k = (int(point[f"warp_tile_{d}"]) for d in "mnk")
    if gpu.matrix_unit == "mfma":
        lanes = gpu.wave_size // m
        return lanes if m == n and m in (16, 32) and k % lanes == 0 else None
    if (m, n, k) != (16, 16, 16):
        return None
    return {"gfx11": 1, "gfx12": 2}.get(gpu.isa)
