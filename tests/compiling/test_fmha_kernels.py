"""Real attention kernels: compiled by clang against CK 2025.11, and run on the device `cpu`."""

from __future__ import annotations

import ctypes
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ckrules.compiling import library
from ckrules.constraints.fmha.device.dropout import random_bytes
from ckrules.constraints.fmha.problem import OFFSET, SEED
from ckrules.device.cpu import CpuPlugin
from ckrules.device.execute import Runner
from ckrules.device.jobs import Job
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
COLUMNS = (
    "fmha_fwd_d32_fp16_batch_b32x64x16x32x32x32_r2x1x1_r2x1x1_w16x16x16_w16x16x16_qr_vc_npad"
    "_nlogits_nbias_mask_nlse_ndropout_nskip_nsquant_ntrload"
)
DROPPING = (
    "fmha_fwd_d32_fp16_batch_b128x64x16x32x32x32_r4x1x1_r4x1x1_w32x32x16_w32x32x16_qr_async_vr_psddv"
    "_nlogits_nbias_nmask_nlse_dropout_nskip_nsquant_ntrload"
)
BACKWARD = (
    "fmha_bwd_d32_fp16_batch_b32x128x32x32x32x32x64x32x32_r1x4x1_r4x1x1_r2x2x1_w16x16x32_w16x16x16"
    "_o1_maxq0_pd8dv8_nbias_ndbias_mask_ndropout_ndeterministic_ntrload"
)
PARTIAL = (
    "fmha_fwd_d64_fp16_batch_b16x32x16x32x16x96_r1x1x1_r1x1x1_w16x16x16_w16x16x16_qr_async_vr"
    "_psskddv_nlogits_nbias_nmask_nlse_ndropout_nskip_nsquant_ntrload"
)
KERNELS = Kernels("fmha", [("gfx942", FORWARD)])
STRIDED = [k for k in KERNELS.names if k[1] != PARTIAL]
"""Those that compute heads and rows that lie apart, whatever lies between."""
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


@pytest.mark.parametrize("kernel", KERNELS.params(STRIDED))
def test_rows_lie_where_problems_say(kernel: Kernel) -> None:
    """In one tensor of Q, K and V, and by head at odd elements."""
    point = KERNELS.point(kernel)
    apart = problems_of(point["variant"]).smoke(point)[-2:]
    assert [p.order_q for p in apart] == ["bshd", "bhsd"]
    assert all(p.stride_q for p in apart)
    KERNELS.computes(kernel, tuple(map(str, apart)))


@pytest.mark.parametrize("kernel", KERNELS.params(STRIDED))
def test_heads_lie_where_problems_say(kernel: Kernel) -> None:
    """With Q, K and V of a head side by side, and by head at odd elements, behind a gap of NaN."""
    point = KERNELS.point(kernel)
    by_row, by_head = problems_of(point["variant"]).smoke(point)[-2:]
    own = int(point.get("v_layout") != "col")  # a head of V has whole columns
    side, odd = 2 * by_row.hdim + by_row.hdim_v, 2**18 + 1
    packed = dict.fromkeys(("stride_q", "stride_k", "stride_v", "stride_o"), 0)
    beside: dict[str, int] = {f"head_stride_{x}": side for x in ("q", "k", *("v" * own))}
    far: dict[str, int] = {f"head_stride_{x}": odd + 2 * i for i, x in enumerate("qkvo")}
    found = (
        replace(by_row, **packed, **beside),
        replace(by_row, **packed, **beside, head_stride_o=by_row.hdim_v + 1),
        replace(by_head, **far),
    )
    KERNELS.computes(kernel, tuple(map(str, found)))


