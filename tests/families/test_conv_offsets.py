"""Convolutions whose tensors are beyond offsets of 32 bits, or are split for their size."""

from __future__ import annotations

from typing import Any

import pytest

from ckrules.constraints.conv.problem import parse
from ckrules.constraints.conv.problems import ConvProblems
from ckrules.kernels import problem_books

SPLIT: dict[str, Any] = {"split_image": True}
EXPLICIT: dict[str, Any] = {"explicit_gemm": True, "specialization": "filter1x1_stride1_pad0"}
STAGES: dict[str, Any] = {"two_stage": True}
IMAGES = "C=64,K=64,H=56,W=56,Y=3,X=3,pad=1"
LARGE = "N=1,C=64,K=64,H=8192,W=8192,Y=3,X=3,pad=1"


def _codes(variant: str, problem: str, ck: str = "2025.11", **fields: Any) -> set[str]:
    rules = problem_books.book(variant, ck=ck)
    point = {**rules.vocabulary.baseline, "variant": variant, **fields}
    point |= ConvProblems().values(parse(problem))
    return {v.code for v in rules.violations(point)} & {"PROB039", "PROB045"}


@pytest.mark.parametrize(
    ("variant", "fields", "problem", "beyond"),
    [
        # Images of one group decide whether they are split, and a block views all groups.
        ("forward", {}, f"N=16384,G=1,{IMAGES}", False),
        ("forward", {}, f"N=16384,G=64,{IMAGES}", True),
        ("bwd_data", {}, f"N=16384,G=64,{IMAGES}", True),
        ("forward", {}, f"N=8192,G=64,{IMAGES}", False),
        # A split image has the views of the whole one, and backward kernels do not split any.
        ("forward", {}, LARGE, True),
        ("forward", SPLIT, LARGE, True),
        ("bwd_weight", SPLIT, f"N=16384,{IMAGES}", True),
        # Weights, of a group and of all.
        ("forward", {}, "N=1,C=32768,K=32768,H=7,W=7,Y=1,X=1", False),
        ("forward", {}, "N=1,C=32768,K=65536,H=7,W=7,Y=1,X=1", True),
        ("bwd_data", {}, "N=1,C=32768,K=65536,H=7,W=7,Y=1,X=1", True),
        ("bwd_weight", {}, "N=1,G=32,C=65536,K=65536,H=7,W=7,Y=3,X=3", False),
        ("bwd_weight", STAGES, "N=1,G=32,C=65536,K=65536,H=7,W=7,Y=3,X=3", True),
    ],
)
def test_views(variant: str, fields: dict[str, Any], problem: str, beyond: bool) -> None:
    assert ("PROB039" in _codes(variant, problem, **fields)) is beyond


@pytest.mark.parametrize(
    ("fields", "images", "wrong"),
    [(EXPLICIT, 2048, False), (EXPLICIT, 4096, True), ({}, 4096, False)],
)
def test_explicit_gemms_compute_what_is_not_split(
    fields: dict[str, Any], images: int, wrong: bool
) -> None:
    problem = f"N={images},C=64,K=64,H=56,W=56,Y=1,X=1"
    assert ("PROB045" in _codes("forward", problem, "2026.06", **fields)) is wrong
