"""The real packages take what the adapters give them: Kernel Tuner, Optuna, pandas."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import optuna
import pytest

from ckrules.adapters import searchspace
from ckrules.adapters.kernel_tuner import space_of
from ckrules.adapters.optuna_sampler import LegalSampler, suggest
from ckrules.adapters.searchspace import searchspace_of
from ckrules.engine.expr.variables import Enum, Int
from ckrules.engine.space import Space
from ckrules.support.errors import UsageError

PARAMS: dict[str, list[Any]] = {
    "block_size_x": [32, 64, 128, 256], "block_size_y": [1, 2, 4, 8],
    "tile": [1, 2, 3, 4], "mode": ["fast", "small"],
}  # fmt: skip
RESTRICTIONS = ["64 <= block_size_x * block_size_y <= 512", "tile % block_size_y == 0 or tile > 2"]
METHODS = ["Hamming", "Hamming-adjacent", "strictly-adjacent", "adjacent"]


def _kernel_tuners() -> Any:
    from kernel_tuner.searchspace import Searchspace  # takes seconds, with torch

    return Searchspace(PARAMS, RESTRICTIONS, max_threads=1024)


def test_kernel_tuner_lists_the_same_points() -> None:
    theirs, ours = _kernel_tuners(), space_of(PARAMS, RESTRICTIONS)
    assert sorted(theirs.list) == sorted(ours.to_tuples())


@pytest.mark.parametrize("method", METHODS)
def test_kernel_tuner_finds_the_same_neighbors(method: str) -> None:
    """Its own method on its own space, on the adapter's, and `Space.neighbors` agree."""
    theirs, space = _kernel_tuners(), space_of(PARAMS, RESTRICTIONS)
    filled = searchspace_of(space, neighbor_method=method)
    for own in theirs.list[:: max(1, theirs.size // 12)]:
        point = dict(zip(PARAMS, own, strict=True))
        found = sorted(tuple(p.values()) for p in space.neighbors(point, method))
        for one in (theirs, filled):
            listed = {tuple(p) for p in one.get_neighbors(own, neighbor_method=method)}
            assert sorted(listed - {own}) == found


def test_the_searchspace_answers_as_kernel_tuners_own() -> None:
    filled = searchspace_of(space_of(PARAMS, RESTRICTIONS))
    theirs = _kernel_tuners()
    assert (filled.size, sorted(filled.list)) == (theirs.size, sorted(theirs.list))
    assert all(filled.is_param_config_valid(tuple(p)) for p in theirs.get_random_sample(20))
    assert not filled.is_param_config_valid((32, 1, 1, "fast"))
    assert len(filled.get_random_sample(5)) == 5
    assert filled.get_param_indices(theirs.list[3]) == theirs.get_param_indices(theirs.list[3])


def test_searchspaces_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searchspace, "MOST", 10)
    with pytest.raises(UsageError, match="bind variables or add conditions"):
        searchspace_of(space_of(PARAMS))
    monkeypatch.setitem(sys.modules, "kernel_tuner.searchspace", None)
    with pytest.raises(UsageError, match="pip install kernel-tuner"):
        searchspace_of(space_of({"a": [1]}))


def _study(space: Space, direction: str, trials: int) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=LegalSampler(space, seed=3), direction=direction)  # type: ignore[arg-type]

    def objective(trial: optuna.Trial) -> float:
        point = suggest(trial, space)
        assert point in space
        return float(point["block_size_x"] * point["tile"] - point["block_size_y"])

    study.optimize(objective, n_trials=trials)
    return study


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_optuna_tries_legal_points_only(direction: str) -> None:
    space = space_of(PARAMS, RESTRICTIONS)
    study = _study(space, direction, 40)
    tried = [tuple(t.params[n] for n in PARAMS) for t in study.trials]
    assert len(set(tried)) == 40
    values = sorted(p["block_size_x"] * p["tile"] - p["block_size_y"] for p in space)
    assert study.best_value in (values[:3] if direction == "minimize" else values[-3:])
    again = _study(space, direction, 40)
    assert [t.params for t in again.trials] == [t.params for t in study.trials]


def test_optuna_samples_a_whole_space_and_beyond() -> None:
    space = space_of({"block_size_x": [1, 2], "block_size_y": [0], "tile": [5]})
    assert len(_study(space, "minimize", 4).trials) == 4
    with pytest.raises(UsageError, match="no points"):
        LegalSampler(space.where("tile > 9"))
    sampler = LegalSampler(space, seed=np.int64(1))  # type: ignore[arg-type]
    study = optuna.create_study(sampler=sampler)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="unroll is not a variable of the space"):
        study.optimize(lambda trial: trial.suggest_int("unroll", 1, 4), n_trials=1)


