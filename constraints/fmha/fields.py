"""Fields of kernels of attention that several families share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckrules.constraints.fmha import words as w
from ckrules.engine.expr import BoolExpr, EnumExpr, Expr, IntExpr
from ckrules.engine.expr.variables import Bool, Enum, Int, Role
from ckrules.engine.rules.book import Vocabulary

HDIMS = (32, 48, 64, 96, 128, 160, 192, 256)


class AttentionKernel(Vocabulary):
    """Fields of every kernel of attention."""

    variant: EnumExpr
    arch: EnumExpr
    dtype: EnumExpr
    mode: EnumExpr
    hdim: IntExpr
    block_per_cu: IntExpr


class Products(AttentionKernel):
    """Fields of kernels that multiply matrices: what all of them say of products 0 and 1."""

    tile_m0: IntExpr
    tile_n0: IntExpr
    tile_k0: IntExpr
    tile_k1: IntExpr
    wave_m0: IntExpr
    wave_n0: IntExpr
    wave_k0: IntExpr
    wave_m1: IntExpr
    wave_n1: IntExpr
    wave_k1: IntExpr
    warp_tile_m0: IntExpr
    warp_tile_n0: IntExpr
    warp_tile_k0: IntExpr
    warp_tile_m1: IntExpr
    warp_tile_n1: IntExpr
    warp_tile_k1: IntExpr
    mask: EnumExpr


class TwoProducts(Products):
    """Fields of every forward kernel of attention: its two products, paddings and what is masked."""

    tile_n1: IntExpr
    tile_k0max: IntExpr
    pipeline: EnumExpr
    v_layout: EnumExpr
    pad_s: BoolExpr
    pad_sk: BoolExpr
    pad_d: BoolExpr
    pad_dv: BoolExpr
    lse: BoolExpr


class AttentionShape(TwoProducts):
    """Fields of kernels with the two products of attention, and all that they may add to them."""

    logits: BoolExpr
    bias: EnumExpr
    dropout: BoolExpr
    skip: BoolExpr
    squant: BoolExpr
    trload: BoolExpr
    paged_kv: BoolExpr
    sink: BoolExpr
    page_size: IntExpr
    kv_vectors: BoolExpr
    kv_table: BoolExpr
    kv_global: BoolExpr


#: What the sizes of a block tile of two products are.
_TILE: Mapping[str, str] = {
    "tile_m0": "rows of Q that a block computes",
    "tile_n0": "rows of K and V in a step",
    "tile_k0": "elements of a step along the head dimension (product 0)",
    "tile_n1": "elements of a head of V",
    "tile_k1": "rows of V in a step of product 1",
    "tile_k0max": "elements of a head of Q and K that a block holds",
}


def two_products(
    tile: Mapping[str, Sequence[int]],
    counts: Sequence[int],
    depths: Sequence[int],
    bounds: Sequence[int],
    pipelines: Sequence[str],
) -> list[Expr]:
    """How two products are divided: tile, waves, warp tiles, launch bound, pipeline, V, paddings."""
    return [
        *(size(name, tile.get(name, HDIMS), doc, "tile") for name, doc in _TILE.items()),
        *waves(0, counts), *waves(1, counts), *warp_tiles(0, depths), *warp_tiles(1, depths),
        block_per_cu(bounds),
        Enum("pipeline", pipelines, doc="how operands come to the matrix units", role=Role.METHOD),
        v_layout(), *pads(),
    ]  # fmt: skip


def purpose(
    variants: Sequence[str], archs: Sequence[str], dtypes: Sequence[str], modes: Sequence[str]
) -> list[Expr]:
    """What is wanted: kernel, GPU, types, mode and head dimension."""
    return [
        Enum("variant", variants, doc="kind of attention kernel", role=Role.PURPOSE),
        Enum("arch", archs, doc="GPU", role=Role.PURPOSE),
        Enum("dtype", dtypes, doc="type of Q, K and V, and behind it of O where that differs",
             role=Role.PURPOSE),
        Enum("mode", modes, doc="sequences of one length (batch), or each of its own (group)",
             role=Role.PURPOSE),
        Int("hdim", HDIMS, lo=1, hi=1024, doc="elements of a head of Q and K at most",
            role=Role.PURPOSE),
    ]  # fmt: skip


def size(name: str, values: Sequence[int], doc: str, group: str = "", low: int = 1) -> IntExpr:
    """A number that divides the work."""
    return Int(name, values, lo=low, hi=4096, doc=doc, role=Role.GEOMETRY, group=group)


def waves(product: int, counts: Sequence[int]) -> list[Expr]:
    """Waves of one matrix product along M, N and K."""
    group = f"waves{product}"
    return [
        *(size(f"wave_{x}{product}", counts, f"waves along {x.upper()} of product {product}", group)
          for x in "mn"),
        Int(f"wave_k{product}", (1,), lo=1, hi=1, group=group, role=Role.GEOMETRY,
            doc=f"waves along K of product {product}, which no pipeline divides"),
    ]  # fmt: skip


def warp_tiles(product: int, depths: Sequence[int]) -> list[Expr]:
    """Warp tile of one matrix product."""
    sides = {"m": (4, 16, 32, 64), "n": (4, 16, 32, 64), "k": depths}
    return [
        size(f"warp_tile_{x}{product}", values, f"elements of a warp tile along {x.upper()}, product {product}",
             f"warp_tile{product}")
        for x, values in sides.items()
    ]  # fmt: skip


def block_per_cu(values: Sequence[int]) -> IntExpr:
    """The launch bound."""
    return Int("block_per_cu", values, lo=-1, hi=16,
               doc="blocks on a compute unit (launch bound); -1: the pipeline decides")  # fmt: skip


def bias() -> EnumExpr:
    """What is added to the scores."""
    return Enum("bias", w.BIASES, doc="what is added to Q K: nothing, a tensor, or slopes (alibi)")


def mask() -> EnumExpr:
    """Which scores count."""
    return Enum("mask", w.MASKS, doc="class of the mask: none, simplified, causal or generic")


def lse() -> BoolExpr:
    """Whether LSE is a result."""
    return Bool("lse", doc="the logarithm of the sums of exponentials is stored")


def v_layout() -> EnumExpr:
    """What is contiguous in V."""
    return Enum("v_layout", w.V_LAYOUTS, doc="row: the head dimension is contiguous in V")


def pads() -> list[BoolExpr]:
    """Switches that make other than whole tiles right."""
    padded = {
        "pad_s": "Q's sequence", "pad_sk": "K's sequence",
        "pad_d": "the head dimension of Q and K", "pad_dv": "that of V",
    }  # fmt: skip
    return [
        Bool(name, doc=f"{what} need not be a multiple of the tile")
        for name, what in padded.items()
    ]
