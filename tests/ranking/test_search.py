"""`ckrules rank` and `ckrules search`: kernels that accept the problem, fastest first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckrules.kernels.books import Books
from ckrules.kernels.families import problems_of
from ckrules.kernels.selection import select
from ckrules.ranking.candidates import Candidates
from ckrules.ranking.ranker import Ranker
from ckrules.ranking.search import Search
from ckrules.support.errors import UsageError
from tests.cli.run import run

pytestmark = pytest.mark.whole

PROBLEM = "N=8,C=256,K=256,H=28,W=28,Y=3,X=3,pad=1"
FORWARD = ("--variant", "forward", "--arch", "gfx950", "--dtype", "bf16")


def candidates(where: str = "", text: str = PROBLEM, **given: str) -> Candidates:
    books = Books("2026.06")
    words = {"variant": "bwd_weight", "arch": "gfx942", "dtype": "fp16", **given}
    region = select(books, {k: (v,) for k, v in words.items()}, (where,) if where else ())
    return Candidates(region, books, problems_of(words["variant"]).parse(text))


def test_candidates_are_the_kernels_that_accept_the_problem() -> None:
    from ckrules.kernels.applicability import Applicability

    odd = "N=1,C=12,K=20,H=9,W=9,Y=3,X=3"
    found = candidates("tile_m == 64 & tile_n == 64 & pipeline == 'compv3'", odd)
    space, whole = found.space, found.region.space
    assert 0 < space.count() < whole.count()
    accepts = Applicability(odd, found.books)
    for point in whole.sample(60, seed=2):
        assert (accepts(point) == []) == (point in space)


def test_a_search_is_as_good_as_looking_at_every_kernel() -> None:
    found = candidates(
        "tile_m <= 64 & tile_n <= 64 & wave_k == 1 & pipeline == 'compv3' & vector_a == 8"
    )
    ranker = Ranker(False)
    every = ranker.rank(found.kernels(10**9, 0), found.problem, 1).kernels[0]
    some = Search(found, ranker, seed=5).run(sample=500)
    assert some.ended == "no neighbour is faster"
    assert some.ranking.looked_at < found.space.count() / 5
    assert some.ranking.kernels[0].microseconds <= every.microseconds * 1.0001


@pytest.mark.parametrize("text", [PROBLEM, "N=1,C=64,K=64,H=56,W=56,Y=1,X=1"])
def test_a_search_is_as_good_as_a_large_sample(text: str) -> None:
    """For the second problem no kernel leads to the best ones by one field at a time."""
    found = candidates(text=text)
    ranker = Ranker(False)
    sampled = ranker.rank(found.kernels(40_000, 3), found.problem, 1).kernels[0]
    search = Search(found, ranker, seed=7).run(sample=5000)
    assert search.ranking.kernels[0].microseconds <= sampled.microseconds


def test_a_small_space_is_looked_at_once() -> None:
    found = candidates("tile_m == 64 & tile_n == 64 & pipeline == 'compv4' & vector_a == 8")
    search = Search(found, Ranker(False)).run(sample=10**9)
    assert (search.ended, search.ranking.looked_at) == ("all were looked at", found.space.count())


def test_a_kernel_is_counted_once() -> None:
    """However often a search comes by it."""
    found = candidates("tile_m == 64 & tile_n == 64 & pipeline == 'compv4' & vector_a == 8")
    total = found.space.count()
    search = Search(found, Ranker(False)).run(sample=total - 1)
    assert search.ended != "all were looked at"
    assert search.ranking.looked_at <= total


def test_each_kernel_is_listed_once_and_the_fastest_first() -> None:
    """Also where there are fewer different times than kernels are wanted."""
    found = candidates("tile_m == 64 & tile_n == 64 & pipeline == 'compv4' & vector_a == 8")
    search = Search(found, Ranker(False), limit=60).run(sample=100)
    times = [r.microseconds for r in search.ranking.kernels]
    assert len(times) == 60
    assert len(set(map(round, times))) < 50
    assert times == sorted(times)
    assert len({str(r.point) for r in search.ranking.kernels}) == 60


def test_the_same_seed_finds_the_same_kernels() -> None:
    found = candidates("tile_m == 64")
    one, two = (Search(found, Ranker(False), seed=1).run(sample=300) for _ in range(2))
    assert [r.point for r in one.ranking.kernels] == [r.point for r in two.ranking.kernels]


def test_budgets_end_a_search() -> None:
    found = candidates("tile_m == 64")
    assert Search(found, Ranker(False)).run(sample=100, kernels=1).ended == "kernels"
    assert Search(found, Ranker(False)).run(sample=100, seconds=0.0).ended == "time"


@pytest.mark.parametrize("kernels", [1, 50, 150, 2000])
def test_no_more_kernels_are_looked_at_than_the_budget(kernels: int) -> None:
    found = candidates("tile_m == 64")
    search = Search(found, Ranker(False))
    result = search.run(sample=100, kernels=kernels)
    assert (search.looked_at, result.ended) == (kernels, "kernels")
    assert all(r.point in found.space for r in search.leaders)


def test_several_gpus_are_refused() -> None:
    books = Books("2026.06")
    region = select(books, {"variant": ("forward",), "arch": ("gfx942", "gfx950")}, ())
    with pytest.raises(UsageError, match="--arch"):
        _ = Candidates(region, books, None).arch


def test_rank_shows_what_limits_each_kernel() -> None:
    found = run(
        "rank", "--problem", PROBLEM, *FORWARD, "--catalog", "default", "--explain", "-n", "2"
    )
    assert found.exit_code == 0
    assert "limited by" in found.stdout
    assert "matrix rate" in found.stdout
    assert "learned from measurements" in found.stderr


def test_rank_as_json_and_names() -> None:
    words = ("rank", "--problem", PROBLEM, *FORWARD, "--catalog", "default", "-n", "3")
    found = json.loads(run(*words, "--format", "json").stdout)
    assert len(found["kernels"]) == 3
    assert found["kernels"][0]["learned"]
    times = [k["microseconds"] for k in found["kernels"]]
    assert times == sorted(times)
    names = run(*words, "--format", "names").stdout.split()
    assert names == [k["name"] for k in found["kernels"]]
    again = run("rank", "--problem", PROBLEM, "--arch", "gfx950", *names, "--format", "names")
    assert again.stdout.split() == names


def test_rank_says_what_was_never_measured() -> None:
    found = run(
        "rank", "--problem", PROBLEM, "--variant", "forward", "--arch", "gfx942", "--dtype", "fp16",
        "--where", "pipeline == 'mem'", "--draw", "200",
    )  # fmt: skip
    assert found.exit_code == 0
    assert "such kernels were not measured" in found.stderr
    assert "never measured: pipeline = mem" in found.stderr


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (("--problem", "nonsense", *FORWARD), 2, "NAME=NUMBER"),
        (("--problem", PROBLEM, "--variant", "forward"), 2, "--arch"),
        (("--problem", PROBLEM, *FORWARD[:4]), 2, "bf16, fp16, fp32: give --dtype"),
        (("--problem", PROBLEM, *FORWARD, "--limit", "0"), 2, "--limit 0"),
        (("--problem", PROBLEM, *FORWARD, "--product", "MI300X"), 2, "MI355X"),
        (("--problem", PROBLEM, *FORWARD, "--model", "nowhere"), 2, "nowhere"),
        (("--problem", "N=1,C=3,K=3,H=9,W=9,Y=3,X=3", *FORWARD, "--where", "vector_a == 16"),
         3, "no kernel accepts"),
        (("--problem", PROBLEM, *FORWARD, "--where", "pipeline == 'compv4' & tile_m == 1"),
         3, "nothing is left: `ckrules why`"),
        (("--problem", PROBLEM, *FORWARD, "--catalog", "default", "--where", "tile_m == 1"),
         3, "no kernel is listed"),
    ],
)  # fmt: skip
def test_what_cannot_be_ranked(words: tuple[str, ...], code: int, what: str) -> None:
    for command in ("rank", "search"):
        found = run(command, *words)
        assert (found.exit_code, what in found.stderr) == (code, True), found.stderr


def test_rank_says_where_a_file_of_kernels_goes(tmp_path: Path) -> None:
    file = tmp_path / "kernels.txt"
    file.write_text("", encoding="utf-8")
    found = run("rank", "--problem", PROBLEM, "--arch", "gfx942", str(file))
    assert found.exit_code == 2
    assert f"{file} is a file, expected a kernel's name: --catalog {file}" in found.stderr


def test_neighbours_are_those_of_the_space() -> None:
    """What a search goes to from a kernel is what `Space.neighbors` says, each once."""
    found = candidates("tile_m == 64 & tile_n == 64")
    search = Search(found, Ranker(False))
    point = found.space.sample(1, seed=4)[0]
    (code,) = next(search._own([point]))
    near = [search._point(row) for rows in search._around(code[None, :]) for row in rows]
    expected = [*found.space.neighbors(point, "Hamming")]
    assert len(near) == len(expected) > 5
    assert sorted(near, key=str) == sorted(expected, key=str)
