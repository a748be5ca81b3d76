"""The products of one element's sum, in the order in which a GEMM kernel goes through K."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.constraints.conv.problem import Convolution


def products(
    p: Convolution, result: str, data: Mapping[str, NDArray[Any]], at: tuple[int, ...]
) -> NDArray[np.float64]:
    """The terms of the sum of the element ``at`` of the tensor that is called ``result``."""
    if result == "output":
        pair = _of_output(p, data["input"], data["weight"], at)
    elif result == "weight":
        pair = _of_weight(p, data["input"], data["output"], at)
    else:
        pair = _of_input(p, data["weight"], data["output"], at)
    terms: NDArray[np.float64] = pair[0].astype(np.float64) * pair[1]
    return terms


def _reads(p: Convolution, out: tuple[int, ...], tap: tuple[int, ...]) -> tuple[int, ...] | None:
    """The place in the input that a tap of an output reads; None in the padding."""
    at = tuple(
        o * s + t * d - left
        for o, s, t, d, left in zip(out, p.stride, tap, p.dilation, p.left_pad, strict=True)
    )
    inside = all(0 <= q < size for q, size in zip(at, p.input, strict=True))
    return at if inside else None


def _each(sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, sizes))


def _of_output(p: Convolution, x: Any, w: Any, at: tuple[int, ...]) -> tuple[Any, Any]:
    n, g, k, *out = at
    zero = np.zeros(p.in_channels // p.groups, x.dtype)
    a, b = [], []
    for tap in _each(p.filter):
        place = _reads(p, tuple(out), tap)
        a.append(zero if place is None else x[(n, g, slice(None), *place)])
        b.append(w[(g, k, slice(None), *tap)])
    return np.concatenate(a), np.concatenate(b)


def _of_weight(p: Convolution, x: Any, dy: Any, at: tuple[int, ...]) -> tuple[Any, Any]:
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


def _of_input(p: Convolution, w: Any, dy: Any, at: tuple[int, ...]) -> tuple[Any, Any]:
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
