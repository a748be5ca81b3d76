"""Predictions beside tuned tables, which have the fastest kernel of each problem alone."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.kernels.books import Books
from ckrules.kernels.timing import PRINTED_RANGE
from ckrules.ranking.ranker import Ranker
from ckrules.ranking.winners import judge_winners, read_winners, spearman
from ckrules.support.errors import UsageError
from tests.cli.run import run

pytestmark = pytest.mark.whole

DATA = Path("benchmarks/data/a8w8_bpreshuffle_tuned_gemm.csv.gz")
HEAD = "gfx,cu_num,M,N,K,libtype,splitK,us,kernelName"
FLAT = "a8w8_bpreshuffle_cktile_0x0x8x4x1x0x0x0x0x1_{}_1x4x1_16x16x128_default"
BLOCKS = "a8w8_blockscale_cktile_32x128x128_1x4x1_16x16x64_intrawave_0x1x0_4"


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """aiter's rows, unpacked."""
    path = tmp_path_factory.mktemp("tuned") / DATA.stem
    path.write_bytes(gzip.decompress(DATA.read_bytes()))
    return path


def table(folder: Path, *rows: str, head: str = HEAD) -> Path:
    path = folder / "a8w8_bpreshuffle_tuned_gemm.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


class _ByTile(Ranker):
    """Says that kernels take as long as their tile has rows."""

    def times(self, table: Any, problem: Any) -> Any:
        column = table.columns["tile_m"]
        return np.asarray(column.values, dtype=float)[column.codes]


def test_two_of_three_times_lie_in_the_printed_range(tuned: Path) -> None:
    books = Books()
    rows = read_winners(tuned, books).rows
    found = {f.product: f for f in judge_winners(rows, Ranker(model=False), books)}
    assert {p: f.rows for p, f in found.items()} == {
        "Instinct MI308X": 223, "Instinct MI355X": 221,
    }  # fmt: skip
    for figures in found.values():
        assert figures.within >= 2 / 3
        assert figures.spearman >= 0.99
        assert 1 / 1.1 < figures.ratio < 1.1
    assert found["Instinct MI355X"].place <= 0.05
    assert found["Instinct MI355X"].first >= 0.8
    assert found["Instinct MI308X"].place <= 0.06
    assert found["Instinct MI308X"].first >= 0.8


@pytest.mark.parametrize("name", ["a8w8_blockscale", "a8w8_blockscale_bpreshuffle"])
def test_times_of_block_scales_lie_in_the_printed_range(tmp_path: Path, name: str) -> None:
    packed = DATA.with_name(f"{name}_tuned_gemm.csv.gz")
    path = tmp_path / packed.stem
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    books = Books()
    (figures,) = judge_winners(read_winners(path, books).rows, Ranker(model=False), books)
    assert figures.rows >= 170
    assert figures.within >= 2 / 3
    assert figures.spearman >= 0.98
    assert figures.place <= 0.06


def test_a_single_row_has_no_correlation(tmp_path: Path) -> None:
    row = f"gfx950,256,512,4096,4096,cktile,0,9,{FLAT.format('128x128x128')}"
    path = str(table(tmp_path, row))
    said = run("evaluate", "--measurements", path, "--format", "json", "-q").stdout
    assert json.loads(said)["winners"][0]["spearman"] is None
    assert run("evaluate", "--measurements", path).stdout.split()[-1] == "-"


def test_what_is_printed_is_the_range_that_is_judged() -> None:
    asked = ("--catalog", "aiter", "--arch", "gfx950", "--variant", "flatmm", "--format", "json")
    found = run("rank", *asked, "--problem", "M=64,N=4096,K=7168")
    for kernel in json.loads(found.stdout)["kernels"]:
        assert kernel["low"] == pytest.approx(kernel["microseconds"] / PRINTED_RANGE)
        assert kernel["high"] == pytest.approx(kernel["microseconds"] * PRINTED_RANGE)


def test_places_are_those_of_the_list(tmp_path: Path) -> None:
    rows = [f"gfx950,256,512,4096,4096,cktile,0,9,{FLAT.format(t)}"
            for t in ("16x64x256", "256x256x128", "128x128x128")]  # fmt: skip
    books = Books()
    winners = read_winners(table(tmp_path, *rows), books).rows
    first, last, between = (
        next(judge_winners([row], _ByTile(model=False), books)) for row in winners
    )
    assert first.place < between.place < last.place
    # tiles of 16 rows share the first places, and those of 256 the last
    assert first.place < 0.2
    assert last.place > 0.8
    assert first.kernels == last.kernels > 40


@pytest.mark.parametrize(
    ("name", "kernels"),
    [
        ("a8w8_cktile_16x128x256_1x4x1_16x16x64_intrawave_0x1x0_2", 6),
        ("a4w4_blockscale_cktile_128x512x256_1x4x1_16x16x128_default_0x0x0_1", 1),
    ],
)
def test_each_kind_has_places_in_its_own_list(tmp_path: Path, name: str, kernels: int) -> None:
    """aiter's lists of September 2026; of the first the kernels of eight waves are not legal."""
    books = Books()
    found = read_winners(table(tmp_path, f"gfx950,256,512,4096,4096,cktile,0,9,{name}"), books)
    (figures,) = judge_winners(found.rows, Ranker(model=False), books)
    assert figures.kernels == kernels


