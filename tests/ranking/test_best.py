"""`ckrules enumerate --best`, and what a terminal gets: kernels that one would use."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ckrules.cli import emit
from ckrules.kernels.books import Books
from ckrules.kernels.families import problems_of
from ckrules.kernels.names import format_name
from ckrules.kernels.selection import select
from ckrules.ranking.best import Best, best, best_of
from ckrules.ranking.kernels import KernelTable, timing
from ckrules.ranking.ranker import Ranker
from ckrules.support.errors import UsageError
from tests.cli.run import run

PROBLEM = "N=8,C=256,K=256,H=28,W=28,Y=3,X=3,pad=1"
BOOKS = Books("2025.11")
#: All of these accept each of the usual problems.
FEW = (
    "tile_m == 64 & tile_n == 64 & tile_k == 64 & pipeline == 'compv3'",
    "ndim == 2 & num_groups_to_merge == 1",
)
GIVEN = {"variant": ("bwd_weight",), "arch": ("gfx942",), "dtype": ("fp16",)}
WORDS = ["--variant", "bwd_weight", "--arch", "gfx942", "--ck", "2025.11"]
WORDS += [word for text in FEW for word in ("--where", text)]


def test_the_best_are_those_of_the_smallest_mean() -> None:
    region = select(BOOKS, GIVEN, FEW)
    found = best(region, BOOKS, 5, ranker=Ranker(False), sample=10**6)
    points = list(region.space)
    table = KernelTable.of_points(points, BOOKS)
    logs = [np.log(table.estimate(p).microseconds) for p in found.problems]
    mean = np.exp(np.mean(logs, axis=0))
    assert len(found.problems) == 8
    assert found.looked_at == len(points)
    times = [r.microseconds for r in found.kernels]
    assert times == sorted(times)
    assert np.allclose(times[0], mean.min())
    listed = best_of(points, BOOKS, 5, ranker=Ranker(False))
    assert listed.kernels[0].microseconds == pytest.approx(times[0])


def test_on_a_problem_they_are_those_of_rank() -> None:
    region = select(BOOKS, GIVEN, FEW)
    problem = problems_of("bwd_weight").parse(PROBLEM)
    found = best(region, BOOKS, 3, problem, ranker=Ranker(False))
    table = KernelTable.of_points(list(region.space), BOOKS)
    assert found.kernels[0].microseconds == pytest.approx(
        table.estimate(problem).microseconds.min()
    )
    assert found.problems == [problem]


def test_dtypes_come_in_turn() -> None:
    region = select(BOOKS, {**GIVEN, "dtype": ("fp16", "bf16")}, FEW)
    found = best(region, BOOKS, 6, ranker=Ranker(False))
    assert [p["dtype"] for p in found.points] == ["fp16", "bf16"] * 3
    listed = best_of(found.points, BOOKS, 4, ranker=Ranker(False))
    assert [p["dtype"] for p in listed.points] == ["fp16", "bf16"] * 2


def test_several_gpus_are_not_compared() -> None:
    region = select(BOOKS, {**GIVEN, "arch": ("gfx942", "gfx90a")}, FEW)
    with pytest.raises(UsageError, match="kernels of one arch are compared: give --arch"):
        best(region, BOOKS, 1)


def test_usual_problems_have_the_dimensions_of_the_kernels() -> None:
    usual = timing("forward").usual
    assert {p.ndim for p in usual({"ndim": (1, 2, 3)})} == {2}
    assert {p.ndim for p in usual({"ndim": (3,)})} == {3}
    assert {p.ndim for p in usual({"ndim": (1,)})} == {1}


def test_the_command_lists_them() -> None:
    found = run("enumerate", *WORDS, "--dtype", "fp16", "--best", "3", "--problem", PROBLEM)
    assert found.exit_code == 0, found.stderr
    names = found.stdout.split()
    region = select(BOOKS, GIVEN, FEW)
    problem = problems_of("bwd_weight").parse(PROBLEM)
    assert names == [format_name(p) for p in best(region, BOOKS, 3, problem).points]
    assert f"fastest first on {problem}, of " in found.stderr
    found = run("enumerate", *WORDS, "--best", "2", "--format", "jsonl")
    assert "fastest first, in turn for dtype = " in found.stderr
    rows = found.stdout.splitlines()
    assert [json.loads(r)["dtype"] for r in rows] == ["fp16", "bf16"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--best", "3", "--limit", "2"], "--best takes the whole space"),
        (["--best", "3", "--spread", "2"], "--best takes the whole space"),
        (["--problem", PROBLEM], "--problem goes with --best N"),
        (["--best", "3", "--problem", "N=1"], "the problem has no"),
    ],
)
def test_what_does_not_go_together_is_an_error(words: list[str], said: str) -> None:
    found = run("enumerate", *WORDS, *words)
    assert found.exit_code == 2
    assert said in found.stderr


def test_a_terminal_gets_recommended_kernels_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emit, "is_terminal", lambda stream: True)
    words = ["enumerate", "--variant", "bwd_weight", "--arch", "gfx942", "--dtype", "fp16"]
    found = run(*words, "--fields", "name", "--wide")
    assert found.exit_code == 0, found.stderr
    assert "recommended kernels first (" in found.stderr
    first = run("enumerate", "--catalog", "recommended", *words[1:], "--format", "names", "-q")
    assert first.stdout.split()[0] in found.stdout
    spread = run(*words, "--spread", "2", "--fields", "name")
    assert "recommended" not in spread.stderr


def test_streams_stay_in_the_order_of_the_space() -> None:
    found = run("enumerate", *WORDS, "--limit", "3")
    given = {k: v for k, v in GIVEN.items() if k != "dtype"}
    region = select(BOOKS, given, FEW)
    assert found.stdout.split() == [format_name(region.space[i]) for i in range(3)]


def test_kinds_that_are_compared_apart_have_the_best_of_all_each() -> None:
    """The search of one kind begins with what was good in another: it finds no less for that."""
    given = {"variant": ("standard",), "arch": ("gfx942",), "dtype": ("fp16",)}
    where = "tile_n == 64 & tile_k == 64 & layout == 'rcr' & epilogue == 'default'"
    region = select(BOOKS, given, [f"{where} & tile_m <= 128 & num_wave_groups == 1"])
    total = region.space.count()
    some = best(region, BOOKS, 12, ranker=Ranker(False), sample=200)
    every = best(region, BOOKS, 12, ranker=Ranker(False), sample=10**9)
    assert some.looked_at < every.looked_at / 2 < total
    assert len({p["dtype_c"] for p in every.points}) > 3
    fastest = {str(r.point["dtype_c"]): r.microseconds for r in reversed(every.kernels)}
    found = {str(r.point["dtype_c"]): r.microseconds for r in reversed(some.kernels)}
    assert found == pytest.approx(fastest)


def test_a_search_says_what_it_has_found_and_is_stopped() -> None:
    region = select(BOOKS, GIVEN)
    heard: list[Best] = []
    found = best(
        region, BOOKS, 5, ranker=Ranker(False), sample=500, heard=heard.append,
        stopped=lambda: bool(heard),
    )  # fmt: skip
    assert len(heard) == 1
    assert len(heard[0].kernels) == len(found.kernels) == 5
    assert heard[0].looked_at == 500
    assert found.looked_at < 10_000
    assert found.kernels[0].microseconds <= heard[0].kernels[0].microseconds


def test_types_without_a_rate_are_left_out_where_others_have_one() -> None:
    tile = "tile_m == 64 & tile_n == 64 & tile_k == 64 & pipeline == 'compv3'"
    given = {"variant": ("standard",), "arch": ("gfx90a",), "layout": ("rcr",)}
    both = select(BOOKS, {**given, "dtype": ("fp8", "fp16"), "dtype_c": ("fp16",)}, (tile,))
    alone = select(BOOKS, {**given, "dtype": ("fp8",)}, (tile,))
    problem = problems_of("standard").parse("M=64,N=64,K=64")
    unknown = "no rate of matrix instructions is known for fp8"
    found = best(both, BOOKS, 2, problem)
    assert {p["dtype"] for p in found.points} == {"fp16"}
    assert f"; {unknown}" in found.source
    listed = best_of([*found.points, *alone.space.sample(1, seed=1)], BOOKS, 3, problem)
    assert {p["dtype"] for p in listed.points} == {"fp16"}
    assert f"; {unknown}" in listed.source
    for ask in (lambda: best(alone, BOOKS, 2, problem),
                lambda: best_of(alone.space.sample(2, seed=1), BOOKS, 2, problem)):  # fmt: skip
        with pytest.raises(UsageError, match=unknown):
            ask()
