"""Pipelines that load straight to LDS: directions, widths, waves, and what the epilogue meets."""

from __future__ import annotations

from typing import Any

import pytest

from ckrules.constraints import book
from ckrules.kernels import problem_books

ASYNC = {"arch": "gfx950", "pipeline": "basic_async_v1", "dtype": "fp16"}
TWO = {"arch": "gfx950", "pipeline": "comp_async", "double_smem_buffer": True}
#: Upstream's first kernel with stream-K (ROCm/rocm-libraries#5904).
CUBE = {
    "tile_m": 64, "tile_n": 64, "tile_k": 64, "warp_tile_m": 16, "warp_tile_n": 16,
    "variant": "bwd_weight", "streamk": "tree",
}  # fmt: skip
POINTWISE = {
    "filter_h": 1, "filter_w": 1, "left_pad_h": 0, "left_pad_w": 0, "right_pad_h": 0,
    "right_pad_w": 0,
}  # fmt: skip


def _codes(ck: str = "2026.06", **given: Any) -> list[str]:
    rules = book(str(given.get("variant", "forward")), ck=ck)
    return [v.code for v in rules.violations({**rules.vocabulary.baseline, **given})]


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ({**ASYNC, **CUBE}, []),
        ({**ASYNC, **CUBE, "dtype": "bf16", "streamk_persistent": True}, []),
        ({**ASYNC, "variant": "bwd_data"}, []),
        # no reads of LDS transpose fp32, which upstream's lists have, too
        ({**ASYNC, **CUBE, "dtype": "fp32", "vector_a": 4, "vector_b": 4, "vector_c": 4},
         ["PIPE019"]),
        # operands that are transposed go the same way to LDS
        ({**ASYNC, **CUBE, "vector_a": 4}, ["PIPE010"]),
        ({**TWO, "variant": "bwd_data", "vector_b": 4}, ["PIPE010"]),
        ({**TWO, "variant": "bwd_weight"}, []),
        ({**ASYNC, **CUBE, "arch": "gfx942"}, ["PIPE005", "PIPE019"]),
        # merged groups want a width that no load to LDS has
        ({**ASYNC, "num_groups_to_merge": 8, "vector_b": 1}, ["PIPE010"]),
        # the block GEMM of compv4: one group, and nothing asserts that waves cover the tile
        ({**ASYNC, "wave_m": 2, "wave_n": 1, "num_wave_groups": 2}, ["PIPE017"]),
        ({**ASYNC, "epilogue": "default", "tile_m": 192, "wave_m": 4}, ["TILE005"]),
    ],
)  # fmt: skip
def test_kernels(given: dict[str, Any], codes: list[str]) -> None:
    assert _codes(**given) == codes


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"C": 64}, False), ({"C": 128}, False), ({"C": 192}, False), ({"C": 256}, True),
        ({"C": 320}, False), ({"C": 384}, True),
        ({"C": 256, "epilogue": "default"}, False),
        ({"C": 256, "pipeline": "basic_async_v1", "double_smem_buffer": False}, False),
        ({"C": 256, "wave_m": 1, "wave_n": 1, "tile_m": 32, "tile_n": 32, "tile_k": 64}, False),
        ({"variant": "bwd_weight", "N": 1, "image_h": 16, "image_w": 16}, True),
        ({"variant": "bwd_weight", "N": 1, "image_h": 16, "image_w": 16, "k_batch": 2}, False),
        ({"variant": "bwd_data", "K": 256}, True),
        ({"variant": "bwd_data", "K": 192}, False),
    ],
)  # fmt: skip
def test_loads_end_before_the_epilogue(given: dict[str, Any], wrong: bool) -> None:
    rules = problem_books.book(str(given.get("variant", "forward")), ck="2026.06")
    point = rules.point({**rules.vocabulary.baseline, **TWO, **POINTWISE, **given})
    assert ("PROB046" in [v.code for v in rules.violations(point)]) == wrong


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ({"vector_a": 8, "vector_b": 8}, ["PIPE020"]),
        ({"vector_a": 4, "vector_b": 8}, []),
        ({"vector_a": 8, "vector_b": 4}, []),
        ({"vector_a": 8, "vector_b": 8, "tile_k": 32}, []),
        ({"vector_a": 8, "vector_b": 8, "pipeline": "mem", "double_smem_buffer": False}, []),
        ({"vector_a": 8, "vector_b": 4, "pipeline": "compv3", "double_smem_buffer": False},
         ["PIPE006"]),
    ],
)  # fmt: skip
def test_hot_loops_are_scheduled_by_loads(given: dict[str, Any], codes: list[str]) -> None:
    """A wave has 4 elements of A and of B for each lane."""
    small: dict[str, Any] = {
        "pipeline": "compv4", "double_smem_buffer": True, "tile_m": 16, "tile_n": 16, "tile_k": 16,
        "wave_m": 1, "wave_n": 1, "warp_tile_m": 16, "warp_tile_n": 16, "vector_c": 4,
    }  # fmt: skip
    assert _codes(**{**small, **given}) == codes
    assert _codes("2025.11", **{**small, **given}) == []
