"""Kernels of attention before the compiler: accepted ones, and the first diagnostics of others.

`make test` asks it about one kernel of each kind, `make certify` about the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ckrules.arch import load
from ckrules.certify import probe
from ckrules.certify.oracle import CompilerOracle
from ckrules.codegen.fmha import cpp_names
from ckrules.codegen.fmha_steps import generation as step_generation
from ckrules.constraints.fmha import words
from ckrules.constraints.fmha_steps import words as step_words
from ckrules.constraints.fmha_steps.generator import AN_APPEND
from ckrules.kernels.library import book
from ckrules.support.errors import UsageError
from tests.helpers.toolchain import require_toolchain

pytestmark = pytest.mark.whole

#: One wave of 16 rows: what compiles fastest.
TINY: dict[str, Any] = {
    "hdim": 32, "tile_m0": 16, "tile_n0": 32, "tile_k0": 16, "tile_n1": 32, "tile_k1": 32,
    "tile_k0max": 32, "wave_m0": 1, "wave_m1": 1, "warp_tile_m0": 16, "warp_tile_n0": 16,
    "warp_tile_m1": 16, "warp_tile_n1": 16,
}  # fmt: skip
LACKING = {
    "fmha_fwd": set[str](),
    "fmha_fwd_splitkv": {"dropout", "skip", "trload"},
    "fmha_fwd_pagedkv": {"dropout", "trload"},
    "fmha_batch_prefill": set[str](),
}


def point(**changed: Any) -> dict[str, Any]:
    return {**book("fmha_fwd", ck="2025.11").vocabulary.baseline, **changed}


@pytest.mark.parametrize("variant", words.VARIANTS)
def test_the_probe_takes_every_trait_that_a_kernel_has(variant: str) -> None:
    pipeline = words.OF_VARIANT[variant][0]
    read = probe.fields(point(variant=variant, pipeline=pipeline))
    unread = set(book("fmha_fwd", ck="2025.11").fields) - read
    paged = {"paged_kv"} if variant in ("fmha_fwd", "fmha_batch_prefill") else set()
    assert unread == {"arch", "hdim"} | LACKING[variant] | paged


def test_every_word_of_the_rules_has_its_cpp() -> None:
    assert set(cpp_names.TYPES) == set(words.DTYPES)
    assert set(cpp_names.MASKS) == set(words.MASKS)
    assert set(cpp_names.BIASES) == set(words.BIASES)
    assert {v: tuple(p) for v, p in cpp_names.PIPELINES.items()} == dict(words.OF_VARIANT)


def test_what_is_not_generated_says_why() -> None:
    from ckrules.codegen.fmha.generation import GENERATION

    with pytest.raises(UsageError, match=r"for CK 2025\.11 only, not for 2026\.06"):
        GENERATION.kernel(point(), "name", "2026.06", {})
    with pytest.raises(UsageError, match=r"fmha_fwd cannot be generated \(K and V lie in pages\)"):
        GENERATION.kernel(point(paged_kv=True), "name", "2025.11", {})
    with pytest.raises(UsageError, match=r"there is no C\+\+ for sink = True, which CK"):
        GENERATION.kernel(point(sink=True), "name", "2025.11", {})


@pytest.fixture(scope="module")
def oracle() -> CompilerOracle:
    return CompilerOracle(require_toolchain(), load("gfx942"))


@pytest.mark.toolchain
@pytest.mark.certify
def test_small_kernels_of_three_pipelines_compile(oracle: CompilerOracle) -> None:
    straight = {"pipeline": "qr_async", "pad_s": True, "pad_d": True, "pad_dv": True}
    points = [point(**TINY), point(**TINY, **straight, dropout=True), point(**TINY, pipeline="qs")]
    rules = book("fmha_fwd", ck="2025.11")
    broken = [v for p in points for v in rules.violations(p) if v.kind == "compile"]
    assert broken == []
    assert oracle.check_batch(points) is not None


@pytest.mark.toolchain
@pytest.mark.certify
def test_partial_steps_are_the_first_diagnostic(oracle: CompilerOracle) -> None:
    verdict = oracle.check(point(**{**TINY, "tile_k0": 48}))
    assert not verdict.ok
    assert str(verdict.error).startswith("tile_fmha_shape.hpp:58:")


def _first_here(cases: Sequence[tuple[dict[str, Any], str, str]]) -> list[Any]:
    """Cases by their rules' codes: `make test` has the first, `make certify` the rest."""
    marks = [(), *[(pytest.mark.certify,)] * (len(cases) - 1)]
    return [pytest.param(*c, id=c[1], marks=m) for c, m in zip(cases, marks, strict=True)]


