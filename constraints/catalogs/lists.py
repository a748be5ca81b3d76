"""The tables of a catalog file that are keyed by tile: waves, warp tiles, vectors, pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ckrules.constraints.catalogs.fields import TILE, WAVES, CatalogFields
from ckrules.constraints.catalogs.model import Pair, PipelineChoice, TileKey, Triple
from ckrules.support.document import Section
from ckrules.support.errors import nearest

Classes = Mapping[str, tuple[str, ...]]


def read_lists(top: Section, fields: CatalogFields, classes: Classes) -> dict[str, Any]:
    """The entries of `CatalogData` that these tables give."""
    return {
        **_waves(top, fields),
        **_warp_tiles(top, fields),
        **_vectors(top, fields, classes),
        **_pipelines(top, fields, classes),
    }


def _section(top: Section, key: str, allowed: tuple[str, ...]) -> Section | None:
    return top.inner(key, (), allowed) if key in top else None


def _per_tile(
    section: Section, fields: CatalogFields, key: str
) -> Iterator[tuple[Section, str, Triple]]:
    """A sub-table by tile: the table as a section, the key and the tile."""
    if key in section:
        inner = section.inner(key)
        for text in inner.data:
            yield inner, text, fields.sizes(inner, text, text, TILE)


def _strategies(section: Section) -> Iterator[tuple[Section, str]]:
    if "strategies" in section:
        inner = section.inner("strategies")
        for name in inner.data:
            yield inner, name


def _waves(top: Section, fields: CatalogFields) -> dict[str, Any]:
    section = _section(top, "waves", ("strategies", "tiles", "otherwise", *fields.family.variants))
    if section is None:
        return {}
    known = {n: fields.sizes(s, n, s.text(n), WAVES) for s, n in _strategies(section)}
    found: dict[TileKey, tuple[Triple, ...]] = {}
    for inner, key, tile in _per_tile(section, fields, "tiles"):
        waves = tuple(known[w] for w in inner.words(key, known, "wave strategy"))
        found |= {(v, tile): waves for v in fields.family.variants}
    for variant in fields.family.variants:
        for inner, key, tile in _per_tile(section, fields, variant):
            names = inner.words(key, known, "wave strategy")
            found[variant, tile] = tuple(known[w] for w in names)
    rest = section.words("otherwise", known, "wave strategy") if "otherwise" in section else ()
    return {"waves": found, "waves_otherwise": tuple(known[w] for w in rest)}


def _warp_tiles(top: Section, fields: CatalogFields) -> dict[str, Any]:
    section = _section(top, "warp_tiles", ("shapes", "excluded", "exceptions"))
    if section is None:
        return {}
    exceptions: dict[tuple[str, Triple, Triple], tuple[Pair, ...]] = {}
    for row in section.each("exceptions", ("variant", "tile", "waves", "shapes")):
        key = (
            row.word("variant", fields.family.variants, "direction"),
            fields.sizes(row, "tile", row.text("tile"), TILE),
            fields.sizes(row, "waves", row.text("waves"), WAVES),
        )
        exceptions[key] = _pairs(row, fields, "shapes")
    return {
        "warp_shapes": _pairs(section, fields, "shapes"),
        "warp_excluded": _pairs(section, fields, "excluded"),
        "warp_exceptions": exceptions,
    }


def _pairs(section: Section, fields: CatalogFields, key: str) -> tuple[Pair, ...]:
    texts = section.texts(key) if key in section else ()
    return tuple(fields.pair(section, key, t, i) for i, t in enumerate(texts))


def _vectors(top: Section, fields: CatalogFields, classes: Classes) -> dict[str, Any]:
    section = _section(top, "vectors", ("strategies", "otherwise", *fields.family.variants))
    if section is None:
        return {}
    known: dict[tuple[str, str], Triple] = {}
    names: dict[str, None] = {}
    for inner, name in _strategies(section):
        names[name] = None
        table = inner.inner(name, tuple(classes), ())
        for cls in classes:
            known[name, cls] = fields.widths(table, cls, table.text(cls))

    def widths(row: Section, key: str, cls: str) -> tuple[Triple, ...]:
        out = []
        for i, text in enumerate(row.texts(key)):
            if (text, cls) in known:
                out.append(known[text, cls])
            elif "/" in text:
                out.append(fields.widths(row, key, text, i))
            else:
                hits = nearest(text, names)
                tail = f"did you mean {hits[0]!r}?" if hits else "expected one, or like 8/8/4"
                raise row.error(key, f"{text!r} is not a vector strategy, {tail}", i)
        return tuple(sorted(set(out)))

    found: dict[tuple[str, str, Triple], tuple[Triple, ...]] = {}
    tiles: set[TileKey] = set()
    for variant in fields.family.variants:
        for inner, key, tile in _per_tile(section, fields, variant):
            tiles.add((variant, tile))
            row = inner.inner(key, (), tuple(classes))
            for cls in row.data:
                found |= {(variant, d, tile): widths(row, cls, cls) for d in classes[cls]}
    rest = {
        d: widths(section, "otherwise", cls)
        for cls, dtypes in classes.items()
        for d in dtypes
        if "otherwise" in section
    }
    return {"vectors": found, "vectors_otherwise": rest, "vector_tiles": frozenset(tiles)}


def _pipelines(top: Section, fields: CatalogFields, classes: Classes) -> dict[str, Any]:
    section = _section(top, "pipelines", fields.family.variants)
    if section is None:
        return {}
    found: dict[tuple[str, str, Triple], tuple[PipelineChoice, ...]] = {}
    for variant in fields.family.variants:
        for inner, key, tile in _per_tile(section, fields, variant):
            if isinstance(inner.data[key], dict):
                row = inner.inner(key, (), tuple(classes))
                chosen = {c: choices(row, fields, c) for c in row.data}
            else:
                chosen = dict.fromkeys(classes, choices(inner, fields, key))
            found |= {(variant, d, tile): p for c, p in chosen.items() for d in classes[c]}
    return {"pipelines": found}


def choices(row: Section, fields: CatalogFields, key: str) -> tuple[PipelineChoice, ...]:
    """An array of ``PIPELINE/SCHEDULER``, the pipelines by their own names."""
    aliases = fields.family.aliases.get("pipeline", {})
    pipelines, schedulers = fields.values("pipeline"), fields.values("scheduler")
    out = []
    for i, text in enumerate(row.texts(key)):
        name, slash, scheduler = text.partition("/")
        pipeline = aliases.get(name, name)
        if not slash or pipeline not in pipelines or scheduler not in schedulers:
            what = f"{text!r} is not a PIPELINE/SCHEDULER, expected like 'mem/interwave'"
            raise row.error(key, what, i)
        out.append((pipeline, scheduler))
    return tuple(out)
