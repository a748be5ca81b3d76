"""GEMM kernels as C++: the files, and what their text takes from the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckrules.certify import probe
from ckrules.codegen.generate import Generator
from ckrules.constraints.gemm.words import PIPELINES
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name
from ckrules.support.errors import UsageError

PLAIN = "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_True_False_64x64x32_2x2x1_16x16x16"
WEIGHTS = (
    "gemm_fp8_rcr_preshufflev2_cshuffle_default_False_False_False_False"
    "_64x64x64_1x4x1_16x16x32_preshuffle"
)
WITH_D = (
    "gemm_fp16_ccrr_compv4_default_intrawave_False_False_False_True"
    "_64x64x32_2x2x1_32x32x8_multid_MultiDAdd_d2"
)


def _generated(tmp_path: Path, name: str) -> dict[str, str]:
    books = Books("2025.11")
    report = Generator(books, tmp_path).run([config_from_name(name, books, arch="gfx942")])
    assert (report.kernels, report.refused) == (1, [])
    return {p.name: p.read_text() for p in tmp_path.iterdir() if p.is_file()}


@pytest.mark.parametrize("name", [PLAIN, WEIGHTS, WITH_D])
def test_files(tmp_path: Path, name: str) -> None:
    files = _generated(tmp_path, name)
    assert {f"{name}{s}" for s in (".hpp", ".cpp", ".device.cpp", ".host.cpp")} <= files.keys()
    assert f'#include "{name}.hpp"' in files["include_all_gemm_kernels.hpp"]
    assert (tmp_path / "runtime" / "ckrules_gemm.h").exists()
    assert not [n for n, text in files.items() if "{{ " in text or "{%" in text]


def test_a_plain_kernel_splits_sums(tmp_path: Path) -> None:
    files = _generated(tmp_path, PLAIN)
    header, device = files[f"{PLAIN}.hpp"], files[f"{PLAIN}.device.cpp"]
    assert "static constexpr bool kPadK = true;" in header
    assert "stride_a = stride_or(p.stride_a, p.k);" in header
    assert "stride_b = stride_or(p.stride_b, p.k);" in header
    for operation in ("set", "atomic_add"):
        assert f"{PLAIN}__hot_full_{operation}(" in device


def test_shuffled_weights_have_both_tails_and_no_split(tmp_path: Path) -> None:
    files = _generated(tmp_path, WEIGHTS)
    device = files[f"{WEIGHTS}.device.cpp"]
    assert device.count('extern "C" CKRULES_ENTRY') == 2
    assert "TailNumber::Odd" in device
    assert "TailNumber::Even" in device
    assert "the kernel is built without split-K" in files[f"{WEIGHTS}.hpp"]
    assert "static constexpr bool Preshuffle       = true;" in files[f"{WEIGHTS}.hpp"]


def test_tensors_d_are_arguments(tmp_path: Path) -> None:
    files = _generated(tmp_path, WITH_D)
    header, host = files[f"{WITH_D}.hpp"], files[f"{WITH_D}.host.cpp"]
    assert "ck_tile::GemmKernelMultiD<" in header
    assert "element_wise::MultiDAdd" in header
    assert "stride_a = stride_or(p.stride_a, p.m);" in header
    assert '{"d1", CKRULES_IN, 0},' in host
    assert "on.compute_units * on.blocks_per_cu" in host  # persistent


def test_other_releases_have_no_templates(tmp_path: Path) -> None:
    books = Books("2026.06")
    config = config_from_name(PLAIN, books, arch="gfx942")
    with pytest.raises(UsageError, match=r"templates of GEMMs for CK 2025\.11 only"):
        Generator(books, tmp_path).run([config])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (PLAIN, ("ct::GemmKernel<", "ct::TailNumber::Full", "CShuffleEpilogue")),
        (WEIGHTS, ("ct::WeightPreshufflePipelineAGmemBGmemCRegV2<", "ct::TailNumber::Even")),
        (WITH_D, ("ct::GemmKernelMultiD<", "ct::tuple<CType, CType>", "DefaultGemm2DEpilogue")),
    ],
)
def test_probe(name: str, words: tuple[str, ...]) -> None:
    source = probe.render(config_from_name(name, Books("2025.11"), arch="gfx942").point)
    assert [w for w in words if w not in source] == []


@pytest.mark.parametrize("pipeline", sorted({*PIPELINES} - {"preshufflev2"}))
def test_probe_names_pipelines_that_the_headers_lack(pipeline: str) -> None:
    """The compiler refuses them; `certify` ended with an error of its own before."""
    point = config_from_name(PLAIN, Books("2025.11"), arch="gfx942").point
    assert "using Pipeline = ct::Gemm" in probe.render({**point, "pipeline": pipeline})


@pytest.mark.parametrize(
    ("changes", "types", "layouts"),
    [
        ({"layout": "rcr"}, "<>", "<>"),
        ({"layout": "rcrc"}, "<>", "<tl::ColumnMajor>"),
        ({"layout": "rcr", "num_d": 1}, "<CType>", "<>"),
        ({"layout": "rcrr", "num_d": 2}, "<CType, CType>", "<tl::RowMajor, tl::RowMajor>"),
    ],
)
def test_probe_has_a_layout_of_d_where_the_fourth_letter_is(
    changes: dict[str, Any], types: str, layouts: str
) -> None:
    """Headers assert that there are as many D tensors as layouts of them (GEMM001)."""
    point = config_from_name(PLAIN, Books("2025.11"), arch="gfx942").point
    source = probe.render({**point, **changes})
    assert f"using Ds       = ct::tuple{types};" in source
    assert f"using DsLayout = ct::tuple{layouts};" in source
