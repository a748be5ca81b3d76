"""The page on runs of ``ckrules certify`` is what the files of evidence say."""

from __future__ import annotations

from types import ModuleType

import pytest

from ckrules.kernels.evidence import CertifyRun, RejectionTally
from tests.helpers.scripts import load


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module."""
    return load("evidence_runs")


def test_the_page_is_fresh(script: ModuleType) -> None:
    text = script.page(script.runs())
    assert script.PAGE.read_text(encoding="utf-8") == text, (
        "python scripts/evidence_runs.py --write"
    )


def test_a_run_is_told_by_its_command(script: ModuleType) -> None:
    rules = {"TILE001": (RejectionTally(3, 1, 0), "x"), "VEC001": (RejectionTally(2, 2, 1), "y")}
    tool = "Debian clang version 22.1.8 (1~deb12u1)"
    drawn = "-n 20 --seed 7 --where 'tile_m == 16 | tile_n == 16'"
    orders = "waves and blocks forward, reversed, random (seed 7)"
    first, second, given = (
        CertifyRun("compiler", "gfx90a", "2025.11", tool, drawn, 12, 1, rules),
        CertifyRun("numerics", "gfx90a", "2025.11", tool, f"{drawn}; {orders}, all blocks", 5),
        CertifyRun("compiler", "gfx90a", "2025.11", tool, "30 configurations 1a25", 20),
    )
    text = script.page([("conv", first), ("gemm", second), ("conv", given)])
    assert (
        "| `ckrules certify --arch gfx90a --ck 2025.11 -n 20 --seed 7 "
        "--where 'tile_m == 16 \\| tile_n == 16'` | clang 22.1.8 | 12 | 1 | 5 | 3 | 1 |"
    ) in text
    assert "numerics --family gemm --arch gfx90a" in text
    assert f"; {orders}, all blocks | clang 22.1.8 | 5 | 0 | 0 | 0 | 0 |" in text
    assert "`ckrules certify --arch gfx90a --ck 2025.11 FILE`, 30 configurations 1a25" in text
    assert "| gfx90a | 2 | 32 | 1 | 5 | 3 | 1 |" in text
    assert text.count("No run is kept.") == 2


def test_the_usual_manner_needs_no_words(script: ModuleType) -> None:
    manner = "waves and blocks forward, reversed, random (seed 1), 32 columns of blocks"
    run = CertifyRun("numerics", "gfx942", "2025.11", "t", f"-n 20 --seed 1; {manner}")
    wanted = "`ckrules certify numerics --arch gfx942 --ck 2025.11 -n 20 --seed 1`"
    assert script.command("conv", run) == wanted
