"""Names of attention backward, as upstream's generator of November 2025 calls its kernels::

    fmha_bwd_d{hdim}_{dtype}_{mode}_b{tile: m0 n0 k0 k1 k2 k3 k4 hdq hdv}
        _r{waves 0}_r{waves 1}_r{waves 2}_w{warp tile 0}_w{warp tile 1}_o{block_per_cu}
        _maxq{max_seqlen_q}_{pads}_{bias}_{dbias}_{mask}_{dropout}_{deterministic}_{trload}

Facts: FmhaBwdDQDKDVKernel of example/ck_tile/01_fmha/codegen/ops/fmha_bwd.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from ckrules.constraints.fmha.names import BIAS, MASK, purpose
from ckrules.constraints.fmha.trait_names import (
    BOUNDS,
    KernelForm,
    TargetNames,
    TraitNames,
    switch,
    waves_and_tiles,
)
from ckrules.constraints.fmha_bwd import words as w
from ckrules.constraints.fmha_bwd.vocabulary import TILE
from ckrules.kernels.name_grammar import Grammar, literal, number, numbers, one_of
from ckrules.kernels.parts import Point

_DROPOUT = {"ndropout": "no", **{d: d for d in w.DROPOUTS[1:]}}
#: The word for both paddings, with what it says.
_PADS: Mapping[str, tuple[int, int]] = {
    (f"p{f'd{d}' if d else ''}{f'dv{dv}' if dv else ''}" if d or dv else "npad"): (d, dv)
    for d, dv in product(w.PADS, repeat=2)
}

GRAMMAR = Grammar([
    *purpose("fmha_bwd", w.DTYPES), literal("_b"), *numbers(TILE, "x"),
    *waves_and_tiles((0, 1, 2), (0, 1)), literal("_o"),
    one_of("block_per_cu", BOUNDS), literal("_maxq"),
    number("max_seqlen_q", 0), literal("_"), one_of("pads", _PADS.keys()), literal("_"),
    one_of("bias", BIAS), *switch("dbias", "dbias"), literal("_"), one_of("mask", MASK),
    literal("_"), one_of("dropout", _DROPOUT), *switch("deterministic", "deterministic"),
    *switch("trload", "trload"),
])  # fmt: skip


class _Backward(KernelForm):
    """The names of kernels of dQ, dK and dV."""

    def parse(self, text: str) -> dict[str, Any]:
        said = super().parse(text)
        d, dv = _PADS[said.pop("pads")]
        return {**said, "pad_d": d, "pad_dv": dv}

    def format(self, point: Point) -> str:
        """The name of a point."""
        pair = (point.get("pad_d"), point.get("pad_dv"))
        word = next((word for word, found in _PADS.items() if found == pair), "?")
        return self.grammar.format({**point, "pads": word})

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        return super().span(text, "pads" if name in ("pad_d", "pad_dv") else name)


class BackwardNames(TraitNames):
    """The names of attention backward."""

    prefix = "fmha_bwd_d"
    kernels = (_Backward("fmha_bwd", GRAMMAR, {}),)


NAMING = BackwardNames()
STYLES = {"generator": TargetNames(NAMING, lambda point: True)}
