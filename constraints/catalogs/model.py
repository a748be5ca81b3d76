"""The content of a catalog file, typed: tables, expressions as text, and selections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ckrules.engine.expr import Value
from ckrules.support.errors import UsageError
from ckrules.support.toml_path import TomlPath

Triple = tuple[int, int, int]
Pair = tuple[int, int]
PipelineChoice = tuple[str, str]
#: The tile that is meant where a table is keyed by direction and tile.
TileKey = tuple[str, Triple]


@dataclass(frozen=True, slots=True)
class WrittenExpression:
    """An expression as written, and where it stands for messages."""

    text: str
    path: TomlPath


@dataclass(frozen=True, slots=True)
class Condition:
    """One entry of ``[[rules]]`` or ``[[select.categories]]``."""

    name: str
    text: WrittenExpression
    doc: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class TileSet:
    """Tiles for some dimensions and dtypes of a direction, with feature fields or without."""

    variant: str
    ndims: tuple[int, ...]
    dtypes: tuple[str, ...]
    tiles: tuple[Triple, ...]
    fields: Mapping[str, Value] = field(default_factory=dict)
    pipelines: tuple[PipelineChoice, ...] | None = None


@dataclass(frozen=True, slots=True)
class CatalogBlock:
    """One block of ``[[kernels]]``: every combination of its entries."""

    variants: tuple[str, ...]
    pipelines: tuple[str, ...]
    shapes: tuple[tuple[Triple, Triple, Triple], ...]
    fields: Mapping[str, tuple[Value, ...]]


@dataclass(frozen=True, slots=True)
class CatalogRows:
    """One block of ``[[kernels]]`` with rows: kernels of any family, one by one.

    ``near`` are the keys with which a list of the catalog's own family has them too, ``numbers``
    those of the first rows in a tool's list, which has some twice. ``guests`` say every field, and
    are listed whatever keys the catalog's own family has.
    """

    family: str
    rows: tuple[Mapping[str, Value], ...]
    derived: Mapping[str, WrittenExpression]
    near: Mapping[str, tuple[Value, ...]]
    path: TomlPath
    numbers: tuple[int, ...] = ()
    guests: bool = False


@dataclass(frozen=True, slots=True)
class Sweep:
    """Ranges of values, of which a tool lists what passes its checks."""

    axes: Mapping[str, tuple[Value, ...]]
    """The values by field, outermost loop first."""
    profile: str
    """The rule set of the tool's checks; empty: it checks nothing."""
    fixed: Mapping[str, Value] = field(default_factory=dict)
    """Further fields that the file says."""
    beside: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    """By variant the fields that the tool says for every kernel."""
    derive: Callable[[dict[str, Any]], None] = lambda point: None
    """Adds what the tool makes of the other fields, in place.

    It is asked twice: with what kernels are for, and with all fields.
    """
    shape: Callable[[str, Mapping[str, tuple[Value, ...]]], Mapping[str, tuple[Value, ...]]] = (
        lambda variant, axes: axes
    )
    """The loops for a variant, where they are not `axes`."""


@dataclass(frozen=True, slots=True)
class Select:
    """A selection from the ordered list of another catalog."""

    origin: str
    every: int | None
    cover: tuple[str, ...]
    in_turn: int | None
    categories: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class CatalogData:
    """One catalog file. What it says nothing about is empty."""

    name: str
    title: str
    source: str
    family: str
    check: bool = False
    dtype_tag: bool = True
    layout_names: str = "own"
    fixed: Mapping[str, Value] = field(default_factory=dict)
    derived: Mapping[str, WrittenExpression] = field(default_factory=dict)
    choices: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    gpu_waves: bool = False
    terms: Mapping[str, WrittenExpression] = field(default_factory=dict)
    rules: tuple[Condition, ...] = ()
    tiles: tuple[TileSet, ...] = ()
    features: tuple[TileSet, ...] = ()
    waves: Mapping[TileKey, tuple[Triple, ...]] = field(default_factory=dict)
    waves_otherwise: tuple[Triple, ...] = ()
    warp_shapes: tuple[Pair, ...] = ()
    warp_excluded: tuple[Pair, ...] = ()
    warp_exceptions: Mapping[tuple[str, Triple, Triple], tuple[Pair, ...]] = field(
        default_factory=dict
    )
    vectors: Mapping[tuple[str, str, Triple], tuple[Triple, ...]] = field(default_factory=dict)
    vectors_otherwise: Mapping[str, tuple[Triple, ...]] = field(default_factory=dict)
    vector_tiles: frozenset[TileKey] = frozenset()
    pipelines: Mapping[tuple[str, str, Triple], tuple[PipelineChoice, ...]] = field(
        default_factory=dict
    )
    kernels: tuple[CatalogBlock, ...] = ()
    rows: tuple[CatalogRows, ...] = ()
    select: Select | None = None
    sweep: Sweep | None = None
    #: What the file holds beside the kernels that it lists: said wherever the list is used.
    remarks: tuple[str, ...] = ()
    #: Of which text the list is, said where the catalog is shown.
    note: str = ""
    fault: Callable[[TomlPath, str], UsageError] = field(
        default=lambda path, what: UsageError(what), repr=False, compare=False
    )

    @property
    def notes(self) -> list[str]:
        """What is to be known of the list, in lines."""
        return [*([self.note] if self.note else []), *self.remarks]

    def vector_list(self, variant: str, dtype: str, tile: Triple) -> tuple[Triple, ...]:
        """The vector widths of a tile in ascending order."""
        if (variant, tile) in self.vector_tiles:
            return self.vectors.get((variant, dtype, tile), ())
        return self.vectors_otherwise.get(dtype, ())

    def wave_list(self, variant: str, tile: Triple) -> tuple[Triple, ...]:
        """The curated waves of a tile, in the order of its strategies."""
        return self.waves.get((variant, tile), self.waves_otherwise)

    def warp_list(self, variant: str, tile: Triple, waves: Triple) -> tuple[Pair, ...]:
        """The curated warp tiles (m, n) of a tile and waves, without the excluded ones."""
        found = self.warp_exceptions.get((variant, tile, waves))
        if found is None:
            m, n = tile[0] // waves[0], tile[1] // waves[1]
            fitting = [s for s in self.warp_shapes if m and n and not m % s[0] and not n % s[1]]
            found = tuple([*fitting, *self.warp_shapes[-1:]][:1])
        return tuple(s for s in found if s not in self.warp_excluded)

    def curated(self, variant: str, tile: Triple) -> list[tuple[Triple, Pair]]:
        """The curated pairs of waves and warp tile of a tile, in order."""
        return [
            (waves, shape)
            for waves in self.wave_list(variant, tile)
            for shape in self.warp_list(variant, tile, waves)
        ]

    def pipeline_list(self, variant: str, dtype: str, tile: Triple) -> tuple[PipelineChoice, ...]:
        """The pipelines and schedulers of a tile."""
        return self.pipelines.get((variant, dtype, tile), ())
