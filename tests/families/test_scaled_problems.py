"""Products that GEMMs with scales take, and split sums that flatmm computes wrong."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ckrules.constraints.gemm import problem as gemm
from ckrules.constraints.scaled.device.tensors import ScaledTensors
from ckrules.constraints.scaled.kernel import OF_EXPERTS
from ckrules.constraints.scaled.problem import ExpertProduct, from_row, parse
from ckrules.constraints.scaled.problem_fields import BASELINE
from ckrules.constraints.scaled.problems import ScaledProblems
from ckrules.constraints.scaled.vocabulary import BASELINE as KERNEL
from ckrules.kernels import problem_books
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name
from tests.cli.run import run

FLAT = "a8w8_bpreshuffle_cktile_0x0x8x4x1x0x0x0x0x1_128x128x128_1x4x1_16x16x128_default"
PADDED = FLAT.replace("0x0x0x1_128", "0x1x1x1_128")
BLOCKS = "a8w8_blockscale_cktile_32x128x128_1x4x1_16x16x64_intrawave_0x1x0_4"
EXPERTS = "moe_cktile2stages_gemm1_256x64x128x256_1x4_16x16x128_1perCU_per_tensor_silu"
#: What the rules say of parts of sums.
PARTS = {"SPROB020", "SPROB021", "SPROB022", "SPROB043"}


def codes(point: dict[str, Any], problem: str, ck: str = "2026.06") -> list[str]:
    values = ScaledProblems().values(parse(problem))
    book = problem_books.book("flatmm", ck=ck)
    return [v.code for v in book.violations({**point, **values})]


@pytest.mark.parametrize(
    ("name", "problem", "found"),
    [
        (FLAT, "M=77,N=256,K=1024", []),
        (FLAT, "M=77,N=192,K=1024", ["SPROB004"]),
        (FLAT, "M=77,N=256,K=1000", ["SPROB003", "SPROB005", "SPROB023"]),
        (PADDED, "M=77,N=176,K=1152", []),
        (PADDED, "M=77,N=176,K=1000", ["SPROB023"]),
        (PADDED, "M=77,N=180,K=1152", ["SPROB006", "SPROB023"]),
        (FLAT, "M=1,N=128,K=1024,k_batch=4", []),
        (FLAT, "M=1,N=128,K=640,k_batch=2", ["SPROB022"]),
        (PADDED, "M=1,N=128,K=384,k_batch=3", []),
        (PADDED, "M=1,N=128,K=384,k_batch=4", ["SPROB020"]),
        (
            PADDED.replace("_128x128x128_", "_128x128x256_"),
            "M=1,N=128,K=896,k_batch=2",
            ["SPROB043"],
        ),
        (FLAT, "M=1,N=128,K=384,k_batch=4", ["SPROB020"]),
        (FLAT, "M=1,N=128,K=384,k_batch=5", ["SPROB020"]),
        (FLAT, "M=1,N=128,K=512,batch=2", ["SPROB002"]),
        (FLAT, "M=1,N=128,K=512,ldb=520", ["SPROB009"]),
        (BLOCKS, "M=8,N=2048,K=3072,k_batch=8", []),
        (BLOCKS, "M=8,N=2048,K=3072,k_batch=16", ["SPROB003", "SPROB008"]),
        (BLOCKS, "M=8,N=2048,K=3072,k_batch=24", ["SPROB008"]),
        (EXPERTS, "M=8,N=2048,K=3072", ["SPROB001", "SPROB031"]),
        (FLAT, "M=8,N=2048,K=3072,experts=8,topk=2", ["SPROB001"]),
        (EXPERTS, "M=8,N=2048,K=3072,experts=8,topk=2", []),
        (EXPERTS, "M=8,N=2048,K=3000,experts=8,topk=2", ["SPROB003", "SPROB005", "SPROB023"]),
        (EXPERTS, "M=8,N=2112,K=3072,experts=8,topk=9", ["SPROB030", "SPROB031"]),
        (EXPERTS, "M=20000000,N=2048,K=1024,experts=8,topk=2", ["SPROB034", "SPROB035"]),
        (
            EXPERTS.replace("gemm1", "gemm2").replace("_silu", ""),
            "M=8,N=2112,K=3072,experts=8,topk=2",
            ["SPROB030"],
        ),
    ],
)
def test_what_kernels_take(name: str, problem: str, found: list[str]) -> None:
    point = dict(config_from_name(name, Books(), arch="gfx950").point)
    assert codes(point, problem) == found


def _summed(k: int, parts: int, tile: int, warp: int, *, padded: bool) -> list[int]:
    """How often flatmm adds each product of a sum, step for step; more entries lie beyond K.

    SplitKBatchOffset cuts the sum, the loop of the pipeline takes pairs of tiles and then an end
    of one or two, for which the host chose by the length of a part. Where A is padded with zeros,
    weights beyond K count all the same, but in the first part, whose view ends where they do.
    """
    read = -(-k // (parts * warp)) * warp
    end = 1 if -(-k // (parts * tile)) % 2 else 2
    counts = [0] * (k + (parts + 2) * (read + 2 * tile))
    for part in range(parts):
        length = read if part < parts - 1 else k - read * (parts - 1)
        pairs = max(0, (-(-length // tile) - 1) // 2)
        for at in range((2 * pairs + end) * tile):
            if at < length or not padded or (part > 0 and part * read + at >= k):
                counts[part * read + at] += 1
    return counts


@given(
    k=st.integers(1, 40), parts=st.integers(1, 9), tile=st.sampled_from((1, 2, 4, 8)),
    padded=st.booleans(),
)  # fmt: skip
def test_sums_are_right_where_the_rules_say_so(k: int, parts: int, tile: int, padded: bool) -> None:
    assume(padded or k % tile == 0)
    counts = _summed(k, parts, tile, 1, padded=padded)
    right = counts[:k] == [1] * k and not any(counts[k:])
    # sizes are counted in warp tiles of 64 products
    point = {**KERNEL, "tile_k": 64 * tile, "pad_k": padded, "pad_n": padded}
    found = codes(point, f"M=1,N=128,K={64 * k},k_batch={parts}")
    assert right == (not PARTS & set(found)), found
    assert set(found) <= PARTS


def test_experts_compute_tokens_and_others_products() -> None:
    problems = ScaledProblems()
    point = {**KERNEL, "variant": "moe_flatmm"}
    one, tokens = parse("M=1,N=1,K=1"), parse("tokens=4,N=16,K=32,experts=8,topk=2")
    assert [problems.fits(p, q) for p in (KERNEL, point) for q in (one, tokens)] == [
        True, False, False, True,
    ]  # fmt: skip
    assert str(tokens) == "M=4,N=16,K=32,experts=8,topk=2"
    assert parse(str(tokens)) == tokens
    assert isinstance(tokens, ExpertProduct)
    assert tokens.flops == 2 * 4 * 2 * 16 * 32
    cells = {name: str(value) for name, value in problems.row(tokens, "moe_flatmm").items()}
    assert from_row(cells) == tokens
    assert problems.pack(tokens) == gemm.pack(tokens) + struct.pack("=2q", 8, 2)


def test_sums_of_experts_in_parts() -> None:
    said = "M=8,N=2048,K=3072,experts=8,topk=2,k_batch=2"
    point = dict(config_from_name(EXPERTS, Books(), arch="gfx950").point)
    assert codes(point, said, "2025.11") == ["SPROB033", "SPROB037"]
    point["split_k"] = True
    assert codes(point, said, "2025.11") == ["SPROB033"]
    assert codes({**point, "stage": 2}, said, "2025.11") == ["SPROB033"]


def test_rows_of_experts_have_their_own_scales_with_one_token() -> None:
    """As kernels of CK 2025.11 ran; ROCm/rocm-libraries @ 41164ca gathers them otherwise."""
    point = dict(config_from_name(EXPERTS, Books(), arch="gfx950").point)
    point["scales"] = "row_column"
    said = "N=2048,K=3072,experts=8,topk=2"
    for ck, found in (("2025.11", ["SPROB036"]), ("2026.06", ["SPROB036"]), ("2026.09", [])):
        assert codes(point, f"M=8,{said}", ck) == found
        assert codes(point, f"M=1,{said}", ck) == []
    point |= {"transpose_c": True, "tile_m": point["warp_tile_m"]}
    assert codes(point, f"M=8,{said}", "2025.11") == []


def test_check_says_why_a_kernel_does_not_take_a_product() -> None:
    found = run("check", "--arch", "gfx950", "--problem", "M=8,N=192,K=1024", FLAT)
    assert "SPROB004 launch: N = 192 is not a multiple of tile_n = 128" in found.output
    assert "1 does not take the problem" in found.output


def test_the_baseline_is_accepted() -> None:
    book = problem_books.book("flatmm", ck="2025.11")
    assert book.violations({**KERNEL, **BASELINE}) == []


def test_permuted_columns_are_added_in_pairs() -> None:
    """A built kernel refused what the rules took: one warp tile along N, and a sum in two parts."""
    point = {**KERNEL, "permute_n": True, "tile_m": 16, "tile_n": 64, "tile_k": 256}
    assert codes(point, "M=16,N=128,K=2560,k_batch=2", "2025.11") == ["SPROB007"]
    assert codes({**point, "tile_n": 128}, "M=16,N=128,K=2560,k_batch=2", "2025.11") == []


def test_permuted_columns_fill_tiles() -> None:
    """A drawn kernel of 64 columns, two warp tiles a wave, was wrong with 32 of them."""
    point = {**KERNEL, "permute_n": True, "scales": "no", "pad_n": True, "wave_n": 2, "tile_n": 64}
    assert codes(point, "M=16,N=32,K=512", "2025.11") == ["SPROB023"]
    assert codes({**point, "wave_n": 4}, "M=16,N=32,K=512", "2025.11") == []


def test_columns_beyond_the_waves_are_not_permuted() -> None:
    """A kernel that leaves columns out (SCAL024) is run all the same; the host once crashed."""
    point = {**KERNEL, "permute_n": True, "scales": "no", "wave_n": 2, "tile_n": 48}
    assert not ScaledTensors(gemm.MatrixProduct(16, 48, 256), point).permuted


def _remapped(number: int, total: int) -> int:
    """RemapXCD of GemmTile1DPartitioner, for 8 XCDs."""
    each, tall = -(-total // 8), total % 8 or 8
    xcd, local = number % 8, number // 8
    shorter = max(0, xcd - tall)
    return min(xcd, tall) * each + shorter * (each - 1) + local


@pytest.mark.parametrize(("tiles", "blocks", "left"), [(304, 304, 0), (425, 304, 1), (36, 16, 5)])
def test_persistent_experts_leave_tiles_out(tiles: int, blocks: int, left: int) -> None:
    """The loop of MoeFlatmmKernel in 2026, walked through: SCAL045."""
    computed = []
    for block in range(min(blocks, tiles)):
        number = block
        while number < tiles:
            computed.append(_remapped(number, tiles))
            number = computed[-1] + blocks
    assert tiles - len(set(computed)) == left
    rules = Books("2026.06").of("moe_flatmm")
    point = rules.example({**OF_EXPERTS, "persistent": True, "wave_n": 1})
    assert [v.rule.code for v in rules.violations(point)] == ["SCAL045"]
