"""What the estimated times of kernels follow from, as rows of ``ckrules_speed`` in C++."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import exp, inf, isfinite, log
from typing import TYPE_CHECKING, Any

from ckrules.arch import load
from ckrules.kernels.books import Books
from ckrules.kernels.families import family_of
from ckrules.output.columns import Columns
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.arch.performance import GpuProduct
    from ckrules.compiling.manifest import ManifestEntry
    from ckrules.kernels.timing import Timing

MEMBERS = (
    *("units", "clock_mhz", "memory", "launch", "staggered", "tile_m", "tile_n", "tile_k"),
    *("resident", "idle", "matrix", "vector", "lds", "l2", "loads", "slower", "wait", "overlaps"),
    *("first", "last"),
    *("bytes_a", "bytes_b", "bytes_c", "ds", "two_stage", "peak", "bandwidth", "cache"),
)
"""The members of ``ckrules_speed``, in its order."""


@dataclass(frozen=True)
class _Timed:
    """A kernel whose times something is known of."""

    timing: Timing
    point: Mapping[str, Any]
    columns: Mapping[str, Any]
    gpu: Gpu
    product: GpuProduct


def _timed(kernel: ManifestEntry) -> _Timed | None:
    variant, gpu = str(kernel.config["variant"]), load(kernel.arch)
    timing = family_of(variant).timing
    if timing is None or gpu.performance is None:
        return None
    usual = family_of(variant).defaults(variant, kernel.config.get("ndim"))
    point = {**usual, **kernel.config, "arch": kernel.arch}
    columns = _columns(variant, kernel.ck).of_points([point])
    return _Timed(timing, point, columns, gpu, gpu.performance.product())


def row(kernel: ManifestEntry) -> str | None:
    """A kernel's row; None where nothing is known of the times of such kernels."""
    known = _timed(kernel)
    if known is None:
        return None
    return numbers(known.timing, known.columns, known.gpu, known.product)


def numbers(
    timing: Timing, columns: Mapping[str, Any], gpu: Gpu, product: GpuProduct
) -> str | None:
    """The row of the first of these kernels; None where nothing is known of its times."""
    try:
        found = timing.compiled(columns, gpu, product)
    except UsageError:  # no rate is known of the dtype
        return None
    values = [float(found[name][0]) for name in MEMBERS]
    return f"{{{', '.join(map(repr, values))}}}" if all(map(isfinite, values)) else None


def typical(kernel: ManifestEntry) -> float:
    """The geometric mean of a kernel's estimates on usual problems of its kind, in microseconds.

    Infinite where there is none.
    """
    known = _timed(kernel)
    if known is None:
        return inf
    try:
        problems = known.timing.usual({name: [value] for name, value in known.point.items()})
        estimates = (
            known.timing.estimate(known.columns, p, known.gpu, known.product) for p in problems
        )
        times = [e.microseconds[0] for e in estimates]
    except UsageError:  # no rate is known of the dtype, or there is no usual problem
        return inf
    return float(exp(sum(map(log, times)) / len(times))) if times else inf


def copying(arch: str) -> float:
    """Bytes that a GPU's memory moves in a microsecond; 0 where nothing is known."""
    speeds = load(arch).performance
    return speeds.product().memory_gbs * 1e3 if speeds is not None else 0.0


@cache
def _columns(variant: str, ck: str) -> Columns:
    timing = family_of(variant).timing
    assert timing is not None
    return Columns(Books(ck).of(variant), timing.quantities)
