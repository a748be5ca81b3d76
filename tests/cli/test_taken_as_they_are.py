"""Commands that take kernels as they are say which of them are illegal, or compute other things."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

ARCH = ("--ck", "2025.11", "--arch", "gfx942")
NAME = "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_{}x128x32_4x2x1_16x16x16"
LEGAL, ILLEGAL = NAME.format(128), NAME.format(192)
SAID = "note: illegal, as ckrules check says: 1 of 2 kernels"


def test_rank_says_that_a_kernel_is_illegal() -> None:
    asked = ("rank", *ARCH, "--problem", "M=768,N=512,K=512")
    assert SAID in run(*asked, LEGAL, ILLEGAL).stderr
    assert "illegal" not in run(*asked, LEGAL).stderr


def test_cover_says_that_a_kernel_is_illegal() -> None:
    asked = ("cover", *ARCH, "--symbolic", "M % 768 == 0 & N % 128 == 0 & K % 32 == 0")
    assert SAID in run(*asked, LEGAL, ILLEGAL).stderr
    assert run(*asked, LEGAL).stderr == ""


def test_an_order_of_kernels_with_other_results_says_so() -> None:
    asked = ("rank", *ARCH, "--problem", "M=512,N=512,K=512")
    said = "note: these kernels do not compute the same: dtype_c = "
    assert said in run(*asked, LEGAL, f"{LEGAL}_out_fp32").stderr
    assert said not in run(*asked, LEGAL, LEGAL).stderr


@pytest.mark.parametrize("command", [("search", "-n", "2"), ("enumerate", "--best", "2")])
def test_the_fastest_of_a_list_says_that_a_kernel_is_illegal(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    found = {}
    for one in (LEGAL, ILLEGAL):
        file = tmp_path / "kernels.txt"
        file.write_text(f"{LEGAL}\n{one}\n", encoding="utf-8")
        asked = (*command, *ARCH, "--variant", "standard", "--problem", "M=768,N=512,K=512")
        found[one] = run(*asked, "--catalog", str(file)).stderr
    assert SAID in found[ILLEGAL]
    assert "illegal" not in found[LEGAL]