@pytest.mark.parametrize("kernel", KERNELS.params([("gfx942", DROPPING)]))
def test_random_numbers_are_stored_where_there_is_a_place(kernel: Kernel) -> None:
    """They are those of the reference, byte by byte, and O is the same without them."""
    built, rng = KERNELS.build(kernel), np.random.default_rng(9)
    sizes = "batch=2,heads=2,heads_k=1,seqlen_q=35,seqlen_k=128,hdim=32,dropout=yes"
    KERNELS.computes(kernel, (sizes, f"{sizes},random=1"))
    shapes = ((35, 2), (128, 1), (128, 1))
    arrays = [rng.standard_normal((2, n, h, 32)).astype(np.float16) for n, h in shapes]
    with Dispatcher(built.folder, device="cpu", options={"order": "forward", "jobs": "1"}) as d:
        alone = d.run(sizes, *arrays, variant="fmha_fwd")
        found = d.run(f"{sizes},random=1", *arrays, variant="fmha_fwd")
    assert np.array_equal(found["o"], alone)
    for number, stored in enumerate(found["random"]):
        assert np.array_equal(stored, random_bytes(number, 2, 35, 128, SEED, OFFSET))


def _outcome(kernel: Kernel, text: str) -> tuple[list[str], bool]:
    """The rules that a problem breaks, and whether the device `cpu` computes it wrong."""
    built, point = KERNELS.build(kernel), KERNELS.point(kernel)
    family = problems_of(point["variant"])
    problem = family.parse(text)
    rules = problem_books.book(point["variant"], ck="2025.11")
    codes = [v.code for v in rules.violations({**point, **family.values(problem)})]
    device = CpuPlugin().open(0, {"order": "forward", "jobs": "1"})
    return codes, Runner(device).run(Job(built.folder, built.name, problem, 0, 0)).wrong > 0


@pytest.mark.parametrize("kernel", KERNELS.params([("gfx942", COLUMNS)]))
@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ("seqlen_k=102", []),
        ("seqlen_k=101", ["FPROB035"]),
        ("seqlen_k=102,stride_v=112", ["FPROB035"]),
        ("seqlen_k=128,stride_v=129", []),
    ],
)
def test_columns_of_v_end_where_they_should(kernel: Kernel, more: str, codes: list[str]) -> None:
    """Half a dword behind the last column is lost; NaN between columns is multiplied by 0."""
    text = f"batch=2,heads=4,heads_k=2,seqlen_q=70,hdim=32,mask=window,left=200,right=200,{more}"
    assert _outcome(kernel, text) == (codes, bool(codes))


@pytest.mark.parametrize("kernel", KERNELS.params([("gfx942", PARTIAL)]))
@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ("stride_k=128", []),
        ("stride_k=130", ["FPROB043"]),
        ("order_k=bhsd", []),
        ("order_k=bhsd,stride_k=66", ["FPROB043"]),
        ("head_stride_k=66", ["FPROB043"]),
        ("stride_q=300,stride_v=140,stride_o=270", []),
    ],
)
def test_columns_behind_heads_of_k_are_finite(kernel: Kernel, more: str, codes: list[str]) -> None:
    """Q is 0 behind its head, but 0 times NaN is NaN."""
    text = f"batch=1,heads=4,heads_k=2,seqlen_q=20,seqlen_k=70,hdim=64,hdim_v=32,{more}"
    assert _outcome(kernel, text) == (codes, bool(codes))


@pytest.mark.parametrize("kernel", KERNELS.params([("gfx942", BACKWARD)]))
@pytest.mark.parametrize(("name", "near"), [("q", 2**26), ("k", 2**24), ("v", 2**24), ("o", 2**26)])
def test_last_tiles_of_backward_are_within_offsets(kernel: Kernel, name: str, near: int) -> None:
    """Rows that are not there are read again from the first one on, and between is NaN."""
    text = "batch=1,heads=1,seqlen_q=2,seqlen_k=2,hdim=32,mask=causal"
    assert _outcome(kernel, f"{text},stride_{name}={near}") == ([], False)
    assert _outcome(kernel, f"{text},stride_{name}={2**28 + 64}") == (["BPROB034"], True)


