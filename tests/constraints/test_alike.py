"""What is said to make the same code: each set of legal kernels has one canonical member."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules.alike import keys, representatives
from ckrules.kernels.books import Books
from ckrules.kernels.selection import select
from ckrules.support.errors import UsageError

VERSIONS = ("2025.11", "2026.06")
VARIANTS = ("forward", "bwd_data", "bwd_weight")
#: Every combination of what claims read, with few of the sizes.
REDUCED = {
    "ndim": 2, "tile_m": 16, "tile_n": 32, "tile_k": 16, "warp_tile_m": 16, "dtype": "fp16",
    "warp_tile_n": 16, "warp_tile_k": 16, "wave_m": 1, "wave_n": (1, 2), "streamk": "off",
    "num_groups_to_merge": 1, "specialization": "default", "pipeline": ("basic_v1", "mem"),
    "scheduler": "intrawave",
}  # fmt: skip


class Alternatives:
    """Every configuration that is said to make the same code, legal or not."""

    def __init__(self, book: Any) -> None:
        known = book.vocabulary.alike
        self.whole = keys(known)
        self.single = [(c.field, domain_of(book.fields[c.field]).values, keys([c])) for c in known]

    def of(self, point: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Those of one configuration."""
        values: dict[str, set[Any]] = {}
        for field, own, keyed in self.single:
            wanted = keyed(point)
            alike = {v for v in own if keyed({**point, field: v}) == wanted}
            values.setdefault(field, set()).update(alike)
        wanted = self.whole(point)
        for chosen in itertools.product(*values.values()):
            other = {**point, **dict(zip(values, chosen, strict=True))}
            if self.whole(other) == wanted:
                yield other


def one_canonical(region: Any, draws: int) -> None:
    """That sets of drawn legal kernels have one canonical member each, and not all are single."""
    legal, first = region.space, region.distinct().space
    alternatives, sizes = Alternatives(region.book), Counter[int]()
    for point in legal.sample(draws, seed=7):
        members = [p for p in alternatives.of(point) if p in legal]
        assert point in members
        assert sum(p in first for p in members) == 1
        sizes[len(members)] += 1
    assert max(sizes) > 1


@pytest.mark.parametrize("profile", ["legal", "fast"])
@pytest.mark.parametrize("ck", VERSIONS)
def test_drawn_sets_have_one_canonical_member(ck: str, profile: str) -> None:
    books = Books(ck, profile)
    for variant, arch in zip(VARIANTS, ("gfx942", "gfx1201", "gfx90a"), strict=True):
        region = select(books, {"variant": variant, "arch": arch, "dtype": "fp16"})
        one_canonical(region, 8)


@pytest.mark.parametrize("variant", ["aquant", "bquant", "rowcol_quant"])
def test_drawn_sets_of_quantised_kernels(variant: str) -> None:
    given = {"variant": variant, "arch": "gfx942", "dtype": "fp8", "layout": "rcr"}
    region = select(Books("2025.11"), given, ["warp_tile_m == 16 & warp_tile_n == 16"])
    one_canonical(region, 12)


@pytest.mark.parametrize("variant", ["fmha_fwd", "fmha_fwd_splitkv", "fmha_bwd"])
def test_drawn_sets_of_attention(variant: str) -> None:
    """`--distinct` said that nothing is known of attention."""
    region = select(Books("2025.11"), {"variant": variant, "arch": "gfx942", "dtype": "fp16"})
    one_canonical(region, 8)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("ck", VERSIONS)
def test_all_sets_of_a_reduced_book_have_one_canonical_member(ck: str, variant: str) -> None:
    region = select(Books(ck), {"variant": variant, "arch": "gfx942", **REDUCED})
    keyed = keys(region.book.vocabulary.alike)
    sets: dict[Any, int] = {}
    for point in region.space:
        sets.setdefault(keyed(point), 0)
    points = list(region.distinct().space)
    for point in points:
        sets[keyed(point)] += 1
    assert set(sets.values()) == {1}
    assert len(points) == region.distinct().space.count() == len(sets)
    assert len(sets) < region.space.count()


def test_values_that_are_asked_for_narrow_the_choice() -> None:
    given = {"variant": "forward", "arch": "gfx942", **REDUCED, "epilogue": "default"}
    books = Books("2025.11")
    wide = select(books, {**given, "vector_c": (4, 8, 16)})
    assert wide.distinct().space.count() == select(books, given).distinct().space.count()
    assert {p["vector_c"] for p in wide.distinct().space} == {4}
    both = select(books, {**given, "block_per_cu": (0, 2)}).distinct().space
    assert {p["block_per_cu"] for p in both} == {0}
    other = select(books, {**given, "block_per_cu": (0, 3)}).distinct().space
    assert {p["block_per_cu"] for p in other} == {0, 3}


def test_the_smallest_of_those_listed_stay() -> None:
    region = select(Books("2025.11"), {"variant": "forward", "arch": "gfx942", **REDUCED})
    words = region.book.vocabulary
    points = list(itertools.islice(region.space, 500))
    random.Random(1).shuffle(points)
    kept = representatives(words.alike, words.variables, points)
    assert kept == sorted(kept)
    assert len(kept) == len(set(map(keys(words.alike), points)))


def test_every_claim_says_where_it_was_read() -> None:
    for ck in VERSIONS:
        words = Books(ck).of("forward").vocabulary
        assert words.alike
        for claim in words.alike:
            assert claim.doc.endswith(".")
            assert all(".hpp: " in source for source in claim.sources)
            assert claim.sources
            assert claim.field in words.variables


def test_nothing_known_is_an_error() -> None:
    with pytest.raises(UsageError, match="nothing is known of gemm kernels"):
        select(Books(), {"variant": "gemm"}).distinct()
