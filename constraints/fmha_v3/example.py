"""TGEN: which kernels with two groups of waves upstream's example of November 2025 has.

No generator of CK 2025.11 lists them. Facts: fmha_fwd_v3_kernel_traits of
example/ck_tile/01_fmha/fmha_fwd_v3_impl.hpp, fmha_fwd_v3.cpp and instances/fmha_fwd_v3_*.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.constraints.fmha_v3.vocabulary import TwoGroupQuantities
from ckrules.constraints.fmha_v3.words import EXAMPLE
from ckrules.engine.expr import BoolExpr, all_of
from ckrules.engine.rules import rule

_IMPL = "example/ck_tile/01_fmha/fmha_fwd_v3_impl.hpp: fmha_fwd_v3_kernel_traits (CK 2025.11)"
_TILE: Mapping[str, int] = {
    "tile_m0": 256, "tile_n0": 32, "tile_k0": 128, "tile_n1": 128, "tile_k1": 32,
    "tile_k0max": 128,
}  # fmt: skip


@rule(
    "TGEN001", "shape-beside-the-example", kind="profile", profiles=(EXAMPLE,),
    says=("the example has heads of 128, tiles 256x32x128x128x32x128, 8x1x1 waves and warp tiles 32x32x16: "
          "hdim = {hdim}, tile_m0 = {tile_m0}, tile_n0 = {tile_n0}, wave_m0 = {wave_m0}, wave_m1 = {wave_m1}, block_per_cu = {block_per_cu}"),
    source=_IMPL, accepts=[{}], rejects=[{"hdim": 64}, {"block_per_cu": 1}],
)  # fmt: skip
def shape_is_the_examples(c: TwoGroupQuantities) -> BoolExpr:
    """The example has one shape.

    Why: it is written into its traits.
    """
    tile = all_of(c.hdim == 128, *(getattr(c, n) == size for n, size in _TILE.items()))
    waves = all_of(
        *(getattr(c, f"wave_{x}{p}") == size for p in (0, 1) for x, size in (("m", 8), ("n", 1)))
    )
    warps = all_of(
        *(getattr(c, f"warp_tile_{x}{p}") == size
          for p in (0, 1) for x, size in (("m", 32), ("n", 32), ("k", 16)))
    )  # fmt: skip
    return all_of(tile, waves, warps, c.block_per_cu == -1)


@rule(
    "TGEN002", "functions-beside-the-example", kind="profile", profiles=(EXAMPLE,),
    says=("the example has batches without or with a causal mask, pads both sequences and stores no LSE: "
          "mode = {mode}, mask = {mask}, lse = {lse}, {pad_s}, {pad_sk}, {pad_d}, {pad_dv}"),
    source=[_IMPL, "example/ck_tile/01_fmha/fmha_fwd_v3.cpp: fmha_fwd_v3 (CK 2025.11)"],
    accepts=[{}, {"mask": "causal", "dtype": "bf16"}],
    rejects=[{"mode": "group"}, {"mask": "generic"}, {"pad_sk": False}],
)  # fmt: skip
def functions_are_the_examples(c: TwoGroupQuantities) -> BoolExpr:
    """The example has batches of fp16 and bf16, with a causal mask and without one.

    Why: it instantiates four kernels, and chooses among them by type and mask.
    """
    return all_of(
        c.mode == "batch", c.mask.isin("no", "causal"), ~c.lse, c.v_layout == "row",
        c.pad_s, c.pad_sk, ~c.pad_d, ~c.pad_dv,
    )  # fmt: skip


@rule(
    "TGEN003", "target-beside-the-example", kind="profile", profiles=(EXAMPLE,),
    says="the example is for gfx950, not {arch}",
    source=["example/ck_tile/01_fmha/fmha_fwd_v3_impl.hpp",
            "ops/fmha/pipeline/block_fmha_fwd_v3_pipeline_default_policy.hpp: __gfx950__ (CK 2025.11)"],
    accepts=[{}], rejects=[{"arch": "gfx942"}],
)  # fmt: skip
def target_is_the_examples(c: TwoGroupQuantities) -> BoolExpr:
    """The example compiles for gfx950.

    Why: its one shape fits its buffers there.

    Fix: none; use fmha_fwd.
    """
    return c.arch == "gfx950"
