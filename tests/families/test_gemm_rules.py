"""The rules of GEMMs agree with the compiler about every labelled configuration, and count."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckrules.codegen.gemm.cpp_names import KERNELS
from ckrules.constraints import book
from ckrules.constraints.gemm.words import VARIANTS
from ckrules.engine.evaluate.vector import encode, evaluate_columns
from ckrules.kernels.books import Books
from ckrules.kernels.config import ConfigError, config_from_mapping

TRUTH = Path(__file__).parent.parent / "data" / "truth"
CK = "2025.11"


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TRUTH / name).read_text().splitlines()]


def _point(config: dict[str, Any], kernel: str = "") -> dict[str, Any]:
    """The point of a label; claims leave the variant out, or name the class of the kernel."""
    if kernel:
        named = next(v for v, name in KERNELS.items() if name == kernel)
        return dict(config_from_mapping({"variant": named, **config}, Books(CK)).point)
    kind = "preshuffle" if config["preshuffle"] else "multi_d" if config["num_d"] else "standard"
    return dict(config_from_mapping({"variant": kind, **config}, Books(CK)).point)


@pytest.mark.parametrize("name", ["gemm_gfx942.jsonl", "gemm_claims_gfx942.jsonl"])
def test_compiles_where_no_compile_rule_is_broken(name: str) -> None:
    wrong = []
    lines = _lines(name)
    for number, line in enumerate(lines, 1):
        found = book("standard", ck=CK).violations(
            _point(line["config"], line.get("args", {}).get("kernel", ""))
        )
        broken = [f"{v.code}: {v.message}" for v in found if v.kind == "compile"]
        if line["ok"] is bool(broken):
            wrong.append((number, broken, line))
    assert wrong == []
    assert {line["ok"] for line in lines} == {True, False}
    assert len(lines) >= 25


def test_four_bit_weights_compile_as_labelled() -> None:
    """A 4-bit B is not transposed, nor read but in eights, and compv5 multiplies none."""
    lines = _lines("gemm_four_bits.jsonl")
    found = []
    for line in lines:
        point = dict(config_from_mapping(line["config"], Books(CK)).point)
        broken = book(str(point["variant"]), ck=CK).violations(point)
        found.append(not any(v.kind == "compile" for v in broken))
    assert found == [line["ok"] for line in lines]
    assert sum(found) == 13


@pytest.mark.parametrize("dtype", ["fp8", "bf8"])
def test_transposed_bytes_of_64_came_later(dtype: str) -> None:
    """WarpGemmMfma_f32_16x16x64_…_CTransposed is in the headers of 2026."""
    given = {
        "variant": "standard", "arch": "gfx942", "dtype": dtype, "layout": "rcr",
        "tile_m": 64, "tile_n": 64, "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1,
        "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 64, "pipeline": "compv3",
        "scheduler": "intrawave", "epilogue": "default", "transpose_c": True,
    }  # fmt: skip
    codes = {}
    for ck in ("2025.11", "2026.06"):
        point = config_from_mapping(given, Books(ck)).point
        codes[ck] = [v.code for v in book("standard", ck=ck).violations(point)]
    assert codes == {"2025.11": ["WARP001"], "2026.06": []}


def test_lds_of_shuffled_weights_is_that_of_a_alone() -> None:
    measured = [x for x in _lines("gemm_claims_gfx942.jsonl") if "lds" in x]
    rules = book("preshuffle", ck=CK)
    found = [rules.resources(_point(x["config"]), ["lds_bytes"])["lds_bytes"] for x in measured]
    assert found == [x["lds"] for x in measured]
    assert len(found) == 2


#: Few values a field, with legal points in every variant.
SMALL: dict[str, tuple[Any, ...]] = {
    "variant": VARIANTS, "arch": ("gfx942",),
    "dtype": ("fp16", "fp8"), "layout": ("rcr", "crr", "rcrr"), "dtype_acc": ("fp32",),
    "dtype_c": ("fp16",), "tile_m": (64, 96), "tile_n": (64,), "tile_k": (32,),
    "wave_m": (2,), "wave_n": (2,), "wave_k": (1,), "warp_tile_m": (16, 32),
    "warp_tile_n": (16, 32), "warp_tile_k": (16, 32),
    "pipeline": ("mem", "compv4", "preshufflev2"),
    "scheduler": ("intrawave", "default"), "epilogue": ("cshuffle", "default"),
    "double_smem_buffer": (False, True), "num_wave_groups": (1,), "pad_m": (False,),
    "pad_n": (False,), "pad_k": (False,), "persistent": (False,), "transpose_c": (False,),
    "permute_n": (False, True), "num_d": (0, 1), "elementwise_op": ("passthrough", "add"),
    "streamk": ("off", "atomic"), "k_block_per_cu": (1,),
}  # fmt: skip


@pytest.mark.parametrize("ck", ["2025.11", "2026.06"])
def test_count_equals_brute_force(ck: str) -> None:
    rules = book("standard", ck=ck)
    points = list(itertools.product(*SMALL.values()))
    columns = {n: encode(v) for n, v in zip(SMALL, zip(*points, strict=True), strict=True)}
    held = evaluate_columns([r.condition for r in rules.rules], columns, len(points))
    legal = set(itertools.compress(points, np.logical_and.reduce(held).tolist()))
    assert {p[0] for p in legal} == set(SMALL["variant"])
    space = rules.space(**SMALL)
    assert space.count() == len(legal)
    assert {tuple(p[n] for n in SMALL) for p in space} == legal


def test_types_follow_from_one_word() -> None:
    """The keys of compiler labels are read, and one that contradicts is a fault."""
    line = _lines("gemm_gfx942.jsonl")[1]["config"]
    point = _point(line)
    assert (point["dtype"], point["dtype_c"], point["dtype_acc"]) == ("fp8", "fp16", "fp32")
    with pytest.raises(ConfigError, match="dtype_b = 'fp16' contradicts other fields"):
        _point({**line, "dtype_b": "fp16"})
    with pytest.raises(ConfigError, match="preshuffle = True contradicts"):
        config_from_mapping({**line, "preshuffle": True}, Books(CK))


def test_what_is_left_out_follows_from_type_and_pipeline() -> None:
    given = {
        "variant": "standard", "arch": "gfx942", "dtype": "int8", "layout": "rcr",
        "pipeline": "compv4", "scheduler": "intrawave", "epilogue": "cshuffle",
        **{f"{g}_{x}": n for g, n in (("tile", 64), ("warp_tile", 16)) for x in "mnk"},
        "wave_m": 2, "wave_n": 2, "wave_k": 1,
    }  # fmt: skip
    point = config_from_mapping(given, Books(CK)).point
    follows = ("dtype_acc", "dtype_c", "double_smem_buffer", "num_d", "elementwise_op")
    assert [point[k] for k in follows] == ["int32", "int32", True, 0, "passthrough"]
