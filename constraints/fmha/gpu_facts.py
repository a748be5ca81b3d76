"""What the vocabularies of attention kernels know of a GPU."""

from __future__ import annotations

from ckrules.engine.expr import BoolExpr, EnumExpr, IntExpr, lookup, rel
from ckrules.engine.rules.book import Vocabulary, quantity


class GpuFacts(Vocabulary):
    """Facts of the GPU of a kernel."""

    arch: EnumExpr

    def fact(self, name: str) -> IntExpr:
        """A number of the GPU."""
        node: IntExpr = lookup(self.facts[name], self.arch)
        return node

    def has(self, feature: str) -> BoolExpr:
        """Whether the GPU has a feature (`ckrules.arch.FEATURES`)."""
        return rel(self.facts[feature], self.arch)

    @property
    def transposes(self) -> BoolExpr:
        """Where CK 2025.11 has ``__gfx950__``: loads that transpose, and waves of 64 lanes."""
        return self.has("lds_transpose_load") & (self.wave_size == 64)

    @quantity
    def wave_size(self) -> IntExpr:
        """Lanes of a wave."""
        return self.fact("wave_size")
