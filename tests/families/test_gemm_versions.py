"""What CK 2026.06 lifts of the faults of 2025.11, what it keeps, and what it adds."""

from __future__ import annotations

from typing import Any

import pytest

from ckrules.constraints import book
from ckrules.kernels import problem_books

TWO = {"pipeline": "compv4", "double_smem_buffer": True}
STREAMS = {"variant": "stream_k", "streamk": "atomic"}
INT8 = {"dtype": "int8", "dtype_acc": "int32", "dtype_c": "int32"}
PAIR = {"pipeline": "compv5", "epilogue": "default", "wave_m": 1, "wave_n": 1, "wave_k": 2,
        "num_wave_groups": 2}  # fmt: skip
BYTES = {"arch": "gfx950", "dtype": "fp8", "layout": "rrr"}
HALVES = {"arch": "gfx950", "layout": "rrr"}
LONG = {"arch": "gfx950", "dtype": "fp8", "warp_tile_k": 32}
SQUARE = {"warp_tile_m": 16, "warp_tile_n": 16}
SHUFFLED = {"variant": "preshuffle", **TWO, "pipeline": "preshufflev2"}
NARROW = {"tile_m": 4, "tile_n": 64, "tile_k": 16, "wave_m": 1, "wave_n": 1, "warp_tile_m": 4,
          "warp_tile_n": 64}  # fmt: skip
PERMUTED = {"epilogue": "cshuffle", "permute_n": True, "dtype": "bf16", "dtype_c": "fp16",
            "tile_n": 64, "tile_k": 128, "wave_m": 1, "wave_n": 1, "warp_tile_m": 16,
            "warp_tile_n": 16, "warp_tile_k": 32}  # fmt: skip
MI400 = {"arch": "gfx1250", "dtype": "fp8", "tile_k": 128, **SQUARE}


def _codes(ck: str, given: dict[str, Any]) -> list[str]:
    rules = book(str(given.get("variant", "standard")), ck=ck)
    point = rules.point({**rules.vocabulary.baseline, **given})
    return [v.code for v in rules.violations(point)]


