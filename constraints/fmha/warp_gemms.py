"""The warp GEMMs that attention takes, and the facts of GPUs that its rules look up.

Product 0 has C transposed, and with 32 rows the lanes of its operand changed about (SwizzleA), so
that its results lie as product 1 reads them. On GPUs with waves of 64 lanes the products of 8-bit
types are a warp GEMM of their own; since CK 2026.06 those of the dispatcher compile, too.

Facts: BlockFmhaPipelineQXCustomPolicy GetQKBlockGemm and BlockFmhaPipelineQXKSVSCustomPolicy
GetKVBlockGemm of ops/fmha/pipeline/block_fmha_pipeline_qx_ks_vs_custom_policy.hpp, and
ops/gemm/warp/warp_gemm_dispatcher.hpp, CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ckrules.arch import Gpu
from ckrules.constraints.fmha.words import ELEMENT_BYTES, HALVES, NARROW, OPERANDS
from ckrules.constraints.gemm.warp_gemms import LATER_TURNED, SINGLE, Shape
from ckrules.constraints.tile_gemm import facts as tile_gemm
from ckrules.engine.expr import BoolExpr, EnumExpr, IntExpr, all_of, ite
from ckrules.engine.expr.relation import Table
from ckrules.engine.rules import version_key

if TYPE_CHECKING:
    from ckrules.constraints.fmha.gpu_facts import GpuFacts

#: Warp GEMMs with transposed C whose operand's lanes are changed about, by type.
SWIZZLED: Mapping[str, Sequence[Shape]] = dict.fromkeys(HALVES, ((32, 32, 8), (32, 32, 16)))
NARROW_WAVE64: Shape = (32, 32, 32)
#: Depth of the matrix instruction that warp GEMMs repeat, with and without those of gfx950
#: (``WarpGemmAttributeMfmaImpl*::kK`` of ops/gemm/warp/warp_gemm.hpp), by rows and depth.
_HALF: Mapping[tuple[int, int], tuple[int, int]] = {
    (32, 8): (8, 8), (32, 16): (16, 8), (16, 16): (16, 16), (16, 32): (32, 16),
}  # fmt: skip
_DEPTHS: Mapping[str, Mapping[tuple[int, int], tuple[int, int]]] = {
    "fp16": _HALF,
    "bf16": _HALF,
    "fp32": {(16, 16): (4, 4)},
    "fp8": {(32, 32): (16, 16), (16, 32): (32, 32), (16, 64): (32, 32), (16, 128): (128, 128)},
}
_KEYS = ("dtype", "wave_size", "warp_tile_m", "warp_tile_n", "warp_tile_k")
_SOURCE = "ops/fmha/pipeline/block_fmha_pipeline_qx_ks_vs_custom_policy.hpp (CK {})"


def _rows(ck: str, *, scores: bool) -> Iterator[tuple[str, int, int, int, int]]:
    later = version_key(ck) >= version_key("2026.06")
    for word, operand in OPERANDS.items():
        pair = (operand, operand)
        turned = (*SINGLE.get((pair, True), ()), *(LATER_TURNED.get(pair, ()) if later else ()))
        shapes = [s for s in turned if not scores or s[0] != 32]
        shapes += SWIZZLED.get(operand, ()) if scores else ()
        for wave_size in (32, 64):
            alone = word in NARROW and wave_size == 64
            for shape in [NARROW_WAVE64, *(shapes if later else ())] if alone else shapes:
                yield word, wave_size, *shape


def products(ck: str) -> dict[str, Table]:
    """The warp GEMMs with C transposed of products 0 and 1, by name."""
    names = {"scores_warp_tiles": True, "values_warp_tiles": False}
    return {
        name: Table.relation(name, _KEYS, _rows(ck, scores=scores), source=_SOURCE.format(ck))
        for name, scores in names.items()
    }


def _upright() -> Iterator[tuple[str, int, int, int, int]]:
    for word, operand in OPERANDS.items():
        straight = [s for s in SINGLE.get(((operand, operand), False), ()) if s[0] != 32]
        for wave_size in (32, 64):
            for shape in (*straight, *SWIZZLED.get(operand, ())):
                yield word, wave_size, *shape


_DROPOUT = "ops/fmha/block/block_dropout.hpp: BlockDropout (CK 2025.11)"

#: Warp GEMMs with C upright, from which dropout takes the order of its random numbers.
DROPOUT = Table.relation("dropout_warp_tiles", _KEYS, _upright(), source=_DROPOUT)
DEPTHS = tuple(
    Table(
        name, ("dtype", "warp_tile_m", "warp_tile_k"),
        {(word, *tile): depths[i]
         for word, operand in OPERANDS.items() for tile, depths in _DEPTHS[operand].items()},
    )
    for i, name in enumerate(("instruction_depths_gfx950", "instruction_depths"))
)  # fmt: skip


def is_wmma(c: GpuFacts, dtype: EnumExpr, tile: Sequence[IntExpr]) -> BoolExpr:
    """Whether a warp GEMM is made for waves of 32 lanes; all others are for 64.

    Source: ops/gemm/warp/warp_gemm_dispatcher.hpp: Dispatcher under __gfx11__, __gfx120__, and
    __gfx125__ (CK 2026.09, read in ROCm/rocm-libraries @ 0149199), whose WMMA are deeper.
    """
    rows, columns, depth = tile
    deep = ite(dtype.isin(*HALVES), depth == 32, (depth == 64) | (depth == 128))
    own = ite(c.has("tdm"), deep, depth == 16)
    return all_of(c.wave_size == 32, dtype != "fp32", rows == 16, columns == 16, own)


def hardware(gpus: Sequence[Gpu], ck: str) -> dict[str, Table]:
    """What rules look up of GPUs and types, by name."""
    types = {word: (op, op, "fp32") for word, op in OPERANDS.items()}
    found = tile_gemm.facts(gpus, ck, types)
    names = ("wave_size", "lds_capacity", "lds_banks", "max_threads", "lane_vgprs",
             "hardware_warp_tiles", "lds_transpose_load", "new_compilers", "operands_in_both_halves",
             "tdm")  # fmt: skip
    straight = {
        name: Table.relation(name, ("arch",), [g.name for g in gpus if g.has(name)])
        for name in ("direct_to_lds", "global_to_lds")
    }
    return {
        **{name: found[name] for name in names},
        **straight,
        "element_bytes": Table("element_bytes", ("dtype",), ELEMENT_BYTES),
    }
