"""Estimated times of attention: near published ones, and what has to be so in any case."""

from __future__ import annotations

import csv
import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.arch import load
from ckrules.constraints.fmha.device.timing import AttentionTiming, _tiles
from ckrules.constraints.fmha.networks import usual
from ckrules.constraints.fmha.problem import parse
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name
from ckrules.kernels.networks import networks_of
from ckrules.kernels.timing import Estimate
from ckrules.ranking.kernels import KernelTable
from ckrules.support.errors import UsageError
from tests.cli.run import run

BOOKS = Books("2025.11")
PUBLISHED = Path("benchmarks/data/attention_forward.csv.gz")
PLAIN = (
    "fmha_fwd_d128_fp16_batch_b128x128x32x128x32x128_r4x1x1_r4x1x1_w32x32x16_w32x32x16_"
    "qr_async_vr_psskddv_nlogits_nbias_nmask_nlse_ndropout_nskip_nsquant_ntrload"
)
MASKED = PLAIN.replace("nmask", "mask")
SPLIT = (
    "fmha_fwd_splitkv_d128_fp16_batch_b64x64x32x128x32x128_r4x1x1_r4x1x1_w16x16x16_w16x16x16_"
    "qr_vr_psskddv_nlogits_nbias_nmask_lse_nsquant_npagedkv"
)
LARGE = "batch=8,heads=32,heads_k=8,seqlen_q=4096,hdim=128"


def estimate(problem: str, *names: str, arch: str = "gfx942") -> Estimate:
    points = [config_from_name(n, BOOKS, arch=arch).point for n in names]
    return KernelTable.of_points(points, BOOKS).estimate(parse(problem))


def time(problem: str, name: str = PLAIN) -> float:
    return float(estimate(problem, name).microseconds[0])


def test_published_times_are_within_the_printed_range() -> None:
    found: dict[str, list[float]] = {}
    with gzip.open(PUBLISHED, "rt", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            point = config_from_name(row["kernel"], BOOKS, arch=row["arch"]).point
            table = KernelTable.of_points([point], BOOKS, row["product"])
            told = float(table.estimate(parse(row["problem"])).microseconds[0])
            found.setdefault(row["product"], []).append(told / float(row["latency_us"]))
    assert {p: len(ratios) for p, ratios in found.items()} == {
        "Instinct MI300X": 10, "Instinct MI308X": 1, "Instinct MI355X": 28, "Radeon RX 9070 XT": 23,
    }  # fmt: skip
    for ratios in found.values():
        off = np.abs(np.log(ratios))
        assert np.mean(off < np.log(AttentionTiming().printed_range)) > 0.95
        assert np.median(off) < 0.08


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("batch=1,heads=32,seqlen_q=4096,hdim=128", "batch=8,heads=32,seqlen_q=4096,hdim=128"),
        ("batch=4,heads=8,seqlen_q=4096,hdim=128", "batch=4,heads=64,seqlen_q=4096,hdim=128"),
        ("batch=4,heads=32,seqlen_q=1024,hdim=128", "batch=4,heads=32,seqlen_q=4096,hdim=128"),
    ],
)  # fmt: skip
def test_more_work_takes_longer(less: str, more: str) -> None:
    assert time(less) < time(more) < 40 * time(less)


