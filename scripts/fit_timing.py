"""Looks for better constants of the estimates of times, by random steps from the present ones.

    python scripts/fit_timing.py MEASUREMENTS [STEPS]

Prints the constants with the figures of picks before and after. What counts is the efficiency of
picks that are drawn by how fast kernels are estimated (so that it is smooth), and a little the
error of the times themselves. Nothing is written: constants go into
constraints/tile_gemm/device/terms.py rounded, since a data sheet's accuracy is not reached.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np

from ckrules.constraints.conv.device.timing import work
from ckrules.constraints.tile_gemm.device import timing
from ckrules.constraints.tile_gemm.device.terms import Constants
from ckrules.kernels.books import Books
from ckrules.ranking.evaluation import figures, judge
from ckrules.ranking.measurements import read
from ckrules.ranking.training import Samples

SOFT = 0.05


def times(samples: Samples, constants: Constants) -> list[np.ndarray]:
    """The estimated microseconds of every problem's kernels."""
    return [
        timing.estimate(
            t.columns, work(t.columns, m.problem), t.gpu, t.product, constants
        ).microseconds
        for m, t in zip(samples.measured, samples.tables, strict=True)
    ]  # fmt: skip


def loss(samples: Samples, constants: Constants) -> float:
    """Small for good picks and small errors."""
    total = 0.0
    for m, found in zip(samples.measured, times(samples, constants), strict=True):
        measured, logs = np.asarray(m.microseconds), np.log(found)
        weights = np.exp(-(logs - logs.min()) / SOFT)
        total += 1 - float((weights * measured.min() / measured).sum() / weights.sum())
        total += 0.02 * float(np.abs(logs - np.log(measured)).mean())
    return total / len(samples)


def main() -> None:
    """Searches and prints."""
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    books = Books("2026.06")
    samples = Samples.of(read(sys.argv[1], books), books)
    best, rng = Constants(), np.random.default_rng(1)
    least = loss(samples, best)
    show(samples, best, least)
    for _ in range(steps):
        now: Mapping[str, float] = asdict(best)
        name = str(rng.choice(list(now)))
        tried = replace(best, **{name: now[name] * float(np.exp(rng.normal(0, 0.2)))})
        if (found := loss(samples, tried)) < least:
            best, least = tried, found
    show(samples, best, least)


def show(samples: Samples, constants: Constants, found: float) -> None:
    """The constants, and how good picks are."""
    picks = (
        judge(t, m.microseconds)
        for m, t in zip(samples.measured, times(samples, constants), strict=True)
    )
    print(f"loss {found:.4f}, {figures(picks)}")
    print({k: float(f"{v:.3g}") for k, v in asdict(constants).items()})


if __name__ == "__main__":
    main()
