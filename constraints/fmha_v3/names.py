"""Names of attention with two groups of waves.

Upstream's example of November 2025 names its files ``fmha_fwd_v3_d{hdim}_{dtype}_{mask}``. The
names here say the rest as those of its generator do for other kernels::

    fmha_fwd_v3_d{hdim}_{dtype}_{mode}_b{tile: m0 n0 k0 n1 k1 k0max}_r{waves 0}_r{waves 1}
        _w{warp tile 0}_w{warp tile 1}[_o{block_per_cu}]_v{r|c}_{pads}_{mask}_{lse}

Facts: example/ck_tile/01_fmha/instances/fmha_fwd_v3_*.cpp, CK 2025.11.
"""

from __future__ import annotations

from ckrules.constraints.fmha.names import MASK, purpose
from ckrules.constraints.fmha.trait_names import (
    SUFFIXED_BOUNDS,
    V_LETTERS,
    KernelForm,
    TraitNames,
    pads,
    switch,
    waves_and_tiles,
)
from ckrules.constraints.fmha.vocabulary import PADS, TILE
from ckrules.constraints.fmha_v3 import words as w
from ckrules.constraints.fmha_v3.vocabulary import DEFAULTS
from ckrules.kernels.name_grammar import Grammar, literal, numbers, one_of

GRAMMAR = Grammar([
    *purpose(w.VARIANT, w.DTYPES), literal("_b"), *numbers(TILE, "x"),
    *waves_and_tiles((0, 1), (0, 1)),
    one_of("block_per_cu", SUFFIXED_BOUNDS), literal("_v"),
    one_of("v_layout", V_LETTERS), literal("_"), pads(PADS), literal("_"),
    one_of("mask", MASK), *switch("lse", "lse"),
])  # fmt: skip


class TwoGroupNames(TraitNames):
    """The names of attention with two groups of waves."""

    prefix = f"{w.VARIANT}_d"
    kernels = (KernelForm(w.VARIANT, GRAMMAR, DEFAULTS, PADS),)


NAMING = TwoGroupNames()
