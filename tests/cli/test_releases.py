"""What changed between two versions of CK, for each family, as ``ckrules diff`` says it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ckrules.constraints import book
from ckrules.kernels.families import families
from ckrules.kernels.library import available
from ckrules.kernels.releases import rule_changes
from tests.cli.run import run

#: A GPU that both versions have kernels of, by family.
GPUS = {"conv": "gfx1250", "depthwise": "gfx950", "gemm": "gfx1250"}
NOVEMBER, JUNE, SEPTEMBER = "2025.11", "2026.06", "2026.09"
KERNEL = (
    "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_"
    "128x128x64_2x4x1_16x16x{k}"
)  # fmt: skip


#: Each family with two releases of which the older one has it. What changed in June of all
#: convolutions and of all GEMMs takes longer than all others together, which show the same:
#: `make certify` asks.
STEPS = [
    pytest.param(
        family,
        old,
        new,
        marks=[pytest.mark.certify] if new == JUNE and family in ("conv", "gemm") else [],
    )
    for family, each in families().items()
    for old, new in ((NOVEMBER, JUNE), (JUNE, SEPTEMBER))
    if available(each, old)
]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "old", "new"), STEPS)
def test_each_family_says_what_changed(
    family: str, old: str, new: str, golden: Callable[[str, str], None]
) -> None:
    gpu = "gfx942" if old == NOVEMBER else GPUS.get(family, "gfx942")
    words = ("diff", old, new, "--variant", families()[family].variants[0], "--arch", gpu)
    told = run(*words).stdout
    if available(families()[family], old, "dispatcher"):
        told += "dispatcher:\n" + run(*words, "--profile", "dispatcher").stdout
    golden(f"releases/{new}_{family}.txt", told)


def test_changes_are_of_the_form_of_other_differences() -> None:
    found = json.loads(
        run("diff", JUNE, SEPTEMBER, "--variant", "forward", "--format", "json").stdout
    )
    assert found["rules"] == [
        {"code": "PROB023", "name": "tiles-of-a-sum-in-compv3-of-eight-waves",
         "change": "changed", "of_problems": True},
        {"code": "PROB037", "name": "parts-of-weights-that-other-units-miss",
         "change": "removed", "of_problems": True},
    ]  # fmt: skip
    words = ("--variant", "forward_depthwise", "--dtype", "fp16", "--format", "json")
    assert "rules" not in json.loads(run("diff", "gfx942", "gfx950", *words).stdout)


def test_rules_that_begin_and_end_are_told_apart() -> None:
    june, september = (book("standard", ck=ck, profile="dispatcher") for ck in (JUNE, SEPTEMBER))
    there = {c.rule.code: c.kind for c in rule_changes("standard", june, september)}
    back = {c.rule.code: c.kind for c in rule_changes("standard", september, june)}
    assert (there["GDSP011"], there["GDSP007"], there["GDSP005"]) == ("added", "removed", "changed")
    assert (back["GDSP011"], back["GDSP007"], back["GDSP005"]) == ("removed", "added", "changed")


@pytest.mark.parametrize(
    ("ck", "gpu", "k", "rejected"),
    [
        (JUNE, "gfx1250", 32, True), (SEPTEMBER, "gfx1250", 32, False),
        (JUNE, "gfx1201", 16, True), (SEPTEMBER, "gfx1201", 16, False),
        (JUNE, "gfx1100", 16, True), (SEPTEMBER, "gfx1100", 16, True),
        (JUNE, "gfx942", 16, True), (SEPTEMBER, "gfx942", 16, True),
    ],
)  # fmt: skip
def test_eight_waves_are_right_where_the_schedule_was_mended(
    ck: str, gpu: str, k: int, rejected: bool
) -> None:
    words = ("check", "--ck", ck, "--arch", gpu, "--problem", "M=768,N=768,K=768")
    assert ("GPROB028" in run(*words, KERNEL.format(k=k)).stdout) is rejected


def test_a_dispatcher_of_september_fills_the_lds_of_its_gpu() -> None:
    kernel = (
        "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x256x128_2x2x1_32x32x16"
    )
    told = {
        (ck, gpu): run("check", "--profile", "dispatcher", "--ck", ck, "--arch", gpu, kernel)
        for ck in (JUNE, SEPTEMBER)
        for gpu in ("gfx942", "gfx950")
    }
    assert [code for code, r in told.items() if r.exit_code == 0] == [(SEPTEMBER, "gfx950")]
    assert "GDSP011" in told[SEPTEMBER, "gfx942"].stdout
    assert "stage 65536 bytes on gfx942" in told[SEPTEMBER, "gfx942"].stdout
