"""GEMMs with scales: what their headers of November 2025 and of 2026 take."""

from __future__ import annotations

from typing import Any

import pytest

from ckrules.constraints.scaled.micro_rules import OF_FOUR_BITS
from ckrules.constraints.scaled.mx_gemm_rules import OF_MX_GEMM
from ckrules.constraints.scaled.vocabulary import BASELINE
from ckrules.engine.evaluate.pointwise import At
from ckrules.kernels import problem_books
from ckrules.kernels.library import book

MI350: dict[str, Any] = {"arch": "gfx950", "warp_tile_k": 128, "tile_m": 256}
EIGHTS: dict[str, Any] = {**OF_FOUR_BITS, "dtype": "fp8"}
WIDE: dict[str, Any] = {**EIGHTS, "wave_n": 8, "tile_n": 512}
BLOCKS: dict[str, Any] = {
    "variant": "abquant", "pipeline": "abquant", "scales": "blocks", "scheduler": "intrawave",
}  # fmt: skip
PACKED: dict[str, Any] = {
    **BLOCKS, "arch": "gfx950", "pipeline": "abquant_eight_waves", "tile_m": 192, "tile_n": 256,
    "wave_m": 4, "wave_n": 2, "warp_tile_k": 128, "transpose_c": True,
}  # fmt: skip
FOUR_BY_TWO: dict[str, Any] = {**BLOCKS, "tile_m": 256, "wave_m": 4, "wave_n": 2}
MI400: dict[str, Any] = {
    **BLOCKS, "arch": "gfx1250", "tile_m": 64, "wave_m": 2, "wave_n": 2, "warp_tile_k": 32,
}  # fmt: skip
MX_GEMM: dict[str, Any] = {k: v for k, v in OF_MX_GEMM.items() if k != "@ck"}
FIRST: dict[str, Any] = {
    "variant": "moe_flatmm", "pipeline": "moe_flatmm", "stage": 1, "scales": "row_column",
}  # fmt: skip
SECOND: dict[str, Any] = {**FIRST, "stage": 2}
SCALED: dict[str, Any] = {
    **SECOND, "arch": "gfx950", "dtype": "fp8_fp4", "scales": "per_1x32", "tile_m": 32,
    "tile_n": 256, "tile_k": 256, "warp_tile_k": 128,
}  # fmt: skip


def _codes(ck: str, given: dict[str, Any]) -> list[str]:
    return [v.code for v in book("flatmm", ck=ck).violations({**BASELINE, **given})]


