"""Real attention kernels: compiled by clang against CK 2025.11, and run on the device `cpu`."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import numpy as np
import pytest

from ckrules.compiling import library
from ckrules.kernels import problem_books
from ckrules.kernels.families import problems_of
from ckrules.runtime import Dispatcher
from tests.compiling.gemm_kernels import Kernel, Kernels
from tests.compiling.test_library_choice import Answer, Call, Problem

pytestmark = [pytest.mark.toolchain, pytest.mark.slow]

FORWARD = (
    "fmha_fwd_d64_fp16_batch_b128x64x32x64x32x64_r4x1x1_r4x1x1_w32x32x16_w32x32x16_qr_vr_psskddv"
    "_nlogits_nbias_mask_lse_ndropout_nskip_nsquant_ntrload"
)
PRODUCT = "fmha_bwd_dot_do_o_d64_fp16_b64_group_o2_ps"
KERNELS = Kernels("fmha", ("mode",), preferred=[("gfx942", PRODUCT), ("gfx942", FORWARD)])
MOST = 4
"""Problems of the built-in set that each kernel computes."""


def test_the_kernels_cover_what_they_should() -> None:
    points = KERNELS.points
    assert KERNELS.broken() == []
    assert {p["arch"] for p in points} == {"gfx942", "gfx950", "gfx1201"}
    assert len({p["variant"] for p in points}) == 7
    assert {p.get("pipeline") for p in points} >= {"qr", "qr_async", "qr_async_trload"}


@pytest.mark.parametrize("kernel", KERNELS.params(KERNELS.names))
def test_it_computes_what_the_rules_let_through(kernel: Kernel) -> None:
    point = KERNELS.point(kernel)
    family = problems_of(point["variant"])
    rules = problem_books.book(point["variant"], ck="2025.11")
    right = [
        str(p) for p in family.smoke(point) if not rules.violations({**point, **family.values(p)})
    ]
    assert len(right) >= 3
    KERNELS.computes(kernel, tuple(right[:MOST]))


@pytest.mark.parametrize("kernel", KERNELS.params([("gfx942", FORWARD)]))
def test_the_dispatcher_runs_it_on_arrays(kernel: Kernel) -> None:
    """Arrays are as memory has them: sequence, row, head, column."""
    built, rng = KERNELS.build(kernel), np.random.default_rng(7)
    rows, columns, heads, head = 70, 100, 2, 64
    q, k, v = (
        rng.standard_normal((1, n, h, head)).astype(np.float16)
        for n, h in ((rows, heads), (columns, 1), (columns, 1))
    )
    problem = f"batch=1,heads={heads},heads_k=1,seqlen_q={rows},seqlen_k={columns},hdim={head}"
    with Dispatcher(built.folder, device="cpu", options={"order": "forward", "jobs": "1"}) as d:
        found = d.run(f"{problem},mask=causal,lse=yes", q, k, v, variant="fmha_fwd")
    scores = np.einsum("bqhd,bkd->bhqk", q.astype(float), k[:, :, 0].astype(float)) / head**0.5
    hidden = np.arange(columns) > np.arange(rows)[:, None] + columns - rows
    weights = np.exp(np.where(hidden, -np.inf, scores))
    sums = weights.sum(-1)
    right = np.einsum("bhqk,bkd->bqhd", weights / sums[..., None], v[:, :, 0].astype(float))
    assert abs(found["o"] - right).max() < 2e-3
    assert abs(found["lse"] - np.log(sums)).max() < 1e-5


@pytest.mark.parametrize("kernel", KERNELS.params([("gfx942", FORWARD)]))
def test_the_library_of_c_has_it(kernel: Kernel, tmp_path: Path) -> None:
    """What a problem rule says of heads of 80 is compiled in."""
    folder = tmp_path / "folder"
    shutil.copytree(KERNELS.build(kernel).folder, folder)
    made = library.build(folder)
    assert made.kernels >= 1
    calls = ctypes.CDLL(str(made.path))
    calls.ckrules_dispatcher_error.restype = ctypes.c_char_p
    problem = "batch=1,heads=2,heads_k=1,seqlen_q=70,seqlen_k=100,hdim=64,mask=causal,lse=yes"
    for text, status, why in (
        (problem, 0, ""),
        (problem.replace("hdim=64", "hdim=80"), -2, "wrong sums of such sizes"),
    ):
        data = problems_of("fmha_fwd").pack(problems_of("fmha_fwd").parse(text))
        given = Problem(ctypes.sizeof(Problem), 0, len(data), data)
        call = Call(ctypes.sizeof(Call), 0, b"fmha_fwd", None, FORWARD.encode(), given)
        answer = Answer(ctypes.sizeof(Answer))
        found = calls.ckrules_dispatcher_select(ctypes.byref(call), ctypes.byref(answer))
        assert found == status
        assert why in calls.ckrules_dispatcher_error().decode()
