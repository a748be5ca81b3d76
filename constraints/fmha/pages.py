"""FMHA: pages of batch prefill, which kernels have since CK 2026.06 and which lists of then have them.

A page is a template parameter then: its rows, how K and V lie in it, how it is found, and how wide
offsets are. In CK 2025.11 every row is listed. Facts of 2026 were read, not compiled.
"""

from __future__ import annotations

from collections.abc import Mapping

from ckrules.constraints.fmha import words as w
from ckrules.constraints.fmha.dispatcher import INSTANCES
from ckrules.constraints.fmha.examples import PREFILL
from ckrules.constraints.fmha.vocabulary import AttentionQuantities
from ckrules.engine.expr import FALSE, BoolExpr, Value, all_of, any_of, implies, is_pow2
from ckrules.engine.rules import rule

_PIPELINE = "ops/fmha/pipeline/block_fmha_batch_prefill_pipeline_qr_ks_vs_async.hpp"
_LATER: Mapping[str, Value] = {**PREFILL, "@ck": "2026.06"}
_LARGE: Mapping[str, Value] = {**_LATER, "page_size": 1024}
_VECTORS: Mapping[str, Value] = {**_LARGE, "kv_vectors": True}
_GLOBAL: Mapping[str, Value] = {**_LATER, "kv_global": True}


def _is_prefill(c: AttentionQuantities) -> BoolExpr:
    return c.variant == "fmha_batch_prefill"


@rule(
    "FMHA073", "pages-of-other-kernels", kind="compile",
    says=["batch prefill alone has pages, since CK 2026.06: page_size = {page_size}",
          "batch prefill alone has pages of vectors, since CK 2026.06: kv_vectors = {kv_vectors}",
          "batch prefill alone has a table of pages, since CK 2026.06: kv_table = {kv_table}",
          "batch prefill alone has offsets of 64 bits, since CK 2026.06: kv_global = {kv_global}"],
    source=["ops/fmha/pipeline/tile_fmha_traits.hpp: TileFmhaTraits (CK 2025.11)",
            "ops/fmha/pipeline/tile_fmha_traits.hpp: TileFmhaBatchPrefillTraits (CK 2026.06, read in ROCm/rocm-libraries @ 4e5c4b1)"],
    accepts=[{}, _VECTORS], rejects=[{**PREFILL, "page_size": 16, "@ck": "2025.11"}, {"kv_table": True}],
    issue="https://github.com/ROCm/composable_kernel/pull/3442",
)  # fmt: skip
def pages_are_the_kernels(c: AttentionQuantities) -> BoolExpr:
    """Only batch prefill since CK 2026.06 has pages as a trait.

    Why: no other traits have the parameters. Pages of the other kernels have as many rows as the
    problem says; those of batch prefill in CK 2025.11 have one.

    Fix: leave them out, or use headers of 2026.
    """
    later = _is_prefill(c) if c.since("2026.06") else FALSE
    return all_of(*(any_of(later, same) for same in _listed_rows(c)))


def _listed_rows(c: AttentionQuantities) -> tuple[BoolExpr, ...]:
    """A page for each row, as in CK 2025.11."""
    return (c.page_size == 1, ~c.kv_vectors, ~c.kv_table, ~c.kv_global)


@rule(
    "FMHA074", "pages-not-as-asserted", kind="compile", since="2026.06", applies=_is_prefill,
    says=["the rows of a page are not a power of two: page_size = {page_size}",
          "vectors of {16 // element_bytes} rows of V do not divide a page: page_size = {page_size}, kv_vectors = {kv_vectors}",
          "vectors of {16 // element_bytes} elements do not divide a row of K: tile_k0max = {tile_k0max}",
          "offsets of 64 bits are for pages shorter than a tile: page_size = {page_size}, tile_n0 = {tile_n0}, kv_global = {kv_global}"],
    source=["ops/fmha/pipeline/block_fmha_pipeline_problem.hpp: BlockFmhaBatchPrefillPipelineProblem, static_assert kPageBlockSize, kVectorSize (CK 2026.06, read in ROCm/rocm-libraries @ 17435b6)",
            f"{_PIPELINE}: static_assert !kUseGlobalLoad || kPageBlockSize < kN0 (CK 2026.06, read in ROCm/rocm-libraries @ 06fa4bd)"],
    accepts=[_LARGE, _VECTORS, _GLOBAL, {**_GLOBAL, "page_size": 16, "kv_vectors": True}],
    rejects=[{**_LARGE, "page_size": 48}, {**_VECTORS, "page_size": 1}, {**_VECTORS, "page_size": 4},
             {**_GLOBAL, "page_size": 128}],
    issue="https://github.com/ROCm/rocm-libraries/pull/6653",
)  # fmt: skip
def pages_are_asserted(c: AttentionQuantities) -> BoolExpr:
    """Pages have a power of two of rows, whole vectors, and 64-bit offsets where a tile has several.

    Why: asserted. Larger pages are found by 64 bits anyhow, so that what is within has 32. One row
    is less than a vector.

    Fix: use a page of 16 rows or more for vectors, and no kv_global for pages of a tile.
    """
    vector = 16 // c.element_bytes
    return all_of(
        is_pow2(c.page_size),
        implies(c.kv_vectors, c.page_size % vector == 0),
        c.tile_k0max % vector == 0,
        implies(c.kv_global, c.page_size < c.tile_n0),
    )