def test_a_winner_that_no_list_has_counts_with_its_own_time(tmp_path: Path) -> None:
    books = Books()
    row = f"gfx950,256,512,4096,4096,cktile,0,9,{FLAT.format('272x128x128')}"
    (winner,) = read_winners(table(tmp_path, row), books).rows
    (figures,) = judge_winners([winner], _ByTile(model=False), books)
    assert figures.place == 1
    assert figures.ratio == pytest.approx(272 / 9)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    good = f"gfx950,256,512,4096,4096,cktile,0,9,{FLAT.format('128x128x128')}"
    rows = [
        good,
        good.replace("gfx950,256", "gfx950,255"),
        good.replace(",9,", ",0,"),
        good.replace("512,4096", "0,4096"),
        good.replace("_default", "_never"),
        good.replace(FLAT.format("128x128x128"), "a8w8_rowwise_64x16x16x64"),
    ]
    found = read_winners(table(tmp_path, *rows), Books())
    assert len(found.rows) == 1
    assert found.left_out == {
        "of products that are not known": 1,
        "without a time or a problem": 2,
        "with names that cannot be read": 1,
        "of other libraries": 1,
    }


def test_split_sums_and_pads_are_those_of_the_row(tmp_path: Path) -> None:
    row = f"gfx950,256,8,2112,3072,cktile,3,9,{BLOCKS}"
    (winner,) = read_winners(table(tmp_path, row), Books()).rows
    assert str(winner.problem) == "M=8,N=2112,K=3072,k_batch=8"
    assert (winner.point["pad_n"], winner.point["pad_k"]) == (True, False)


def test_the_command_says_it_by_product(tuned: Path) -> None:
    found = run("evaluate", "--measurements", str(tuned))
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert lines[0].split()[:3] == ["table", "product", "winners"]
    assert [("MI308X" in lines[1]), ("MI355X" in lines[2]), len(lines)] == [True, True, 3]
    assert "444 winners of" in found.stderr
    said = json.loads(run("evaluate", "--measurements", str(tuned), "--format", "json").stdout)
    assert [w["rows"] for w in said["winners"]] == [223, 221]
    assert said["left_out"] == {}


def test_nothing_is_learned_from_winners(tuned: Path, tmp_path: Path) -> None:
    found = run("train", "--measurements", str(tuned), "-o", str(tmp_path / "m.gz"))
    assert found.exit_code == 2
    assert "nothing to learn from: ckrules evaluate reads it" in found.stderr
    found = run("evaluate", "--measurements", str(tuned), "--folds", "5")
    assert found.exit_code == 2
    assert "--folds: nothing is learned from a tuned table" in found.stderr


def test_a_table_without_known_kernels_says_why(tmp_path: Path) -> None:
    path = table(tmp_path, "gfx950,256,8,8,8,ck,0,9,a8w8_rowwise_64x16x16x64")
    found = run("evaluate", "--measurements", str(path))
    assert found.exit_code == 2
    assert "no row whose kernel and problem are known (left out: 1 of other libraries)" in (
        found.stderr
    )
    with pytest.raises(UsageError, match="not a tuned table"):
        read_winners(table(tmp_path, head="M,N,K"), Books())


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=30, unique=True), st.randoms())
def test_ranks_are_all_that_counts(values: list[int], rng: Any) -> None:
    others = rng.sample(values, len(values))
    assert spearman(values, [v**3 + 1 for v in values]) == pytest.approx(1)
    assert spearman(values, [-v for v in values]) == pytest.approx(-1)
    found = spearman(values, others)
    assert -1 <= found <= 1
    assert found == pytest.approx(spearman(others, values))


@pytest.mark.parametrize(
    ("m", "us", "head", "what"),
    [
        ("²", "9", HEAD, "left out: 1 without a time or a problem"),
        ("64", "1_0", HEAD, "left out: 1 without a time or a problem"),
        ("64", "9" * 140_000, HEAD, ":2:1: field larger than field limit"),
        ("64", "9", HEAD.replace("splitK", "us"), ":1:1: the column us is there twice"),
    ],
)
def test_rows_that_are_none_are_told(m: str, us: str, head: str, what: str, tmp_path: Path) -> None:
    line = f"gfx950,256,{m},512,1024,cktile,0,{us},{FLAT.format('16x64x512')}"
    found = run("evaluate", str(table(tmp_path, line, head=head)))
    assert found.exit_code == 2
    assert what in found.stderr


def test_a_lone_carriage_return_ends_a_line(tuned: Path, tmp_path: Path) -> None:
    path = tmp_path / tuned.name
    path.write_bytes(tuned.read_bytes().replace(b"\n", b"\r"))
    assert (
        run("evaluate", str(path), "--format", "json").stdout
        == run("evaluate", str(tuned), "--format", "json").stdout
    )
