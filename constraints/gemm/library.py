"""Products in the dispatcher library of C."""

from __future__ import annotations

from ckrules.arch import DTYPES
from ckrules.constraints.gemm.device.int4 import TYPE
from ckrules.constraints.gemm.words import TYPES
from ckrules.constraints.tile_gemm import library
from ckrules.kernels.parts import LibraryKernel, Point

_COMPUTES = (
    *("variant", "dtype", "dtype_b", "dtype_acc", "dtype_c", "layout", "num_d"),
    "elementwise_op",
)
#: The same of kernels for pre-shuffled weights: how they are shuffled.
_SHUFFLE = ("permute_n", "warp_tile_n", "warp_tile_k")
_PERMUTED = ("tile_n", "wave_n")


class GemmLibrary:
    """Kernels whose problems are of `ckrules_gemm`."""

    header = "ckrules_gemm.h"

    def kernel(self, config: Point) -> LibraryKernel:
        """See `ckrules.kernels.parts.Library.kernel`."""
        shuffled = config["variant"] == "preshuffle"
        permuted = _PERMUTED if config.get("permute_n") else ()
        plain = config.get("num_d", 0) == 0 and config.get("dtype") in DTYPES
        return LibraryKernel(
            computes=(*_COMPUTES, *_SHUFFLE, *permuted) if shuffled else _COMPUTES,
            shape=library.shape(config),
            sizes=library.sizes(config),
            identifier=library.identifier(config),
            algorithm=library.algorithm(config, shuffled=shuffled),
            upstream=int(config["variant"] == "standard" and plain),
            unnamed=("dtype", "dtype_c", "layout"),
            shuffled=shuffled,
            eights=_eights(config),
        )


def _eights(config: Point) -> str:
    """Along which sizes int4 operands are contiguous.

    >>> _eights({"dtype": "fp16_i4", "layout": "rcr"}), _eights({"dtype": "fp16", "layout": "rcr"})
    ('K', '')
    """
    layout = str(config["layout"])
    axes = ("K" if layout[0] == "r" else "M", "N" if layout[1] == "r" else "K")
    operands = TYPES[str(config["dtype"])][:2]
    return "".join(axis for axis, kind in zip(axes, operands, strict=True) if kind == TYPE)
