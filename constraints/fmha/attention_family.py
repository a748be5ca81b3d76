"""What all families of attention kernels are alike in."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, ClassVar

from ckrules.constraints.fmha.words import PROFILES
from ckrules.kernels.family import Family

if TYPE_CHECKING:
    from ckrules.engine.expr import Value
    from ckrules.kernels.block_map import BlockMap


class AttentionFamily(Family):
    """Kernels of attention, which upstream's generator and dispatcher list."""

    since = "2025.11"
    profiles = {  # noqa: RUF012
        **PROFILES, "dispatcher": "what upstream's dispatcher of June 2026 writes with receipt 0",
    }  # fmt: skip

    products: ClassVar[str] = "ckrules.constraints.fmha.picture:products"
    """What draws the block tiles of its matrix products; empty: it has none."""

    def block_maps(self, point: Mapping[str, Value]) -> tuple[BlockMap, ...]:
        return resolve_name(self.products)(point) if self.products else ()

    def defaults(self, variant: str, ndim: object = None) -> Mapping[str, Value]:
        found: Mapping[str, Value] = self._beside(".vocabulary").DEFAULTS
        return found
