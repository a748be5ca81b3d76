"""What the vocabularies of attention kernels know of a GPU."""

from __future__ import annotations

from ckrules.constraints.fmha.fields import TwoProducts
from ckrules.engine.expr import BoolExpr, EnumExpr, IntExpr, lookup, maximum, rel
from ckrules.engine.rules.book import Vocabulary, quantity


class GpuFacts(Vocabulary):
    """Facts of the GPU of a kernel."""

    arch: EnumExpr

    def fact(self, name: str) -> IntExpr:
        """A number of the GPU."""
        node: IntExpr = lookup(self.facts[name], self.arch)
        return node

    def has(self, feature: str) -> BoolExpr:
        """Whether the GPU has a feature (`ckrules.arch.features`)."""
        return rel(self.facts[feature], self.arch)

    @property
    def transposes(self) -> BoolExpr:
        """Where CK 2025.11 has ``__gfx950__``: loads that transpose, and waves of 64 lanes."""
        return self.has("lds_transpose_load") & (self.wave_size == 64)

    @quantity
    def wave_size(self) -> IntExpr:
        """Lanes of a wave."""
        return self.fact("wave_size")


class WavesOfProducts(GpuFacts, TwoProducts):
    """The waves of a block with two products."""

    @quantity
    def waves0(self) -> IntExpr:
        """Waves of product 0."""
        return self.wave_m0 * self.wave_n0 * self.wave_k0

    @quantity
    def waves1(self) -> IntExpr:
        """Waves of product 1."""
        return self.wave_m1 * self.wave_n1 * self.wave_k1

    @quantity
    def waves(self) -> IntExpr:
        """Waves of a block."""
        return maximum(self.waves0, self.waves1)

    @quantity
    def threads(self) -> IntExpr:
        """Threads of a block."""
        return self.waves * self.wave_size
