"""Estimated times of GEMMs with scales: a GEMM's, and what scales cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ckrules.arch import load
from ckrules.constraints.scaled.device.timing import TIMING
from ckrules.constraints.scaled.micro_rules import OF_FOUR_BITS
from ckrules.constraints.scaled.problem import parse
from ckrules.constraints.scaled.vocabulary import BASELINE
from ckrules.constraints.tile_gemm.device.terms import GEMMS
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_mapping
from ckrules.kernels.timing import Estimate
from ckrules.ranking.kernels import KernelTable
from ckrules.support.errors import UsageError
from tests.cli.run import run

BOOKS = Books()
FLAT: dict[str, Any] = {}
BLOCKS: dict[str, Any] = {
    "variant": "abquant", "pipeline": "abquant", "scales": "blocks", "scheduler": "intrawave",
    "transpose_c": True, "pad_m": True,
}  # fmt: skip
EXPERTS: dict[str, Any] = {
    "variant": "moe_flatmm", "pipeline": "moe_flatmm", "stage": 1, "scales": "per_tensor",
}  # fmt: skip
LARGE = "M=8192,N=8192,K=8192"


def table(*changes: Mapping[str, Any]) -> KernelTable:
    points = [config_from_mapping({**BASELINE, **c}, BOOKS).point for c in changes]
    return KernelTable.of_points(points, BOOKS)


def estimate(problem: str, *changes: Mapping[str, Any]) -> Estimate:
    return table(*changes).estimate(parse(problem))


def read_bytes(problem: str, change: Mapping[str, Any]) -> float:
    """The bytes that the memory moves, from the time that it takes for them."""
    card = load("gfx942").performance
    assert card is not None
    speed = card.product().memory_gbs * GEMMS.memory * 1e3
    return float(estimate(problem, change).bounds["memory"][0]) * speed


def test_every_scale_is_read_once() -> None:
    m, n, k = 64, 65536, 1024
    tensors = m * k + n * k + 2 * m * n
    line = f"M={m},N={n},K={k}"
    assert read_bytes(line, FLAT) == pytest.approx(tensors + 4 * (m + n))
    groups = 4 * (m * k // 128 + (n // 128) * (k // 128))
    assert read_bytes(line, BLOCKS) == pytest.approx(tensors + groups)


@pytest.mark.parametrize("variant", ["mx_flatmm", "mx_gemm"])
@pytest.mark.parametrize(("dtype", "bits"), [("fp4", 8), ("fp8_fp4", 12), ("fp8", 16)])
def test_mx_reads_bytes_of_its_types_and_scales(variant: str, dtype: str, bits: int) -> None:
    given = {**OF_FOUR_BITS, "variant": variant, "dtype": dtype}
    given["pipeline"] = "weight_preshuffle" if variant == "mx_gemm" else variant
    points = [config_from_mapping({**BASELINE, **given}, BOOKS).point]
    found = TIMING.elements(KernelTable.of_points(points, BOOKS).columns)
    assert 8 * (found.a + found.b) == bits
    assert found.scales_a == found.scales_b == 1 / 32


def test_sums_of_blocks_are_scaled_by_vector_units() -> None:
    flat, blocks = estimate(LARGE, FLAT), estimate(LARGE, BLOCKS)
    assert "vector units" not in flat.bounds
    assert blocks.bounds["vector units"][0] > 0
    assert blocks.bounds["loads"][0] > flat.bounds["loads"][0]


def test_weights_that_waves_load_in_their_own_order_do_not_pass_through_lds() -> None:
    """Of A four waves side by side read the whole tile each, after it was written once."""
    narrow, wide, high = (
        float(estimate(LARGE, {**change, "tile_k": 128}).bounds["LDS"][0])
        for change in (
            {"tile_m": 64, "tile_n": 64},
            {"tile_m": 64, "tile_n": 256},
            {"tile_m": 128, "tile_n": 64},
        )
    )  # fmt: skip
    assert wide == pytest.approx(narrow / 4, rel=0.05)  # a quarter of the blocks, each the same A
    assert high == pytest.approx(narrow, rel=0.05)
    few, many = (
        float(estimate(LARGE, {**BLOCKS, "tile_m": 128, "tile_n": n}).bounds["LDS"][0])
        for n in (128, 256)
    )
    assert many > 1.1 * few / 2


def test_only_kernels_that_were_fitted_are_said_to_be() -> None:
    assert estimate(LARGE, FLAT).assumed == {}
    assert "family = scaled" in estimate(LARGE, {"dtype": "bf16", "warp_tile_k": 32}).assumed
    assert set(estimate(LARGE, BLOCKS).assumed) == {"family = scaled"}


def test_parts_of_a_sum_are_added_in_memory() -> None:
    few = "M=16,N=512,K=16384"
    whole, split = estimate(few, FLAT), estimate(f"{few},k_batch=8", FLAT)
    assert split.microseconds[0] < whole.microseconds[0]
    assert split.figures["blocks"][0] == 8 * whole.figures["blocks"][0]


def test_tokens_take_as_long_as_a_product_for_each_expert_they_meet() -> None:
    few, many = (estimate(f"M={m},N=4096,K=7168,experts=64,topk=8", EXPERTS) for m in (2, 1024))
    assert many.figures["blocks"][0] == 64 / 16 * few.figures["blocks"][0]
    assert 2 < many.microseconds[0] / few.microseconds[0] < 32
    assert "family = scaled" in few.assumed


def test_operations_of_experts_are_those_of_their_tokens() -> None:
    """65 tokens of 64 experts are not twice as many."""
    found = estimate("M=65,N=4096,K=7168,experts=64,topk=1", EXPERTS)
    flops = found.figures["tflops"] * found.microseconds * 1e6
    assert flops[0] == pytest.approx(2 * 65 * 4096 * 7168)
    whole = estimate("M=64,N=4096,K=7168,experts=64,topk=1", EXPERTS)
    assert found.figures["useful"][0] == pytest.approx(whole.figures["useful"][0] * 65 / 64)


def test_the_library_has_no_such_kernels() -> None:
    found = table(FLAT)
    with pytest.raises(UsageError, match="no kernels with scales"):
        TIMING.compiled(found.columns, found.gpu, found.product)


@pytest.mark.parametrize("variant", ["flatmm", "abquant"])
def test_aiters_kernels_are_ranked(variant: str) -> None:
    asked = ("--catalog", "aiter", "--arch", "gfx950", "--variant", variant)
    found = run("rank", *asked, "--problem", "M=64,N=4096,K=7168", "--format", "names")
    assert found.exit_code == 0, found.output
    assert len(found.stdout.splitlines()) == 10
    assert all(f"scaled_{variant}_fp8" in line for line in found.stdout.splitlines())


def test_experts_are_ranked_on_tokens_and_not_on_a_product() -> None:
    asked = ("--catalog", "aiter", "--arch", "gfx950", "--variant", "moe_flatmm")
    tokens = "M=64,N=4096,K=7168,experts=64,topk=8"
    found = run("rank", *asked, "--dtype", "fp8", "--problem", tokens, "--format", "names")
    assert found.exit_code == 0, found.output
    assert "moe_flatmm" in found.stdout
    found = run("rank", *asked, "--problem", "M=64,N=4096,K=7168")
    assert found.exit_code == 3
    assert "SPROB001 refuses" in found.stderr
