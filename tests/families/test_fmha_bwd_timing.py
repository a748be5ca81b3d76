"""Estimated times of attention backward and of the kernels before and after: what has to be so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.arch import load
from ckrules.constraints.fmha.problem import parse
from ckrules.constraints.fmha_bwd.device.timing import BackwardTiming, tiles
from ckrules.constraints.fmha_steps.device.timing import StepTiming
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name
from ckrules.kernels.timing import PRINTED_RANGE, Estimate
from ckrules.ranking.kernels import KernelTable
from ckrules.ranking.ranker import Ranker
from tests.cli.run import run

BOOKS = Books("2025.11")
PLAIN = (
    "fmha_bwd_d128_fp16_batch_b16x128x128x16x128x16x32x128x128_r1x4x1_r4x1x1_r1x4x1_w16x16x32_"
    "w16x16x16_o1_maxq0_npad_nbias_ndbias_nmask_ndropout_ndeterministic_ntrload"
)
DOT = "fmha_bwd_dot_do_o_d128_fp16_b64_batch_o2_psdv"
CONVERT = "fmha_bwd_convert_dq_d128_fp16_b64x0_batch_o2_npad_ndeterministic"
IN_PARTS = "fmha_bwd_convert_dq_d128_fp16_b64x128_batch_o2_npad_deterministic"
COMBINE = "fmha_fwd_splitkv_combine_d128_fp16_batch_b32_unused_npad_nlse_nsquant"
APPEND = "fmha_fwd_appendkv_d128_fp16_b64x64x128x128_vr_psk"
LARGE = "batch=4,heads=32,heads_k=8,seqlen_q=4096,hdim=128"


def estimate(problem: str, *names: str, arch: str = "gfx942") -> Estimate:
    points = [config_from_name(n, BOOKS, arch=arch).point for n in names]
    return KernelTable.of_points(points, BOOKS).estimate(parse(problem))


def time(problem: str, name: str = PLAIN) -> float:
    return float(estimate(problem, name).microseconds[0])


@pytest.mark.parametrize("name", [PLAIN, DOT, CONVERT])
def test_more_work_takes_longer(name: str) -> None:
    assert time(LARGE.replace("batch=4", "batch=1"), name) < time(LARGE, name)
    assert time(LARGE.replace("4096", "1024"), name) < time(LARGE, name)


def test_backward_takes_longer_than_forward() -> None:
    forward = (
        "fmha_fwd_d128_fp16_batch_b128x128x32x128x32x128_r4x1x1_r4x1x1_w32x32x16_w32x32x16_"
        "qr_async_vr_psskddv_nlogits_nbias_nmask_nlse_ndropout_nskip_nsquant_ntrload"
    )
    assert time(LARGE) > 2 * time(LARGE, forward)


def test_masks_leave_steps_out() -> None:
    masked = PLAIN.replace("nmask", "mask")
    causal = time(f"{LARGE},mask=causal", masked)
    window = time(f"{LARGE},mask=window,left=255,right=0", masked)
    assert 0.45 * time(LARGE) < causal < 0.65 * time(LARGE)
    assert window < 0.4 * causal


@given(
    st.integers(1, 70), st.integers(1, 90), st.sampled_from([4, 16]), st.sampled_from([4, 8]),
    st.sampled_from(["no", "causal", "window,left=5,right=3", "window,left=0,right=0"]),
)  # fmt: skip
def test_no_visible_score_is_left_out(sq: int, sk: int, m: int, n: int, mask: str) -> None:
    problem = parse(f"batch=1,heads=1,seqlen_q={sq},seqlen_k={sk},hdim=64,mask={mask}")
    rows, columns = np.mgrid[:sq, :sk]
    left, right = problem.window
    diagonal = columns - rows - (sk - sq)
    seen = (diagonal <= (right if right >= 0 else sk + sq)) & (
        diagonal >= (-left if left >= 0 else -sk - sq)
    )
    blocks, steps, longest = tiles(problem, m, n, short=False)
    needed = [len(np.unique(np.nonzero(seen[:, i : i + n])[0] // m)) for i in range(0, sk, n)]
    assert blocks == len(needed)
    assert sum(needed) <= steps <= sum(needed) + 2 * blocks
    assert longest >= max(needed)


@given(
    st.integers(1, 32), st.integers(1, 32), st.integers(1, 8192), st.integers(1, 8192),
    st.sampled_from([64, 128]),
)  # fmt: skip
def test_no_kernel_is_faster_than_the_gpu(b: int, h: int, sq: int, sk: int, hdim: int) -> None:
    line = f"batch={b},heads={h},seqlen_q={sq},seqlen_k={sk},hdim={hdim}"
    found = estimate(line, PLAIN)
    card = load("gfx942").performance
    assert card is not None
    product = card.product()
    peak = dict(card.matrix_flops)["fp16"] * product.compute_units * product.clock_mhz
    flops = 2 * b * h * sq * sk * 5 * hdim
    moved = b * h * hdim * 2 * (2 * sq + 4 * sk)
    assert found.microseconds[0] > max(flops / peak, moved / product.memory_gbs / 1e3)
    for name in ("useful", "busy", "of_peak"):
        assert 0 < found.figures[name][0] <= 1
    assert all(np.isfinite(v).all() for v in found.features.values())
    assert set(found.features) == set(BackwardTiming.features)
    assert set(found.situation) == set(BackwardTiming.situation)
    assert all(np.isfinite(v) for v in found.situation.values())


@pytest.mark.parametrize(
    ("word", "other"),
    [("ndropout", "dropout_wg16"), ("nbias", "alibi"), ("nbias", "bias"), ("ndbias", "dbias")],
)
def test_functions_cost_operations_or_bytes(word: str, other: str) -> None:
    found = estimate(LARGE, PLAIN, PLAIN.replace(f"_{word}_", f"_{other}_"))
    more = [found.bounds[n][1] - found.bounds[n][0] for n in ("vector units", "L2", "memory")]
    assert max(more) > 0


def test_parts_of_dq_cost_memory() -> None:
    """Where sums have a fixed order each block of K stores dQ, and all of it is read again."""
    apart = PLAIN.replace("_ndeterministic", "_deterministic")
    found = estimate(LARGE, PLAIN, apart).bounds["memory"]
    assert found[1] > 3 * found[0]
    assert time(LARGE, IN_PARTS) > 10 * time(LARGE, CONVERT)


def test_short_queries_have_a_block_a_head() -> None:
    name = (
        "fmha_bwd_d64_fp16_batch_b32x16x64x32x64x32x16x64x64_r1x1x1_r1x1x1_r1x1x1_w16x16x32_"
        "w16x16x16_o2_maxq32_npad_nbias_ndbias_nmask_ndropout_ndeterministic_trload"
    )
    line = "batch=2,heads=8,seqlen_q=32,seqlen_k=4096,hdim=64"
    assert estimate(line, name, arch="gfx950").figures["blocks"][0] == 16


@pytest.mark.parametrize(
    ("name", "line", "least"),
    [
        (DOT, LARGE, 4 * 32 * 4096 * (128 * 2 * 2 + 4)),
        (CONVERT, LARGE, 4 * 32 * 4096 * 128 * (4 + 2)),
        (COMBINE, "batch=64,heads=32,seqlen_q=256,hdim=128,splits=8", 64 * 32 * 256 * 128 * 34),
        (APPEND, "batch=64,heads=8,seqlen_q=64,seqlen_k=4096,hdim=128", 64 * 64 * 8 * 1024),
    ],
)  # fmt: skip
def test_steps_move_their_tensors(name: str, line: str, least: int) -> None:
    found, card = estimate(line, name), load("gfx942").performance
    assert card is not None
    bandwidth = card.product().memory_gbs * 1e3
    assert least / bandwidth < found.microseconds[0] < 4 * least / bandwidth + 10
    assert set(found.features) == set(StepTiming.features)
    assert set(found.situation) == set(StepTiming.situation)
    assert all(np.isfinite(v).all() for v in found.features.values())
    assert all(np.isfinite(v).all() and (v >= 0).all() for v in found.bounds.values())
    assert 0 <= found.figures["of_peak"][0] <= 1


@pytest.mark.filterwarnings("error")
def test_appending_without_rows_of_q_takes_as_long_as_with_those_that_it_leaves() -> None:
    line = "batch=64,heads=8,seqlen_q=64,seqlen_k=4096,hdim=128"
    with_rows, without = estimate(line, APPEND, APPEND.replace("b64x64", "b0x64")).microseconds
    assert with_rows == without


@pytest.mark.parametrize("name", [PLAIN, DOT, CONVERT, COMBINE, APPEND])
def test_it_is_said_that_nobody_measured_them(name: str) -> None:
    found = estimate(LARGE, name)
    assert list(found.assumed.values()) == ["constants of attention forward"]
    assert BackwardTiming().printed_range == StepTiming().printed_range > PRINTED_RANGE


@pytest.mark.parametrize(
    ("variant", "problems"),
    [("fmha_bwd", 5), ("fmha_bwd_dot_do_o", 5), ("fmha_bwd_convert_dq", 5),
     ("fmha_fwd_splitkv_combine", 2), ("fmha_fwd_appendkv", 2)],
)  # fmt: skip
def test_listed_kernels_are_compared_where_nobody_names_a_problem(
    variant: str, problems: int
) -> None:
    found = run(
        "enumerate", "--ck", "2025.11", "--variant", variant, "--arch", "gfx942", "--dtype", "fp16",
        "--profile", "receipt_0", "--best", "2",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert len(found.stdout.splitlines()) == 2
    assert f"fastest first on {problems} usual problems" in found.stderr


def test_ranges_are_those_of_the_family() -> None:
    point = config_from_name(PLAIN, BOOKS, arch="gfx942").point
    tables = [(KernelTable.of_points([point], BOOKS), [point])]
    (found,) = Ranker().rank(tables, parse(LARGE)).kernels
    assert found.high / found.microseconds == pytest.approx(BackwardTiming().printed_range)
    assert found.microseconds / found.low == pytest.approx(BackwardTiming().printed_range)
