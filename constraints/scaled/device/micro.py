"""4-bit weights with a scale of e8m0 for every 32 along K (MX): shapes and orders in memory.

A shape has canonical axes, N before K, divided so that an order of them is that of memory. Weights
lie in pieces of 32 elements, 16 bytes, of a column: those of 16 columns side by side, then the next
along K. Of the scales a lane loads four at once, which belong to 32 columns and 256 of K: 2 of K's
halves times 2 of N's. The first GEMM of experts has gate and up in turn, 16 columns of each
(example/ck_tile/18_flatmm/mixed_prec/a16w4_moe_flatmm.cpp of CK 2025.11: shuffle_mxfp4_weight,
shuffle_mxfp4_scale; mxgemm/mx_flatmm.cpp: preShuffleWeight, preShuffleScale).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.constraints.scaled.words import MICRO
from ckrules.kernels.parts import Tensor

#: A shape, and its axes in the order of memory.
Order = tuple[tuple[int, ...], tuple[int, ...]]
_LANES, _WIDE = 4, 16
_PACK = 2


def weights(n: int, k: int, halves: int = 1) -> Order:
    """Those of N columns, of which each half is of its own where there are two.

    >>> weights(64, 256)
    ((1, 4, 16, 2, 4, 32), (1, 0, 3, 4, 2, 5))
    >>> weights(64, 257)
    ((64, 257), (0, 1))
    """
    if n % (_WIDE * halves) or k % (_LANES * MICRO):
        return (n, k), (0, 1)  # no kernel takes it
    columns = (halves, n // (halves * _WIDE), _WIDE)
    return (*columns, k // (_LANES * MICRO), _LANES, MICRO), (1, 0, 3, 4, 2, 5)


def scales(n: int, k: int, halves: int = 1) -> Order:
    """Those of N columns, or of rows of A; see `weights`.

    >>> scales(64, 512)
    ((2, 2, 16, 2, 2, 4), (0, 3, 5, 2, 4, 1))
    >>> scales(64, 512, 2)
    ((2, 2, 16, 2, 2, 4), (1, 3, 5, 2, 4, 0))
    >>> scales(8, 512)
    ((8, 16), (0, 1))
    """
    if n % (_WIDE * _PACK) or k % (_LANES * MICRO * _PACK):
        return (n, -(-k // MICRO)), (0, 1)
    along = (k // (_LANES * MICRO * _PACK), _PACK, _LANES)
    pairs = n // (_WIDE * _PACK)
    if halves == _PACK:
        return (_PACK, pairs, _WIDE, *along), (1, 3, 5, 2, 4, 0)
    return (pairs, _PACK, _WIDE, *along), (0, 3, 5, 2, 4, 1)


def experts(name: str, found: Order, number: int, dtype: str) -> Tensor:
    """The tensor of so many experts, one behind the other.

    >>> experts("b", ((4, 8), (1, 0)), 3, "fp8").order
    (0, 2, 1)
    """
    shape, order = found
    return Tensor(name, "in", (number, *shape), dtype, (0, *(axis + 1 for axis in order)))


def spread(found: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The scale of every element of a tensor whose last axis is K.

    >>> spread(np.array([1.0, 2.0]), (1, 64))[0, 30:34].tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    each = found.reshape(*shape[:-1], -1).astype(np.float64)
    return np.repeat(each, MICRO, axis=-1)[..., : shape[-1]]