@rule(
    "FMHA075", "tiles-in-two-pages", kind="wrong-result", since="2026.06", applies=_is_prefill,
    says="a tile may lie in two pages, of which one is read: page_size = {page_size}, tile_n0 = {tile_n0}",
    source=f"{_PIPELINE}: rebase_k_window, rebase_v_window if kPageBlockSize >= kN0 (CK 2026.09, read in ROCm/rocm-libraries @ 06fa4bd)",
    accepts=[_LARGE, {**_LATER, "page_size": 16}, {**_LATER, "page_size": 128}],
    rejects=[{**_LARGE, "tile_n0": 96}],
    issue="https://github.com/ROCm/rocm-libraries/pull/4999",
)  # fmt: skip
def tiles_have_one_page(c: AttentionQuantities) -> BoolExpr:
    """Pages of a tile or more have whole tiles.

    Why: all rows of a tile are read from the page of its first one, with offsets within a page. A
    power of two has no whole tiles of 96 or 192 rows. The generator lists tiles of 128 alone.

    Fix: use a power of two for tile_n0, or smaller pages.
    """
    return any_of(c.page_size < c.tile_n0, c.page_size % c.tile_n0 == 0)


@rule(
    "FMHA076", "no-global-loads-to-lds", kind="hardware", since="2026.06",
    applies=lambda c: _is_prefill(c) & c.kv_global,
    says="{arch} has no loads from addresses of 64 bits straight to LDS: kv_global = {kv_global}",
    source="core/tensor/tile_scatter_gather.hpp: static_assert !kUseGlobalLoad_ (CK 2026.06, read in ROCm/rocm-libraries @ 44b5f7c); arch/features.toml global_to_lds",
    accepts=[_GLOBAL], rejects=[{**_GLOBAL, "arch": "gfx90a"}],
    issue="https://github.com/ROCm/rocm-libraries/pull/6653",
)  # fmt: skip
def gpu_loads_from_addresses(c: AttentionQuantities) -> BoolExpr:
    """64-bit offsets need loads to LDS that take an address each.

    Why: asserted; other GPUs load to LDS through descriptors of buffers alone.

    Fix: leave kv_global out.
    """
    return c.has("global_to_lds")


@rule(
    "FMHA077", "vectors-of-v-not-covered", kind="compile", since="2026.06",
    applies=lambda c: _is_prefill(c) & c.kv_vectors,
    says="lanes and waves do not cover V's step: tile_n1 = {tile_n1}, {v_across} lanes beside each other in {waves} waves",
    source="ops/fmha/pipeline/block_fmha_batch_prefill_pipeline_qr_ks_vs_async_default_policy.hpp: MakeVDramTileDistribution static_assert on the product of lengths (CK 2026.09, read in ROCm/rocm-libraries @ a97c1e4)",
    accepts=[_VECTORS, {**_VECTORS, "tile_n1": 256}],
    rejects=[{**_VECTORS, "tile_n1": 192}],
    issue="https://github.com/ROCm/composable_kernel/pull/3657",
)  # fmt: skip
def vectors_are_covered(c: AttentionQuantities) -> BoolExpr:
    """Lanes and waves cover V's step of vectors, with lanes as product 1 has them.

    Why: asserted. A lane loads the rows of a warp tile that it multiplies, and waves lie along the
    head dimension.

    Fix: use a power of two for tile_n1, or fewer waves.
    """
    return c.tile_n1 % (c.v_across * c.waves) == 0


@rule(
    "FGEN023", "pages-not-listed", kind="profile", profiles=w.profiles(), since="2026.06",
    says=["the generator of CK 2025.11 has no pages: page_size = {page_size}",
          "the generator of CK 2025.11 has no pages of vectors: kv_vectors = {kv_vectors}",
          "the generator of CK 2025.11 has no table of pages: kv_table = {kv_table}",
          "the generator of CK 2025.11 has no offsets of 64 bits: kv_global = {kv_global}"],
    source="example/ck_tile/01_fmha/codegen/ops/fmha_batch_prefill.py: FmhaFwdKernel (no F_page_size, CK 2025.11)",
    accepts=[{}], rejects=[_LARGE],
)  # fmt: skip
def november_lists_rows(c: AttentionQuantities) -> BoolExpr:
    """No list of November 2025 has pages.

    Why: receipts are those of CK 2025.11 in every version. The generator of 2026 has pages of 1, 16
    and 1024 rows, both layouts but of one row, both look-ups, and both ways of loading where a page
    is shorter than a tile.

    Fix: leave pages out.
    """
    return all_of(*_listed_rows(c))


@rule(
    "FDSP013", "pages-not-dispatched", kind="profile", profiles=("dispatcher",), since="2026.06",
    says=["the dispatcher has pages of 1, 16 and 1024 rows, of batch prefill: page_size = {page_size}",
          "the dispatcher has vectors in pages of several rows: page_size = {page_size}, kv_vectors = {kv_vectors}",
          "the dispatcher has tables of pages for batch prefill: kv_table = {kv_table}",
          "the dispatcher says no way of loading: kv_global = {kv_global}"],
    source=f"{INSTANCES}: _expand_batch_prefill, get_batch_prefill_pipelines",
    accepts=[{}, _LARGE, _VECTORS, {**_VECTORS, "page_size": 16, "kv_table": True}],
    rejects=[{**_LARGE, "page_size": 64}, {**_VECTORS, "page_size": 1}, _GLOBAL, {"kv_table": True}],
)  # fmt: skip
def pages_are_dispatched(c: AttentionQuantities) -> BoolExpr:
    """Batch prefill has three sizes of pages with both layouts and look-ups, a single row linear.

    Why: they are joined with each tile and each row of traits.

    Fix: use another size of pages.
    """
    one = c.page_size == 1
    return all_of(
        one | (_is_prefill(c) & c.page_size.isin(*w.PAGES)),
        ~c.kv_vectors | ~one,
        ~c.kv_table | _is_prefill(c),
        ~c.kv_global,
    )