#: Changes of `TINY`, the rule that refuses each, and where the compiler does.
REFUSED: tuple[tuple[dict[str, Any], str, str], ...] = (
    ({"block_per_cu": 0}, "FMHA041", "fmha_fwd_kernel.hpp:33:"),
    ({"variant": "fmha_fwd_splitkv", "mask": "generic"}, "FMHA013",
     "block_fmha_fwd_splitkv_pipeline_qr_ks_vs.hpp:233:"),
    ({"tile_n1": 48, "tile_k1": 16}, "FMHA034", "amd_buffer_addressing.hpp:1540:"),
    ({"hdim": 96, "tile_k0max": 96, "tile_k0": 48}, "FMHA042", "sequence.hpp:1229:"),
    ({"tile_m0": 32, "tile_k1": 16, "wave_m1": 2}, "FMHA039",
     "block_gemm_areg_bsmem_creg_v2.hpp:79:"),
)  # fmt: skip


@pytest.mark.toolchain
@pytest.mark.parametrize(("change", "code", "place"), _first_here(REFUSED))
def test_a_rule_says_what_the_compiler_says(
    oracle: CompilerOracle, change: dict[str, Any], code: str, place: str
) -> None:
    kernel = point(**{**TINY, **change})
    rules = book(str(kernel["variant"]), ck="2025.11")
    broken = [v.rule.code for v in rules.violations(kernel) if v.rule.kind == "compile"]
    assert broken == [code]
    assert str(oracle.check(kernel).error).startswith(place)


@pytest.mark.toolchain
@pytest.mark.certify
def test_padding_makes_vectors_of_six_single_elements(oracle: CompilerOracle) -> None:
    kernel = point(**{**TINY, "tile_n1": 48, "tile_k1": 16, "pad_dv": True})
    assert not book("fmha_fwd", ck="2025.11").violations(kernel)
    assert oracle.check(kernel).ok


@pytest.mark.parametrize("variant", step_words.VARIANTS)
def test_the_probe_takes_every_step_of_every_type(variant: str) -> None:
    """`ckrules certify --family fmha_steps` ended at the first kernel that appends."""
    for dtype in step_words.DTYPES:
        given = {"variant": variant, "dtype": dtype, "tile_s": 64, "tile_sk": 64, "tile_d": 128}
        baseline = book(variant, ck="2025.11").vocabulary.baseline
        found = step_generation.words_of({**baseline, **given})
        assert found["variant"] == variant.removeprefix("fmha_")


@pytest.mark.toolchain
@pytest.mark.certify
def test_a_kernel_that_appends_compiles(oracle: CompilerOracle) -> None:
    kernel = {**book("fmha_fwd_appendkv", ck="2025.11").vocabulary.baseline, **AN_APPEND}
    assert not book("fmha_fwd_appendkv", ck="2025.11").violations(kernel)
    assert oracle.check(kernel).ok


@pytest.mark.toolchain
def test_a_kernel_that_joins_splits_compiles(oracle: CompilerOracle) -> None:
    """The probe's template had a name of another namespace."""
    assert oracle.check(dict(book("fmha_fwd_splitkv_combine", ck="2025.11").vocabulary.baseline)).ok


def two_groups(**changed: Any) -> dict[str, Any]:
    return {**book("fmha_fwd_v3", ck="2025.11").vocabulary.baseline, **changed}


def test_the_probe_of_two_groups_takes_every_trait() -> None:
    read = probe.fields(two_groups())
    assert set(book("fmha_fwd_v3", ck="2025.11").fields) - read == {"arch", "hdim", "pipeline"}


#: Changes of the example's kernel that are refused early, the rule, and where the compiler does.
_NO_GROUPS: tuple[tuple[dict[str, Any], str, str], ...] = (
    ({"tile_n1": 192}, "FTG022", "block_fmha_fwd_v3_pipeline_default_policy.hpp:"),
    ({"warp_tile_k1": 8}, "FTG007", "warp_gemm_dispatcher.hpp:"),
)


@pytest.mark.toolchain
@pytest.mark.parametrize(("change", "code", "place"), _first_here(_NO_GROUPS))
def test_the_compiler_refuses_two_groups_as_a_rule_does(
    change: dict[str, Any], code: str, place: str
) -> None:
    kernel = two_groups(**change)
    rules = book("fmha_fwd_v3", ck="2025.11")
    broken = [v.rule.code for v in rules.violations(kernel) if v.rule.kind == "compile"]
    assert broken == [code]
    asked = CompilerOracle(require_toolchain(arch="gfx950"), load("gfx950"))
    assert str(asked.check(kernel).error).startswith(place)
