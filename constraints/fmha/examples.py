"""Fields in which examples of several modules differ from the baseline."""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.engine.expr import Value

#: Warp tiles of 16 rows, of which more waves fit over few elements.
LOW: Mapping[str, Value] = {
    "warp_tile_m0": 16, "warp_tile_n0": 16, "warp_tile_m1": 16, "warp_tile_n1": 16,
}  # fmt: skip
SPLITS: Mapping[str, Value] = {"variant": "fmha_fwd_splitkv", "lse": True}
#: Splits whose waves lie along K.
DECODE: Mapping[str, Value] = {
    **SPLITS, "pipeline": "qr_nwarp_sshuffle", "tile_m0": 32, "wave_m0": 1, "wave_n0": 4,
    "wave_m1": 1, "wave_n1": 4,
}  # fmt: skip
NARROW: Mapping[str, Value] = {"dtype": "fp8", "warp_tile_k0": 32, "warp_tile_k1": 32}
ASYNC: Mapping[str, Value] = {"pipeline": "qr_async", "pad_s": True, "pad_d": True, "pad_dv": True}
#: Heads padded in vectors, since CK 2026.06.
HEADS: Mapping[str, Value] = {"pipeline": "qr_hpad", "pad_d": True, "pad_dv": True}
PREFILL: Mapping[str, Value] = {
    **ASYNC, "variant": "fmha_batch_prefill", "mode": "group", "paged_kv": True,
}  # fmt: skip
TRLOAD: Mapping[str, Value] = {
    "arch": "gfx950", "pipeline": "qr_async_trload", "trload": True, "tile_n0": 64, "tile_k1": 16,
}  # fmt: skip
#: A head of 256.
WIDE: Mapping[str, Value] = {"hdim": 256, "tile_k0max": 256}
