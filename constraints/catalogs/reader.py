"""Turn the text of a catalog file into `CatalogData`.

The tables of a file; only ``[catalog]`` is needed, ``?`` marks keys that may be left out::

    [catalog]      name title source check? dtype_tag? layout_names?
    [dtype_classes]?              CLASS = [DTYPE, …]
    [fixed]?                      FIELD = value
    [derived]?                    FIELD = "expression"
    [choices]?                    FIELD = [value, …] in order; waves = "gpu"
    [terms]?                      NAME = "expression" for the other expressions
    [[rules]]?     name condition doc source
    [[tiles]]?     variant ndim dtype tiles
    [[features]]?  variant fields tiles ndim? classes? pipelines?
    [waves]?       strategies tiles? otherwise? and, by direction, TILE = [STRATEGY, …]
    [warp_tiles]?  shapes excluded? exceptions?
    [vectors]?     strategies otherwise? and, by direction, TILE = { CLASS = [STRATEGY or A/B/C, …] }
    [pipelines]?   by direction, TILE = [PIPELINE/SCHEDULER, …] or { CLASS = […] }
    [[kernels]]?   variant pipelines shapes fields?      (instead of tiles, waves, …)
    [depthwise]?   with columns rows derived?
    [select]?      from every? cover? in_turn? categories?      (a catalog cut from another one)

Tiles, waves and warp tiles are written 128x64x32, vectors 8/8/4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckrules.arch.document import Document, Path, Section
from ckrules.constraints.catalogs.fields import DOMAINS, TRIPLES, parse_field, parse_sizes
from ckrules.constraints.catalogs.lists import choices, read_lists
from ckrules.constraints.catalogs.model import (
    CatalogData,
    Condition,
    Depthwise,
    Kernels,
    Select,
    Text,
    TileSet,
    Triple,
)
from ckrules.constraints.conv.vocabulary import KERNEL_DTYPES, PIPELINES, VARIANTS
from ckrules.constraints.depthwise.vocabulary import fields as depthwise_fields
from ckrules.engine.expr import Value
from ckrules.engine.variables import domain_of
from ckrules.name_grammar import PIPELINE_ALIASES

_TABLES = (
    "dtype_classes", "fixed", "derived", "choices", "terms", "rules", "tiles", "features",
    "waves", "warp_tiles", "vectors", "pipelines", "kernels", "depthwise", "select",
)  # fmt: skip
_NDIMS = (1, 2, 3)


def read_catalog(name: str, raw: bytes) -> CatalogData:
    """The catalog that the bytes of one file describe; ``name`` is the file's name in messages.

    Raises:
        ArchFileError: With line and column, for bytes that are no UTF-8 TOML or break the schema.

    >>> read_catalog("my.toml", b"[catalog]\\nname = 'mine'\\n")
    Traceback (most recent call last):
    ...
    ckrules.arch.document.ArchFileError: my.toml:1:1: [catalog] has no key 'title', which it needs
    """
    doc = Document(name, raw)
    top = Section(doc, (), doc.data, ("catalog",), _TABLES)
    head = Section(
        doc, ("catalog",), top.data["catalog"], ("name", "title", "source"),
        ("check", "dtype_tag", "layout_names"),
    )  # fmt: skip
    if "select" in top:
        for table in _TABLES[:-1]:
            if table in top:
                what = "a catalog with [select] takes its configurations from another one"
                raise doc.error((table,), what, key=True)
    classes = _classes(top)
    chosen, gpu_waves = _choices(top)
    layouts = ("own", "nhwgc")
    return CatalogData(
        name=head.text("name"),
        title=head.text("title"),
        source=head.text("source"),
        check=_flag(head, "check", default=False),
        dtype_tag=_flag(head, "dtype_tag", default=True),
        layout_names=(
            head.word("layout_names", layouts, "way to write layouts")
            if "layout_names" in head
            else "own"
        ),
        fixed=_fixed(top),
        derived=_texts(top, "derived", fields=True),
        choices=chosen,
        gpu_waves=gpu_waves,
        terms=_texts(top, "terms", fields=False),
        rules=_conditions(top, ("rules",), ("name", "condition", "doc", "source")),
        tiles=_tiles(top),
        features=_features(top, classes),
        kernels=_kernels(top),
        depthwise=_depthwise(top),
        select=_select(top),
        fault=doc.error,
        **read_lists(top, classes),
    )


def _flag(section: Section, key: str, *, default: bool) -> bool:
    value = section.data.get(key, default)
    if not isinstance(value, bool):
        raise section.error(key, f"{key} is not true or false")
    return value


def _free(top: Section, key: str) -> dict[str, object]:
    return top.table(key) if key in top else {}


def _classes(top: Section) -> dict[str, tuple[str, ...]]:
    """Dtypes by class; without the table every dtype is a class of its own."""
    table = _free(top, "dtype_classes")
    if not table:
        return {d: (d,) for d in KERNEL_DTYPES}
    section = Section(top.doc, ("dtype_classes",), table, (), tuple(table))
    return {c: section.words(c, KERNEL_DTYPES, "dtype") for c in table}


def _fixed(top: Section) -> dict[str, Value]:
    table = _free(top, "fixed")
    section = Section(top.doc, ("fixed",), table, (), tuple(DOMAINS))
    return {k: parse_field(section, k, v) for k, v in table.items()}


def _choices(top: Section) -> tuple[dict[str, tuple[Value, ...]], bool]:
    table = _free(top, "choices")
    section = Section(top.doc, ("choices",), table, (), (*DOMAINS, "waves"))
    gpu = "waves" in table
    if gpu:
        section.word("waves", ("gpu",), "source of waves")
    return {k: _listed(section, k) for k in table if k != "waves"}, gpu


def _listed(section: Section, key: str) -> tuple[Value, ...]:
    value = section.data[key]
    if not isinstance(value, list) or not value:
        raise section.error(key, f"{key}: expected an array of values")
    return tuple(parse_field(section, key, v, i) for i, v in enumerate(value))


def _texts(top: Section, key: str, *, fields: bool) -> dict[str, Text]:
    table = _free(top, key)
    section = Section(top.doc, (key,), table, (), tuple(DOMAINS) if fields else tuple(table))
    out: dict[str, Text] = {}
    for name in table:
        if not fields and (not name.isidentifier() or name in DOMAINS):
            raise top.doc.error((key, name), f"{name!r} cannot name a term", key=True)
        out[name] = Text(section.text(name), (key, name))
    return out


def _conditions(top: Section, path: Path, keys: Sequence[str]) -> tuple[Condition, ...]:
    node: Any = top.data
    for part in path:
        node = node.get(part, []) if isinstance(node, dict) else []
    if not isinstance(node, list):
        raise top.doc.error(path, f"{path[-1]}: expected an array of tables")
    out = []
    for i, data in enumerate(node):
        row = Section(top.doc, (*path, i), data, keys)
        text = Text(row.text("condition"), (*path, i, "condition"))
        rest = {k: row.text(k) for k in keys if k not in ("name", "condition")}
        out.append(Condition(row.text("name"), text, **rest))
    return tuple(out)


def _numbers(row: Section, key: str) -> tuple[int, ...]:
    return row.numbers(key, 1, 3) if key in row else _NDIMS


def _tiles(top: Section) -> tuple[TileSet, ...]:
    out = []
    for i, data in enumerate(top.rows("tiles") if "tiles" in top else []):
        row = Section(top.doc, ("tiles", i), data, ("variant", "ndim", "dtype", "tiles"))
        out.append(
            TileSet(
                row.word("variant", VARIANTS, "direction"),
                _numbers(row, "ndim"),
                row.words("dtype", KERNEL_DTYPES, "dtype"),
                _sizes(row, "tiles"),
            )
        )
    return tuple(out)


def _features(top: Section, classes: Mapping[str, tuple[str, ...]]) -> tuple[TileSet, ...]:
    out = []
    for i, data in enumerate(top.rows("features") if "features" in top else []):
        row = Section(
            top.doc, ("features", i), data, ("variant", "fields", "tiles"),
            ("ndim", "classes", "pipelines"),
        )  # fmt: skip
        table = row.table("fields")
        inner = Section(top.doc, (*row.path, "fields"), table, (), tuple(DOMAINS))
        picked = row.words("classes", classes, "dtype class") if "classes" in row else classes
        out.append(
            TileSet(
                row.word("variant", VARIANTS, "direction"),
                _numbers(row, "ndim"),
                tuple(d for c in picked for d in classes[c]),
                _sizes(row, "tiles"),
                {k: parse_field(inner, k, v) for k, v in table.items()},
                choices(row, "pipelines") if "pipelines" in row else None,
            )
        )
    return tuple(out)


def _sizes(row: Section, key: str) -> tuple[Triple, ...]:
    return tuple(
        parse_sizes(row, key, text, TRIPLES[0], i) for i, text in enumerate(row.texts(key))
    )


def _kernels(top: Section) -> tuple[Kernels, ...]:
    out = []
    for i, data in enumerate(top.rows("kernels") if "kernels" in top else []):
        row = Section(
            top.doc, ("kernels", i), data, ("variant", "pipelines", "shapes"), ("fields",)
        )
        table = row.table("fields") if "fields" in row else {}
        inner = Section(top.doc, (*row.path, "fields"), table, (), tuple(DOMAINS))
        shapes = []
        for n, text in enumerate(row.texts("shapes")):
            parts = text.split()
            if len(parts) != 3:
                raise row.error("shapes", f"{text!r}: expected tile, waves and warp tile", n)
            tile, waves, warp = (
                parse_sizes(row, "shapes", p, t, n) for p, t in zip(parts, TRIPLES, strict=True)
            )
            shapes.append((tile, waves, warp))
        known = (*PIPELINES, *PIPELINE_ALIASES)
        out.append(
            Kernels(
                row.words("variant", VARIANTS, "direction"),
                tuple(
                    PIPELINE_ALIASES.get(p, p) for p in row.words("pipelines", known, "pipeline")
                ),
                tuple(shapes),
                {k: _listed(inner, k) for k in table},
            )
        )
    return tuple(out)


def _depthwise(top: Section) -> Depthwise | None:
    if "depthwise" not in top:
        return None
    keys = ("with", "columns", "rows")
    row = Section(top.doc, ("depthwise",), top.data["depthwise"], keys, ("derived",))
    near = Section(top.doc, ("depthwise", "with"), row.table("with"), ("variant", "ndim"))
    domains = {domain_of(f).name: domain_of(f) for f in depthwise_fields(("gpu",))}
    columns = row.words("columns", domains, "field of depthwise kernels")
    rows = []
    for i, item in enumerate(row.rows("rows")):
        if not isinstance(item, list) or len(item) != len(columns):
            raise row.error("rows", f"rows: expected {len(columns)} numbers", i)
        try:
            rows.append({k: domains[k].accept(v) for k, v in zip(columns, item, strict=True)})
        except ValueError as error:
            raise row.error("rows", str(error), i) from None
    derived = row.table("derived") if "derived" in row else {}
    inner = Section(top.doc, ("depthwise", "derived"), derived, (), tuple(domains))
    return Depthwise(
        near.word("variant", VARIANTS, "direction"),
        near.number("ndim", 1, 3),
        tuple(rows),  # type: ignore[arg-type]
        {k: Text(inner.text(k), ("depthwise", "derived", k)) for k in derived},
    )


def _select(top: Section) -> Select | None:
    if "select" not in top:
        return None
    row = Section(
        top.doc, ("select",), top.data["select"], ("from",),
        ("every", "cover", "in_turn", "categories"),
    )  # fmt: skip
    if ("every" in row) == ("in_turn" in row):
        raise top.doc.error(("select",), "[select] needs one of every and in_turn", key=True)
    return Select(
        row.text("from"),
        row.number("every", 1, 10**6) if "every" in row else None,
        row.words("cover", DOMAINS, "field") if "cover" in row else (),
        row.number("in_turn", 1, 10**6) if "in_turn" in row else None,
        _conditions(top, ("select", "categories"), ("name", "condition")),
    )
