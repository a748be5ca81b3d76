"""What quantised GEMMs add to input formats: tile_engine's files of 2026, and a list of aiter's.

Facts: tile_engine/ops/gemm/block_scale_gemm/*/configs, the builders beside them and
gemm_instance_builder.py, ROCm/composable_kernel and ROCm/rocm-libraries of 2026. The files of
``rowcol_quant`` and ``tensor_quant`` have no word that those of other GEMMs lack: upstream knows
them by their folder. ``AITER``: csrc/ck_gemm_a8w8/gemm_a8w8_common.py and the wrapper beside it, which asks
for compv3 without pads and transposes no C whatever the list says (ROCm/aiter @ 10788a1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ckrules.constraints.gemm.readers import PADS, TILES
from ckrules.constraints.quant.tile_engine import DTYPES, LAYOUTS
from ckrules.constraints.quant.words import GROUP
from ckrules.constraints.tile_gemm.aiter import BOTH, INSTANCE, NEEDED, gpu_of, word
from ckrules.kernels.reader_tables import Axes, RecordTable, SweepTable

_TRAITS = ("pipeline", "epilogue", "scheduler", *PADS)


def _of(variant: str) -> Callable[[str, Axes], Axes]:
    """The loops of the one variant that a folder makes kernels of."""
    return lambda asked, axes: axes if asked == variant else dict.fromkeys(axes, ())


def _table(variant: str, folder: str, switch: str = "", **own: Any) -> SweepTable:
    """The files of a variant, with the key by which its scales are shuffled beforehand."""
    traits = {**{k: k for k in _TRAITS}, **({switch: "preshuffle_quant"} if switch else {})}
    grouped: Mapping[str, Any] = {
        "scalars": {"k_block_per_cu": "k_block_per_cu", "group_size_k": "group_k"},
        "beside": {variant: {"group_k": GROUP}},
        "marks": (f"trait_config.{switch}",),
        "absent": {switch: (False,)},
    }
    return SweepTable(
        tool="tile_engine", profile="tile_engine", ck="2026.06", style="tile_engine_2026",
        sections={"tile_config": TILES, "trait_config": traits},
        ranges=("tile_m", "tile_n", "tile_k"), folders=(folder,),
        purposes={variant: (DTYPES, LAYOUTS[variant])}, shape=_of(variant),
        **(grouped if switch else {"scalars": {"k_block_per_cu": "k_block_per_cu"}}), **own,
    )  # fmt: skip


_NOT_ASKED = ("TransposeC", "UsePersistentKernel")
AITER = RecordTable(
    needed=NEEDED, text="a8w8_cktile",
    fields={k: v for k, v in INSTANCE.items() if k not in _NOT_ASKED}, labels=_NOT_ASKED,
    fixed={
        "variant": "rowcol_quant", "dtype": "fp8", "dtype_c": "bf16", "layout": "rcr",
        "pipeline": "compv3",
    },
    of_list=gpu_of, word=word, gpus=BOTH,
)  # fmt: skip

TABLES: Mapping[str, Any] = {
    "python": (AITER,),
    "sweep": (
        _table("aquant", "gemm_aquant", "a_preshuffle_quant"),
        _table("bquant", "gemm_bquant", "b_preshuffle_quant"),
        _table("rowcol_quant", "gemm_rowcolquant"),
        _table("tensor_quant", "gemm_tensor_quant", labels=("persistent",)),
    ),
}
