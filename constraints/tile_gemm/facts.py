"""What rules look up of GPUs, of dtypes and of the headers, as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ckrules.arch import DTYPES, Gpu, of_release
from ckrules.constraints.tile_gemm.fields import PIPELINES, WARP_K
from ckrules.engine.expr.relation import Table

#: The types of A, B and the accumulator by the word that the field ``dtype`` has for them.
Types = Mapping[str, tuple[str, str, str]]

#: What GPUs have or lack (`ckrules.arch.features`) that the shared rules ask for.
FEATURES = (
    "async_pipelines", "bf16_buffer_atomics", "buffer_flags", "eight_wave_pipeline",
    "float_atomics_by_address", "four_wave_schedule", "lds_row_padding", "lds_transpose_load",
    "new_compilers", "operands_in_both_halves", "packed_fp8_convert", "result_rows_apart",
    "scalar_stores", "scaled_mfma", "scoped_atomics", "store_counter", "streamk", "tdm",
)  # fmt: skip

_HALF = ((32, 32, 8), (32, 32, 16), (16, 16, 16), (16, 16, 32), (4, 64, 16), (64, 4, 16))
_FP16, _BF16, _FP32 = ("fp16", "fp16", "fp32"), ("bf16", "bf16", "fp32"), ("fp32", "fp32", "fp32")

#: Specializations of WarpGemmDispatcher without transposed C, by CK version: types, then (m, n, k).
_HEADER_WARP_TILES: Mapping[str, Mapping[tuple[str, str, str], Sequence[tuple[int, int, int]]]] = {
    "2025.11": {_FP16: _HALF, _BF16: _HALF, _FP32: ((16, 16, 4), (16, 16, 16))},
    "2026.06": {
        _FP16: _HALF,
        _BF16: (*_HALF, (16, 16, 64)),
        _FP32: ((16, 16, 4), (16, 16, 8), (16, 16, 16), (32, 32, 4), (32, 32, 8)),
    },
}


#: The schedulers that each pipeline implements.
SCHEDULED = Table.relation(
    "schedulers",
    ("pipeline", "scheduler"),
    [*((p, "intrawave") for p in PIPELINES), ("basic_v1", "interwave"), ("mem", "interwave")],
    source="ops/gemm/pipeline/gemm_pipeline_ag*.hpp: PipelineImpl specializations",
)


def facts(gpus: Sequence[Gpu], ck: str, types: Types) -> dict[str, Table]:
    """The tables that the shared rules look up, by name.

    Args:
        gpus: The GPUs that points may name.
        types: The family's dtypes. A word whose types the headers' list lacks has no warp tiles.
    """
    return {
        "wave_size": _per_gpu("wave_size", gpus, lambda g: g.wave_size),
        "lds_capacity": _per_gpu("lds_capacity", gpus, lambda g: g.lds_bytes),
        "smem_capacity": _per_gpu("smem_capacity", gpus, lambda g: g.smem_capacity),
        "lds_banks": _per_gpu("lds_banks", gpus, lambda g: g.lds_banks),
        "max_threads": _per_gpu("max_threads", gpus, lambda g: g.max_threads),
        "lane_vgprs": _per_gpu("lane_vgprs", gpus, lambda g: g.vgprs_per_wave),
        "simd_vgprs": _per_gpu("simd_vgprs", gpus, lambda g: g.vgprs_per_simd or 0),
        "element_bytes": Table(
            "element_bytes",
            ("dtype",),
            # of 4 bits two share a byte, which is what sizeof says of them
            {word: max(1, DTYPES[a] // 8) for word, (a, _, _) in types.items()},
        ),
        "header_warp_tiles": _header_warp_tiles(ck, types),
        "hardware_warp_tiles": _hardware_warp_tiles(gpus, ck, types),
        "transpose_load": _transpose_load(gpus, ck, types),
        "direct_to_lds": Table.relation(
            "direct_to_lds",
            ("arch", "bytes"),
            [(g.name, b) for g in gpus for b in g.direct_to_lds_bytes],
        ),
        "schedulers": SCHEDULED,
        **_features(gpus),
    }


def _features(gpus: Sequence[Gpu]) -> dict[str, Table]:
    return {
        name: Table.relation(name, ("arch",), [g.name for g in gpus if g.has(name)])
        for name in FEATURES
    }


def occupancy(gpus: Sequence[Gpu]) -> dict[str, Table]:
    """What decides how many waves a SIMD holds at once; 0 is what a GPU's file does not say."""
    return {
        "simds": _per_gpu("simds", gpus, lambda g: g.performance.simds if g.performance else 0),
        "simd_waves": _per_gpu(
            "simd_waves", gpus, lambda g: g.performance.waves_per_simd if g.performance else 0
        ),
    }


def _per_gpu(name: str, gpus: Sequence[Gpu], fact: Callable[[Gpu], Any]) -> Table:
    return Table(name, ("arch",), {g.name: fact(g) for g in gpus}, source="arch/data/*.toml")


def _header_warp_tiles(ck: str, types: Types) -> Table:
    listed = of_release(_HEADER_WARP_TILES, ck)
    return Table.relation(
        "header_warp_tiles",
        ("dtype", "warp_tile_m", "warp_tile_n", "warp_tile_k"),
        [(word, *shape) for word, row in types.items() for shape in listed.get(row, ())],
        source=f"ops/gemm/warp/warp_gemm_dispatcher.hpp: WarpGemmDispatcher, CK {ck}",
    )


def _hardware_warp_tiles(gpus: Sequence[Gpu], ck: str, types: Types) -> Table:
    tiles = {
        (g.name, word, t.m, t.n, t.k)
        for g in gpus
        for word, row in types.items()
        for t in g.warp_tiles(*row, ck)
    }
    return Table.relation(
        "hardware_warp_tiles",
        ("arch", "dtype", "warp_tile_m", "warp_tile_n", "warp_tile_k"),
        sorted(tiles),
        source="arch/data/*.toml [[warp_tile]]",
    )


def _transpose_load(gpus: Sequence[Gpu], ck: str, types: Types) -> Table:
    transposing = {
        (g.name, word, k)
        for g in gpus
        if g.transpose_load is not None
        for word, (a, _, _) in types.items()
        for k in WARP_K
        if (ck < "2026.06" and g.isa == "gfx9") or g.transpose_load.allows(a, k)
    }
    return Table.relation("transpose_load", ("arch", "dtype", "warp_tile_k"), sorted(transposing))
