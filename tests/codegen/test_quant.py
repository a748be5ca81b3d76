"""Quantised GEMM kernels as C++: the files, and what their text takes from the configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ckrules.codegen.generate import Generator
from ckrules.codegen.quant.generation import entries
from ckrules.constraints.quant.vocabulary import BASELINE
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_mapping

SHUFFLED: dict[str, Any] = {
    "variant": "bquant", "pipeline": "preshufflev2", "double_smem_buffer": True, "tile_m": 128,
}  # fmt: skip
OTHERS: dict[str, Any] = {"variant": "rowcol_quant", "group_k": 1}


def _generated(tmp_path: Path, **changed: Any) -> tuple[str, dict[str, str]]:
    books = Books("2025.11")
    config = config_from_mapping({**BASELINE, **changed}, books)
    report = Generator(books, tmp_path).run([config])
    assert (report.kernels, report.refused) == (1, [])
    files = {p.name: p.read_text() for p in tmp_path.iterdir() if p.is_file()}
    name = next(n for n in files if n.endswith(".device.cpp")).removesuffix(".device.cpp")
    return name, files


@pytest.mark.parametrize(
    "changed", [{}, SHUFFLED, OTHERS, {**OTHERS, "variant": "tensor_quant", "pipeline": "mem"}]
)
def test_files(tmp_path: Path, changed: dict[str, Any]) -> None:
    name, files = _generated(tmp_path, **changed)
    assert {f"{name}{s}" for s in (".hpp", ".cpp", ".device.cpp", ".host.cpp")} <= files.keys()
    assert f'#include "{name}.hpp"' in files["include_all_quant_kernels.hpp"]
    assert not [n for n, text in files.items() if "{{ " in text or "{%" in text]
    assert "ops/{gemm_quant,gemm,epilogue,elementwise}" in files[f"{name}.hpp"]
    for unit in (".cpp", ".device.cpp"):  # without device libraries nothing prints assertions
        text = files[f"{name}{unit}"]
        assert text.index("#define NDEBUG") < text.index("#include")


@pytest.mark.parametrize(
    ("changed", "tensors"),
    [({}, ["a", "b", "aq", "c"]), (SHUFFLED, ["a", "b", "bq", "c"]),
     (OTHERS, ["a", "b", "aq", "bq", "c"])],
)  # fmt: skip
def test_tensors_of_a_host_library(
    tmp_path: Path, changed: dict[str, Any], tensors: list[str]
) -> None:
    name, files = _generated(tmp_path, **changed)
    host = files[f"{name}.host.cpp"]
    assert re.findall(r'\{"(\w+)", CKRULES_', host) == tensors
    for at, tensor in enumerate(tensors):
        assert f"product.{tensor} = ckrules::pointer(places[{at}]);" in host
    assert f"ckrules::checked(buffers, {len(tensors)});" in host


def test_what_the_header_says(tmp_path: Path) -> None:
    name, files = _generated(tmp_path, dtype="i4_fp8", dtype_scale="bf8", preshuffle_quant=True)
    header = files[f"{name}.hpp"]
    assert "using ADataType   = ck_tile::pk_int4_t;" in header
    assert "using ComputeDataType = ck_tile::fp8_t;" in header
    assert "using ScaleDataType   = ck_tile::bf8_t;" in header
    assert "QuantGroupShape<ck_tile::sequence<1, 1, 128>>" in header
    assert "static constexpr bool PreshuffleQuant = true;" in header
    assert "ck_tile::BaseAQuantGemmPipelineAgBgCrCompV3<TailProblem>" in header


def test_entries() -> None:
    def suffixes(**changed: Any) -> list[str]:
        return [e.suffix for e in entries({**BASELINE, **changed}, 3)]

    assert suffixes() == ["hot_full_set", "cold_odd_set", "cold_even_set"]
    assert suffixes(pipeline="mem") == [
        "hot_odd_set", "hot_even_set", "cold_odd_set", "cold_even_set",
    ]  # fmt: skip
    assert suffixes(**SHUFFLED) == ["hot_odd_set", "hot_even_set"]
    assert suffixes(**OTHERS, pipeline="mem")[:2] == ["hot_one_set", "hot_two_set"]
