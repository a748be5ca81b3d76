"""Tensors of mixtures of experts: the routing, and both GEMMs by their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.constraints.scaled.device.experts import ExpertTensors, routing
from ckrules.constraints.scaled.problem import ExpertProduct
from ckrules.constraints.scaled.vocabulary import BASELINE
from ckrules.device.dtypes import encode
from ckrules.device.tensors import samples

FIRST = {
    **BASELINE, "variant": "moe_flatmm", "pipeline": "moe_flatmm", "stage": 1, "dtype": "bf16",
    "tile_m": 4, "tile_n": 32, "tile_k": 32, "wave_n": 1, "warp_tile_k": 32, "activation": "silu",
}  # fmt: skip


def tensors(m: int, experts: int, topk: int, **changed: Any) -> ExpertTensors:
    return ExpertTensors(ExpertProduct(m, 64, 32, experts=experts, topk=topk), {**FIRST, **changed})


@given(m=st.integers(1, 9), experts=st.integers(1, 6), data=st.data())
def test_every_expert_of_a_token_is_an_entry_in_tiles_of_its_own(
    m: int, experts: int, data: st.DataObject
) -> None:
    topk = data.draw(st.integers(1, experts))
    made = tensors(m, experts, topk)
    held = {t.name: np.array(t.content, np.int64) for t in made.all if t.content}
    entries, owners, last = held["sorted"], held["owners"], int(held["last"][0])
    assert len(entries) == 4 * len(owners)
    assert last <= len(entries)
    of = np.repeat(owners, 4)[:last]
    token, place = entries[:last] & 0xFFFFFF, entries[:last] >> 24
    used = token < m
    assert used.sum() == m * topk
    chosen = routing(made.problem)
    assert (chosen[token[used], place[used]] == of[used]).all()
    assert (entries[last:] & 0xFFFFFF == m).all()


def test_entries_reach_the_device_with_every_bit() -> None:
    """fp32 has not every integer beyond 2**24."""
    made = tensors(9, 3, 3)
    entries = next(t for t in made.all if t.name == "sorted")
    sent = encode(samples(made)["sorted"], "int32")
    assert sent.tolist() == list(entries.content)
    assert max(sent) > 2**25


@pytest.mark.parametrize("activation", ["silu", "swiglu"])
def test_the_first_gemm_joins_gate_and_up(activation: str) -> None:
    made = tensors(3, 2, 1, activation=activation, bias=True)
    data = {t.name: np.ones(t.shape) for t in made.all}
    data["a"][1] = -2.0
    data["bias"][:, 32:] = 3.0
    found = made.reference(data)["c"]
    gate, up = -2.0 * 32 + 1, -2.0 * 32 + 3
    if activation == "swiglu":
        want = min(gate, 7) / (1 + np.exp(-1.702 * min(gate, 7))) * (max(up, -7) + 1)
    else:
        want = gate / (1 + np.exp(-gate)) * up
    assert found.shape == (3, 32)
    assert found[1] == pytest.approx(want)


def test_the_second_gemm_adds_a_tokens_experts_by_their_weights() -> None:
    made = tensors(2, 3, 2, stage=2, activation="no")
    data = {t.name: np.ones(t.shape) for t in made.all}
    data["b"] = data["b"] * np.arange(1, 4).reshape(3, 1, 1, 1, 1, 1)
    data["weights"] *= 0.5
    found = made.reference(data)["c"]
    want = (routing(made.problem) + 1).sum(axis=1) * 32 * 0.5
    assert (found == want[:, None]).all()
    assert made.error("c", data) > 0


NARROW = {
    **FIRST, "arch": "gfx950", "dtype": "bf16_fp4", "scales": "per_1x32", "tile_n": 128,
    "tile_k": 256, "wave_n": 4,
}  # fmt: skip
K, N = 512, 128


def _laid(made: ExpertTensors, name: str) -> Any:
    """The numbers of elements, in canonical order, as they lie in memory."""
    tensor = next(t for t in made.all if t.name == name)
    numbers = np.arange(np.prod(tensor.shape)).reshape(tensor.shape)
    return numbers.transpose(tensor.order).reshape(2, -1)


@pytest.mark.parametrize("stage", [1, 2])
def test_4_bit_weights_lie_as_upstreams_host_code_lays_them(stage: int) -> None:
    """shuffle_mxfp4_weight and shuffle_mxfp4_scale, place by place."""
    product = ExpertProduct(3, N, K, experts=2, topk=1)
    made = ExpertTensors(product, {**NARROW, "stage": stage})
    laid, scales = _laid(made, "b"), _laid(made, "bq")
    drawn = np.random.default_rng(3)
    for _ in range(200):
        e, n, k = drawn.integers(2), drawn.integers(N), drawn.integers(K)
        half, column = divmod(n, N // 2)
        tile = 2 * (column // 16) + half if stage == 1 else n // 16
        byte = k // 2
        at = tile * 16 * 16 * 4 * (K // 128) + byte // 64 * 16 * 16 * 4
        at += byte % 64 // 16 * 256 + n % 16 * 16 + byte % 16
        assert laid[e, 2 * at + k % 2] == (e * N + n) * K + k
        group, pair = k // 32, column // 16 if stage == 1 else n // 32
        which = half if stage == 1 else n // 16 % 2
        at = ((pair * (K // 256) + group // 8) * 4 + group % 4) * 16 + n % 16
        at = (at * 2 + group // 4 % 2) * 2 + which
        assert scales[e, at] == (e * N + n) * (K // 32) + group


def test_4_bit_weights_have_the_scales_of_their_32() -> None:
    made = ExpertTensors(
        ExpertProduct(1, N, K, experts=1, topk=1), {**NARROW, "stage": 2, "activation": "no"}
    )
    data = {t.name: np.ones(t.shape) for t in made.all}
    shape = data["bq"].shape
    scales = np.ones((N, K // 32))
    scales[5, 3] = 4.0
    data["bq"] = scales.reshape(shape)
    found = made.reference(data)["c"]
    assert found[0, 4] == K
    assert found[0, 5] == K + 3 * 32
