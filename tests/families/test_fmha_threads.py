"""What the book says of attention kernels in upstream's threads; docs/hardware.md has more.

Each test names its thread in ROCm/rocm-libraries, with what was seen there.
"""

from __future__ import annotations

from typing import Any

import pytest

from ckrules.constraints.fmha import problem_fields
from ckrules.constraints.fmha.problem import parse
from ckrules.constraints.fmha.vocabulary import BASELINE
from ckrules.engine.rules.batch import BatchChecker
from ckrules.kernels import problem_books
from ckrules.kernels.library import book

ASYNC = {"pipeline": "qr_async", "pad_s": True, "pad_d": True, "pad_dv": True}
TRLOAD = {"arch": "gfx950", "pipeline": "qr_async_trload", "trload": True, "tile_k1": 16}
HEAD_256 = {"hdim": 256, "tile_k0max": 256, "tile_n1": 256}


def _broken(*changes: dict[str, Any]) -> set[str]:
    """The codes of the rules that a change of the baseline breaks."""
    point = dict(BASELINE)
    for change in changes:
        point |= change
    return {v.rule.code for v in book("fmha_fwd", ck="2025.11").violations(point)}


@pytest.mark.parametrize(
    ("variant", "receipt", "code"),
    [
        ("fmha_fwd", 4, "FMHA011"), ("fmha_fwd_splitkv", 0, "FMHA011"),
        ("fmha_fwd_pagedkv", 0, "FMHA011"), ("fmha_batch_prefill", 0, "FMHA011"),
        ("fmha_bwd", 4, "FBWD006"),
    ],
)  # fmt: skip
def test_no_listed_kernel_of_gfx1250_compiles(variant: str, receipt: int, code: str) -> None:
    """rocm-libraries#12422: none of 2,725 units for gfx1250 compiles; it has no such warp tile."""
    check = BatchChecker(book(variant, ck="2025.11"))
    upstream = book(variant, ck="2025.11", profile=f"receipt_{receipt}")
    listed = list(upstream.space(variant=variant, arch="gfx1250"))
    assert listed
    for point in listed:
        assert code in {v.rule.code for v in check(point)}


def test_heads_of_512_are_asserted_away() -> None:
    """rocm-libraries#11999: every pipeline asserts a head dimension of at most 256."""
    assert "FMHA003" in _broken({"hdim": 512, "tile_k0max": 512})


def test_steps_of_the_two_products_differ() -> None:
    """rocm-libraries#8424: steps of 64 and 32 give NaN in qr_async; they have to be equal now."""
    assert "FMHA027" in _broken(ASYNC, HEAD_256, {"tile_n0": 32, "tile_k0": 64})
    assert "FMHA027" not in _broken(ASYNC, HEAD_256, {"tile_n0": 32})


def test_two_buffers_of_large_heads_overflow_lds() -> None:
    """rocm-libraries#6846: two buffers of 128 rows of 256 do not fit LDS, and those of 64 do."""
    assert "FMHA046" in _broken(TRLOAD, HEAD_256, {"tile_n0": 128})
    assert "FMHA046" not in _broken(TRLOAD, HEAD_256, {"tile_n0": 64})


@pytest.mark.parametrize("length", [1000, 1001, 1023])
def test_scores_behind_an_unpadded_sequence_count(length: int) -> None:
    """rocm-libraries#10309: 0.8 % of the values wrong where the dispatch's guard is the word true.

    There it was a pipeline of gfx1250 that this book has not; the guard is the same.
    """
    rules = problem_books.book("fmha_fwd", ck="2025.11")
    values = problem_fields.values(
        parse(f"batch=1,heads=8,seqlen_q=1024,seqlen_k={length},hdim=128")
    )
    for padded, codes in ((False, {"FPROB002"}), (True, set())):
        point = {**BASELINE, "pad_sk": padded, **values}
        assert {v.rule.code for v in rules.violations(point)} == codes
