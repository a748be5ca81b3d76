"""int4 operands in memory: eight elements side by side, in the order that kernels widen them.

Kernels widen the 4 bytes of eight elements at once: ``PassThroughPack8`` gives the half bytes 0, 4,
1, 5, 2, 6, 3 and 7, the lowest first, as elements 0 to 7 (ops/elementwise/
unary_element_wise_operation.hpp of CK 2025.11). So hosts put the elements with even numbers into
the first two bytes, and those with odd ones behind them: what ``permute_vectors_i4x4_b`` makes of
bytes whose first element is in the high bits (host/permute_pk_int4.hpp).
"""

from __future__ import annotations

from dataclasses import replace

from ckrules.kernels.parts import Tensor

TYPE = "int4"


def in_eights(tensor: Tensor) -> Tensor:
    """An int4 tensor with its contiguous axis in eights of four pairs, which memory turns.

    One of another type, or whose axis is not divisible, stays as it is: no kernel takes the latter.

    >>> found = in_eights(Tensor("b", "in", (16, 64), "int4", (0, 1)))
    >>> found.shape, found.order
    ((16, 8, 4, 2), (0, 1, 3, 2))
    """
    last = tensor.order[-1]
    size = tensor.shape[last]
    if tensor.dtype != TYPE or size % 8:
        return tensor
    shape = (*tensor.shape[:last], size // 8, 4, 2, *tensor.shape[last + 1 :])
    outer = [at if at < last else at + 2 for at in tensor.order[:-1]]
    return replace(tensor, shape=shape, order=(*outer, last, last + 2, last + 1))
