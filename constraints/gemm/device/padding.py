"""Matrix products with larger sizes, which kernels take that load whole vectors or tiles."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.kernels.parts import Point

_STEPS = (1, 2, 4, 8, 16)
"""Elements that are loaded or stored at once: at most 16 bytes of 1 byte each."""


class GemmPadding:
    """M, N and K are padded to whole vectors, or to whole block tiles; groups are not."""

    def larger(self, problem: MatrixProduct, config: Point) -> Iterator[MatrixProduct]:
        """Products with larger sizes, least work first.

        >>> tiles = {"tile_m": 64, "tile_n": 64, "tile_k": 32}
        >>> found = list(GemmPadding().larger(MatrixProduct(64, 64, 30), tiles))
        >>> str(found[0])
        'M=64,N=64,K=32'
        """
        parts, batch = problem.k_batch, problem.batch
        if problem.others or any(problem.strides):
            return  # groups lie one behind the other, with no room between them
        steps = (
            (*_STEPS, int(config["tile_m"])),
            (*_STEPS, int(config["tile_n"])),
            (*_STEPS, int(config["tile_k"]) * parts),
        )
        sizes = (
            sorted({-(-size // step) * step for step in chosen})
            for size, chosen in zip((problem.m, problem.n, problem.k), steps, strict=True)
        )
        found = {MatrixProduct(m, n, k, parts, batch) for m, n, k in product(*sizes)}
        yield from sorted(found - {problem}, key=lambda p: (p.flops, p.m, p.n, p.k))