@pytest.mark.parametrize(
    ("given", "then", "later"),
    [
        # a single pointer to LDS, and tails that pipelines pick themselves
        ({"variant": "batched", **TWO}, ["GEMM060"], []),
        ({"variant": "grouped", "pipeline": "compv6"}, ["GEMM061"], ["GEMM086"]),
        ({**STREAMS, **TWO}, ["GEMM060", "GEMM061"], []),
        ({**STREAMS, "pipeline": "compv6"}, ["GEMM061"], ["GEMM068"]),
        ({"variant": "grouped", "persistent": True}, ["GEMM067"], []),
        ({"pipeline": "basic_v1"}, ["GEMM029"], []),
        ({"pipeline": "basic_v1", "scheduler": "default"}, [], ["PIPE002"]),
        # every wave stores, where GemmKernel of 2025.11 asked for the first
        (PAIR, [], ["GEMM066"]),
        # what writes results is as it was, but for the default epilogue, which no longer adds
        ({"dtype_c": "bf8"}, ["GEMM010"], ["GEMM010"]),
        ({**INT8, "dtype_c": "bf16"}, ["GEMM011"], ["GEMM011"]),
        ({**INT8, "dtype_c": "int8"}, [], ["GEMM069"]),
        ({**STREAMS, "epilogue": "default"}, ["GEMM064"], ["GEMM070"]),
        ({"epilogue": "default", "pad_n": True, "dtype_c": "fp8"}, [], ["GEMM008"]),
        # 4-bit weights
        ({"dtype": "fp16_i4", "layout": "rrr"}, ["GEMM031"], ["GEMM031"]),
        ({"dtype": "fp16_i4", **PAIR}, ["GEMM032"], ["GEMM032", "GEMM066"]),
        # two 8-bit types: compv3 multiplies them, but not with C transposed
        ({"dtype": "fp8_bf8"}, ["GEMM026"], []),
        ({"dtype": "fp8_bf8", "transpose_c": True}, ["GEMM026"], ["GEMM030"]),
        # reads that transpose, with accesses of each operand's own
        ({**BYTES, "warp_tile_k": 32}, ["GEMM027"], []),
        ({**BYTES, "dtype": "fp16", "transpose_c": True}, [], ["GEMM035"]),
        ({"variant": "preshuffle"}, ["GEMM052"], ["GEMM052"]),
        ({"pipeline": "comp_async", "double_smem_buffer": True}, ["GEMM028"], ["GEMM028"]),
        ({**STREAMS, "wave_m": 4, "tile_n": 64}, [], ["GEMM071"]),
        ({**STREAMS, "streamk": "tree"}, ["GEMM063"], []),
        # compv4 counts one number of accesses for both operands, as before
        ({**TWO, **HALVES, "transpose_c": True}, [], []),
        # 8-bit and integer warp tiles that a transposed C has since
        ({**LONG, "transpose_c": True}, ["WARP001"], []),
        ({**LONG, "dtype": "bf8", "warp_tile_k": 64, "transpose_c": True}, ["WARP001"], []),
        ({**LONG, **INT8, **SQUARE, "warp_tile_k": 64, "transpose_c": True}, ["WARP001"], []),
        # pre-shuffled weights take an access for every 16 bytes of a lane
        ({**SHUFFLED, **SQUARE, "dtype": "bf16", "dtype_c": "bf16", "warp_tile_k": 64},
         ["WARP001"], ["GEMM085"]),
        # eight waves, of which CShuffle mixes columns up on gfx950
        ({"wave_m": 4, "tile_m": 256}, [], []),
        ({"wave_m": 4, "tile_m": 256, "arch": "gfx950"}, [], ["EPI011"]),
        ({"wave_m": 4, "tile_m": 256, "dtype": "bf16_i4", "dtype_c": "bf16"}, [], ["EPI011"]),
        # four rows of A share a line of banks with B
        ({**NARROW, "arch": "gfx950"}, ["LDS004"], ["LDS004"]),
        (NARROW, [], []),
    ],
)  # fmt: skip
def test_kernels(given: dict[str, Any], then: list[str], later: list[str]) -> None:
    assert (_codes("2025.11", given), _codes("2026.06", given)) == (then, later)


@pytest.mark.parametrize(
    ("given", "then", "later"),
    [
        ({**TWO, "K": 192}, ["GPROB025"], []),
        ({"pipeline": "compv6", "K": 64}, ["GPROB026"], ["GPROB026"]),
        ({"wave_m": 4, "K": 192}, [], ["GPROB028"]),
        ({"wave_m": 4, "K": 256, "pad_k": True}, [], []),
        ({"epilogue": "default", "dtype_c": "fp32", "k_batch": 2}, [], ["GPROB027"]),
        ({"variant": "grouped", "layout": "rcrr", "num_d": 1, "elementwise_op": "add",
          "k_batch": 2}, ["GPROB009"], ["GPROB029"]),
    ],
)  # fmt: skip
def test_problems(given: dict[str, Any], then: list[str], later: list[str]) -> None:
    found = []
    for ck in ("2025.11", "2026.06"):
        rules = problem_books.book(str(given.get("variant", "standard")), ck=ck)
        point = rules.point({**rules.vocabulary.baseline, **given})
        found.append([v.code for v in rules.violations(point)])
    assert found == [then, later]


