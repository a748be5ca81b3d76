"""Estimated times of GEMM kernels: what has to be so whatever the constants are."""

from __future__ import annotations

import pytest

from ckrules.arch import load
from ckrules.constraints.gemm.problem import parse
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name
from ckrules.kernels.timing import Estimate
from ckrules.ranking.kernels import KernelTable

PLAIN = "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x64_2x2x1_32x32x16"
NARROW = PLAIN.replace("128x128x64", "64x64x64")


def _table(names: list[str]) -> KernelTable:
    books = Books("2025.11")
    return KernelTable.of_points(
        [config_from_name(n, books, arch="gfx942").point for n in names], books
    )


def _estimate(names: list[str], problem: str) -> Estimate:
    return _table(names).estimate(parse(problem))


def _times(names: list[str], problem: str) -> list[float]:
    return [float(t) for t in _estimate(names, problem).microseconds]


@pytest.mark.parametrize(
    ("less", "more", "kind"),
    [
        ("M=4096,N=4096,K=1024", "M=4096,N=4096,K=4096", ""),
        ("M=1024,N=1024,K=1024", "M=4096,N=4096,K=1024", ""),
        ("M=2048,N=2048,K=512,batch=2", "M=2048,N=2048,K=512,batch=16", "_batched"),
        ("M=2048+64,N=2048,K=512", "M=2048+64+2048+2048+2048,N=2048,K=512", "_grouped"),
    ],
)
def test_more_work_takes_longer(less: str, more: str, kind: str) -> None:
    assert _times([PLAIN + kind], less)[0] < _times([PLAIN + kind], more)[0]


def test_large_tiles_suit_large_products() -> None:
    wide, narrow = _times([PLAIN, NARROW], "M=8192,N=8192,K=8192")
    assert wide < narrow


def test_no_kernel_is_faster_than_the_gpu() -> None:
    product = parse("M=8192,N=8192,K=8192")
    card = load("gfx942").performance
    assert card is not None
    (time,) = _times([PLAIN], str(product))
    peak = max(rate for _, rate in card.matrix_flops) * 304 * 2100
    assert time > product.flops / peak


def test_types_are_those_of_the_matrix_instructions() -> None:
    """4-bit weights are widened to A's type on the way, so that their rate is A's."""
    problem = "M=8192,N=8192,K=8192"
    plain, widened = (
        _estimate([name], problem).bounds for name in (PLAIN, PLAIN.replace("fp16", "fp16_i4", 1))
    )
    assert widened["matrix rate"] == plain["matrix rate"]
    assert widened["L2"][0] == pytest.approx(plain["L2"][0] * (2 + 0.5) / (2 + 2))
    assert widened["vector units"] > 0
    assert "vector units" not in plain


def test_narrow_stores_are_those_of_the_result() -> None:
    """16 bytes at once are as wide as it gets, whatever the type of A is."""
    ends = []
    for word in ("fp16", "fp8"):
        table = _table([PLAIN.replace("fp16", word, 1)])
        ends.append(table.timing.compiled(table.columns, table.gpu, table.product)["last"])
    assert ends[0] == ends[1] > 0
