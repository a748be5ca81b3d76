"""What a choice is made from: recorded times, the model, estimates, or nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckrules.compiling.database import FILE
from ckrules.compiling.folder import manifests
from ckrules.constraints import book
from ckrules.device.interface import DeviceInfo
from ckrules.device.jobs import RunOutcome, RunStatus
from ckrules.device.store import Runs, StoredRun
from ckrules.kernels.families import problems_of
from ckrules.runtime import Source
from ckrules.runtime.measured import Timings
from tests.runtime.doubles import CONV, GEMM, AnyDevice, folder
from tests.runtime.test_dispatcher import arrays, dispatcher

TEXT = "N=32,C=64,K=64,H=56,W=56,Y=3,X=3,pad=1"
WHOLE = dict(book("forward").vocabulary.baseline)
SMALL = {**WHOLE, "tile_m": 64, "tile_n": 64, "tile_k": 64, "wave_m": 2, "wave_n": 2,
         "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16}  # fmt: skip


def kernels(place: Path, **changes: Any) -> Path:
    both = {"whole": {**WHOLE, **changes}, "small": {**SMALL, **changes}}
    return folder(place, **both)


def stored(place: Path, name: str, status: RunStatus, milliseconds: float | None = None) -> None:
    """A row as `ckrules validate` writes it."""
    (kernel,) = (k for k in manifests(place) if k.name == name)
    info = DeviceInfo(0, "a GPU", kernel.arch)
    outcome = RunOutcome(status, time_ms=milliseconds)
    with Runs(place / FILE) as runs:
        problem = problems_of("forward").parse(TEXT)
        runs.put(StoredRun(kernel, problem, outcome, "hip", info, True, None, 3, 10))


def test_estimates_choose_where_nothing_was_measured(tmp_path: Path) -> None:
    with dispatcher(kernels(tmp_path, arch="gfx942", dtype="fp16")) as d:
        choice = d.select(TEXT)
        assert choice.source is Source.ESTIMATE
        assert choice.microseconds is not None
        assert choice.candidates == 2
        assert str(choice).startswith(f"{choice.kernel.name} (estimate, ")
        odd = d.select(TEXT.replace("K=64", "K=63"))
        assert odd.padded
        assert odd.microseconds is not None
        assert odd.microseconds > choice.microseconds  # the same kernel time, and copies
        assert " on N=32,G=1,C=64,K=64" in str(odd)


def test_the_model_speaks_where_there_is_one(tmp_path: Path) -> None:
    with dispatcher(kernels(tmp_path, arch="gfx950", dtype="bf16", pipeline="compv3")) as d:
        assert d.select(TEXT).source is Source.MODEL
    with dispatcher(tmp_path, model=False) as d:
        assert d.select(TEXT).source is Source.ESTIMATE


def test_validated_times_come_first(tmp_path: Path) -> None:
    place = kernels(tmp_path, arch="gfx942", dtype="fp16")
    stored(place, "small", RunStatus.OK, 0.001)
    with dispatcher(place) as d:
        choice = d.select(TEXT)
        assert (choice.kernel.name, choice.source) == ("small", Source.MEASURED)
        assert choice.microseconds == pytest.approx(1.0)
        assert d.select(TEXT.replace("N=32", "N=16")).source is Source.ESTIMATE
    stored(place, "whole", RunStatus.OK, 0.0005)
    with dispatcher(place) as d:
        assert d.select(TEXT).kernel.name == "whole"


def test_what_was_seen_to_compute_wrong_is_not_chosen(tmp_path: Path) -> None:
    place = kernels(tmp_path, arch="gfx942", dtype="fp16")
    stored(place, "small", RunStatus.OK, 1.0)
    stored(place, "whole", RunStatus.WRONG)
    with dispatcher(place) as d:
        choice = d.select(TEXT)
        assert (choice.kernel.name, choice.candidates) == ("small", 1)


def test_runs_that_are_recorded_are_learned_from(tmp_path: Path) -> None:
    """The mean of the launches, in the place of the estimate."""
    place = kernels(tmp_path, arch="gfx942", dtype="fp16")
    text = "N=1,C=64,K=64,H=5,W=5,Y=3,X=3"
    device = AnyDevice()
    with dispatcher(place, device, record=True) as d:
        first = d.select(text)
        given = arrays(first)
        d.run(text, *given)
        with Timings(place / FILE, reading=True) as timings:
            (row,) = timings.records()
        assert (row["name"], row["launches"], row["latency_ms"]) == (first.kernel.name, 1, 0.5)
        assert (row["problem"], row["device_name"]) == (str(first.problem), device.info.name)
        # 500 us are more than the other kernel is estimated to take.
        second = d.select(text)
        assert second.kernel.name != first.kernel.name
        d.run(text, *given)
        third = d.select(text)
        assert third.source is Source.MEASURED
        d.run(text, *given)
        d.run(text, *given, record=False)
        with Timings(place / FILE, reading=True) as timings:
            assert sorted(r["launches"] for r in timings.records()) == [1, 2]
    with dispatcher(place) as d:  # another process would see the same
        assert d.select(text).source is Source.MEASURED


def test_a_device_without_a_clock_records_nothing(tmp_path: Path) -> None:
    device = AnyDevice()
    device.info = replace(device.info, has_clock=False)
    place = folder(tmp_path, k=CONV)
    with dispatcher(place, device, record=True) as d:
        text = "N=1,C=8,K=8,H=5,W=5,Y=3,X=3"
        d.run(text, *arrays(d.select(text)))
    assert not (place / FILE).exists()


def test_products_are_estimated(tmp_path: Path) -> None:
    """From the facts of the GPU; of kernels that are alike the first is taken."""
    with dispatcher(folder(tmp_path, b=GEMM, a=GEMM)) as d:
        choice = d.select("M=64,N=64,K=64")
        assert (choice.kernel.name, choice.source) == ("b", Source.ESTIMATE)
        assert str(choice).startswith("b (estimate")
