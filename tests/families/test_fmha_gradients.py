"""Tensors of attention backward and of the kernels beside it: references against definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ckrules.constraints.fmha.device.dropout import random_bytes
from ckrules.constraints.fmha.problem import OFFSET, P_DROP, SEED, parse
from ckrules.constraints.fmha_bwd.device.smoke import smoke
from ckrules.constraints.fmha_bwd.device.tensors import BackwardTensors
from ckrules.constraints.fmha_bwd.vocabulary import BASELINE as BACKWARD
from ckrules.constraints.fmha_steps.device.smoke import smoke as smoke_of_steps
from ckrules.constraints.fmha_steps.device.tensors import StepTensors
from ckrules.constraints.fmha_steps.vocabulary import BASELINE as STEP
from ckrules.device.tensors import expected, samples
from ckrules.kernels import problem_books
from ckrules.kernels.families import problems_of

SIZES = "batch=2,heads=2,heads_k=1,seqlen_q=5,seqlen_k=7,hdim=16,hdim_v=8"
DOT, CONVERT = "fmha_bwd_dot_do_o", "fmha_bwd_convert_dq"
#: A kernel that adds parts of dQ of a group.
PARTS: dict[str, Any] = {
    **STEP, "variant": CONVERT, "tile_s": 64, "tile_sk": 64, "tile_dv": 0, "mode": "group",
    "deterministic": True, "block_per_cu": 2,
}  # fmt: skip


def _loss(data: Any, head: int, lse: Any, do: Any, d: Any, hidden: Any, scale: float) -> Any:
    """A function of Q, K and V whose gradients are dQ, dK and dV where P = exp(S - LSE)."""

    def loss(q: Any, k: Any, v: Any) -> float:
        scores = scale * q @ k.T
        weights = np.where(hidden, 0.0, np.exp(scores - lse[:, None]))
        return float((weights @ v * do).sum() - (weights * d[:, None]).sum())

    return loss


def _slope(function: Any, arguments: list[Any], which: int) -> Any:
    """The gradient by differences."""
    found = np.zeros(arguments[which].shape)
    for at in np.ndindex(found.shape):
        pair = []
        for sign in (1, -1):
            moved = [a.copy() for a in arguments]
            moved[which][at] += sign * 1e-5
            pair.append(function(*moved))
        found[at] = (pair[0] - pair[1]) / 2e-5
    return found


@pytest.mark.parametrize(("changed", "more"), [({}, ""), ({"mask": "mask"}, ",mask=causal")])
def test_gradients_are_those_of_differences(changed: dict[str, Any], more: str) -> None:
    problem = parse(SIZES + more)
    tensors = BackwardTensors(problem, {**BACKWARD, **changed})
    data = {n: v.astype(np.float64) for n, v in samples(tensors).items()}
    found = tensors.reference(data)
    hidden = ~tensors.shown(5, 7)
    for batch, head in ((0, 0), (1, 1)):
        q, do = data["q"][batch, head], data["do"][batch, head]
        k, v = data["k"][batch, 0], data["v"][batch, 0]
        lse, d = data["lse"][batch, head], data["d"][batch, head]
        function = _loss(data, head, lse, do, d, hidden, 0.25)
        for which, name in enumerate(("dq_acc", "dk", "dv")):
            expected = _slope(function, [q, k, v], which)
            assert np.allclose(found[name][batch, head], expected, atol=1e-6), name


def test_parts_of_dq_add_up() -> None:
    problem = parse(SIZES + ",mode=group")
    config = {**BACKWARD, "mode": "group", "tile_n0": 4}
    whole, parts = (
        BackwardTensors(problem, {**config, "deterministic": by}) for by in (False, True)
    )
    data = samples(whole)
    assert {n: v.tolist() for n, v in samples(parts).items()}.keys() == data.keys()
    sums = parts.reference(data)["dq_acc"]
    assert len(sums) == 2
    assert np.allclose(sums.sum(axis=0), whole.reference(data)["dq_acc"])
    rows = problem.rows_of("q")
    assert problem.rows_of("k") == (7, 4)
    assert not sums[1][:, rows[0] :].any()  # the second sequence has one block of K


def test_random_bytes_are_those_of_upstreams_loops() -> None:
    """reference_batched_dropout_randval.hpp: row and column of a lane's byte."""
    from ckrules.constraints.fmha.device.dropout import philox

    found = random_bytes(1, 3, 40, 50, SEED, OFFSET)
    for head, row, column in ((0, 0, 0), (2, 39, 49), (1, 17, 33), (0, 8, 5)):
        lane = 32 * (row % 32 // 8 % 2) + column % 32
        byte = 8 * (row % 32 // 16) + row % 8
        place = OFFSET + (3 + head) * 64 + lane
        counter = [place & 0xFFFFFFFF, place >> 32, row // 32, column // 32]
        x, y, z, w = (np.array([n], np.uint64) for n in counter)
        words = philox((x, y, z, w), SEED)
        value = int(words[byte // 4][0]) >> 8 * (byte % 4) & 0xFF
        assert found[head, row, column] == value


def test_random_bytes_are_a_result_that_is_exact() -> None:
    config = {**BACKWARD, "dropout": "dropout_wg16_storerandval"}
    tensors = BackwardTensors(parse(f"{SIZES},dropout=yes"), config)
    (stored,) = (t for t in tensors.all if t.name == "random")
    assert (stored.dtype, stored.shape) == ("uint8", (2, 2, 5, 7))
    data = samples(tensors)
    want = next(e for e in expected(tensors, data) if e.name == "random")
    assert want.values.max() > 127
    for sequence in range(2):
        right = random_bytes(sequence, 2, 5, 7, SEED, OFFSET)
        assert np.array_equal(want.values[sequence], right)
    assert tensors.error("random", data) == 0


def test_rows_of_stored_bytes_may_be_odd() -> None:
    """Two waves then have bytes of one dword, which the device `cpu` tells apart."""
    stored, plain = (
        smoke({**BACKWARD, "dropout": f"dropout_wg16{end}"}) for end in ("_storerandval", "")
    )
    assert [p.seqlen_k for p in stored] == [p.seqlen_k for p in plain]
    assert any(p.seqlen_k % 2 for p in stored)


def test_dropout_keeps_as_many_as_it_should() -> None:
    kept = random_bytes(0, 4, 256, 256, SEED, OFFSET) <= int(255 * (1 - P_DROP))
    assert kept.mean() == pytest.approx(192 / 256, abs=0.01)


def test_splits_are_joined_by_their_logarithms() -> None:
    problem = parse("batch=1,heads=1,seqlen_q=3,hdim=32,splits=2")
    tensors = StepTensors(problem, {**STEP, "hdim": 32, "lse": True})
    assert [t.name for t in tensors.all] == ["o_acc", "lse_acc", "o", "lse"]
    data = samples(tensors)
    parts, logs = data["o_acc"].astype(float), data["lse_acc"].astype(float)
    found = tensors.reference(data)
    for row in range(3):
        weights = np.exp(logs[:, 0, 0, row])
        expected = (weights[:, None] * parts[:, 0, 0, row]).sum(axis=0) / weights.sum()
        assert np.allclose(found["o"][0, 0, row], expected)
        assert found["lse"][0, 0, row] == pytest.approx(np.log(weights.sum()))
    assert 2**-12 < tensors.error("o", data) < 2**-9


def test_products_and_conversions() -> None:
    config = {**STEP, "variant": DOT, "tile_s": 64, "tile_dv": 0, "block_per_cu": 2}
    tensors = StepTensors(parse(SIZES), config)
    data = samples(tensors)
    d = tensors.reference(data)["d"]
    expected = (data["o"][1, 1, 4].astype(float) * data["do"][1, 1, 4]).sum()
    assert d[1, 1, 4] == pytest.approx(expected)
    more = {**config, "variant": CONVERT, "deterministic": True, "tile_sk": 4}
    tensors = StepTensors(parse(SIZES), more)
    data = samples(tensors)
    assert data["dq_acc"].shape == (2, 2, 2, 5, 16)
    assert np.allclose(tensors.reference(data)["dq"], data["dq_acc"].astype(float).sum(axis=0))


@pytest.mark.parametrize(
    ("point", "text", "codes"),
    [
        (BACKWARD, "batch=1,heads=2,seqlen_q=100,hdim=128", set()),
        (BACKWARD, "batch=1,heads=2,seqlen_q=100,hdim=80", {"BPROB001"}),
        ({**BACKWARD, "pad_d": 8, "pad_dv": 1}, "batch=1,heads=2,seqlen_q=9,hdim=80,hdim_v=79",
         set()),
        ({**STEP, "variant": DOT, "tile_s": 64, "tile_dv": 0},
         "batch=1,heads=2,seqlen_q=100,hdim=128", set()),
        # run: parts behind the sums were added where a sequence had none
        (PARTS, "batch=2,heads=2,seqlen_q=70,seqlen_k=64,hdim=128,mode=group,total_k=64",
         {"KPROB008"}),
        (PARTS, "batch=2,heads=2,seqlen_q=70,seqlen_k=64,hdim=128,mode=group,total_k=100", set()),
        (STEP, "batch=1,heads=2,seqlen_q=104,hdim=128", set()),
        (STEP, "batch=1,heads=2,seqlen_q=100,hdim=128", set()),
    ],
)  # fmt: skip
def test_problems_of_backward(point: Any, text: str, codes: set[str]) -> None:
    problems = problems_of(str(point["variant"]))
    rules = problem_books.book(str(point["variant"]), ck="2025.11")
    values = problems.values(problems.parse(text))
    assert {v.rule.code for v in rules.violations({**point, **values})} == codes


@pytest.mark.parametrize(
    ("point", "text", "codes"),
    [
        # a host library of smaller heads refuses the second of these, and takes the others
        (BACKWARD, "batch=2,heads=64,heads_k=1,seqlen_q=64,seqlen_k=262143,hdim=128", set()),
        (BACKWARD, "batch=2,heads=64,heads_k=1,seqlen_q=64,seqlen_k=262144,hdim=128",
         {"BPROB035"}),
        (BACKWARD, "batch=1,heads=64,heads_k=1,seqlen_q=64,seqlen_k=262144,hdim=128", set()),
        ({**BACKWARD, "bias": "bias"},
         "batch=2,heads=32,seqlen_q=8192,hdim=128,bias=bias", {"BPROB036"}),
        ({**BACKWARD, "bias": "bias"},
         "batch=1,heads=32,seqlen_q=8192,hdim=128,bias=bias", set()),
        ({**BACKWARD, "deterministic": True},
         "batch=64,heads=32,seqlen_q=8192,hdim=128", {"BPROB037"}),
        ({**BACKWARD, "mode": "group", "deterministic": True},
         "batch=64,heads=32,seqlen_q=8192,hdim=128,mode=group,total_q=262144", set()),
        ({**PARTS, "mode": "batch"}, "batch=1,heads=32,seqlen_q=8192,seqlen_k=2048,hdim=128",
         set()),
        ({**PARTS, "mode": "batch"}, "batch=1,heads=32,seqlen_q=8192,seqlen_k=2049,hdim=128",
         {"KPROB035"}),
        (STEP, "batch=4,heads=32,seqlen_q=8192,hdim=128,splits=8", set()),
        (STEP, "batch=5,heads=32,seqlen_q=8192,hdim=128,splits=8", {"KPROB034"}),
    ],
)  # fmt: skip
def test_steps_and_offsets_beside_those_of_q_k_v_and_o(
    point: Any, text: str, codes: set[str]
) -> None:
    problems = problems_of(str(point["variant"]))
    rules = problem_books.book(str(point["variant"]), ck="2025.11")
    values = problems.values(problems.parse(text))
    assert {v.rule.code for v in rules.violations({**point, **values})} == codes


def test_a_kernel_that_divides_by_no_rows_is_handed_parts() -> None:
    """Making its tensors divided by zero, too, so that FSTP013 could not be shown by a run."""
    problem = parse("batch=1,heads=1,seqlen_q=4,seqlen_k=130,hdim=16")
    tensors = StepTensors(problem, {**STEP, "variant": CONVERT, "deterministic": True})
    assert samples(tensors)["dq_acc"].shape[0] == 3


def test_backward_is_asked_about_sequences_without_rows_and_about_windows() -> None:
    lengths = [
        [p.rows_of(side) for p in smoke({**BACKWARD, "mode": "group"})] for side in ("q", "k")
    ]
    assert all(any(0 in found for found in side) for side in lengths)
    masks = [p.mask for p in smoke({**BACKWARD, "mask": "mask"})]
    assert masks.count("window") == 2
    assert "window" not in {p.mask for p in smoke({**BACKWARD, "mask": "causal"})}


def test_steps_are_asked_about_sequences_without_rows() -> None:
    lengths = [[p.rows_of(side) for p in smoke_of_steps(PARTS)] for side in ("q", "k")]
    assert all(any(0 in found for found in side) for side in lengths)


@pytest.mark.parametrize(("ck", "codes"), [("2026.06", {"KPROB008"}), ("2026.09", set())])
def test_parts_are_counted_apart_in_2026(ck: str, codes: set[str]) -> None:
    problems = problems_of(CONVERT)
    rules = problem_books.book(CONVERT, ck=ck)
    values = problems.values(problems.parse("b=4,h=1,s=64,d=128,mode=group,total_k=65"))
    assert {v.rule.code for v in rules.violations({**PARTS, **values})} == codes


def test_backward_is_asked_about_the_head_that_it_is_right_for() -> None:
    whole = {**BACKWARD, "hdim": 96, "pad_d": 0, "pad_dv": 8}
    assert {(p.hdim, p.hdim_v) for p in smoke(whole)} >= {(128, 96)}


def test_wrong_rows_of_dk_are_said_to_be_of_k() -> None:
    problem = parse("batch=3,heads=1,heads_k=1,seqlen_q=4,seqlen_k=7,hdim=8,mode=group,total_q=6")
    tensors = BackwardTensors(problem, {**BACKWARD, "mode": "group"})
    sides = {}
    for name in ("dq_acc", "dk"):
        shape = next(t.shape for t in tensors.all if t.name == name)
        axes, _ = tensors.axes(name, np.zeros(shape, dtype=bool))
        sides[name] = (axes[1].name, len(axes[1].divisions[0].labels))
    assert sides == {"dq_acc": ("Q", 6), "dk": ("K", 15)}


def test_kernels_with_other_results_have_references_of_their_own() -> None:
    problem = parse(SIZES + ",bias=bias")
    plain = BackwardTensors(problem, {**BACKWARD, "bias": "bias"})
    with_bias = BackwardTensors(problem, {**BACKWARD, "bias": "bias", "dbias": True})
    assert plain.key() != with_bias.key()


@pytest.mark.parametrize("heads", [2, 9, 32])
def test_gradients_of_alibi_fit_their_types(heads: int) -> None:
    """LSE is not that of the scores, which steep slopes let grow from column to column."""
    problem = parse(
        f"batch=1,heads={heads},seqlen_q=16,seqlen_k=160,hdim=64,mask=causal,bias=alibi"
    )
    config = {**BACKWARD, "mask": "mask", "bias": "alibi", "dbias": True}
    tensors = BackwardTensors(problem, config)
    data = samples(tensors)
    assert abs(tensors.reference(data)["dbias"]).max() < np.finfo(np.float16).max
    assert data["slopes"].max() > 0.01  # what it adds shows
