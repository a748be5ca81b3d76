"""Rows that are appended to K and V: references against plain loops, places, and problem rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ckrules.constraints.fmha.problem import parse
from ckrules.constraints.fmha_steps.device.appended import AppendTensors
from ckrules.constraints.fmha_steps.device.smoke import smoke
from ckrules.constraints.fmha_steps.generator import AN_APPEND
from ckrules.constraints.fmha_steps.vocabulary import BASELINE
from ckrules.device.dtypes import rounded
from ckrules.device.tensors import expected, samples
from ckrules.device.tolerance import tolerance_of
from ckrules.kernels import problem_books
from ckrules.kernels.families import problems_of

POINT: dict[str, Any] = {**BASELINE, **AN_APPEND, "hdim": 32, "tile_d": 32, "tile_dv": 32}
SIZES = "batch=2,heads=4,heads_k=2,seqlen_q=5,seqlen_k=12,hdim=40,hdim_v=8,appended=4"
KERNELS: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"paged_kv": True}, ",page=3"),
    ({"v_layout": "col", "dtype": "bf16"}, ""),
    ({"rope": "inter"}, ",rope=inter"),
    ({"rope": "halves", "paged_kv": True}, ",rope=halves,page=5,mask=causal"),
    ({"rope": "halves", "dtype": "fp32"}, ",rope=halves,rotary=16,mask=causal"),
]


def _tensors(changed: dict[str, Any], more: str) -> AppendTensors:
    return AppendTensors(parse(SIZES + more), {**POINT, **changed})


def _turned(tensors: AppendTensors, data: Any, row: Any, place: int) -> list[float]:
    """A row of a head, rotated element by element."""
    found, size = [float(x) for x in row], tensors.problem.rotary_size
    for i in range(size // 2):
        pair = (2 * i, 2 * i + 1) if tensors.config["rope"] == "inter" else (i, i + size // 2)
        left, right = (float(row[at]) for at in pair)
        cos, sin = (float(data[n][place][i]) for n in ("cos", "sin"))
        found[pair[0]], found[pair[1]] = left * cos - right * sin, right * cos + left * sin
    return found


@pytest.mark.parametrize(("changed", "more"), KERNELS)
def test_references_are_those_of_loops(changed: dict[str, Any], more: str) -> None:
    tensors = _tensors(changed, more)
    p, data = tensors.problem, samples(tensors)
    found = tensors.reference(data)
    right: dict[str, Any] = {n: data[n].astype(float).copy() for n in found}
    rotated = "q" in found
    assert rotated == (changed.get("rope", "no") != "no")
    # the second sequence ends one row into a page, if there are pages
    for sequence, first in enumerate((8, {3: 6, 5: 7}.get(p.page, 5))):
        for head in range(p.heads if rotated else 0):
            for i in range(p.seqlen_q):
                place = first + (i if p.mask == "causal" else 0)
                row = data["q"][sequence, head, i]
                right["q"][sequence, head, i] = _turned(tensors, data, row, place)
        for head in range(p.heads_k):
            for i in range(4):
                at: tuple[int, ...] = (sequence, head, first + i)
                if changed.get("paged_kv"):
                    page = int(data["pages"][sequence, (first + i) // p.page])
                    at = (page, head, (first + i) % p.page)
                new = data["k_new"][sequence, head, i]
                right["k"][at] = _turned(tensors, data, new, first + i) if rotated else new
                right["v"][at] = data["v_new"][sequence, head, i]
    assert found.keys() == right.keys()
    for name, values in found.items():
        assert np.allclose(values, right[name], atol=1e-12)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("rope", ["no", "inter", "halves"])
def test_copies_are_exact_and_rotations_are_rounded(dtype: str, rope: str) -> None:
    tensors = _tensors({"dtype": dtype, "rope": rope}, f",rope={rope}")
    data = samples(tensors)
    for want in expected(tensors, data):
        allowed = tolerance_of(tensors, want).atol
        assert (allowed == 0) == (rope == "no" or want.name == "v")
        if allowed and dtype != "fp32":  # half a step below
            half = {"fp16": 2.0**-12, "bf16": 2.0**-9}[dtype]
            kept = rounded(tensors.reference(data)[want.name] * (1 - half), dtype)
            assert abs(kept - want.values).max() <= allowed
            assert abs(data[want.name] - want.values).max() > 4 * allowed


def test_smoke_has_what_the_kernel_computes_and_shares_heads() -> None:
    family = problems_of("fmha_fwd_appendkv")
    rules = problem_books.book("fmha_fwd_appendkv", ck="2025.11")
    padded = {"pad_d": True, "pad_dv": True}
    for changed in ({}, {"rope": "inter", **padded}, {"paged_kv": True, **padded}):
        point = {**POINT, **changed}
        found = smoke(point)
        assert {p.rope for p in found} == {point["rope"]}
        assert any(p.heads > p.heads_k for p in found)
        assert all(family.parse(str(p)) == p for p in found)
        broken = {v.code for p in found for v in rules.violations({**point, **family.values(p)})}
        assert ("KPROB004" in broken) == bool(point["paged_kv"])
        right = [p for p in found if not rules.violations({**point, **family.values(p)})]
        assert len(right) >= 5


def test_smoke_asks_for_a_head_that_a_kernel_says_and_does_not_hold() -> None:
    """A kernel for heads of 96 whose blocks hold 64 columns is not right because it copies 64."""
    first = smoke({**POINT, "hdim": 96, "tile_d": 64, "tile_dv": 128})[0]
    assert (first.hdim, first.hdim_v) == (96, 128)
