"""Fields of the kernels before and after attention, and the facts that their rules look up.

A field that a kernel does not have is 0, false or no (rule FSTP001). Facts:
ops/fmha/pipeline/{tile_fmha_traits,block_fmha_pipeline_problem,block_fmha_bwd_pipeline_problem}.hpp,
CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckrules.arch import Gpu
from ckrules.constraints.fmha import fields as f
from ckrules.constraints.fmha import targets
from ckrules.constraints.fmha.gpu_facts import GpuFacts
from ckrules.constraints.fmha.words import ELEMENT_BYTES
from ckrules.constraints.fmha_steps import words as w
from ckrules.engine.expr import BoolExpr, EnumExpr, Expr, IntExpr, Value, ite, lookup
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Bool, Enum
from ckrules.engine.rules.book import quantity

#: What a kernel that lacks a field has there.
ABSENT: Mapping[str, Value] = {
    "tile_s": 0, "tile_sk": 0, "tile_d": 0, "tile_dv": 0, "pad_s": False, "pad_sk": False,
    "pad_d": False, "pad_dv": False, "v_layout": "row", "lse": False, "squant": False,
    "rope": "no", "paged_kv": False, "deterministic": False, "mode": "batch",
}  # fmt: skip
#: The fields that each kernel has beside purpose and launch bound.
OWN: Mapping[str, Sequence[str]] = {
    w.COMBINE: ("mode", "tile_dv", "pad_s", "pad_dv", "lse", "squant"),
    w.APPEND: ("tile_s", "tile_sk", "tile_d", "tile_dv", "v_layout", "pad_s", "pad_sk", "pad_d",
               "pad_dv", "rope", "paged_kv"),
    w.DOT: ("mode", "tile_s", "pad_s", "pad_dv"),
    w.CONVERT: ("mode", "tile_s", "tile_sk", "pad_s", "pad_d", "deterministic"),
}  # fmt: skip
_BOUND: Mapping[str, int] = {w.COMBINE: -1, w.APPEND: -1, w.DOT: 2, w.CONVERT: 2}
#: Fields that a configuration may leave out, by variant.
DEFAULTS: Mapping[str, Mapping[str, Value]] = {
    v: {**{k: d for k, d in ABSENT.items() if k not in own or k in (
        "v_layout", "lse", "squant", "rope", "paged_kv", "deterministic")},
        "block_per_cu": _BOUND[v]}
    for v, own in OWN.items()
}  # fmt: skip
#: A legal point that the examples of rules change a few fields of.
BASELINE: Mapping[str, Value] = {
    "variant": w.COMBINE, "arch": "gfx942", "dtype": "fp16", "hdim": 128, **ABSENT, "tile_dv": 32,
    "block_per_cu": -1,
}  # fmt: skip
COSTS: Mapping[str, int] = {
    "hdim": 60, "mode": 60, "lse": 60, "squant": 60, "rope": 60, "paged_kv": 60,
    "deterministic": 60,
}  # fmt: skip


class StepQuantities(GpuFacts, f.AttentionKernel):
    """The fields of a kernel before or after attention, its facts and derived quantities."""

    tile_s: IntExpr
    tile_sk: IntExpr
    tile_d: IntExpr
    tile_dv: IntExpr
    pad_s: BoolExpr
    pad_sk: BoolExpr
    pad_d: BoolExpr
    pad_dv: BoolExpr
    v_layout: EnumExpr
    lse: BoolExpr
    squant: BoolExpr
    rope: EnumExpr
    paged_kv: BoolExpr
    deterministic: BoolExpr

    @quantity
    def element_bytes(self) -> IntExpr:
        """Bytes of an element of Q, K and V."""
        node: IntExpr = lookup(self.facts["element_bytes"], self.dtype)
        return node

    @quantity
    def combined_rows(self) -> IntExpr:
        """Rows of O that a block combines: a wave has four columns in each lane."""
        return self.wave_size // (self.tile_dv // 4)

    @quantity
    def target(self) -> EnumExpr:
        """The factory of upstream's generator that takes the GPU; none: it refuses the GPU."""
        node: EnumExpr = ite(
            self.variant.isin(w.DOT, w.CONVERT),
            lookup(self.facts["target_apart"], self.arch),
            lookup(self.facts["target"], self.arch),
        )
        return node


def fields(archs: Sequence[str]) -> list[Expr]:
    """The variables in the order in which points show them."""
    sizes = (0, 8, 16, 32, 64, 128, 192, 256)
    tile = {
        "tile_s": "rows of Q or O that a block computes", "tile_sk": "rows of K, or of dQ's parts",
        "tile_d": "elements of a head of K that a block holds",
        "tile_dv": "elements of a head of V or O that a block holds",
    }  # fmt: skip
    return [
        *f.purpose(w.VARIANTS, archs, w.DTYPES, w.MODES),
        *(f.size(name, sizes, doc, "tile", low=0) for name, doc in tile.items()),
        f.block_per_cu((-1, 1, 2)),
        *f.pads(), f.v_layout(), f.lse(),
        Bool("squant", doc="O is scaled, for 8-bit types (static quantisation)"),
        Enum("rope", w.ROPES, doc="rotary embedding: none, interleaved or in halves"),
        Bool("paged_kv", doc="K and V lie in pages"),
        Bool("deterministic", doc="dQ comes in parts, one for each block of K"),
    ]  # fmt: skip


def vocabulary(ck: str, gpus: Sequence[Gpu]) -> StepQuantities:
    """The fields, facts and derived quantities for a CK version and a set of GPUs."""
    names = [g.name for g in gpus]
    facts = {
        "wave_size": Table("wave_size", ("arch",), {g.name: g.wave_size for g in gpus}),
        "max_threads": Table("max_threads", ("arch",), {g.name: g.max_threads for g in gpus}),
        "element_bytes": Table("element_bytes", ("dtype",), ELEMENT_BYTES),
        "target": targets.table("target", names, apart=False),
        "target_apart": targets.table("target_apart", names, apart=True),
    }
    words = StepQuantities(fields(names), facts, ck)
    words.baseline, words.costs = BASELINE, COSTS
    return words
