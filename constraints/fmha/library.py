"""Attention in the dispatcher library of C."""

from __future__ import annotations

from ckrules.kernels.parts import LibraryKernel, Point


class AttentionLibrary:
    """Kernels whose problems are of `ckrules_attention`."""

    header = "ckrules_attention.h"

    def kernel(self, config: Point) -> LibraryKernel:
        """See `ckrules.kernels.parts.Library.kernel`.

        The problem says the functions; how V and pages lie, and of which type all is, it does not.

        >>> AttentionLibrary().kernel({"variant": "fmha_fwd", "dtype": "fp16"}).computes[0]
        'variant'
        """
        return LibraryKernel(
            computes=("variant", "dtype", "v_layout", "paged_kv", "deterministic"),
            shape=(0,) * 9,
            sizes=(0, 0, 0),
            identifier=str(config["variant"]),
            algorithm={},
        )
