"""The matrix products on which a kernel is validated: a built-in set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.gemm.problem_fields import STRIDED


def smoke(config: Mapping[str, Any]) -> list[MatrixProduct]:
    """The built-in problems for a configuration.

    Whole tiles in one, a tall, a wide and a long shape, sums of 1 to 5 tiles, which reach every
    beginning and end of the pipelines, a long one, and split sums; then sizes that are not a multiple
    of a tile, which are padded or refused, a single row, a sum shorter than a tile, split sums with
    a part of a tile along one side, and rows that lie apart, by an odd number of elements too.
    Batched and grouped kernels have several products, and blocks that go from tile to tile have
    more of them than there are blocks.

    >>> [str(p) for p in smoke({"tile_m": 64, "tile_n": 64, "tile_k": 32})][:3]
    ['M=64,N=64,K=64', 'M=256,N=64,K=64', 'M=64,N=256,K=64']
    """
    m, n, k = (int(config[f"tile_{x}"]) for x in "mnk")
    found = [
        MatrixProduct(m, n, 2 * k),
        MatrixProduct(4 * m, n, 2 * k),
        MatrixProduct(m, 4 * n, 2 * k),
    ]
    found += [MatrixProduct(2 * m, 2 * n, steps * k) for steps in (1, 3, 4, 5)]
    found.append(MatrixProduct(m, n, 33 * k))
    found += [MatrixProduct(m, 2 * n, 10 * k, parts) for parts in (1, 2, 5)]
    found += [
        MatrixProduct(2 * m - 3, n, 2 * k), MatrixProduct(m, max(1, 2 * n - 8), 2 * k), MatrixProduct(m, n, 3 * k - 8),
        MatrixProduct(m + 5, n + 7, k + 3), MatrixProduct(1, 2 * n, 4 * k), MatrixProduct(m, n, 8), MatrixProduct(m + 8, n + 16, 2 * k + 16, 2),
        MatrixProduct(2 * m - 3, n, 4 * k, 2), MatrixProduct(m, max(1, 2 * n - 8), 4 * k, 2),
    ]  # fmt: skip
    if "i4" in str(config.get("dtype")).split("_"):
        found.append(MatrixProduct(m, n, 2 * k + 4))  # whole bytes, and words that rows share
    variant = config.get("variant")
    if variant in STRIDED:
        found += [apart(config, variant == "preshuffle", by) for by in (8, 3)]
    if config.get("persistent") or variant == "stream_k":
        found.append(MatrixProduct(8 * m, 4 * n, 2 * k))
    if variant == "batched":
        found += [MatrixProduct(m, n, 2 * k, 1, 3), MatrixProduct(m, 2 * n, 4 * k, 2, 2)]
    if variant == "grouped":
        found += [
            MatrixProduct(m, n, 2 * k, others=((2 * m, n), (m, 2 * n))),
            MatrixProduct(2 * m - 3, n, 5 * k, others=((1, n),)),
            MatrixProduct(m, n, 4 * k, 2, others=((m, n),)),
        ]
    return found


def apart(config: Mapping[str, Any], shuffled: bool, by: int = 8) -> MatrixProduct:
    """A product whose rows, or columns, lie apart in memory.

    Args:
        shuffled: Whether B is shuffled beforehand, so that it is packed as one of 4 bits is.
        by: How many elements, beyond a multiple of 4 tiles.

    >>> str(apart({"tile_m": 64, "tile_n": 64, "tile_k": 32, "dtype": "fp8_i4"}, False))
    'M=64,N=128,K=128,stride_a=264,stride_c=264'
    """
    m, n, k = (int(config[f"tile_{x}"]) for x in "mnk")
    stride = 4 * max(m, n, k) + by
    dtype = str(config.get("dtype"))
    a = 0 if dtype.startswith("i4_") else stride
    b = 0 if shuffled or dtype.endswith("_i4") else stride
    return MatrixProduct(m, 2 * n, 4 * k, strides=(a, b, stride))
