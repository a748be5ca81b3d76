"""Kernels for experts: what their own epilogue stores, as clang 19 said of them."""

from __future__ import annotations

from typing import Any

import pytest

from ckrules.constraints import book
from ckrules.constraints.scaled.kernel import FOUR_BITS, OF_EXPERTS

#: The second GEMM with eight waves along N; clang said the same on gfx90a, gfx942 and gfx950.
EIGHT = {"stage": 2, "wave_n": 8, "arch": "gfx942"}
NARROW = {**FOUR_BITS, **EIGHT, "scales": "per_1x32", "tile_m": 16, "tile_n": 512}
SMALL = {"warp_tile_m": 16, "warp_tile_n": 16}


@pytest.mark.parametrize(
    ("point", "covered"),
    [
        (NARROW, False),
        ({**NARROW, "wave_n": 4}, True),
        ({**NARROW, "wave_n": 4, "tile_n": 256}, True),
        ({**OF_EXPERTS, **EIGHT, "tile_n": 256, "warp_tile_m": 32, "warp_tile_n": 32}, False),
        ({**OF_EXPERTS, **EIGHT, "tile_n": 256, **SMALL}, True),
        ({**NARROW, "stage": 1}, True),  # which has vectors of C
    ],
)
def test_stores_of_pairs_cover_a_shuffle(point: dict[str, Any], covered: bool) -> None:
    rules = book("moe_flatmm", ck="2025.11")
    broken = {v.rule.code for v in rules.violations({**rules.vocabulary.baseline, **point})}
    assert ("SCAL038" in broken) == (not covered)
