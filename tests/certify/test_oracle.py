"""The compile oracle against the compiler: a handful of kernels whose answer is known."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ckrules.arch import load
from ckrules.certify import probe
from ckrules.certify.oracle import CompilerOracle
from ckrules.compiling import toolchain
from ckrules.compiling.precompiled import Precompiled
from ckrules.constraints import book, defaults
from ckrules.constraints.scaled.kernel import OF_EXPERTS
from ckrules.engine.expr.variables import domain_of
from ckrules.support.errors import UnknownNameError, UsageError
from tests.compiling.kernels import device_build
from tests.helpers.toolchain import require_toolchain

#: A small legal kernel of gfx942.
POINT: dict[str, object] = {
    "variant": "forward",
    "arch": "gfx942",
    "dtype": "fp16",
    "ndim": 2,
    "layout": "nhwgc",
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
def oracle() -> CompilerOracle:
    return CompilerOracle(require_toolchain(), load("gfx942"))


@pytest.mark.toolchain
@pytest.mark.whole
def test_a_small_forward_kernel_compiles(oracle: CompilerOracle) -> None:
    verdict = oracle.check(POINT)
    assert verdict.ok, verdict.error
    assert verdict.error is None


@pytest.mark.toolchain
@pytest.mark.whole
def test_a_missing_warp_tile_is_the_first_diagnostic(oracle: CompilerOracle) -> None:
    verdict = oracle.check({**POINT, "warp_tile_k": 8, "dtype": "fp32"})
    assert not verdict.ok
    assert verdict.error is not None
    assert verdict.error.startswith("warp_gemm_dispatcher.hpp:")
    assert "error: implicit instantiation of undefined template" in verdict.error


@pytest.mark.toolchain
@pytest.mark.certify
def test_what_came_after_this_release_is_refused(oracle: CompilerOracle) -> None:
    """`make certify` asks: the words are those of any template with too many arguments."""
    verdict = oracle.check({**POINT, "explicit_gemm": True})
    assert not verdict.ok
    assert verdict.error is not None
    assert verdict.error.startswith("probe.cpp:")
    assert "too many template arguments" in verdict.error


@pytest.mark.toolchain
@pytest.mark.certify
def test_forward_has_no_matrices_of_other_dimensions(oracle: CompilerOracle) -> None:
    """OP001, which backward kernels do not break: OP017. `make certify` asks."""
    verdict = oracle.check({**POINT, "ndim": 3, "layout": "nwgc"})
    assert not verdict.ok
    assert verdict.error is not None
    assert "no matching member function for call to 'MakeADescriptor_M_K'" in verdict.error


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.certify
@pytest.mark.parametrize("variant", ["bwd_data", "bwd_weight"])
def test_backward_compiles_with_the_layout_of_other_dimensions(
    oracle: CompilerOracle, variant: str
) -> None:
    point = {**POINT, "variant": variant, "vector_c": 4, "ndim": 3, "layout": "nwgc"}
    verdict = oracle.check(point)
    assert verdict.ok, verdict.error
    assert [v.code for v in book(variant, ck="2025.11").violations(point)] == ["OP017"]


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.certify
def test_lds_of_a_compiled_kernel_is_the_staged_tiles(tmp_path: Path) -> None:
    require_toolchain()
    built = device_build({**POINT, "layout": "nhwgc"}, tmp_path)
    assert built.status == "ok", built.diagnostic
    assert built.lds_bytes == 2 * 32 * (32 + 32)
    assert built.vgprs is not None
    assert 0 < built.vgprs <= 512


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.certify
@pytest.mark.parametrize("number", [2, 5])
def test_lds_is_the_formula_where_o1_has_more(number: int, tmp_path: Path) -> None:
    """The lines of lds.jsonl that tests/constraints/test_truth.py expects to differ, at -O3."""
    require_toolchain()
    lines = (Path(__file__).parents[1] / "data/truth/lds.jsonl").read_text().splitlines()
    line = json.loads(lines[number - 1])
    config = line["config"]
    rules = book(config["variant"], ck="2025.11")
    point = rules.point({**defaults(config["variant"], config["ndim"]), **config})
    expected = rules.resources(point, ["lds_bytes"])["lds_bytes"]
    assert device_build(point, tmp_path).lds_bytes == expected < line["lds_bytes"]


def test_a_word_where_a_number_belongs_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="tile_m is '32'"):
        probe.render({**POINT, "tile_m": "32"})


def test_a_family_without_a_probe_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"the family depthwise has no probe for CK 2025\.11"):
        probe.render({**POINT, "variant": "forward_depthwise"})


def test_an_unknown_pipeline_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'compv3'"):
        probe.render({**POINT, "pipeline": "compv33"})


@pytest.mark.parametrize("variant", ["forward", "standard", "aquant", "bquant", "flatmm"])
def test_the_compiler_is_asked_about_every_pipeline(variant: str) -> None:
    """Certifying quantised GEMMs once ended at a pipeline of newer headers."""
    rules = book(variant, ck=probe.CK)
    for word in domain_of(rules.fields["pipeline"]).values:
        assert "template" in probe.render({**rules.example({"variant": variant}), "pipeline": word})


def test_a_missing_tree_names_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]
) -> None:
    monkeypatch.setenv("CKRULES_TOOLCHAIN", str(tmp_path))
    found = toolchain.find_tree("2025.11")
    assert isinstance(found, toolchain.Missing)
    assert str(found).endswith("run `make toolchain`")


def test_two_stage_stores_fp32_and_merges_groups() -> None:
    source = probe.render(
        {**POINT, "variant": "bwd_weight", "two_stage": True, "num_groups_to_merge": 4}
    )
    assert "using Stored  = float;" in source
    assert "GroupedConvolutionBackwardWeightKernel" in source
    assert "ck_tile::kentry<1, ckrules_probe::Kernel, ckrules_probe::Args>" in source


def test_the_compiler_sees_the_layout_that_a_point_says() -> None:
    """Not that of its dimensions: OP001 could be neither confirmed nor refuted."""
    source = probe.render({**POINT, "ndim": 2, "layout": "ndhwgc"})
    assert "GroupedConvTraits<2," in source
    assert all(f"cl::{word}," in source for word in ("NDHWGC", "GKZYXC", "NDHWGK"))
    with pytest.raises(UnknownNameError, match="did you mean 'nhwgc'"):
        probe.render({**POINT, "layout": "nhwg"})


def test_the_compiler_sees_the_groups_that_a_point_says() -> None:
    """Kernels for experts do not take their arguments, which SCAL057 says."""
    point = {**book("moe_flatmm", ck="2025.11").vocabulary.baseline, **OF_EXPERTS}
    for grouping, arguments in (("masked", "MaskedGroupedFlatmmHostArgs"), ("no", "KernelArgs")):
        source = probe.render({**point, "grouping": grouping})
        (line,) = (x for x in source.splitlines() if x.startswith("using Args"))
        assert arguments in line


# -- precompiled headers -----------------------------------------------------------------------

WRITES = """#!/bin/sh
echo "$*" >> "$(dirname "$0")/log"
while [ $# -gt 1 ]; do [ "$1" = -o ] && [ "$2" = -Xclang ] && echo pch > "$3"; shift; done
[ "$1" = headers.hpp ] && [ -e "$(dirname "$0")/fail" ] && exit 1
exit 0
"""


@pytest.mark.parametrize("works", [True, False])
def test_headers_are_compiled_when_it_is_worth_it(works: bool, tmp_path: Path) -> None:
    program = tmp_path / "cc"
    program.write_text(WRITES)
    program.chmod(0o755)
    if not works:
        (tmp_path / "fail").touch()
    headers = Precompiled([str(program), "-x", "hip"])
    source = '#include "a.hpp"'
    assert headers.flags(source) == headers.flags(source) == ()
    assert not (tmp_path / "log").exists()
    third = headers.flags(source)
    assert headers.flags(source) == third
    runs = (tmp_path / "log").read_text().splitlines()
    assert all(line.startswith("-x hip ") and line.endswith(" headers.hpp") for line in runs)
    assert "-emit-pch" in runs[0]
    if works:
        assert len(runs) == 2  # made, and tried
        assert third[-4:-1] == ("-Xclang", "-include-pch", "-Xclang")
        assert Path(third[-1]).read_text() == "pch\n"
    else:
        assert (len(runs), third) == (1, ())
