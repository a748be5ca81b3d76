"""Weights of registers say what the compiler allocates for kernels that they were not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from scripts import fit_vgprs
from scripts.fit_vgprs import Sample

pytestmark = pytest.mark.whole


@cache
def _rows() -> tuple[Sample, ...]:
    return tuple(fit_vgprs.samples())


def _fitted() -> list[Sample]:
    return [r for r in _rows() if not r.held]


def _off(rows: Sequence[Sample], said: Sequence[float]) -> fit_vgprs.Floats:
    return np.array([abs(v / r.found - 1) for r, v in zip(rows, said, strict=True)])


def test_the_book_has_the_fitted_weights() -> None:
    found = dict(zip(fit_vgprs.WEIGHTS, fit_vgprs.fit(_fitted()), strict=True))
    for name, weight in found.items():
        assert abs(fit_vgprs.UNIT * weight - abs(fit_vgprs.WEIGHTS[name])) <= 1, name


@pytest.mark.parametrize("apart", [False, True])
def test_kernels_left_out_are_foretold(apart: bool) -> None:
    """In ten folds, and where all kernels of a family on a GPU are left out."""
    rows = _fitted()
    said = fit_vgprs.crossed(rows, [r.kind for r in rows] if apart else None)
    off = _off(rows, said)
    assert len(rows) >= 1219
    assert np.median(off) <= 0.075
    assert np.mean(off <= 0.25) >= 0.885
    small = np.array([r.accumulators <= 16 for r in rows])
    ratio = np.array([v / r.found for r, v in zip(rows, said, strict=True)])
    assert np.median(ratio[small]) >= 0.97
    assert np.median(ratio[~small]) >= 0.97


@pytest.mark.parametrize("apart", [False, True])
def test_spilling_of_kernels_left_out_is_foretold(apart: bool) -> None:
    rows = _fitted()
    said = fit_vgprs.crossed(rows, [r.kind for r in rows] if apart else None)
    known = [
        (v >= r.bound, r.spills > 0)
        for r, v in zip(rows, said, strict=True)
        if r.spills is not None
    ]
    both = sum(s and f for s, f in known)
    assert both / sum(f for _, f in known) >= 0.84
    assert both / sum(s for s, _ in known) >= 0.87


def test_sizes_are_of_warp_tiles_that_a_wave_computes() -> None:
    rows = _rows()
    assert {r.size for r in rows} == set(fit_vgprs.SIZES)
    for row in rows:
        p = row.point
        waves = p["wave_m"] * p["wave_n"] * p["wave_k"]
        volume = p["warp_tile_m"] * p["warp_tile_n"] * p["warp_tile_k"]
        small = p["tile_m"] * p["tile_n"] * p["tile_k"] <= 2 * waves * volume
        assert small == (row.size == "1 or 2"), p


def test_small_tiles_left_out_are_foretold() -> None:
    """In ten folds: neither too high nor too low in the median, five of six within a quarter."""
    rows = _fitted()
    small = [
        (v, r) for v, r in zip(fit_vgprs.crossed(rows), rows, strict=True) if r.size == "1 or 2"
    ]
    ratio = np.array([v / r.found for v, r in small])
    assert len(small) >= 300
    assert 0.95 <= np.median(ratio) <= 1.05
    assert np.mean(np.abs(ratio - 1) <= 0.25) >= 0.83


def test_another_compiler_takes_fewer_registers_of_the_same_kernels() -> None:
    pairs = fit_vgprs.compiled_twice()
    assert len(pairs) >= 24
    assert len({p.arch for p in pairs}) >= 4
    assert 0.9 <= np.median([p.again / p.usual for p in pairs]) <= 0.98


def test_the_lines_that_came_later_are_foretold() -> None:
    fresh = [r for r in _rows() if r.held]
    off = _off(fresh, [r.vgprs for r in fresh])
    assert len(fresh) >= 74
    assert np.median(off) <= 0.02
    assert np.mean(off <= 0.25) >= 0.92
