"""Which part of the sum is missing: the error of some elements, taken apart by slices of K.

For a few wrong elements the products of the sum are made one by one. If the kernel left out some
slices of K, or added them twice, the error of every such element is the sum of its own products in
these slices, and least squares finds which.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.device.numbers import Floats
    from ckrules.device.problem import Problem
    from ckrules.device.tensors import Tensors
    from ckrules.device.tolerance import Comparison

_MOST_SLICES = 160
_SAMPLES = 5
"""Elements that are looked at for each slice."""
_CELLS = 8_000_000
"""Most products that are made."""


def blame(
    tensors: Tensors,
    config: Mapping[str, Any],
    comparison: Comparison,
    found: Floats,
    reference: Floats,
    sources: tuple[Floats, Floats],
) -> str | None:
    """Words for the slices of K that explain the wrong elements, or None.

    The arguments are those of `ckrules.device.patterns.classify`.
    """
    if tensors.variant == "forward_depthwise":
        return None
    places = np.argwhere(comparison.mask)
    depth = tensors.problem.gemm(tensors.variant)[2]
    slices = min(depth // int(config["tile_k"]) + 1, _MOST_SLICES)
    count = min(len(places), max(16, _SAMPLES * slices), max(8, _CELLS // depth))
    chosen = places[np.linspace(0, len(places) - 1, count).astype(int)]
    rows = [products(tensors, sources, tuple(int(i) for i in at)) for at in chosen]
    length = Counter(map(len, rows)).most_common(1)[0][0]
    keep = [i for i, row in enumerate(rows) if len(row) == length]
    matrix = np.stack([rows[i] for i in keep])
    at = tuple(chosen[keep].T)
    error = reference[at].astype(np.float64) - found[at]
    slack = comparison.tolerance.atol + comparison.tolerance.rtol * np.abs(reference[at])
    for what, labels in _partitions(tensors.problem, tensors.variant, config, length):
        words = _fit(what, labels, matrix, error, slack)
        if words:
            return words
    return None


def products(
    tensors: Tensors, sources: tuple[Floats, Floats], at: tuple[int, ...]
) -> NDArray[np.float64]:
    """The terms of one element's sum in the order of the GEMM's K."""
    p = tensors.problem
    given = dict(zip(tensors.sources, sources, strict=True))
    if tensors.result == "output":
        pair = _of_output(p, given["input"], given["weight"], at)
    elif tensors.result == "weight":
        pair = _of_weight(p, given["input"], given["output"], at)
    else:
        pair = _of_input(p, given["weight"], given["output"], at)
    terms: NDArray[np.float64] = pair[0].astype(np.float64) * pair[1]
    return terms


def _reads(p: Problem, out: tuple[int, ...], tap: tuple[int, ...]) -> tuple[int, ...] | None:
    """The place in the input that a tap of an output reads; None in the padding."""
    at = tuple(
        o * s + t * d - left
        for o, s, t, d, left in zip(out, p.stride, tap, p.dilation, p.left_pad, strict=True)
    )
    inside = all(0 <= q < size for q, size in zip(at, p.input, strict=True))
    return at if inside else None


def _each(sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, sizes))


def _of_output(p: Problem, x: Any, w: Any, at: tuple[int, ...]) -> tuple[Any, Any]:
    n, g, k, *out = at
    zero = np.zeros(p.in_channels // p.groups, x.dtype)
    a, b = [], []
    for tap in _each(p.filter):
        place = _reads(p, tuple(out), tap)
        a.append(zero if place is None else x[(n, g, slice(None), *place)])
        b.append(w[(g, k, slice(None), *tap)])
    return np.concatenate(a), np.concatenate(b)


def _of_weight(p: Problem, x: Any, dy: Any, at: tuple[int, ...]) -> tuple[Any, Any]:
    g, k, c, *tap = at
    index: list[Any] = []
    valid = []
    for i, t in enumerate(tap):
        places = np.arange(p.output[i]) * p.stride[i] + t * p.dilation[i] - p.left_pad[i]
        inside = (places >= 0) & (places < p.input[i])
        valid.append(inside)
        index.append(np.where(inside, places, 0))
    grid = np.ix_(*index)
    mask = np.ones(p.output, bool)
    for i, inside in enumerate(valid):
        mask &= inside.reshape([-1 if j == i else 1 for j in range(p.ndim)])
    read = x[:, g, c][(slice(None), *grid)] * mask
    return read.ravel(), dy[:, g, k].ravel()


def _of_input(p: Problem, w: Any, dy: Any, at: tuple[int, ...]) -> tuple[Any, Any]:
    n, g, c, *image = at
    zero = np.zeros(p.out_channels // p.groups, dy.dtype)
    a, b = [zero[:0]], [zero[:0]]
    for tap in _each(p.filter):
        steps = [
            i + left - t * d
            for i, left, t, d in zip(image, p.left_pad, tap, p.dilation, strict=True)
        ]
        if any(step % s for step, s in zip(steps, p.stride, strict=True)):
            continue  # the tap belongs to another sub-GEMM
        out = tuple(step // s for step, s in zip(steps, p.stride, strict=True))
        inside = all(0 <= o < size for o, size in zip(out, p.output, strict=True))
        a.append(dy[(n, g, slice(None), *out)] if inside else zero)
        b.append(w[(g, slice(None), c, *tap)])
    return np.concatenate(a), np.concatenate(b)


def _partitions(
    p: Problem, variant: str, config: Mapping[str, Any], depth: int
) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Ways to divide the sum: the parts of split-K, the K tiles, the waves along K."""
    at = np.arange(depth)
    tile, waves = int(config["tile_k"]), int(config["wave_k"])
    if variant == "bwd_weight" and p.split_k > 1:
        part = math.ceil(depth / (p.split_k * tile)) * tile
        yield "split-K part", at // part
    yield "K tile", at // tile
    if waves > 1:
        yield "wave along K", at % tile // (tile // waves)


def _fit(what: str, labels: Any, matrix: Any, error: Any, slack: Any) -> str | None:
    count = int(labels.max()) + 1 if len(labels) else 0
    if not 1 < count <= _MOST_SLICES or len(error) < min(2 * count, 8):
        return None
    sums = np.stack([matrix[:, labels == i].sum(axis=1) for i in range(count)], axis=1)
    for weights in _candidates(sums, error):
        if weights.any() and (np.abs(error - sums @ weights) <= 2 * slack).mean() > 0.9:
            return _words(what, weights, count)
    return None


def _candidates(sums: Any, error: Any) -> Iterator[Any]:
    """How often each slice may be missing: least squares, then each slice alone."""
    if len(error) >= 2 * sums.shape[1]:
        solved = np.linalg.lstsq(sums, error, rcond=None)[0]
        whole = np.rint(solved)
        if np.abs(whole).max() <= 1 and len(np.unique(whole)) > 1:
            yield whole
    fit = np.abs(error[:, None] - sums).sum(axis=0)
    yield np.eye(sums.shape[1])[int(fit.argmin())]


def _words(what: str, weights: Any, count: int) -> str:
    said = []
    for sign, verb in ((1, "missing"), (-1, "added twice")):
        slices = np.flatnonzero(weights == sign)
        if len(slices):
            name = "last" if list(slices) == [count - 1] else "first"
            if list(slices) in ([0], [count - 1]):
                said.append(f"{name} {what} {verb}")
            else:
                shown = ", ".join(map(str, slices[:6])) + (", …" if len(slices) > 6 else "")
                said.append(f"{what}{'s' * (len(slices) > 1)} {shown} of {count} {verb}")
    return " and ".join(said)
