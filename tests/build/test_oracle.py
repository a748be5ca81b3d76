"""The compile oracle against the compiler: a handful of kernels whose answer is known."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ckrules.build import oracle, toolchain
from ckrules.constraints import book, defaults
from ckrules.engine.errors import UnknownNameError, UsageError
from tests.toolchain import require_toolchain

#: A small legal kernel of gfx942.
POINT: dict[str, object] = {
    "variant": "forward",
    "arch": "gfx942",
    "dtype": "fp16",
    "ndim": 2,
    "tile_m": 32,
    "tile_n": 32,
    "tile_k": 32,
    "wave_m": 1,
    "wave_n": 1,
    "wave_k": 1,
    "warp_tile_m": 32,
    "warp_tile_n": 32,
    "warp_tile_k": 16,
    "pipeline": "mem",
    "scheduler": "intrawave",
    "epilogue": "cshuffle",
    "vector_a": 8,
    "vector_b": 8,
    "vector_c": 8,
    "double_smem_buffer": False,
    "num_wave_groups": 1,
    "num_groups_to_merge": 1,
    "pad_m": True,
    "pad_n": True,
    "pad_k": True,
    "specialization": "default",
    "two_stage": False,
    "explicit_gemm": False,
    "split_image": False,
    "streamk": "off",
    "streamk_persistent": False,
}


@pytest.fixture(scope="session")
def tools() -> toolchain.Toolchain:
    return require_toolchain()


@pytest.mark.toolchain
def test_a_small_forward_kernel_compiles(tools: toolchain.Toolchain) -> None:
    verdict = oracle.check(POINT, tools)
    assert verdict.ok, verdict.error
    assert verdict.error is None


@pytest.mark.toolchain
def test_a_missing_warp_tile_is_the_first_diagnostic(tools: toolchain.Toolchain) -> None:
    verdict = oracle.check({**POINT, "warp_tile_k": 8, "dtype": "fp32"}, tools)
    assert not verdict.ok
    assert verdict.error is not None
    assert verdict.error.startswith("warp_gemm_dispatcher.hpp:")
    assert "error: implicit instantiation of undefined template" in verdict.error


@pytest.mark.toolchain
def test_what_came_after_this_release_is_refused(tools: toolchain.Toolchain) -> None:
    verdict = oracle.check({**POINT, "explicit_gemm": True}, tools)
    assert not verdict.ok
    assert verdict.error is not None
    assert verdict.error.startswith("probe.cpp:")
    assert "too many template arguments" in verdict.error


@pytest.mark.toolchain
@pytest.mark.slow
def test_lds_of_a_compiled_kernel_is_the_staged_tiles(tools: toolchain.Toolchain) -> None:
    figures = oracle.compile_device(POINT, tools)
    assert figures.ok, figures.error
    assert figures.lds_bytes == 2 * 32 * (32 + 32)
    assert figures.vgprs is not None
    assert 0 < figures.vgprs <= 512


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 5])
def test_lds_is_the_formula_where_o1_has_more(number: int, tools: toolchain.Toolchain) -> None:
    """The lines of lds.jsonl that tests/constraints/test_truth.py expects to differ, at -O3."""
    lines = (Path(__file__).parents[1] / "data/truth/lds.jsonl").read_text().splitlines()
    line = json.loads(lines[number - 1])
    config = line["config"]
    rules = book(config["variant"], ck="2025.11")
    point = rules.point({**defaults(config["variant"], config["ndim"]), **config})
    expected = rules.resources(point, ["lds_bytes"])["lds_bytes"]
    assert oracle.compile_device(point, tools).lds_bytes == expected < line["lds_bytes"]


def test_a_word_where_a_number_belongs_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="tile_m is '32'"):
        oracle.render({**POINT, "tile_m": "32"})


def test_an_unknown_pipeline_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'compv3'"):
        oracle.render({**POINT, "pipeline": "compv33"})


def test_a_missing_tree_names_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]
) -> None:
    monkeypatch.setenv("CKRULES_TOOLCHAIN", str(tmp_path))
    found = toolchain.find_tree("2025.11")
    assert isinstance(found, toolchain.Missing)
    assert str(found).endswith("run `make toolchain`")


def test_two_stage_stores_fp32_and_merges_groups() -> None:
    source = oracle.render(
        {**POINT, "variant": "bwd_weight", "two_stage": True, "num_groups_to_merge": 4}
    )
    assert "using Stored  = float;" in source
    assert "GroupedConvolutionBackwardWeightKernel" in source
    assert "ck_tile::kentry<1, ckrules_probe::Kernel, ckrules_probe::Args>" in source