@pytest.mark.parametrize(
    ("given", "then", "later"),
    [
        # a transposed C has longer warp tiles since
        ({"arch": "gfx950", "transpose_c": True, "pad_k": True, "tile_m": 256,
          "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 64}, ["WARP001"], []),
        # fp8 and 4-bit weights
        ({**EIGHTS, "dtype": "fp8_fp4"}, ["SCAL008", "SCAL029", "WARP002"], []),
        ({**EIGHTS, "dtype": "bf16_fp4", "warp_tile_k": 32},
         ["SCAL008", "SCAL029", "SCAL032", "SCAL036"],
         ["SCAL008", "SCAL046", "SCAL047", "SCAL048"]),
        # scales are handed to instructions of C as computed
        ({**EIGHTS, "transpose_c": True}, ["SCAL029"], ["SCAL050"]),
        ({**SCALED, "transpose_c": True, "pad_k": True}, ["WARP001"], ["SCAL050", "WARP001"]),
        # eight waves, of which CShuffle mixes columns up on gfx950
        ({**MI350, "wave_n": 8, "tile_n": 256}, [], ["EPI011"]),
        ({**MI350, "wave_n": 8, "tile_n": 128}, [], []),
        ({"wave_n": 8, "tile_n": 256}, [], []),
        ({**MI350, "wave_n": 8, "tile_n": 256, "permute_n": True, "scales": "no"}, [], []),
        ({**FIRST, **MI350, "wave_n": 8, "tile_n": 256}, [], []),
        ({**SECOND, **MI350, "wave_n": 8, "tile_n": 256}, [], ["EPI011"]),
        ({**OF_FOUR_BITS, "wave_n": 8, "tile_n": 512}, [], ["SCAL052"]),
        (WIDE, ["SCAL029"], ["SCAL052"]),
        ({**WIDE, "tile_n": 256}, ["SCAL029"], []),
        # two loads of 16 bytes of B a warp tile, of 4 bits one
        ({**EIGHTS, "wave_n": 2, "tile_n": 512}, ["SCAL029"], ["SCAL056"]),
        ({**EIGHTS, "wave_n": 2, "tile_n": 384}, ["SCAL029"], []),
        ({**OF_FOUR_BITS, "wave_n": 1, "tile_n": 352}, [], []),
        ({**OF_FOUR_BITS, "wave_n": 1, "tile_n": 384}, [], ["SCAL056"]),
        # block scales
        (FOUR_BY_TWO, ["SCAL002"], []),
        ({**FOUR_BY_TWO, "arch": "gfx950"}, ["SCAL002"], ["EPI011"]),
        (PACKED, ["EPI002", "SCAL002"], []),
        ({**BLOCKS, "dtype": "bf16", "warp_tile_k": 32}, ["SCAL002"], ["SCAL051"]),
    ],
)  # fmt: skip
def test_kernels(given: dict[str, Any], then: list[str], later: list[str]) -> None:
    assert [sorted(_codes(ck, given)) for ck in ("2025.11", "2026.06")] == [then, later]


@pytest.mark.parametrize(
    ("given", "june", "september"),
    [
        ({**MI400, "tile_n": 128}, ["WARP002"], []),
        ({**MI400, "tile_n": 128, "transpose_c": True}, ["WARP002"], ["GEMM084"]),
        # of four results a lane has two rows, with a scale each
        ({**MI400, "tile_n": 128, "warp_tile_k": 128}, [], []),
        ({**MI400, "tile_n": 128, "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 128},
         ["SCAL053"], ["SCAL053"]),
        # MX by the kernel of other GEMMs
        ({**MX_GEMM, "tile_n": 512}, ["SCAL001", "SCAL046", "SCAL054"], []),
        ({**MX_GEMM, "dtype": "fp8", "pad_k": True}, ["SCAL001", "SCAL054"], ["SCAL055"]),
        ({**MX_GEMM, "dtype": "fp8_fp4", "permute_n": True},
         ["SCAL001", "SCAL008", "SCAL014", "SCAL054"], ["SCAL055"]),
        ({**MX_GEMM, "wave_m": 2, "wave_n": 2, "tile_n": 256},
         ["SCAL001", "SCAL003", "SCAL046", "SCAL054"], ["SCAL003"]),
        ({**MX_GEMM, "dtype": "fp8", "tile_k": 512}, ["SCAL001", "SCAL054"], ["SCAL048"]),
        ({**MX_GEMM, "scales": "no"}, ["SCAL001", "SCAL046", "SCAL054"], ["SCAL055"]),
    ],
)  # fmt: skip
def test_kernels_of_2026(given: dict[str, Any], june: list[str], september: list[str]) -> None:
    assert (_codes("2026.06", given), _codes("2026.09", given)) == (june, september)


def test_mx_gemm_has_padded_tiles_of_a_twice_in_lds() -> None:
    """Between eight rows of 128 bytes lie 64: aiter's kernel of 4 bits."""
    words = book("mx_gemm")
    at = At(words.point({**BASELINE, **MX_GEMM, "tile_n": 512}))
    assert at.value(words.vocabulary.names()["lds_bytes"]) == 2 * 128 * (128 + 64 // 8 // 2)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"M": 1, "N": 512}, []),
        ({"K": 1024, "k_batch": 4}, []),
        ({"K": 1024, "k_batch": 2, "persistent": True}, []),
        ({"K": 1280, "k_batch": 2}, ["SPROB021", "SPROB047"]),
        ({"N": 576}, ["SPROB004"]),
        ({"N": 544, "pad_n": True}, []),
        ({"N": 528, "pad_n": True}, ["SPROB038"]),
        ({"K": 768, "k_batch": 3}, []),
        ({"K": 640}, ["SPROB003", "SPROB038"]),
        ({"stride_a": 1024}, ["SPROB009"]),
    ],
)
def test_products_of_mx_gemm(given: dict[str, Any], found: list[str]) -> None:
    rules = problem_books.book("mx_gemm")
    point = rules.point({**rules.vocabulary.baseline, **MX_GEMM, "tile_n": 512, **given})
    assert sorted(v.code for v in rules.violations(point)) == found


@pytest.mark.parametrize(("tile_k", "june", "september"), [(64, 3072, 2048), (256, 8192, 8192)])
def test_lds_of_flatmm_is_one_array_since_september(tile_k: int, june: int, september: int) -> None:
    """A's two tiles, of which the epilogue took the place of one, and since of both."""
    for ck, size in (("2026.06", june), ("2026.09", september)):
        words = book("flatmm", ck=ck)
        at = At(words.point({**BASELINE, "tile_m": 16, "tile_n": 256, "tile_k": tile_k}))
        assert at.value(words.vocabulary.names()["lds_bytes"]) == size


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({**SCALED, "k_batch": 2}, ["SPROB039"]),
        ({**SCALED, "k_batch": 1}, []),
        # rows of A are found by their stride, where they are gathered
        ({**SCALED, "stride_a": 1024}, []),
        ({**SCALED, "dtype": "fp4", "stride_a": 1024}, []),
        ({**SCALED, "dtype": "fp4", "pad_k": True, "K": 640}, ["SPROB045"]),
        ({**EIGHTS, "split_k": False, "experts": 0, "topk": 0, "stride_a": 1024}, ["SPROB009"]),
        ({**EIGHTS, "dtype": "fp8_fp4", "split_k": False, "experts": 0, "topk": 0}, []),
        ({**SECOND, "M": 1, "k_batch": 2}, []),
        # three parts of 320 and one of 192, whose weights are looked for behind three of 192
        ({**SECOND, "M": 1, "tile_k": 64, "K": 1152, "k_batch": 4}, ["SPROB046"]),
        ({**SECOND, "M": 1, "tile_k": 64, "K": 1280, "k_batch": 4}, []),
    ],
)
def test_products(given: dict[str, Any], found: list[str]) -> None:
    rules = problem_books.book("flatmm", ck="2026.06")
    words = {"split_k": True, "experts": 8, "topk": 2}
    point = rules.point({**rules.vocabulary.baseline, **words, **given})
    assert [v.code for v in rules.violations(point)] == found


def test_a_padded_tile_of_a_ends_with_its_last_row() -> None:
    """clang 19 gave two kernels of gfx942 16,608 bytes; with whole rows they would have 16,640."""
    given = {
        **BASELINE, **FIRST, "dtype_c": "fp16", "tile_m": 64, "wave_n": 2, "activation": "silu",
        "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 32,
    }  # fmt: skip
    assert book("flatmm", ck="2025.11").resources(given, ["lds_bytes"]) == {"lds_bytes": 16608}
