"""Larger problems for kernels that take no others, and tensors in the corner of larger ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ckrules.device.dtypes import element
from ckrules.kernels.families import family_of

if TYPE_CHECKING:
    from ckrules.device.dtypes import Bits
    from ckrules.kernels.parts import Problem, Tensor
    from ckrules.runtime.built import BuiltKernel

Shape = tuple[int, ...]


def larger(kernel: BuiltKernel, problem: Problem) -> Problem | None:
    """The least larger problem that a kernel takes; None if there is none."""
    padding = family_of(kernel.variant).padding
    if padding is None:
        return None
    small = kernel.tensors(problem)
    for found in padding.larger(problem, kernel.config):
        if _holds(small, kernel.tensors(found)) and kernel.takes(found):
            result: Problem = found
            return result
    return None


def _holds(small: Sequence[Tensor], large: Sequence[Tensor]) -> bool:
    """Whether every tensor is the corner of the other of its name."""
    return all(
        len(a.shape) == len(b.shape) and all(m <= n for m, n in zip(a.shape, b.shape, strict=True))
        for a, b in zip(small, large, strict=True)
    )


def stored(tensor: Tensor) -> Shape:
    """A tensor's sizes in the order of memory, slowest first; what shares a byte counts as one."""
    *outer, last = (tensor.shape[i] for i in tensor.order)
    return (*outer, math.ceil(last / element(tensor.dtype).packed))


def embedded(bits: Bits, shape: Shape) -> Bits:
    """An array in the first corner of a larger one, with zeros behind it.

    >>> embedded(np.array([[1, 2]]), (2, 3)).tolist()
    [[1, 2, 0], [0, 0, 0]]
    """
    if bits.shape == shape:
        return bits
    found = np.zeros(shape, bits.dtype)
    found[tuple(map(slice, bits.shape))] = bits
    return found


def corner(bits: Bits, shape: Shape) -> Bits:
    """The first corner of an array, of its own.

    >>> corner(np.array([[1, 2, 0], [0, 0, 0]]), (1, 2)).tolist()
    [[1, 2]]
    """
    if bits.shape == shape:
        return bits
    return np.ascontiguousarray(bits[tuple(map(slice, shape))])


def runs(small: Shape, large: Shape) -> Iterator[tuple[int, int, int, int, int, int]]:
    """How the corner of an array in memory is copied: rows of elements that lie together.

    Gives, in elements, where rows begin in the small and in the large array, the distance from row
    to row in both, the length of a row, and how many rows there are.

    >>> list(runs((2, 3, 4), (2, 3, 8)))
    [(0, 0, 4, 8, 4, 6)]
    >>> list(runs((2, 3, 4), (2, 5, 8)))
    [(0, 0, 4, 8, 4, 3), (12, 40, 4, 8, 4, 3)]
    """
    last = max((i for i, (a, b) in enumerate(zip(small, large, strict=True)) if a != b), default=0)
    width, pitch = math.prod(small[last:]), math.prod(large[last:])
    first = last
    while first > 0 and small[first - 1] == large[first - 1]:
        first -= 1
    if first == last > 0:  # the axis before differs, too: its rows are copied together
        first = last - 1
    rows = math.prod(small[first:last])
    for at in np.ndindex(*small[:first]):
        a = b = 0
        for index, m, n in zip(at, small, large, strict=False):
            a, b = a * m + index, b * n + index
        inner_small, inner_large = math.prod(small[first:]), math.prod(large[first:])
        yield a * inner_small, b * inner_large, width, pitch, width, rows