@pytest.mark.parametrize("kernel", KERNELS.params([("gfx942", FORWARD)]))
@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("stride_q=127", "a stride is shorter"),
        ("order_o=bhsd,stride_o=63", "a stride is shorter"),
        ("v_layout=col", "the kernel takes V with contiguous rows"),
        ("head_stride_k=63", "a stride from head to head is shorter"),
        ("stride_o=128,head_stride_o=65", "a stride is shorter"),
        ("order_q=bhsd,head_stride_q=4479", "a stride from head to head is shorter"),
        ("order_q=bhsd,head_stride_q=4480,head_stride_k=65,stride_k=129", None),
        ("order_k=bhsd,stride_k=2147483647", "too large for strides of 32 bits"),
        ("v_layout=row,order=bhsd", None),
    ],
)
def test_host_libraries_refuse_what_rules_do(kernel: Kernel, more: str, why: str | None) -> None:
    text = f"batch=2,heads=2,seqlen_q=70,seqlen_k=100,hdim=64,mask=causal,lse=yes,{more}"
    problem = problems_of("fmha_fwd").parse(text)
    rules = problem_books.book("fmha_fwd", ck="2025.11")
    point = {**KERNELS.point(kernel), **problems_of("fmha_fwd").values(problem)}
    launch = [v.code for v in rules.violations(point) if v.kind == "launch"]
    assert bool(launch) == (why is not None)
    assert (why or "") in (KERNELS.build(kernel).library.reason(problem) or "")
    assert KERNELS.build(kernel).library.is_supported(problem) is not bool(launch)


@pytest.mark.parametrize("kernel", KERNELS.params([("gfx942", FORWARD)]))
def test_the_dispatcher_takes_arrays_by_head(kernel: Kernel) -> None:
    """Arrays of the order that the problem says, the same numbers."""
    built, rng = KERNELS.build(kernel), np.random.default_rng(8)
    rows, columns, heads, head = 40, 70, 2, 64
    shapes = ((rows, heads), (columns, heads), (columns, heads))
    arrays = [rng.standard_normal((1, n, h, head)).astype(np.float16) for n, h in shapes]
    problem = f"batch=1,heads={heads},seqlen_q={rows},seqlen_k={columns},hdim={head},mask=causal"
    with Dispatcher(built.folder, device="cpu", options={"order": "forward", "jobs": "1"}) as d:
        found = d.run(f"{problem},lse=yes", *arrays, variant="fmha_fwd")
        turned = [np.ascontiguousarray(a.swapaxes(1, 2)) for a in arrays]
        by_head = d.run(f"{problem},lse=yes,order=bhsd", *turned, variant="fmha_fwd")
        for more in ("stride_q=256", "head_stride_q=192,head_stride_k=70,head_stride_o=67"):
            apart = d.run(f"{problem},lse=yes,{more}", *arrays, variant="fmha_fwd")
            assert np.array_equal(apart["o"], found["o"])
    assert np.array_equal(by_head["o"].swapaxes(1, 2), found["o"])


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
        (f"{problem},order=bhsd,stride_q=65,v_layout=row", 0, ""),
        (f"{problem},stride_q=127", -2, "a stride is shorter"),
        (f"{problem},head_stride_q=192,head_stride_k=192", 0, ""),
        (f"{problem},head_stride_q=63", -2, "a stride"),
        (problem.replace("hdim=64", "hdim=80"), -2, "wrong sums of such sizes"),
    ):
        data = problems_of("fmha_fwd").pack(problems_of("fmha_fwd").parse(text))
        given = Problem(ctypes.sizeof(Problem), 0, len(data), data)
        call = Call(ctypes.sizeof(Call), 0, b"fmha_fwd", None, FORWARD.encode(), given)
        answer = Answer(ctypes.sizeof(Answer))
        found = calls.ckrules_dispatcher_select(ctypes.byref(call), ctypes.byref(answer))
        assert found == status
        assert why in calls.ckrules_dispatcher_error().decode()
