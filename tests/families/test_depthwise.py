"""Depthwise kernels: the rules agree with what the pipeline computed (tests/data/truth).

The lines of the file are runs of the pipeline of 2026.06 on the emulator, written again for the
headers of 2025.11 and compiled with clang 19; LDS held NaN before.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckrules.constraints import book
from ckrules.constraints.conv.problem import parse
from ckrules.constraints.conv.problems import ConvProblems
from ckrules.kernels import problem_books

RUNS = Path(__file__).parent.parent / "data" / "truth" / "depthwise_gfx942.jsonl"
FIXED = {"variant": "forward_depthwise", "arch": "gfx942", "ndim": 2, "layout": "ngchw"}
CK = "2026.06"


def _lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RUNS.read_text().splitlines()]


def _codes(config: dict[str, Any], problem: str) -> set[str]:
    point = {**FIXED, **config}
    sizes = ConvProblems().values(parse(problem))
    found = [
        *book("forward_depthwise", ck=CK).violations(point),
        *problem_books.book("forward_depthwise", ck=CK).violations({**point, **sizes}),
    ]
    return {v.code for v in found}


def test_right_where_no_rule_is_broken() -> None:
    lines, broken = _lines(), set()
    wrong = []
    for number, line in enumerate(lines, 1):
        codes = _codes(line["config"], line["problem"])
        broken |= codes
        if line["right"] is bool(codes):
            wrong.append((number, codes))
    assert wrong == []
    assert broken >= {"DW018", "DW019", "PROB040", "PROB041", "PROB042", "PROB043", "PROB044"}


@pytest.mark.parametrize(("sub_w", "fails"), [(1, False), (2, False), (3, True), (7, True)])
def test_odd_subtiles_do_not_compile(sub_w: int, fails: bool) -> None:
    point = {**book("forward_depthwise", ck=CK).vocabulary.baseline, "sub_w": sub_w}
    codes = {v.code for v in book("forward_depthwise", ck=CK).violations(point)}
    assert ("DW017" in codes) is fails
