"""What GEMMs with scales add to input formats: aiter's lists and tuned tables.

Facts: ROCm/aiter of August 2026, csrc/cktile_gemm_a8w8_bpreshuffle, csrc/ck_gemm_a8w8_blockscale and
csrc/ck_tile_gemm_moe_2stages (``*_common.py``, ``*_instance.py``); fixed fields from the ``.cuh`` beside
them. aiter adds kernels for every number of blocks on a compute unit up to 4, which are not read:
only a launch bound differs. Pads of bpreshuffle stand in its names (``PadM`` to ``PadK``). ``MICRO``:
csrc/ck_gemm_a4w4_blockscale/gemm_a4w4_blockscale_common.py and the wrapper beside it, which does not look at
``AQRowMajor`` (ROCm/aiter @ 0055ba9). ``GROUPS``: csrc/ck_m_grouped_gemm/m_grouped_gemm_common.py (@ 5a7fc71) and
csrc/ck_deepgemm/include/deepgemm_common.cuh ``MGroupedFlatmmConfig`` (@ 9853791), which has tile_k in bytes and
64 bytes for the K of the warp tile, whatever the list says; of its six types fp8 with bf16 is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ckrules.constraints.scaled.tuned import TUNED
from ckrules.constraints.scaled.written import WRITTEN
from ckrules.constraints.tile_gemm.aiter import BOTH, INSTANCE, NEEDED, gpu_of, shape, word
from ckrules.kernels.reader_tables import RecordTable

#: Types of A and B by the beginning of a list's name.
_TYPES = {"a8w8": "fp8", "a16w4": "bf16_fp4", "a8w4": "fp8_fp4", "a4w4": "fp4", "a16w16": "bf16"}


def _experts(name: str) -> dict[str, Any]:
    types = next((t for begin, t in _TYPES.items() if name.startswith(f"{begin}_")), None)
    return {**gpu_of(name), **({} if types is None else {"dtype": types})}


BPRESHUFFLE = RecordTable(
    needed=("sTransposeC", "MWTile", "BlockPerCu"),
    fields={
        **shape("MTile", "NTile", "KTile", "tile"), **shape("MWarp", "NWarp", "KWarp", "wave"),
        **shape("MWTile", "NWTile", "KWTile", "warp_tile"), "sTransposeC": "transpose_c",
        "sTileParitionerGroupNum": "partition_groups", "sTileParitionerM01": "partition_m01",
        "sNumWaveGroups": "num_wave_groups", "sDoubleSmemBuffer": "double_smem_buffer",
        "PadM": "pad_m", "PadN": "pad_n", "PadK": "pad_k", "BlockPerCu": "k_block_per_cu",
        "sScheduler": "scheduler",
    },
    outside={"sUseStructuredSparsity": (1, True)},
    fixed={"variant": "flatmm", "dtype": "fp8", "dtype_c": "bf16", "scales": "row_column"},
    of_list=gpu_of,
    word=word,
    gpus=BOTH,
)  # fmt: skip

BLOCKSCALE = RecordTable(
    needed=NEEDED,
    fields={**INSTANCE, "AQRowMajor": "scale_rows"},
    fixed={
        "variant": "abquant", "dtype": "fp8", "dtype_c": "bf16", "scales": "blocks", "pad_m": True,
    },
    of_list=gpu_of,
    word=word,
    gpus=BOTH,
)  # fmt: skip

MICRO = replace(
    BLOCKSCALE,
    text="a4w4_blockscale_cktile",
    fields=INSTANCE,
    labels=("AQRowMajor",),
    fixed={
        "variant": "mx_gemm", "dtype": "fp4", "dtype_c": "bf16", "scales": "per_1x32",
        "pad_m": True, "partition_groups": 8, "partition_m01": 4,
    },
    gpus=("gfx950",),
)  # fmt: skip

GROUPS = RecordTable(
    needed=("BLOCK_SIZE", "MPerBLOCK", "WAVE_TILE_K"),
    fields={
        **shape("MPerBLOCK", "NPerBLOCK", "KPerBLOCK", "tile"),
        "WAVE_TILE_M": "warp_tile_m", "WAVE_TILE_N": "warp_tile_n", "WAVE_MAP_M": "wave_m", "WAVE_MAP_N": "wave_n",
    },
    labels=("BLOCK_SIZE", "WAVE_TILE_K"),
    fixed={
        "variant": "flatmm", "grouping": "masked", "dtype": "fp8", "dtype_c": "bf16",
        "scales": "row_column", "scheduler": "default", "wave_k": 1, "warp_tile_k": 64,
        "partition_groups": 8, "partition_m01": 4,
    },
    word=word,
    gpus=BOTH,
)  # fmt: skip

MOE = RecordTable(
    needed=("stage", "MPerBlock", "WAVE_TILE_M"),
    fields={
        "stage": "stage", **shape("MPerBlock", "NPerBlock", "KPerBlock", "tile"),
        **shape("WAVE_TILE_M", "WAVE_TILE_N", "WAVE_TILE_K", "warp_tile"),
        "WAVE_MAP_M": "wave_m", "WAVE_MAP_N": "wave_n", "Block_Per_CU": "k_block_per_cu",
        "MulRoutedWeight": "routed_weight", "SplitK": "split_k", "HasBias": "bias",
        "ActOP": "activation", "QuantType": "scales",
    },
    labels=("BLOCK_SIZE",),
    fixed={"variant": "moe_flatmm", "dtype_c": "bf16", "wave_k": 1, "scheduler": "default"},
    of_list=_experts,
    word=word,
    finish=lambda fields: fields.update(
        {"activation": "no"} if fields.get("stage") == 2 else {}
    ),
    gpus=BOTH,
)  # fmt: skip

TABLES: Mapping[str, Any] = {
    "python": (BPRESHUFFLE, BLOCKSCALE, MICRO, GROUPS, MOE), "tuned": TUNED, "written": WRITTEN,
}  # fmt: skip
