"""CAT: the rules that say which points a catalog holds, made from its tables and expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from ckrules.arch import Gpu
from ckrules.constraints.catalogs.fields import TILE, VECTOR, WARP, WAVES, fields_of
from ckrules.constraints.catalogs.model import (
    CatalogData,
    Condition,
    TileSet,
    Triple,
    WrittenExpression,
)
from ckrules.constraints.catalogs.rows import defaults_by_ndim
from ckrules.engine.expr import BoolExpr, Expr, Value, all_of, any_of, isin, named, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.traversal import walk
from ckrules.engine.lang.where import parse, parse_condition
from ckrules.engine.restrictions import held_condition
from ckrules.engine.rules import Kind, Rule
from ckrules.kernels.family import Family
from ckrules.kernels.parts import CatalogWalk
from ckrules.support.errors import CkrulesError


class Membership:
    """The vocabulary and rules of one catalog with tables, over the fields of its family.

    Args:
        tables: What the family's tables mean.
        ck: The CK headers, for the quantities that expressions use.
        gpus: The GPUs that points may name.

    Raises:
        TomlFileError: For an expression that cannot be read, or a field that nothing determines.
    """

    def __init__(
        self, data: CatalogData, family: Family, tables: CatalogWalk, ck: str, gpus: Sequence[Gpu]
    ) -> None:
        self.data, self.family, self.walk, self.gpus = data, family, tables, tuple(gpus)
        self.fields = fields_of(family.name)
        self.words: Any = family.vocabulary(ck, gpus)
        #: The values of fields that a configuration may leave out.
        self.defaults = family.defaults(family.variants[0])
        #: The features' fields, then the sets of tiles with and without them.
        mentioned = {k for f in data.features for k in f.fields}
        self.feature_fields = tuple(k for k in self.fields.domains if k in mentioned)
        self.sets: tuple[TileSet, ...] = (*data.tiles, *data.features)
        #: True where tables say which pipelines a tile has.
        self.has_pipelines = bool(data.pipelines) or any(s.pipelines for s in self.sets)
        self._names: dict[str, Any] = {**self.words.names(), **tables.facts(self.words)}
        for name, text in data.terms.items():
            self._names[name] = named(name, self._expr(text))
        self.derived = {k: self._expr(t) for k, t in data.derived.items()}
        block_fields = {k for b in data.kernels for k in b.fields}
        said = {*data.fixed, *data.derived, *data.choices, *self.feature_fields, *block_fields}
        self.fixed: dict[str, Value] = {
            **{k: v for k, v in self.defaults.items() if k not in said},
            **data.fixed,
        }
        self._check_complete({*said, *self.fixed})
        self.rules = tuple(self._rules())

    # -- expressions -----------------------------------------------------------------------

    def _expr(self, text: WrittenExpression) -> Any:
        try:
            node = parse(text.text, self._names)
        except CkrulesError as error:
            raise self.data.fault(text.path, str(error)) from None
        if isinstance(node, Expr):
            return node
        raise self.data.fault(text.path, "the expression is a constant: use [fixed]")

    def condition(self, condition: Condition) -> BoolExpr:
        """The condition of an entry of ``[[rules]]`` or ``[[select.categories]]``."""
        try:
            return parse_condition(condition.text.text, self._names)
        except CkrulesError as error:
            raise self.data.fault(condition.text.path, str(error)) from None

    def _check_complete(self, said: set[str]) -> None:
        data = self.data
        if self.sets:
            said |= {"variant", "dtype", "ndim", *TILE}
            if data.tiles and data.kernels:
                raise data.fault(("kernels",), "[[tiles]] and [[kernels]] exclude each other")
            said |= {*WAVES, *WARP[:2]} if data.waves or data.waves_otherwise else set()
            said |= set(VECTOR) if data.vectors or data.vectors_otherwise else set()
            said |= {"pipeline", "scheduler"} if self.has_pipelines else set()
        if data.kernels:
            said |= {"variant", "pipeline", *TILE, *WAVES, *WARP}
        if data.gpu_waves:
            said |= set(WAVES)
        dims = next(iter(self.fields.values("ndim")), None)
        said |= {*self.walk.free, *self.family.defaults(self.family.variants[0], dims)}
        missing = [f for f in self.fields.domains if f not in said]
        if missing and data.select is None:
            raise data.fault(("catalog",), f"nothing in the file says {', '.join(missing)}")

    # -- rules -----------------------------------------------------------------------------

    def _rule(self, code: str, name: str, doc: str, expr: BoolExpr, source: str = "") -> Rule:
        where = source or self.data.source
        return Rule(
            code, name, Kind.PROFILE, expr, profiles=("catalog",), sources=(where,), doc=doc
        )

    def _rules(self) -> Iterator[Rule]:
        data = self.data
        if self.sets:
            yield from self._tile_rules()
        yield self._rule(
            "CAT005", "other-fixed-value", "Fields that the catalog does not vary have one value.",
            all_of(defaults_by_ndim(self.words, self.family), *(self._equals(k, v) for k, v in self.fixed.items())),
        )  # fmt: skip
        if self.derived:
            yield self._rule(
                "CAT006", "other-derived-value", "Derived fields have the value of their formula.",
                all_of(*(self._field(k) == e for k, e in self.derived.items())),
            )  # fmt: skip
        if data.choices:
            yield self._rule(
                "CAT007", "choice-not-in-catalog", "Free fields have one of the listed values.",
                all_of(*(self._among(k, v) for k, v in data.choices.items())),
            )  # fmt: skip
        if data.kernels:
            yield self._rule(
                "CAT008", "kernel-not-in-catalog", "The kernel is in one of the listed blocks.",
                any_of(*self._blocks()),
            )  # fmt: skip
        if data.gpu_waves:
            yield self._rule(
                "CAT009", "waves-not-of-gpu", "The waves are a wave map of the GPU.",
                self._names["gpu_wave_map"],
            )  # fmt: skip
        for i, entry in enumerate(data.rules, 101):
            yield self._rule(f"CAT{i}", entry.name, entry.doc, self.condition(entry), entry.source)
        if data.check:
            for declared in self.walk.checks(tagged=data.dtype_tag):
                yield declared.build(self.words)

    def _tile_rules(self) -> Iterator[Rule]:
        c, data = self.words, self.data
        feature = [self._field(k) for k in self.feature_fields]
        tile, waves = [self._field(k) for k in TILE], [self._field(k) for k in WAVES]
        dims = ["ndim"] if "ndim" in self.words.variables else []
        where = [c.variant, *(self._field(k) for k in dims), c.dtype, *feature, *tile]
        yield self._rule(
            "CAT001", "tile-not-in-catalog",
            "The direction, dimensions, dtype and features have the block tile.",
            rel(self._table("listed_tiles", ["variant", *dims, "dtype", *self.feature_fields, *TILE],
                            self._listed_tiles()), *where),
        )  # fmt: skip
        if data.waves or data.waves_otherwise:
            warp = [c.warp_tile_m, c.warp_tile_n]
            exact = all_of(
                rel(self._table("gpu_tilings", ["arch", "dtype", *WAVES, *WARP[:2]],
                                self._tilings()), c.arch, c.dtype, *waves, *warp),
                c.tile_m % (c.wave_m * c.warp_tile_m) == 0,
                c.tile_n % (c.wave_n * c.warp_tile_n) == 0,
            )  # fmt: skip
            yield self._rule(
                "CAT002", "waves-not-in-catalog",
                "Waves and warp tile are a curated pair that tiles the block exactly, or any exact "
                "one where the GPU has no curated one.",
                exact & (
                    rel(self.curated_pairs, c.variant, *tile, *waves, *warp)
                    | rel(self.uncurated, c.variant, c.arch, c.dtype, *tile)
                ),
            )  # fmt: skip
        if data.vectors or data.vectors_otherwise:
            rows = [
                (v, d, *t, *w) for v, d, t in self.tile_dtypes for w in data.vector_list(v, d, t)
            ]
            table = self._table("listed_vectors", ["variant", "dtype", *TILE, *VECTOR], rows)
            yield self._rule(
                "CAT003", "vectors-not-in-catalog", "The tile has the vector widths.",
                rel(table, c.variant, c.dtype, *tile, *(self._field(k) for k in VECTOR)),
            )  # fmt: skip
        if not self.has_pipelines:
            return
        pairs = {
            (s.variant, d, *self.feature_values(s), *t, *p)
            for s in self.sets
            for d in s.dtypes
            for t in s.tiles
            for p in self.pipelines(s, d, t)
        }
        keys = ["variant", "dtype", *self.feature_fields, *TILE, "pipeline", "scheduler"]
        yield self._rule(
            "CAT004", "pipeline-not-in-catalog", "The tile and features have the pipeline.",
            rel(self._table("listed_pipelines", keys, sorted(pairs)),
                c.variant, c.dtype, *feature, *tile, c.pipeline, c.scheduler),
        )  # fmt: skip

    # -- tables ----------------------------------------------------------------------------

    def _table(self, name: str, keys: Sequence[str], rows: Iterable[Any]) -> Table:
        return Table.relation(name, keys, rows, source=self.data.source)

    def feature_values(self, tiles: TileSet) -> tuple[Value, ...]:
        """The values of the feature fields for a set of tiles."""
        given = {**self.defaults, **tiles.fields}
        return tuple(given[k] for k in self.feature_fields)

    def pipelines(self, tiles: TileSet, dtype: str, tile: Triple) -> Sequence[tuple[str, str]]:
        """The pipelines and schedulers of a tile in a set."""
        if tiles.pipelines is not None:
            return tiles.pipelines
        return self.data.pipeline_list(tiles.variant, dtype, tile)

    def _listed_tiles(self) -> list[Any]:
        none: list[tuple[int, ...]] = [()]  # of families that have no dimensions
        return [
            (s.variant, *n, d, *self.feature_values(s), *t)
            for s in self.sets for n in [(n,) for n in s.ndims] or none
            for d in s.dtypes for t in s.tiles
        ]  # fmt: skip

    @cached_property
    def tile_dtypes(self) -> list[tuple[str, str, Triple]]:
        """Every direction, dtype and tile of the catalog, once."""
        found = ((s.variant, d, t) for s in self.sets for d in s.dtypes for t in s.tiles)
        return list(dict.fromkeys(found))

    def _tilings(self) -> list[Any]:
        return [
            (g.name, d, *w, *mn)
            for g in self.gpus for d in self.fields.values("dtype") for w, mn in self.walk.tilings(g, d)
        ]  # fmt: skip

    @cached_property
    def curated_pairs(self) -> Table:
        """Curated waves and warp tiles by direction and tile."""
        tiles = dict.fromkeys((v, t) for v, _, t in self.tile_dtypes)
        rows = [(v, *t, *w, *mn) for v, t in tiles for w, mn in self.data.curated(v, t)]
        return self._table("curated_pairs", ["variant", *TILE, *WAVES, *WARP[:2]], rows)

    @cached_property
    def uncurated(self) -> Table:
        """Directions, GPUs, dtypes and tiles of which no curated pair tiles exactly."""
        rows = []
        for gpu in self.gpus:
            known = {d: set(self.walk.tilings(gpu, d)) for d in self.fields.values("dtype")}
            for v, d, t in self.tile_dtypes:
                pairs = self.data.curated(v, t)
                if not any(p in known[d] and exact(t, *p) for p in pairs):
                    rows.append((v, gpu.name, d, *t))
        return self._table("uncurated_tiles", ["variant", "arch", "dtype", *TILE], rows)

    @cached_property
    def values(self) -> dict[str, list[Any]]:
        """The sizes that the tables mention, so that a space has no other candidates."""
        found: dict[str, set[Any]] = {}
        for rule in self.rules:
            for table in [n.data for n in walk(rule.condition) if n.op == "rel"]:
                for i, key in enumerate(table.keys):
                    if key in (*TILE, *WAVES, *WARP, *VECTOR) and table.name != "gpu_tilings":
                        found.setdefault(key, set()).update(row[i] for row in table.rows)
        if self.data.gpu_waves or self.uncurated.rows:
            for gpu in self.gpus:
                shapes = gpu.dispatcher.wave_maps if gpu.dispatcher else ()
                for i, key in enumerate(WAVES):
                    found.setdefault(key, set()).update(w[i] for w in shapes)
            for key in WARP:
                found.pop(key, None)
        fixed = {k: [v] for k, v in self.fixed.items() if self.fields.domains[k].sort != "bool"}
        return {**{k: sorted(v) for k, v in found.items() if k not in self.derived}, **fixed}

    # -- small parts -----------------------------------------------------------------------

    def _field(self, name: str) -> Any:
        return self.words.variables[name]

    def _equals(self, name: str, value: Value) -> BoolExpr:
        return held_condition(self._field(name), [value])

    def _among(self, name: str, values: Sequence[Value]) -> BoolExpr:
        if isinstance(self._field(name), BoolExpr):
            return any_of(*(self._equals(name, v) for v in values))
        return isin(self._field(name), list(values))

    def _blocks(self) -> Iterator[BoolExpr]:
        c = self.words
        for block in self.data.kernels:
            rows = [tuple(x for part in shape for x in part) for shape in block.shapes]
            table = self._table("listed_shapes", [*TILE, *WAVES, *WARP], rows)
            yield all_of(
                isin(c.variant, list(block.variants)),
                isin(c.pipeline, list(block.pipelines)),
                *(self._among(k, v) for k, v in block.fields.items()),
                rel(table, *(self._field(k) for k in (*TILE, *WAVES, *WARP))),
            )


def exact(tile: Triple, waves: Triple, shape: tuple[int, int]) -> bool:
    """True where waves and warp tile cover the M and N of the tile.

    >>> exact((64, 64, 32), (2, 2, 1), (16, 16)), exact((16, 64, 32), (2, 2, 1), (16, 16))
    (True, False)
    """
    return tile[0] % (waves[0] * shape[0]) == 0 and tile[1] % (waves[1] * shape[1]) == 0
