"""A profile has an answer where a family has such rules for the CK version; else it has none."""

from __future__ import annotations

import pytest

from tests.cli.run import ILLEGAL, run

NAME = "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x32_2x2x1_32x32x8"
TILE_ENGINE_2026 = ("--profile", "tile_engine", "--ck", "2026.06", "--variant", "standard")
REFUSED = [
    ("gemm", "builder", "2025.11", "gemm has no profile builder: known are legal, fast, "),
    ("quant", "dispatcher", "2025.11", "quant has no profile dispatcher: known are legal, fast"),
    ("conv", "aiter", "2026.06", "conv has no profile aiter: "),
    (
        "gemm",
        "tile_engine",
        "2026.06",
        "tile_engine has no gemm rules for CK 2026.06, only for 2025",
    ),
]


@pytest.mark.parametrize(("family", "profile", "ck", "said"), REFUSED)
def test_nothing_is_legal_by_rules_that_a_family_does_not_have(
    family: str, profile: str, ck: str, said: str
) -> None:
    asked = ("--profile", profile, "--ck", ck, "--arch", "gfx942")
    for words in (("count",), ("sample", "-n", "1"), ("why",), ("lint",)):
        found = run(*words, "--family", family, *asked)
        assert (found.exit_code, found.stdout) == (2, ""), words
        assert said in found.stderr


@pytest.mark.parametrize(
    ("profile", "kernel"), [("builder", NAME), ("tile_engine", NAME), ("aiter", ILLEGAL)]
)
def test_check_calls_no_kernel_legal_that_no_rule_looked_at(profile: str, kernel: str) -> None:
    found = run("check", "--profile", profile, "--arch", "gfx942", kernel)
    assert found.exit_code == 2
    assert f"profile {profile}" in found.stderr
    assert "1 legal" not in found.stderr


def test_a_profile_without_rules_for_a_version_lists_none() -> None:
    for words in (("--profile", "builder", "--variant", "standard"), TILE_ENGINE_2026):
        assert run("rules", *words).exit_code == 2
    assert "TENG001" in run("rules", "--profile", "tile_engine", "--ck", "2025.11").stdout


def test_lists_of_several_families_pass_filters_that_one_of_them_lacks() -> None:
    asked = ("count", "--catalog", "full", "--arch", "gfx942", "--variant", "forward_depthwise")
    assert run(*asked, "--stage", "generated").stdout == run(*asked).stdout
