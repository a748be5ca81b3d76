"""Convolutions in the dispatcher library of C."""

from __future__ import annotations

from ckrules.constraints.tile_gemm import library
from ckrules.kernels.parts import LibraryKernel, Point


class ConvLibrary:
    """Kernels whose problems are of `ckrules_convolution`."""

    header = "ckrules_conv.h"

    def kernel(self, config: Point) -> LibraryKernel:
        """See `ckrules.kernels.parts.Library.kernel`."""
        said = config.get("ndim") in (2, 3) and config.get("streamk", "off") == "off"
        return LibraryKernel(
            computes=("variant", "dtype", "layout"),
            shape=library.shape(config),
            sizes=library.sizes(config),
            identifier=library.identifier(config),
            algorithm=library.algorithm(config),
            upstream=2 if said else 0,
            unnamed=("dtype", "layout"),
            ndim=int(config.get("ndim", 0)),
            merged=int(config.get("num_groups_to_merge", 1)),
        )
