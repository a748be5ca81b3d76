"""The tables of a catalog file that are keyed by tile: waves, warp tiles, vectors, pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ckrules.arch.document import Section
from ckrules.constraints.catalogs.fields import TILE, WAVES, parse_pair, parse_sizes, parse_widths
from ckrules.constraints.catalogs.model import Pair, PipelineChoice, TileKey, Triple
from ckrules.constraints.conv.vocabulary import PIPELINES, VARIANTS
from ckrules.engine.errors import nearest
from ckrules.name_grammar import PIPELINE_ALIASES

Classes = Mapping[str, tuple[str, ...]]


def read_lists(top: Section, classes: Classes) -> dict[str, Any]:
    """The entries of `CatalogData` that these tables give."""
    return {
        **_waves(top),
        **_warp_tiles(top),
        **_vectors(top, classes),
        **_pipelines(top, classes),
    }


def _section(top: Section, key: str, allowed: tuple[str, ...]) -> Section | None:
    if key not in top:
        return None
    return Section(top.doc, (key,), top.data[key], (), allowed)


def _per_tile(section: Section, key: str) -> Iterator[tuple[Section, str, Triple]]:
    """A sub-table by tile: the table as a section, the key and the tile."""
    if key in section:
        table = section.table(key)
        inner = Section(section.doc, (*section.path, key), table, (), tuple(table))
        for text in table:
            yield inner, text, parse_sizes(inner, text, text, TILE)


def _strategies(section: Section) -> Iterator[tuple[Section, str]]:
    if "strategies" in section:
        table = section.table("strategies")
        inner = Section(section.doc, (*section.path, "strategies"), table, (), tuple(table))
        for name in table:
            yield inner, name


def _waves(top: Section) -> dict[str, Any]:
    section = _section(top, "waves", ("strategies", "tiles", "otherwise", *VARIANTS))
    if section is None:
        return {}
    known = {n: parse_sizes(s, n, s.text(n), WAVES) for s, n in _strategies(section)}
    found: dict[TileKey, tuple[Triple, ...]] = {}
    for inner, key, tile in _per_tile(section, "tiles"):
        waves = tuple(known[w] for w in inner.words(key, known, "wave strategy"))
        found |= {(v, tile): waves for v in VARIANTS}
    for variant in VARIANTS:
        for inner, key, tile in _per_tile(section, variant):
            names = inner.words(key, known, "wave strategy")
            found[variant, tile] = tuple(known[w] for w in names)
    rest = section.words("otherwise", known, "wave strategy") if "otherwise" in section else ()
    return {"waves": found, "waves_otherwise": tuple(known[w] for w in rest)}


def _warp_tiles(top: Section) -> dict[str, Any]:
    section = _section(top, "warp_tiles", ("shapes", "excluded", "exceptions"))
    if section is None:
        return {}
    exceptions: dict[tuple[str, Triple, Triple], tuple[Pair, ...]] = {}
    for i, data in enumerate(section.rows("exceptions") if "exceptions" in section else []):
        path = ("warp_tiles", "exceptions", i)
        row = Section(top.doc, path, data, ("variant", "tile", "waves", "shapes"))
        key = (
            row.word("variant", VARIANTS, "direction"),
            parse_sizes(row, "tile", row.text("tile"), TILE),
            parse_sizes(row, "waves", row.text("waves"), WAVES),
        )
        exceptions[key] = _pairs(row, "shapes")
    return {
        "warp_shapes": _pairs(section, "shapes"),
        "warp_excluded": _pairs(section, "excluded"),
        "warp_exceptions": exceptions,
    }


def _pairs(section: Section, key: str) -> tuple[Pair, ...]:
    texts = section.texts(key) if key in section else ()
    return tuple(parse_pair(section, key, t, i) for i, t in enumerate(texts))


def _vectors(top: Section, classes: Classes) -> dict[str, Any]:
    section = _section(top, "vectors", ("strategies", "otherwise", *VARIANTS))
    if section is None:
        return {}
    known: dict[tuple[str, str], Triple] = {}
    names: dict[str, None] = {}
    for inner, name in _strategies(section):
        names[name] = None
        table = Section(top.doc, (*inner.path, name), inner.data[name], tuple(classes))
        for cls in classes:
            known[name, cls] = parse_widths(table, cls, table.text(cls))

    def widths(row: Section, key: str, cls: str) -> tuple[Triple, ...]:
        out = []
        for i, text in enumerate(row.texts(key)):
            if (text, cls) in known:
                out.append(known[text, cls])
            elif "/" in text:
                out.append(parse_widths(row, key, text, i))
            else:
                hits = nearest(text, names)
                tail = f"did you mean {hits[0]!r}?" if hits else "expected one, or like 8/8/4"
                raise row.error(key, f"{text!r} is no vector strategy, {tail}", i)
        return tuple(sorted(set(out)))

    found: dict[tuple[str, str, Triple], tuple[Triple, ...]] = {}
    tiles: set[TileKey] = set()
    for variant in VARIANTS:
        for inner, key, tile in _per_tile(section, variant):
            tiles.add((variant, tile))
            row = Section(top.doc, (*inner.path, key), inner.data[key], (), tuple(classes))
            for cls in row.data:
                found |= {(variant, d, tile): widths(row, cls, cls) for d in classes[cls]}
    rest = {
        d: widths(section, "otherwise", cls)
        for cls, dtypes in classes.items()
        for d in dtypes
        if "otherwise" in section
    }
    return {"vectors": found, "vectors_otherwise": rest, "vector_tiles": frozenset(tiles)}


def _pipelines(top: Section, classes: Classes) -> dict[str, Any]:
    section = _section(top, "pipelines", VARIANTS)
    if section is None:
        return {}
    found: dict[tuple[str, str, Triple], tuple[PipelineChoice, ...]] = {}
    for variant in VARIANTS:
        for inner, key, tile in _per_tile(section, variant):
            if isinstance(inner.data[key], dict):
                row = Section(top.doc, (*inner.path, key), inner.data[key], (), tuple(classes))
                chosen = {c: choices(row, c) for c in row.data}
            else:
                chosen = dict.fromkeys(classes, choices(inner, key))
            found |= {(variant, d, tile): p for c, p in chosen.items() for d in classes[c]}
    return {"pipelines": found}


def choices(row: Section, key: str) -> tuple[PipelineChoice, ...]:
    """An array of ``PIPELINE/SCHEDULER``, the pipelines by their own names."""
    out = []
    for i, text in enumerate(row.texts(key)):
        name, slash, scheduler = text.partition("/")
        pipeline = PIPELINE_ALIASES.get(name, name)
        if not slash or pipeline not in PIPELINES or scheduler not in ("intrawave", "interwave"):
            what = f"{text!r} is no PIPELINE/SCHEDULER, expected like 'mem/interwave'"
            raise row.error(key, what, i)
        out.append((pipeline, scheduler))
    return tuple(out)
