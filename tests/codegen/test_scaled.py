"""flatmm kernels as C++: the files, and what their text takes from the configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ckrules.certify import probe
from ckrules.codegen.generate import Generator
from ckrules.codegen.scaled.generation import GENERATION
from ckrules.codegen.scaled.model import entries
from ckrules.constraints.scaled.micro_rules import OF_FOUR_BITS
from ckrules.constraints.scaled.vocabulary import BASELINE
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_mapping, config_from_name
from ckrules.support.errors import UsageError

EXPERTS = "moe_cktile2stages_gemm{}_1perCU_{}"


def _generated(tmp_path: Path, **changed: Any) -> tuple[str, dict[str, str]]:
    books = Books("2025.11")
    config = config_from_mapping({**BASELINE, **changed}, books)
    report = Generator(books, tmp_path).run([config])
    assert (report.kernels, report.refused) == (1, [])
    files = {p.name: p.read_text() for p in tmp_path.iterdir() if p.is_file()}
    name = next(n for n in files if n.endswith(".device.cpp")).removesuffix(".device.cpp")
    return name, files


@pytest.mark.parametrize(
    ("changed", "tensors"),
    [({}, ["a", "b", "aq", "bq", "c"]), ({"scales": "no", "epilogue": "default"}, ["a", "b", "c"])],
)
def test_files_and_tensors(tmp_path: Path, changed: dict[str, Any], tensors: list[str]) -> None:
    name, files = _generated(tmp_path, **changed)
    assert {f"{name}{s}" for s in (".hpp", ".cpp", ".device.cpp", ".host.cpp")} <= files.keys()
    assert f'#include "{name}.hpp"' in files["include_all_scaled_kernels.hpp"]
    assert not [n for n, text in files.items() if "{{ " in text or "{%" in text]
    host = files[f"{name}.host.cpp"]
    assert re.findall(r'\{"(\w+)", CKRULES_', host) == tensors
    assert "b is packed" in host


def test_what_the_header_says(tmp_path: Path) -> None:
    name, files = _generated(
        tmp_path, partition_groups=8, partition_m01=4, persistent=True, wave_n=1
    )
    header = " ".join(files[f"{name}.hpp"].split())
    assert "GemmSpatiallyLocalTilePartitioner<Shape, 8, 4>" in header
    assert "using Scale = ck_tile::FlatmmScalePointer<1>;" in header
    assert "using BDataType = ck_tile::fp8_t;" in header
    assert "the kernel is built without split-K" in header
    # a block of a persistent grid computes a tile before it looks whether one is left
    assert "ck_tile::min(most" in files[f"{name}.host.cpp"]
    assert "Kernel::GridSize(kargs);" in header


def test_groups_of_masked_rows(tmp_path: Path) -> None:
    name, files = _generated(tmp_path, grouping="masked", wave_n=1)
    header, host = files[f"{name}.hpp"], files[f"{name}.host.cpp"]
    assert "ck_tile::MaskedGroupedFlatmmHostArgs<Config::Scale, Config::Scale>;" in header
    assert "ck_tile::GroupedFlatmmKernel<Partitioner, Pipeline, Epilogue>" in header
    assert "Kernel::GridSize(kargs);" in header
    assert "atomic_add>::Kernel" not in header
    found = re.findall(r'\{"(\w+)", CKRULES_(\w+)', host)
    assert found == [(n, "IN") for n in ("rows", "a", "b", "aq", "bq")] + [("c", "INOUT")]
    assert "tensors of flatmm are packed" in host
    assert "on.compute_units * on.blocks_per_cu" in host
    asked = probe.render({**BASELINE, "grouping": "masked"})
    assert "ct::MaskedGroupedFlatmmHostArgs<Scale, Scale>;" in asked
    assert "ct::GroupedFlatmmKernel<" in asked


def test_entries() -> None:
    assert [e.suffix for e in entries(splits=True)] == [
        "hot_odd_set", "hot_even_set", "hot_odd_atomic_add", "hot_even_atomic_add",
    ]  # fmt: skip
    assert len(entries(splits=False)) == 2


def _experts(name: str, folder: Path) -> tuple[str, str]:
    """Header and host unit of a kernel for experts."""
    config = config_from_name(name, Books("2025.11"), arch="gfx942")
    Generator(Books("2025.11"), folder).run([config])
    header = next(folder.glob("*moe_*_*.hpp"))
    return header.read_text(), header.with_suffix(".host.cpp").read_text()


def test_kernels_for_experts_have_their_routing_and_activation(tmp_path: Path) -> None:
    name = EXPERTS.format("1_256x64x128x128_1x4_16x16x64", "per_token_silu")
    header, host = _experts(name, tmp_path)
    assert "Config::Kind, ck_tile::moe::MoeSilu>;" in header
    assert "Config::PermuteN, 2>>;" in header
    for tensor in ("sorted", "owners", "last", "weights", "aq"):
        assert f'{{"{tensor}", CKRULES_IN' in host
    assert "ckrules::tokens(given)" in host


def test_results_of_the_second_gemm_are_added(tmp_path: Path) -> None:
    name = EXPERTS.format("2_256x64x128x128_1x4_16x16x64", "per_token")
    _, host = _experts(name, tmp_path)
    assert "clear(kargs.e_ptr, static_cast<int64_t>(kargs.NumTokens - 1) * kargs.stride_C" in host


def test_results_of_the_second_gemm_are_cleared_whether_sums_are_split_or_not(
    tmp_path: Path,
) -> None:
    """They were cleared for split sums alone, and added to what was there before."""
    name = (
        "scaled_moe_flatmm_fp16_fp16_moe_flatmm_intrawave_row_column_16x16x32_1x1x1_16x16x32"
        "_dsb_pad001_permuteN_groups8_stage2_MulRoutedWeight_HasBias_SplitK"
    )
    _, host = _experts(name, tmp_path)
    assert "hot_odd_atomic_add" in host
    before, _ = host.split("clear(kargs.e_ptr,")
    assert before.rstrip().endswith("const bool split = kargs.k_batch > 1;")


def test_4_bit_weights_have_a_pipeline_and_scales_of_their_own(tmp_path: Path) -> None:
    name = EXPERTS.format("1_256x32x128x256_1x4_16x16x32", "per_1x32_swiglu")
    header, host = _experts(name, tmp_path)
    assert "F16xMXF4FlatmmPipelineProblem<Config::ADataType, ck_tile::pk_fp4_t" in " ".join(
        header.split()
    )
    assert "using Scale = ck_tile::FlatmmScalePointer<-1>;" in header
    assert "using ColumnScale = ck_tile::FlatmmScalePointer<1, 32>;" in header
    assert '{"bq", CKRULES_IN' in host
    assert '{"aq", ' not in host


def test_4_bit_operands_have_a_kernel_of_their_own(tmp_path: Path) -> None:
    name, files = _generated(tmp_path, **OF_FOUR_BITS)
    header = " ".join(files[f"{name}.hpp"].split())
    assert "ck_tile::MXFlatmmKernel<Partitioner, Pipeline, Epilogue>" in header
    assert "using Scale = ck_tile::FlatmmScalePointer<1, 32>;" in header
    assert "Config::PermuteN, 2>>;" in header
    assert "a is packed" in files[f"{name}.host.cpp"]
    asked = probe.render({**BASELINE, **OF_FOUR_BITS})
    assert "MXFlatmmPipelineProblem<AType," in asked
    assert "using AType = ck_tile::pk_fp4_t;" in " ".join(asked.split())


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"dtype": "fp8_fp4", "scales": "per_1x32"}, "no kernel with dtype = fp8_fp4"),
        ({"dtype": "bf16_fp4"}, "no scales = row_column"),
        ({"scales": "per_1x32"}, "no scales = per_1x32"),
        ({"activation": "gelu"}, "no activation gelu"),
        ({"grouping": "masked"}, "no groups"),
    ],
)
def test_what_is_not_generated_of_experts(changed: dict[str, Any], said: str) -> None:
    point = {**BASELINE, "variant": "moe_flatmm", "pipeline": "moe_flatmm", "stage": 1, **changed}
    with pytest.raises(UsageError, match=said):
        GENERATION.kernel(point, "name", "2025.11", {"splits_k": False})


@pytest.mark.parametrize(
    ("name", "dtype", "said"),
    [
        (EXPERTS.format("1_256x64x128x128_1x4_16x16x64", "per_token_silu"), "fp8",
         ["kFFN_gemm1_gate_up", "MoeFlatmmPipelineAGmemBGmemCRegV1<", "false, 2>>",
          "ScaleA = ct::FlatmmScalePointer<1>"]),
        (EXPERTS.format("2_256x32x256x256_1x4_16x16x32", "per_1x32"), "bf16_fp4",
         ["kFFN_gemm2", "F16xMXF4FlatmmPipelineAGmemBGmemCRegV1<", "ct::pk_fp4_t",
          "ScaleA = ct::FlatmmScalePointer<-1>", "ScaleB = ct::FlatmmScalePointer<1, 32>"]),
    ],
)  # fmt: skip
def test_the_compiler_is_asked_about_experts(name: str, dtype: str, said: list[str]) -> None:
    config = config_from_name(name, Books("2025.11"), arch="gfx950")
    source = probe.render({**config.point, "dtype": dtype})
    assert not [text for text in said if text not in source]
    assert "moe_flatmm_kernel.hpp" in source
    assert "moe" not in probe.render(BASELINE).lower()