@pytest.mark.parametrize(
    ("given", "june", "september"),
    [
        # gfx1250 multiplies two 8-bit types, 32x32x128, and fp32 with C transposed
        ({**MI400, "dtype": "fp8_bf8", "warp_tile_k": 64}, [], []),
        ({**MI400, "dtype": "bf8_fp8", "warp_tile_k": 64, "transpose_c": True}, [], []),
        ({**MI400, "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 128}, [], []),
        ({**MI400, "dtype": "fp32", "dtype_c": "fp32", "tile_k": 32, "warp_tile_k": 4,
          "transpose_c": True}, [], []),
        ({"dtype": "fp32", "dtype_c": "fp32", "tile_k": 32, "warp_tile_k": 4, **SQUARE,
          "transpose_c": True}, ["WARP001"], ["WARP001"]),
        # half of an instruction, for C as computed
        ({**MI400, "warp_tile_k": 32}, ["WARP002"], []),
        ({**MI400, "warp_tile_k": 32, "transpose_c": True}, ["WARP002"], ["GEMM084"]),
        # grouped kernels do without the member that says whether a pipeline is persistent
        ({"variant": "grouped", "pipeline": "compv6"}, ["GEMM086"], []),
        ({"variant": "grouped", "pipeline": "compv6", "persistent": True},
         ["GEMM024", "GEMM086"], ["GEMM024"]),
        # comp_async loops over tiles
        ({**TWO, "pipeline": "comp_async", "arch": "gfx950", "persistent": True}, ["GEMM024"], []),
    ],
)  # fmt: skip
def test_kernels_of_2026(given: dict[str, Any], june: list[str], september: list[str]) -> None:
    assert (_codes("2026.06", given), _codes("2026.09", given)) == (june, september)


def test_what_stream_k_shares_out_ends_with_k() -> None:
    given = {**STREAMS, "pad_k": True, "K": 520}
    found = []
    for ck in ("2026.06", "2026.09"):
        rules = problem_books.book("stream_k", ck=ck)
        found.append(
            [v.code for v in rules.violations(rules.point({**rules.vocabulary.baseline, **given}))]
        )
    assert found == [["GPROB023"], []]


def test_one_buffer_of_weights_is_used_as_two() -> None:
    rules = book("preshuffle", ck="2026.09")
    given = {**SHUFFLED, "double_smem_buffer": False}
    (found,) = rules.violations(rules.point({**rules.vocabulary.baseline, **given}))
    assert (found.code, found.rule.kind) == ("GEMM023", "wrong-result")


@pytest.mark.parametrize(
    ("variant", "given", "codes"),
    [
        # compiled, and run: nothing asserts that waves cover the tile, if they have a warp tile
        ("preshuffle", {"tile_m": 96}, ["GEMM047"]),
        ("preshuffle", {"tile_n": 96}, ["GEMM047"]),
        ("preshuffle", {"tile_m": 32}, ["GEMM047", "TILE001"]),
        ("preshuffle", {"tile_n": 32}, ["GEMM047", "TILE002"]),
        # so do permuted columns, and rows that one vector of a lane stores
        ("preshuffle", {**PERMUTED, "tile_n": 96, "wave_n": 4}, ["GEMM047"]),
        ("preshuffle", {**PERMUTED, "tile_m": 96, "wave_m": 4, "dtype_c": "fp32"}, ["GEMM047"]),
        ("preshuffle", {**PERMUTED, "tile_m": 96, "wave_m": 4}, ["GEMM047", "TILE001"]),
        ("preshuffle", {**PERMUTED, "tile_m": 96, "wave_m": 4, "permute_n": False}, ["TILE001"]),
        # scales of blocks of B cover columns
        ("bquant", {"tile_m": 96}, ["GEMM047"]),
        ("bquant", {"tile_n": 96}, ["GEMM047", "TILE002"]),
    ],
)
def test_partial_warp_tiles_of_weights(
    variant: str, given: dict[str, Any], codes: list[str]
) -> None:
    rules = book(variant, ck="2025.11")
    weights = {"variant": variant, "pipeline": "preshufflev2", "double_smem_buffer": True,
               "scheduler": "default", "epilogue": "default", "tile_m": 128}  # fmt: skip
    point = rules.point({**rules.vocabulary.baseline, **weights, **given})
    assert sorted(v.code for v in rules.violations(point)) == codes
