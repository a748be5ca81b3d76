"""The configurations of a catalog in upstream's order, before its rules have judged them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from ckrules.arch import Gpu
from ckrules.constraints.catalogs.fields import TILE, VECTOR, WARP, WAVES
from ckrules.constraints.catalogs.membership import Membership, exact
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BoolExpr, Expr, Value

Point = dict[str, Value]


def candidates(member: Membership, key: Mapping[str, Value], gpu: Gpu) -> Iterator[Point]:
    """A superset of the catalog's points for a key, in order.

    The order is the one in which upstream's rule sets walk their tables: plain tiles before
    features, then tile, waves and warp tile, vectors, pipeline, and the free fields.

    Args:
        key: A value for each field that says what is wanted (`Fields.keys`).
        gpu: The GPU that it names.
    """
    given = member.family.defaults(str(key["variant"]), key.get("ndim"))
    follows = {k: v for k, v in given.items() if k not in member.defaults}
    start: Point = {**key, **follows, **member.fixed}
    if any(start[k] != v for k, v in key.items()):
        return
    derive = _Derived(member.derived)
    names = list(member.words.variables)
    for point in _shapes(member, start, gpu):
        for free in _free(member, point):
            full = derive({**point, **free})
            yield {k: full[k] for k in names}


def _shapes(member: Membership, start: Point, gpu: Gpu) -> Iterator[Point]:
    if member.sets:
        yield from _from_tiles(member, start, gpu)
    elif member.data.kernels:
        yield from _from_blocks(member, start)
    elif member.data.gpu_waves and gpu.dispatcher is not None:
        for waves in gpu.dispatcher.wave_maps:
            yield {**start, **_named(WAVES, waves)}
    else:
        yield start


def _from_tiles(member: Membership, start: Point, gpu: Gpu) -> Iterator[Point]:
    data = member.data
    variant, dtype = str(start["variant"]), str(start["dtype"])
    every = member.walk.tilings(gpu, dtype)
    for tiles in member.sets:
        if (
            tiles.variant != variant
            or dtype not in tiles.dtypes
            or ("ndim" in start and start["ndim"] not in tiles.ndims)
        ):
            continue
        feature = dict(zip(member.feature_fields, member.feature_values(tiles), strict=True))
        for tile in tiles.tiles:
            base = {**start, **feature, **_named(TILE, tile)}
            pairs: list[Any] = (
                [p for p in every if exact(tile, *p)]
                if (variant, gpu.name, dtype, *tile) in member.uncurated.rows
                else data.curated(variant, tile)
            )
            shapes: list[Point] = [
                _named((*WAVES, *WARP[:2]), (*w, *mn)) for w, mn in pairs
            ] if data.waves or data.waves_otherwise else [{}]  # fmt: skip
            vectors: list[Point] = [
                _named(VECTOR, v) for v in data.vector_list(variant, dtype, tile)
            ] if data.vectors or data.vectors_otherwise else [{}]  # fmt: skip
            pipelines: list[Point] = [
                {"pipeline": p, "scheduler": s} for p, s in member.pipelines(tiles, dtype, tile)
            ] if member.has_pipelines else [{}]  # fmt: skip
            for parts in itertools.product(shapes, vectors, pipelines):
                yield {**base, **parts[0], **parts[1], **parts[2]}


def _from_blocks(member: Membership, start: Point) -> Iterator[Point]:
    for block in member.data.kernels:
        if start["variant"] not in block.variants:
            continue
        for pipeline, shape in itertools.product(block.pipelines, block.shapes):
            sizes = (x for part in shape for x in part)
            base = {**start, "pipeline": pipeline, **_named((*TILE, *WAVES, *WARP), sizes)}
            for values in itertools.product(*block.fields.values()):
                yield {**base, **dict(zip(block.fields, values, strict=True))}


def _free(member: Membership, point: Point) -> Iterator[Point]:
    """The combinations of the fields under ``[choices]`` that the point leaves open."""
    asked = member.fields.keys  # the rules compare these with the listed values
    choices = {k: v for k, v in member.data.choices.items() if k not in asked}
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


class _Derived:
    """Fills in derived fields; a formula is evaluated once for each of its operands' values."""

    def __init__(self, formulas: Mapping[str, Expr]) -> None:
        self._formulas = formulas
        self._memo: dict[tuple[Any, ...], Value] = {}

    def __call__(self, point: Point) -> Point:
        for name, formula in self._formulas.items():
            key = (name, *(point[k] for k in sorted(formula.support)))
            if key not in self._memo:
                at = At(point)
                found: Any = (
                    at.holds(formula) if isinstance(formula, BoolExpr) else at.value(formula)
                )
                if found is None:
                    found = -1  # undefined: no candidate of the field, so a rule removes the point
                self._memo[key] = found
            point[name] = self._memo[key]
        return point


def _named(fields: tuple[str, ...], values: Any) -> Point:
    return dict(zip(fields, values, strict=True))
