"""Tensors of attention: references against plain loops, groups, masks, and how far off is right."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ckrules.constraints.fmha.device.smoke import smoke
from ckrules.constraints.fmha.device.tensors import AttentionTensors
from ckrules.constraints.fmha.problem import SOFT_CAP, parse
from ckrules.constraints.fmha.vocabulary import BASELINE
from ckrules.device.tensors import expected, samples, to_memory
from ckrules.device.tolerance import Tolerance, tolerance_of
from ckrules.kernels.families import problems_of
from ckrules.support.errors import UsageError

SIZES = "batch=2,heads=4,heads_k=2,seqlen_q=5,seqlen_k=7,hdim=16,hdim_v=8"
KERNELS: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"mask": "mask", "lse": True}, ",mask=causal,lse=yes"),
    ({"mask": "generic", "bias": "bias"}, ",mask=window,left=2,right=1,bias=bias"),
    ({"bias": "alibi", "lse": True}, ",bias=alibi,lse=yes"),
    ({"bias": "alibi", "mask": "mask", "lse": True}, ",bias=alibi,mask=causal,lse=yes"),
    ({"logits": True, "v_layout": "col"}, ",logits=yes"),
    ({"mode": "group", "lse": True, "mask": "mask"}, ",mode=group,lse=yes,mask=causal"),
    ({"mode": "group", "bias": "bias", "v_layout": "col"}, ",mode=group,bias=bias,total_q=6"),
    ({"variant": "fmha_fwd_pagedkv", "paged_kv": True, "mask": "mask"}, ",mask=causal,page=4"),
    ({"variant": "fmha_fwd_pagedkv", "paged_kv": True, "mode": "group"}, ",mode=group,page=4"),
]


def _tensors(changed: dict[str, Any], more: str) -> AttentionTensors:
    return AttentionTensors(parse(SIZES + more), {**BASELINE, **changed})


def _place(grouped: bool, sequence: int, first: int, head: int, row: int) -> tuple[int, ...]:
    return (head, first + row) if grouped else (sequence, head, row)


def _key(
    tensors: AttentionTensors, data: Any, sequence: int, first: int, head: int, row: int
) -> tuple[int, ...]:
    """Where a row of K and V is."""
    if "pages" in data:
        page = int(data["pages"][sequence][row // tensors.problem.page])
        return page, head, row % tensors.problem.page
    return _place(tensors.problem.mode == "group", sequence, first, head, row)


@pytest.mark.parametrize(("changed", "more"), KERNELS)
def test_references_are_those_of_loops(changed: dict[str, Any], more: str) -> None:
    tensors = _tensors(changed, more)
    p, grouped = tensors.problem, changed.get("mode") == "group"
    data = {n: v.astype(float) for n, v in samples(tensors).items()}
    found = tensors.reference(data)
    left, right = p.window
    first_q = first_k = 0
    for sequence, (rows, columns) in enumerate(zip(p.rows_of("q"), p.rows_of("k"), strict=True)):
        for head in range(p.heads):
            for i in range(rows):
                at = _place(grouped, sequence, first_q, head, i)
                scores = []
                for j in range(columns):
                    key = _key(tensors, data, sequence, first_k, head // 2, j)
                    diagonal = i + columns - rows
                    hidden = (0 <= right < j - diagonal) or (0 <= left < diagonal - j)
                    score = float(data["q"][at] @ data["k"][key]) / math.sqrt(p.hdim)
                    if p.logits == "yes":
                        score = SOFT_CAP * math.tanh(score / SOFT_CAP)
                    if p.bias == "bias":
                        score += data["bias"][at][j]
                    if p.bias == "alibi":
                        far = j if p.mask == "causal" else -abs(diagonal - j)
                        score += data["slopes"][sequence][head] * far
                    scores.append((-math.inf if hidden else score, key))
                total = sum(math.exp(s) for s, _ in scores)
                lse = math.log(total) if total else -math.inf
                values = sum(math.exp(s) * data["v"][key] for s, key in scores) / (total or 1)
                assert np.allclose(found["o"][at], values)
                if "lse" in found:
                    assert found["lse"][at] == pytest.approx(lse)
        first_q, first_k = first_q + rows, first_k + columns


def test_rows_that_see_nothing_are_zero() -> None:
    changed = {"mask": "mask", "lse": True}
    problem = parse("batch=1,heads=1,seqlen_q=6,seqlen_k=4,hdim=16,mask=causal,lse=yes")
    tensors = AttentionTensors(problem, {**BASELINE, **changed})
    found = tensors.reference(samples(tensors))
    assert not found["o"][0, 0, :2].any()
    assert np.isneginf(found["lse"][0, 0, :2]).all()
    assert np.isfinite(found["lse"][0, 0, 2:]).all()


def test_tensors_lie_as_the_host_library_says() -> None:
    tensors = _tensors({"mode": "group", "lse": True, "v_layout": "col"}, ",mode=group,lse=yes")
    by_name = {t.name: t for t in tensors.all}
    assert list(by_name) == ["q", "k", "v", "start_q", "start_k", "o", "lse"]
    assert tensors.problem.rows_of("k") == (7, 4)
    assert (by_name["v"].shape, by_name["v"].order) == ((2, 11, 8), (0, 2, 1))
    assert (by_name["q"].shape, by_name["q"].order) == ((4, 8, 16), (1, 0, 2))
    data = samples(tensors)
    assert to_memory(by_name["start_k"], data["start_k"]).tolist() == [0, 7, 11]
    assert by_name["lse"].shape == (4, 8)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16", "fp8", "fp8bf16"])
@pytest.mark.parametrize("squant", [False, True])
def test_what_rounds_as_kernels_do_is_right(dtype: str, squant: bool) -> None:
    """P rounded to the type of V, as the kernels do it, and O to its own."""
    from ckrules.constraints.fmha.problem import P_SCALE
    from ckrules.device.dtypes import rounded

    more = ",squant=yes" if squant else ""
    tensors = _tensors({"dtype": dtype, "squant": squant}, more)
    (want,) = expected(tensors, samples(tensors))
    tolerance = tolerance_of(tensors, want)
    scale = P_SCALE if squant else 1.0
    o = next(t for t in tensors.all if t.name == "o")
    small = next(t for t in tensors.all if t.name == "q").dtype
    found = np.zeros(o.shape)
    for softmax, v, number, _ in tensors._sequences(want.data):
        weights = rounded(softmax.weights * scale, small).astype(float) / scale
        found[number] = np.matmul(weights, v) / softmax.sums[..., None]
    off = np.abs(rounded(found, o.dtype) - want.values)
    assert off.max() <= tolerance.atol
    assert tolerance.rtol == 0
    # a missing row of K shows
    assert np.abs(want.values).max() / 7 > tolerance.atol or dtype.startswith("fp8")


def test_sums_of_products_keep_their_thresholds() -> None:
    from ckrules.constraints.gemm.device.tensors import GemmTensors
    from ckrules.constraints.gemm.problem import MatrixProduct
    from ckrules.constraints.gemm.vocabulary import BASELINE as GEMM

    tensors = GemmTensors(MatrixProduct(4, 4, 8), GEMM)
    (want,) = expected(tensors, samples(tensors))
    found = tolerance_of(tensors, want)
    assert found == Tolerance(2.0**-11, 2.0**-11 * float(np.abs(want.values).max()))


@pytest.mark.parametrize(
    ("changed", "stores"),
    [
        ({}, True),
        ({"mask": "mask"}, False),
        ({"mode": "group"}, False),
        ({"dropout": False}, False),
    ],
)
def test_random_numbers_are_a_result_where_a_problem_asks(
    changed: dict[str, Any], stores: bool
) -> None:
    config = {**BASELINE, "dropout": True, **changed}
    problem = parse("batch=2,heads=2,seqlen_q=3,seqlen_k=70,hdim=128,dropout=yes,random=1")
    family = problems_of("fmha_fwd")
    assert family.fits(config, problem) is stores
    assert [p for p in smoke(config) if p.random > 0] == ([smoke(config)[-3]] if stores else [])
    names = [t.name for t in AttentionTensors(problem, config).all]
    assert (names[-1] == "random") is stores
    without = replace(problem, random=0)
    assert family.fits(config, without)
    assert [t.name for t in AttentionTensors(without, config).all] == names[: len(names) - stores]


def test_lse_of_joined_splits_is_a_result_where_a_problem_asks() -> None:
    config = {**BASELINE, "variant": "fmha_fwd_splitkv", "lse": True}
    asked = [parse(f"{SIZES},lse={word}") for word in ("no", "yes")]
    results = [[t.name for t in AttentionTensors(p, config).all][3:] for p in asked]
    assert results == [["o"], ["o", "lse"]]
    assert {p.lse for p in smoke(config)} == {"yes"}


def test_smoke_has_the_functions_of_the_kernel() -> None:
    config = {**BASELINE, "mask": "generic", "mode": "group", "bias": "alibi", "lse": True}
    found = smoke(config)
    assert {(p.mode, p.bias, p.lse) for p in found} == {("group", "alibi", "yes")}
    assert {p.mask for p in found} == {"causal", "window"}
    assert all(problems_of("fmha_fwd").parse(str(p)) == p for p in found)
    assert len(problems_of("fmha_fwd").pack(found[0])) == 43 * 8


def test_a_window_side_of_minus_one_shows_all_columns_there() -> None:
    """It was 127 columns to the left, and none to the right, without a word."""
    sizes = "batch=1,heads=1,seqlen_q=300,seqlen_k=400,hdim=16,mask=window"
    assert parse(sizes).window == (127, 0)
    assert parse(f"{sizes},left=-1,right=-1").window == (399, 299)
    assert parse(f"{sizes},left=-1").window == (399, 0)
    config = {**BASELINE, "mask": "mask"}
    data = samples(AttentionTensors(parse(f"{sizes},left=-1,right=-1"), config))

    def result(text: str) -> Any:
        return AttentionTensors(parse(text), config).reference(data)["o"]

    assert np.array_equal(
        result(f"{sizes},left=-1,right=-1"), result(sizes.replace("window", "no"))
    )
    assert np.array_equal(result(f"{sizes},left=-1"), result(sizes.replace("window", "causal")))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("total_q=6", "total_q = 6 is for mode = group"),
        ("mode=group,total_q=4", "total_q = 4 is not between seqlen_q = 5 and batch"),
        ("left=3", "left = 3 is for mask = window"),
        ("mask=window,left=-2", "left = -2 is not between -1"),
        ("appended=8", "appended = 8 is larger than seqlen_k = 7, of which they are the last"),
        ("rotary=15", "rotary = 15 is odd"),
        ("random=1", "random = 1 is for dropout = yes, mask = no, mode = batch"),
        ("dropout=yes,mask=causal,random=1", "random = 1 is for dropout = yes, mask = no"),
        ("dropout=yes,random=2", "random = 2, expected 0 or 1"),
    ],
)  # fmt: skip
def test_senseless_totals_and_windows(more: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse(f"{SIZES},{more}")


def test_pages_are_not_in_order_and_the_last_has_rows_behind_the_sequence() -> None:
    tensors = _tensors({"variant": "fmha_fwd_pagedkv", "paged_kv": True}, ",page=4")
    shapes = {t.name: t.shape for t in tensors.all}
    assert shapes["k"] == (4, 2, 4, 16)
    assert shapes["v"] == (4, 2, 4, 8)
    data = samples(tensors)
    assert data["pages"].tolist() == [[3, 2], [1, 0]]
    right = tensors.reference(data)["o"]
    data["k"][2, :, 3] = 100.0  # the eighth row of seven
    assert np.array_equal(tensors.reference(data)["o"], right)