def test_pandas_gets_the_points() -> None:
    space = Space([Int("m", [16, 32]), Enum("p", ["mem", "compv3"])])
    frame = space.to_pandas()
    assert frame.to_dict("records") == list(space)
    assert str(frame["p"].dtype) == "category"
    assert space[1:3].to_pandas()["m"].tolist() == [p["m"] for p in space[1:3]]


@pytest.mark.parametrize(
    ("given", "restrictions", "said"),
    [
        (None, None, "tune_params = None: expected a mapping"),
        ({"a": 5}, None, "a = 5: expected a list"),
        ({"a": None}, None, "a = None: expected a list"),
        ({"a": [1]}, 5, "restrictions = 5: expected a list"),
    ],
)
def test_what_are_no_parameters_is_said(given: Any, restrictions: Any, said: str) -> None:
    with pytest.raises(UsageError, match=f"^{said}$"):
        space_of(given, restrictions)


def test_a_word_is_one_value_and_not_its_letters() -> None:
    assert list(space_of({"order": "rcr"})) == [{"order": "rcr"}]


@pytest.mark.parametrize(
    ("restriction", "count"),
    [
        (lambda block: block[0] * block[1] >= 256, 4),
        (lambda block: block.count(16) == 2, 2),
        (lambda word: word[0] == "x", 3),
        (lambda word: word.startswith("x"), 3),
        (lambda word: word["word"] == "xa", 3),
        (lambda p: p["block"][0] * p["block"][1] >= 256, 4),
    ],
)
def test_an_argument_that_is_indexed_is_a_parameter(restriction: Any, count: int) -> None:
    """A parameter of tuples was taken for the dictionary, and no point was left."""
    given = {"block": [(16, 16), (32, 8), (8, 8)], "word": ["xa", "yb"]}
    assert space_of(given, [restriction]).count() == count


def test_where_an_assertion_fails_nothing_holds() -> None:
    def fits(p: dict[str, Any]) -> bool:
        assert p["a"] > 1
        return True

    assert space_of({"a": [1, 2, 3]}, [fits]).to_tuples() == [(2,), (3,)]


@pytest.mark.parametrize("values", [[None, 1, 2], [1, None, 2], [1, 2, None], [None]])
def test_pandas_gets_labels_and_none(values: list[Any]) -> None:
    space = space_of({"n": values, "w": ["a", "b"]})
    shown = [None if n is None else str(n) for n, _ in space.to_tuples()]
    assert space.to_arrow()["n"].to_pylist() == shown
    frame = space.to_pandas()
    assert [n if isinstance(n, str) else None for n in frame["n"]] == shown


def test_a_label_is_no_word_of_a_condition() -> None:
    space = space_of({"block": [(16, 16), (32, 8)], "mixed": [1, "a"]})
    with pytest.raises(UsageError, match="no value of `block` is a word"):
        space.where("block == '(16, 16)'")
    with pytest.raises(UsageError, match="unknown value of mixed '1': known are a"):
        space.where("mixed == '1'")


MIXED: list[list[Any]] = [
    [True, 2, 3], [None, 0, 1, 2], ["a", 0, 1, 3], [(1, 2), 3, 4], [None, True, False],
    [0.5, "x", 2],
]  # fmt: skip


@pytest.mark.parametrize("values", MIXED)
def test_mixed_values_are_told_apart(values: list[Any]) -> None:
    """Numbers and Booleans of such a parameter were columns of numbers, and tables had words."""
    for wanted in values:
        space = space_of(
            {"n": values, "m": [8, 9]}, [lambda p, w=wanted: p["n"] == w or p["m"] > 8]
        )
        for some in (values[1:], values[:1], values[-1:], values):
            points = [(n, m) for n in some for m in (8, 9) if n == wanted or m > 8]
            for part in (space.bind(n=some), space_of({"n": values, "m": [8, 9]}).bind(n=some)):
                asked = part if part.rules else part.where(space.rules[0].condition)
                assert (asked.to_tuples(), asked.count()) == (points, len(points))
            rows = space.contains_columns({"n": some, "m": [8] * len(some)})
            assert rows.tolist() == [n == wanted for n in some]
        for n in values:
            broken = space.violations({"n": n, "m": 8})
            assert len(broken) == (n != wanted)


def test_messages_show_the_value_none() -> None:
    """They said "only 1 and 2, not a", as if the variable had no value."""
    (found,) = space_of({"a": [None, 1, 2]}, ["a is not None"]).violations({"a": None})
    assert found.message.endswith(": only 1 and 2, not a = None")