def test_masks_leave_steps_out() -> None:
    whole = time(LARGE)
    causal = time(f"{LARGE},mask=causal", MASKED)
    window = time(f"{LARGE},mask=window,left=255,right=0", MASKED)
    assert 0.45 * whole < causal < 0.65 * whole
    assert window < 0.3 * causal


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
    blocks, steps, longest = _tiles(problem, m, n)
    needed = [len(np.unique(np.nonzero(seen[i : i + m])[1] // n)) for i in range(0, sq, m)]
    assert blocks == len(needed)
    assert sum(needed) <= steps <= sum(needed) + 2 * blocks
    assert longest >= max(needed)


@given(
    st.integers(1, 64), st.integers(1, 64), st.integers(1, 20000), st.integers(1, 20000),
    st.integers(1, 16),
)  # fmt: skip
def test_no_kernel_is_faster_than_the_gpu(b: int, h: int, sq: int, sk: int, hdim: int) -> None:
    line = f"batch={b},heads={h},seqlen_q={sq},seqlen_k={sk},hdim={8 * hdim}"
    found, problem = estimate(line, PLAIN), parse(line)
    card = load("gfx942").performance
    assert card is not None
    product = card.product()
    peak = dict(card.matrix_flops)["fp16"] * product.compute_units * product.clock_mhz
    moved = 2 * b * h * 8 * hdim * 2 * (sq + sk)
    assert found.microseconds[0] > max(problem.flops / peak, moved / product.memory_gbs / 1e3)
    for name in ("useful", "busy", "of_peak"):
        assert 0 < found.figures[name][0] <= 1
    assert all(np.isfinite(v).all() for v in found.features.values())
    assert set(found.features) == set(AttentionTiming.features)
    assert set(found.situation) == set(AttentionTiming.situation)
    assert all(np.isfinite(v) for v in found.situation.values())


@pytest.mark.parametrize(
    ("function", "word"),
    [("ndropout", "dropout"), ("nlogits", "logits"), ("nbias", "alibi"), ("nbias", "bias")],
)
def test_functions_cost_operations(function: str, word: str) -> None:
    plain, with_it = estimate(LARGE, PLAIN, PLAIN.replace(function, word)).bounds["vector units"]
    assert with_it > plain


def test_queries_that_are_staged_cost_loads() -> None:
    held, staged = estimate(LARGE, *(PLAIN.replace("qr_async", w) for w in ("qr", "qs"))).bounds[
        "L2"
    ]
    assert staged > held
    assert "pipeline = qs" in estimate(LARGE, PLAIN.replace("qr_async", "qs")).assumed
    assert estimate(LARGE, PLAIN).assumed == {}


def test_splits_help_single_rows() -> None:
    decode = "batch=1,heads=8,seqlen_q=1,seqlen_k=65536,hdim=128"
    assert time(f"{decode},splits=16", SPLIT) < 0.3 * time(f"{decode},splits=1", SPLIT)


def test_groups_count_the_rows_that_they_have() -> None:
    grouped = PLAIN.replace("_batch_", "_group_")
    line = "batch=8,heads=32,seqlen_q=4096,hdim=128,mode=group,total_q=8192,total_k=8192"
    assert time(line, grouped) < 0.3 * time("batch=8,heads=32,seqlen_q=4096,hdim=128")


def test_usual_problems_are_those_that_the_kernels_compute() -> None:
    lines = [p for n in networks_of("ckrules.constraints.fmha") for p in n.problems]
    assert [str(parse(line)) for line in lines]
    assert {p.hdim for p in usual({"hdim": (32, 64, 128, 256)})} == {128}
    assert {p.hdim_v for p in usual({"hdim": (32,)})} == {32}
    assert {p.mask for p in usual({"mask": ("no",)})} == {"no"}
    assert {p.seqlen_q for p in usual({"variant": ("fmha_fwd_splitkv",)})} == {1}
    (first, *_) = usual(
        {"mode": ("group",), "lse": (True,), "bias": ("alibi",), "logits": (False,)}
    )
    assert (first.mode, first.lse, first.bias, first.logits) == ("group", "yes", "alibi", "no")


@pytest.mark.parametrize("arch", ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1201"])
@pytest.mark.parametrize("receipt", ["receipt_0", "receipt_100"])
def test_listed_kernels_are_compared_where_nobody_names_a_problem(arch: str, receipt: str) -> None:
    found = run(
        "enumerate", "--ck", "2025.11", "--variant", "fmha_fwd", "--arch", arch, "--dtype", "bf16",
        "--profile", receipt, "--best", "3",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert len(found.stdout.splitlines()) == 3
    assert "fastest first on 5 usual problems" in found.stderr


def test_a_whole_space_is_searched() -> None:
    found = run(
        "search", "--ck", "2025.11", "--variant", "fmha_fwd", "--arch", "gfx942", "--dtype", "fp16",
        "--problem", f"{LARGE},mask=causal", "-n", "2", "--draw", "500", "--kernels", "3000",
        "--format", "names",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert len(found.stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("head", "where", "shown"),
    [(128, "true", "_d128_"), (72, "true", "_d96_"), (128, "hdim == 256", "_d256_")],
)
def test_search_shows_kernels_by_the_head_that_fits(head: int, where: str, shown: str) -> None:
    """Kernels that differ in what they are called after alone have one time, whatever the head."""
    found = run(
        "search", "--ck", "2025.11", "--variant", "fmha_fwd", "--arch", "gfx942", "--dtype", "fp16",
        "--problem", LARGE.replace("hdim=128", f"hdim={head}"), "-n", "3", "--draw", "300",
        "--kernels", "1000", "--format", "names", "--where", where,
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    names = found.stdout.splitlines()
    assert len(names) == 3
    assert all(shown in name for name in names)


def test_search_says_how_many_kernels_rank_and_best_have() -> None:
    words = (
        "--ck", "2025.11", "--variant", "fmha_fwd", "--arch", "gfx942", "--dtype", "fp16",
        "--set", "pipeline=qr", "--set", "mode=batch", "--problem", LARGE,
    )  # fmt: skip
    searched = run("search", *words, "-n", "2", "--draw", "300", "--kernels", "500").stderr
    found = re.search(
        r"of ([\d,]+) kernels named after the problem \(([\d,]+) accept it\)", searched
    )
    assert found is not None
    named, accepting = (int(number.replace(",", "")) for number in found.groups())
    assert 0 < named < accepting
    assert f"of {accepting:,} kernels" in run("rank", *words, "-n", "2", "--draw", "300").stderr
    best = run("enumerate", *words, "--best", "2").stderr
    assert f"of {accepting:,} kernels that accept it" in best


def test_nothing_is_known_of_new_gpus_and_in_c() -> None:
    point = config_from_name(PLAIN, BOOKS, arch="gfx942").point
    table = KernelTable.of_points([point], BOOKS)
    with pytest.raises(UsageError, match="estimates no times of attention"):
        table.timing.compiled(table.columns, table.gpu, table.product)
    with pytest.raises(UsageError, match="speeds of gfx1250"):
        estimate(LARGE, PLAIN, arch="gfx1250")
