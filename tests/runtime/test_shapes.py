"""Ever new shapes: what a dispatcher remembers is bounded, and what it knows of kernels is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckrules.compiling.folder import manifests
from ckrules.constraints import book
from ckrules.device.prediction import WrongSums, _judge, predict
from ckrules.kernels.families import problems_of
from ckrules.ranking.kernels import KernelTable
from ckrules.runtime import Source, dispatcher
from ckrules.runtime.dispatcher import Dispatcher
from ckrules.runtime.measured import Timings
from ckrules.support.recent import Recent
from tests.runtime.doubles import CONV, GEMM, OPENER, AnyDevice, folder
from tests.runtime.test_dispatcher import arrays

TILES = {"small": 64, "large": 256}
KERNELS = {name: {**GEMM, "tile_m": m, "tile_n": m} for name, m in TILES.items()}


def shape(m: int) -> str:
    return f"M={m},N=64,K=64"


def kept(found: Any, of: type) -> list[int]:
    """The sizes of an object's members of a type."""
    return [len(v) for v in vars(found).values() if isinstance(v, of)]


def test_memories_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the dispatcher and of the engine below it; what was forgotten is chosen again."""
    monkeypatch.setattr(dispatcher, "KEPT", 8)
    with Dispatcher(folder(tmp_path, **KERNELS), device=AnyDevice(), opener=OPENER) as d:
        first = d.select(shape(1), "standard")
        for m in range(1, 40):
            d.run(shape(m), *arrays(d.select(shape(m), "standard")), variant="standard")
        assert kept(d, Recent) == [8, 8]
        assert max(kept(d, dict)) == 8
        assert d.select(shape(1), "standard") == first
        engine: Any = d._engine
        assert {v.most for v in vars(engine).values() if isinstance(v, Recent)} == {256, 4096}


def test_kernels_are_tabulated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    usual = KernelTable.of_points
    monkeypatch.setattr(
        KernelTable, "of_points", lambda *given: made.append(given) or usual(*given)
    )
    with Dispatcher(folder(tmp_path, **KERNELS), device=AnyDevice(), opener=OPENER) as d:
        chosen = [d.select(shape(16 * m), "standard") for m in range(1, 30)]
    assert {c.source for c in chosen} == {Source.ESTIMATE}
    assert {c.candidates for c in chosen} == {2}
    assert len(made) == 1


def test_times_that_others_store_are_seen_for_new_shapes(tmp_path: Path) -> None:
    """Without `refresh`: the database is looked at where its files have changed."""
    place = folder(tmp_path, small=KERNELS["small"])
    with (
        Dispatcher(place, device=AnyDevice(), opener=OPENER) as d,
        Dispatcher(place, device=AnyDevice(), opener=OPENER, record=True) as other,
    ):
        assert d.select(shape(8), "standard").source is Source.ESTIMATE
        for m in (16, 24):
            given = arrays(other.select(shape(m), "standard"))
            other.run(shape(m), *given, variant="standard")
            assert other.select(shape(m), "standard").source is Source.MEASURED
            assert d.select(shape(m), "standard").source is Source.MEASURED
        with Timings(d.results, reading=True) as timings:
            assert {r["problem"] for r in timings.records()} == {shape(16), shape(24)}


WHOLE = dict(book("forward").vocabulary.baseline)
SHARED = ("M=64,N=64,K=64", "M=1,N=8,K=8,k_batch=4", "M=100,N=72,K=200,k_batch=3", "M=9,N=9,K=9")
IMAGES = ("N=2,C=16,K=32,H=7,W=6,Y=3,X=3,pad=1", "N=1,C=8,K=8,H=5,W=5,Y=1,X=1,split_k=4")


@pytest.mark.parametrize(
    ("config", "texts"),
    [
        *(({**GEMM, "pipeline": p, "tile_k": k}, SHARED)
          for p in ("compv3", "compv4", "mem", "compv6") for k in (32, 128)),
        *(({**GEMM, "variant": v}, SHARED) for v in ("stream_k", "batched")),
        *(({**WHOLE, "variant": v, "pipeline": p}, IMAGES)
          for v in ("forward", "bwd_weight") for p in ("compv3", "compv4", "basic_v1")),
        (CONV, IMAGES),
        ({**GEMM, "arch": "gfx9999"}, SHARED),
    ],
)  # fmt: skip
def test_what_is_decided_once_is_what_rules_say(
    tmp_path: Path, config: dict[str, Any], texts: tuple[str, ...]
) -> None:
    """Conditions that a kernel decides say of each problem what the whole rules say."""
    (entry,) = manifests(folder(tmp_path, k=config))
    found = WrongSums(entry)
    for text in texts:
        problem = problems_of(config["variant"]).parse(text)
        _judge.cache_clear()  # the first points are judged in another way than those after them
        known = predict(entry, problem)
        assert known is not None
        assert found(problem) == known.wrong
