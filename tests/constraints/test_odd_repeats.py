"""The kernels of upstream's tile_engine that an MI300X ran with 192 rows: 26 of 116 were wrong.

``tests/data/cshuffle_192.csv`` has what ROCm/rocm-libraries#9684 says of them: batched GEMMs in
fp16 and rcr with cshuffle, each run by tile_engine with its own verification. The thread names the
wrong ones by their signature; the others are those of its ranges that fit LDS.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from ckrules.constraints import book
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name

DATA = Path(__file__).parents[1] / "data" / "cshuffle_192.csv"
NAME = (
    "gemm_fp16_rcr_{pipeline}_cshuffle_{scheduler}_False_False_False_False_"
    "{tile}_{waves}_{warp_tile}"
)


@pytest.mark.parametrize("variant", ["standard", "batched"])
def test_the_rules_say_what_the_gpu_did(variant: str) -> None:
    books = Books("2026.06")
    rules = books.of(variant)
    rows = list(csv.DictReader(DATA.open()))
    differ = []
    for row in rows:
        point = {**config_from_name(NAME.format(**row), books, arch="gfx942").point}
        broken = {v.code for v in rules.violations({**point, "variant": variant, "arch": "gfx942"})
                  if v.rule.severity == "error"}  # fmt: skip
        if broken != ({"EPI002"} if row["verification"] == "fail" else set()):
            differ.append((row, broken))
    assert differ == []
    assert [r["verification"] for r in rows].count("fail") == 26
    assert len(rows) == 116


def test_only_an_epilogue_that_is_told_of_two_buffers_shuffles_singly() -> None:
    """Convolution's templates tell it but in stream-K; no generator of GEMMs does."""
    odd = {"pipeline": "compv4", "double_smem_buffer": True, "tile_m": 192, "tile_k": 32}
    conv, gemm = book("forward", ck="2026.06"), book("standard", ck="2026.06")
    streamk = {"variant": "bwd_weight", "streamk": "linear", **odd}
    for rules, fields, told in ((conv, odd, True), (conv, streamk, False), (gemm, odd, False)):
        codes = [v.code for v in rules.violations(rules.example(fields))]
        assert ("EPI002" not in codes) is told, fields
