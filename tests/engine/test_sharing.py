"""Spaces go to other processes and threads: small, whole, and with the same answers."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ckrules
from ckrules.adapters.kernel_tuner import space_of
from ckrules.engine.expr.variables import Enum, Int
from ckrules.engine.slices import SpaceSlice
from ckrules.engine.space import Space


def _dense() -> Space:
    m, w = Int("m", [16, 32, 64]), Int("w", [1, 2, 4])
    return Space([m, w], [m % (w * 16) == 0])


def _layered() -> Space:
    xs = [Int(f"x{i}", range(1, 21)) for i in range(6)]
    return Space([*xs, Enum("e", ["a", "b"])], [xs[i] % xs[i + 1] == 0 for i in range(5)])


def _conv() -> Space:
    return ckrules.kernel_space("forward_depthwise", "gfx942", dtype="fp16")


def _restrictions() -> Space:
    return space_of({"a": [1, 2, 4], "b": [1, 2, 3]}, ["a * b <= 8"])


MAKERS: list[Callable[[], Space]] = [_dense, _layered, _conv, _restrictions]


def _first(source: Space | SpaceSlice) -> tuple[int, list[Any]]:
    """What a worker answers about a space or a shard."""
    count = source.count() if isinstance(source, Space) else len(source)
    return count, [source[i] for i in range(min(count, 3))]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache directory of its own, which worker processes share."""
    monkeypatch.setenv("CKRULES_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize("make", MAKERS)
def test_a_used_space_pickles_as_small_as_a_fresh_one(make: Callable[[], Space]) -> None:
    """What was compiled is left out, whatever was asked before."""
    fresh, space = make(), make()
    size = len(pickle.dumps(fresh))
    space.sample(3, seed=1)
    space.counts_by(space.names[0])
    assert space[0] in space
    again = pickle.loads(pickle.dumps(space))

    assert len(pickle.dumps(space)) < size + 1000
    assert "_compiled" not in again.__dict__
    assert (again.order, again.count(), again[1]) == (space.order, space.count(), space[1])
    assert again.sample(5, seed=2) == space.sample(5, seed=2)


@pytest.mark.parametrize("make", MAKERS)
def test_shards_slices_and_parts_pickle(make: Callable[[], Space]) -> None:
    """Everything that is made of a space goes where the space goes, in the same order."""
    space = make()
    name = space.names[0]
    part = space.bind(**{name: space.domains[name][:2]}).where("true")
    part.count()
    parts: list[Any] = [space.shard(1, 3), space[4:1:-1], part]
    size = len(pickle.dumps(make()))
    for one in parts:
        text = pickle.dumps(one)
        assert len(text) < size + 2000
        assert _first(pickle.loads(text)) == _first(one)
    assert list(pickle.loads(pickle.dumps(parts[1]))) == list(parts[1])


def test_copies_are_the_space_itself() -> None:
    space = _dense()
    space.count()
    assert copy.copy(space) is space
    assert copy.deepcopy({"space": space})["space"] is space
    shard = copy.deepcopy(space.shard(0, 2))
    assert list(shard) == list(space.shard(0, 2))


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_pools_of_processes(start: str) -> None:
    """Workers get compiled spaces and shards, and answer as this process does."""
    space = _layered()
    items: list[Any] = [space, *(space.shard(i, 3) for i in range(3))]
    expected = [_first(item) for item in items]
    with multiprocessing.get_context(start).Pool(2) as pool:
        assert pool.map(_first, items) == expected


def test_executors() -> None:
    space = _restrictions()
    items: list[Any] = [space, space.shard(0, 2), space.shard(1, 2)]
    expected = [_first(item) for item in items]
    with ProcessPoolExecutor(2) as processes:
        assert list(processes.map(_first, items)) == expected
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(_first, items * 8)) == expected * 8


def test_threads_ask_one_fresh_space() -> None:
    space = _layered()
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda i: space[i], range(64)))
    assert found == [space[i] for i in range(64)]
