"""Convolutions on the CPU in numpy, against which kernels are compared.

All three directions are sums over the filter's taps: each tap reads one strided slice of the padded
input and is one matrix product over the channels. Tensors have the canonical order of
`ckrules.constraints.conv.device.tensors`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckrules.constraints.conv.problem import Convolution

    Floats = NDArray[np.floating[Any]]

Index = tuple[Any, ...]
_EXACT_FLOPS = 4e9
"""Up to this many operations 16-bit problems are summed in fp64, too."""


def precision(problem: Convolution, dtype: str) -> type[np.floating[Any]]:
    """In what the reference is summed: fp64 for fp32 data, and for others where it is quick.

    fp32 sums of 16-bit data err by far less than the tolerance, which grows with their length.
    """
    exact = dtype == "fp32" or problem.flops <= _EXACT_FLOPS
    return np.float64 if exact else np.float32


def forward(p: Convolution, x: Floats, w: Floats) -> Floats:
    """The output of input ``x`` and weight ``w``."""
    padded = _padded(p, x)
    y = np.zeros((p.groups, w.shape[1], p.batch * math.prod(p.output)), x.dtype)
    for tap, window in _taps(p):
        y += w[tap] @ _columns(padded[window])
    return _spread(y, p, p.output)


def backward_data(p: Convolution, w: Floats, dy: Floats) -> Floats:
    """The gradient of the input from weight ``w`` and the output's gradient ``dy``."""
    columns = _columns(dy)
    channels = p.in_channels // p.groups
    dx = np.zeros((p.batch, p.groups, channels, *_padded_sizes(p)), dy.dtype)
    for tap, window in _taps(p):
        part = w[tap].transpose(0, 2, 1) @ columns
        dx[window] += _spread(part, p, p.output)
    image = (slice(lo, lo + n) for lo, n in zip(p.left_pad, p.input, strict=True))
    inner: Index = (slice(None), slice(None), slice(None), *image)
    return np.ascontiguousarray(dx[inner])


def backward_weight(p: Convolution, x: Floats, dy: Floats) -> Floats:
    """The gradient of the weight from input ``x`` and the output's gradient ``dy``."""
    padded, columns = _padded(p, x), _columns(dy)
    c, k = p.in_channels // p.groups, p.out_channels // p.groups
    dw = np.empty((p.groups, k, c, *p.filter), x.dtype)
    for tap, window in _taps(p):
        dw[tap] = columns @ _columns(padded[window]).transpose(0, 2, 1)
    return dw


def _taps(p: Convolution) -> Iterator[tuple[Index, Index]]:
    """The place of each tap in the weight, and the slice of the padded input that it reads."""
    for tap in itertools.product(*map(range, p.filter)):
        window = tuple(
            slice(t * d, t * d + (o - 1) * s + 1, s)
            for t, d, s, o in zip(tap, p.dilation, p.stride, p.output, strict=True)
        )
        everything = (slice(None), slice(None), slice(None))
        yield (*everything, *tap), (*everything, *window)


def _padded_sizes(p: Convolution) -> tuple[int, ...]:
    sides = zip(p.input, p.left_pad, p.right_pad, strict=True)
    return tuple(size + left + right for size, left, right in sides)


def _padded(p: Convolution, x: Floats) -> Floats:
    if not any((*p.left_pad, *p.right_pad)):
        return x
    return np.pad(x, [(0, 0)] * 3 + list(zip(p.left_pad, p.right_pad, strict=True)))


def _columns(values: Floats) -> Floats:
    """(N, G, C, axes) as matrices (G, C, N * axes)."""
    n, g, c = values.shape[:3]
    return values.reshape(n, g, c, -1).transpose(1, 2, 0, 3).reshape(g, c, -1)


def _spread(matrices: Floats, p: Convolution, sizes: tuple[int, ...]) -> Floats:
    """(G, C, N * axes) back as (N, G, C, axes)."""
    g, c = matrices.shape[:2]
    return np.moveaxis(matrices.reshape(g, c, p.batch, *sizes), 2, 0)
