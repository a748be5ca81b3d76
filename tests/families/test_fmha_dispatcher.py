"""What the dispatcher of June 2026 writes of attention forward.

The numbers are of a walk over its sweep that was written apart from the rules, over the values
that the fields list: no tiles of 192 rows or 384 columns, no heads of 80, no 16 waves. The walk
left sinks out: they double the rows of forward, and of 16-bit types for caches.
"""

from __future__ import annotations

import pytest

from ckrules.constraints import book
from ckrules.engine.expr import Value

WRITTEN = {
    "gfx90a": (324768, 169728, 67104, 59648),
    "gfx942": (333876, 175008, 76608, 61748),
    "gfx950": (262932, 175008, 76608, 61748),
    "gfx1100": (173712, 178944, 67104, 0),
    "gfx1201": (176304, 185280, 76608, 0),
}
#: Pages by which those of batch prefill are multiplied: of 1, 16 and 1024 rows, of both look-ups,
#: and of vectors but of one row. With them the walk has 277,120 on gfx1100, as
#: ROCm/rocm-libraries#12103 counts, where the dispatcher has no pipeline for them.
PAGES = 10
#: Batch prefill of September, whose tiles have one step for both products: the same walk.
PREFILL_OF_SEPTEMBER = {"gfx90a": 14400, "gfx942": 14982, "gfx950": 14982}
#: Those of fp8 among the kernels for caches.
EIGHT = {"gfx942": (5280, 9504), "gfx950": (5280, 9504), "gfx1201": (6336, 9504)}
VARIANTS = ("fmha_fwd", "fmha_fwd_splitkv", "fmha_fwd_pagedkv", "fmha_batch_prefill")
SMALL = {
    "tile_m0": 64, "tile_n0": 64, "bias": "bias",
    **{f"warp_tile_{x}{p}": 16 for x in "mnk" for p in (0, 1)},
}  # fmt: skip


def _written(gpu: str, ck: str = "2026.06", **fixed: Value) -> tuple[int, ...]:
    """Kernels by variant; those of batch prefill by their pages."""
    written = [
        book(v, ck=ck, profile="dispatcher").space(variant=v, arch=gpu, **fixed).count()
        for v in VARIANTS
    ]
    assert written[3] % PAGES == 0
    return (*written[:3], written[3] // PAGES)


@pytest.mark.parametrize("gpu", WRITTEN)
def test_numbers_of_the_sweep(gpu: str) -> None:
    assert _written(gpu, sink=False) == WRITTEN[gpu]


@pytest.mark.parametrize("gpu", WRITTEN)
def test_september_leaves_batch_prefill_of_two_steps_out(gpu: str) -> None:
    written = (*WRITTEN[gpu][:3], PREFILL_OF_SEPTEMBER.get(gpu, 0))
    assert _written(gpu, "2026.09", sink=False) == written


@pytest.mark.parametrize("gpu", WRITTEN)
def test_sinks_double_what_is_not_of_eight_bits_in_a_cache(gpu: str) -> None:
    forward, split, paged, _ = WRITTEN[gpu]
    eight = EIGHT.get(gpu, (0, 0))
    assert _written(gpu, sink=True) == (forward, split - eight[0], paged - eight[1], 0)
    assert _written(gpu, sink=False, dtype="fp8")[1:3] == eight


@pytest.mark.parametrize("gpu", ["gfx1100", "gfx1201"])
def test_no_forward_kernel_of_rdna_compiles(gpu: str) -> None:
    """Its warp tiles are MFMA's: WMMA has 16x16x16 alone."""
    listed = book("fmha_fwd", ck="2026.06", profile="dispatcher")
    legal = book("fmha_fwd", ck="2026.06")
    warps = listed.space(variant="fmha_fwd", arch=gpu)
    for point in warps.sample(20, seed=1):
        assert {"FMHA011"} <= {v.rule.code for v in legal.violations(point)}
    assert legal.space(variant="fmha_fwd", arch=gpu, warp_tile_k0=16, warp_tile_m0=16).count() > 0


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({"tile_m0": 192, "wave_m0": 6, "wave_m1": 6, "hdim": 64, "tile_n1": 64, "tile_k0max": 64,
          "bias": "bias"}, set()),
        ({"bias": "bias", "hdim": 80, "tile_n1": 96, "tile_k0max": 96, "tile_k0": 16}, set()),
        ({"bias": "bias", "hdim": 80, "tile_n1": 96, "tile_k0max": 96}, {"FDSP005"}),
        ({"bias": "bias", "dtype": "fp32"}, {"FDSP001", "FDSP002", "FDSP008"}),
        ({**SMALL, "arch": "gfx1201"}, {"FDSP002", "FDSP005"}),
        ({"bias": "bias", "mask": "causal"}, {"FDSP008"}),
    ],
)  # fmt: skip
def test_kernels_one_by_one(change: dict[str, Value], codes: set[str]) -> None:
    rules = book("fmha_fwd", ck="2026.06", profile="dispatcher")
    point = {**rules.vocabulary.baseline, **change}
    assert {v.rule.code for v in rules.violations(point)} == codes
