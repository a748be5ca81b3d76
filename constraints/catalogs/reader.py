"""Turn the text of a catalog file into `CatalogData`.

The tables of a file; only ``[catalog]`` is needed, ``?`` marks keys that may be left out::

    [catalog]      name title source family? check? dtype_tag? layout_names? note?
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
    [[kernels]]?   columns rows family? fixed? derived? with? numbers?
    [select]?      from every? cover? in_turn? categories?      (a catalog cut from another one)

Tiles, waves and warp tiles are written 128x64x32, vectors 8/8/4. A catalog is about one family
(default: the first there is), whose fields its tables and expressions name. ``[[kernels]]`` with
rows list kernels one by one, of this family or another: a cell that is an array means a row for
each of its values, and ``with`` says which lists of the catalog's own family have those, too.
``numbers`` are those of the first rows in a tool's list, such as "0-60 65-69".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from ckrules.constraints.catalogs.fields import TRIPLES, CatalogFields, fields_of
from ckrules.constraints.catalogs.lists import choices, read_lists
from ckrules.constraints.catalogs.model import (
    CatalogBlock,
    CatalogData,
    CatalogRows,
    Condition,
    Select,
    TileSet,
    Triple,
    WrittenExpression,
)
from ckrules.engine.expr import Value
from ckrules.kernels.families import families
from ckrules.support.document import Document, Section
from ckrules.support.toml_path import TomlPath

_TABLES = (
    "dtype_classes", "fixed", "derived", "choices", "terms", "rules", "tiles", "features",
    "waves", "warp_tiles", "vectors", "pipelines", "kernels", "select",
)  # fmt: skip


def read_catalog(name: str, raw: bytes) -> CatalogData:
    """The catalog that the bytes of one file describe; ``name`` is the file's name in messages.

    Raises:
        TomlFileError: With line and column, for bytes that are not UTF-8 TOML or break the schema.

    >>> read_catalog("my.toml", b"[catalog]\\nname = 'mine'\\n")
    Traceback (most recent call last):
    ...
    ckrules.support.document.TomlFileError: my.toml:1:1: [catalog] has no key 'title', which it needs
    """
    doc = Document(name, raw)
    top = Section(doc, (), doc.data, ("catalog",), _TABLES)
    head = Section(
        doc, ("catalog",), top.data["catalog"], ("name", "title", "source"),
        ("family", "check", "dtype_tag", "layout_names", "note"),
    )  # fmt: skip
    if "select" in top:
        for table in _TABLES[:-1]:
            if table in top:
                what = "a catalog with [select] takes its configurations from another one"
                raise doc.error((table,), what, key=True)
    fields = fields_of(head.word("family", families(), "family") if "family" in head else None)
    classes = _classes(top, fields)
    chosen, gpu_waves = _choices(top, fields)
    layouts = ("own", "nhwgc")
    return CatalogData(
        name=head.text("name"),
        title=head.text("title"),
        source=head.text("source"),
        family=fields.family.name,
        check=_flag(head, "check", default=False),
        dtype_tag=_flag(head, "dtype_tag", default=True),
        layout_names=(
            head.word("layout_names", layouts, "way to write layouts")
            if "layout_names" in head
            else "own"
        ),
        fixed=_fixed(top, fields),
        derived=_formulas(top, fields),
        choices=chosen,
        gpu_waves=gpu_waves,
        terms=_terms(top, fields),
        rules=_conditions(top, ("rules",), ("name", "condition", "doc", "source")),
        tiles=_tiles(top, fields),
        features=_features(top, fields, classes),
        kernels=_kernels(top, fields),
        rows=_rows(top, fields),
        select=_select(top, fields),
        note=head.text("note") if "note" in head else "",
        fault=doc.error,
        **read_lists(top, fields, classes),
    )


def _flag(section: Section, key: str, *, default: bool) -> bool:
    value = section.data.get(key, default)
    if not isinstance(value, bool):
        raise section.error(key, f"{key} is not true or false")
    return value


def _free(top: Section, key: str) -> dict[str, object]:
    return top.table(key) if key in top else {}


def _classes(top: Section, fields: CatalogFields) -> dict[str, tuple[str, ...]]:
    """Dtypes by class; without the table every dtype is a class of its own."""
    table = _free(top, "dtype_classes")
    if not table:
        return {d: (d,) for d in fields.values("dtype")}
    section = Section(top.doc, ("dtype_classes",), table, (), tuple(table))
    return {c: section.words(c, fields.values("dtype"), "dtype") for c in table}


def _fixed(top: Section, fields: CatalogFields) -> dict[str, Value]:
    table = _free(top, "fixed")
    section = Section(top.doc, ("fixed",), table, (), tuple(fields.domains))
    return {k: fields.parse(section, k, v) for k, v in table.items()}


def _choices(top: Section, fields: CatalogFields) -> tuple[dict[str, tuple[Value, ...]], bool]:
    table = _free(top, "choices")
    section = Section(top.doc, ("choices",), table, (), (*fields.domains, "waves"))
    gpu = "waves" in table
    if gpu:
        section.word("waves", ("gpu",), "source of waves")
    return {k: _listed(section, fields, k) for k in table if k != "waves"}, gpu


def _listed(section: Section, fields: CatalogFields, key: str) -> tuple[Value, ...]:
    value = section.data[key]
    if not isinstance(value, list) or not value:
        raise section.error(key, f"{key}: expected an array of values")
    return tuple(fields.parse(section, key, v, i) for i, v in enumerate(value))


def _formulas(top: Section, fields: CatalogFields) -> dict[str, WrittenExpression]:
    table = _free(top, "derived")
    section = Section(top.doc, ("derived",), table, (), tuple(fields.domains))
    return {name: WrittenExpression(section.text(name), ("derived", name)) for name in table}


def _terms(top: Section, fields: CatalogFields) -> dict[str, WrittenExpression]:
    table = _free(top, "terms")
    section = Section(top.doc, ("terms",), table, (), tuple(table))
    for name in table:
        if not name.isidentifier() or name in fields.domains:
            raise top.doc.error(("terms", name), f"{name!r} cannot name a term", key=True)
    return {name: WrittenExpression(section.text(name), ("terms", name)) for name in table}


def _conditions(top: Section, path: TomlPath, keys: Sequence[str]) -> tuple[Condition, ...]:
    node: Any = top.data
    for part in path:
        node = node.get(part, []) if isinstance(node, dict) else []
    if not isinstance(node, list):
        raise top.doc.error(path, f"{path[-1]}: expected an array of tables")
    out = []
    for i, data in enumerate(node):
        row = Section(top.doc, (*path, i), data, keys)
        text = WrittenExpression(row.text("condition"), (*path, i, "condition"))
        rest = {k: row.text(k) for k in keys if k not in ("name", "condition")}
        out.append(Condition(row.text("name"), text, **rest))
    return tuple(out)


def _numbers(row: Section, fields: CatalogFields, key: str) -> tuple[int, ...]:
    known = fields.values(key)
    return row.numbers(key, min(known), max(known)) if key in row else known


def _tiles(top: Section, fields: CatalogFields) -> tuple[TileSet, ...]:
    out = []
    for row in top.each("tiles", ("variant", "ndim", "dtype", "tiles")):
        out.append(
            TileSet(
                row.word("variant", fields.family.variants, "direction"),
                _numbers(row, fields, "ndim"),
                row.words("dtype", fields.values("dtype"), "dtype"),
                _sizes(row, fields, "tiles"),
            )
        )
    return tuple(out)


def _features(
    top: Section, fields: CatalogFields, classes: Mapping[str, tuple[str, ...]]
) -> tuple[TileSet, ...]:
    out = []
    optional = ("ndim", "classes", "pipelines")
    for row in top.each("features", ("variant", "fields", "tiles"), optional):
        table = row.table("fields")
        inner = Section(top.doc, (*row.path, "fields"), table, (), tuple(fields.domains))
        picked = row.words("classes", classes, "dtype class") if "classes" in row else classes
        out.append(
            TileSet(
                row.word("variant", fields.family.variants, "direction"),
                _numbers(row, fields, "ndim"),
                tuple(d for c in picked for d in classes[c]),
                _sizes(row, fields, "tiles"),
                {k: fields.parse(inner, k, v) for k, v in table.items()},
                choices(row, fields, "pipelines") if "pipelines" in row else None,
            )
        )
    return tuple(out)


def _sizes(row: Section, fields: CatalogFields, key: str) -> tuple[Triple, ...]:
    return tuple(
        fields.sizes(row, key, text, TRIPLES[0], i) for i, text in enumerate(row.texts(key))
    )


def _blocks(top: Section, *, rows: bool) -> Iterator[tuple[int, Any]]:
    """The entries of ``[[kernels]]`` that list rows, or those that combine shapes."""
    for i, data in enumerate(top.rows("kernels") if "kernels" in top else []):
        listed = isinstance(data, dict) and not data.keys().isdisjoint(("rows", "columns"))
        if listed == rows:
            yield i, data


def _kernels(top: Section, fields: CatalogFields) -> tuple[CatalogBlock, ...]:
    out = []
    for i, data in _blocks(top, rows=False):
        row = Section(
            top.doc, ("kernels", i), data, ("variant", "pipelines", "shapes"), ("fields",)
        )
        table = row.table("fields") if "fields" in row else {}
        inner = Section(top.doc, (*row.path, "fields"), table, (), tuple(fields.domains))
        shapes = []
        for n, text in enumerate(row.texts("shapes")):
            parts = text.split()
            if len(parts) != 3:
                raise row.error("shapes", f"{text!r}: expected tile, waves and warp tile", n)
            tile, waves, warp = (
                fields.sizes(row, "shapes", p, t, n) for p, t in zip(parts, TRIPLES, strict=True)
            )
            shapes.append((tile, waves, warp))
        out.append(
            CatalogBlock(
                row.words("variant", fields.family.variants, "direction"),
                fields.words(row, "pipelines", "pipeline", "pipeline"),
                tuple(shapes),
                {k: _listed(inner, fields, k) for k in table},
            )
        )
    return tuple(out)


def _rows(top: Section, fields: CatalogFields) -> tuple[CatalogRows, ...]:
    return tuple(_row_block(top, fields, i, data) for i, data in _blocks(top, rows=True))


def _row_block(top: Section, own: CatalogFields, i: int, data: Mapping[str, Any]) -> CatalogRows:
    row = Section(
        top.doc,
        ("kernels", i),
        data,
        ("columns", "rows"),
        ("family", "fixed", "derived", "with", "numbers"),
    )
    fields = own
    if "family" in row:
        fields = fields_of(row.word("family", families(), "family"))
    parts = {}
    for key, known in (("fixed", fields), ("derived", fields), ("with", own)):
        table = row.table(key) if key in row else {}
        allowed = tuple(known.domains)
        parts[key] = Section(top.doc, (*row.path, key), table, (), allowed)
    fixed = {k: fields.parse(parts["fixed"], k, v) for k, v in parts["fixed"].data.items()}
    columns = row.words("columns", fields.domains, f"field of {fields.family.name} kernels")
    rows: list[Mapping[str, Value]] = []
    for n, item in enumerate(row.rows("rows")):
        if not isinstance(item, list) or len(item) != len(columns):
            raise row.error("rows", f"rows: expected {len(columns)} values", n)
        cells = [
            [
                fields.accept(row, "rows", k, v, n)
                for v in (value if isinstance(value, list) else [value])
            ]
            for k, value in zip(columns, item, strict=True)
        ]
        rows += [{**fixed, **dict(zip(columns, values, strict=True))} for values in product(*cells)]
    near = parts["with"]
    return CatalogRows(
        fields.family.name,
        tuple(rows),
        {
            k: WrittenExpression(parts["derived"].text(k), (*row.path, "derived", k))
            for k in parts["derived"].data
        },
        {
            k: _listed(near, own, k) if isinstance(v, list) else (own.parse(near, k, v),)
            for k, v in near.data.items()
        },
        row.path,
        _list_numbers(row, len(rows)) if "numbers" in row else (),
    )


def _list_numbers(row: Section, most: int) -> tuple[int, ...]:
    """Numbers and ranges of them, in ascending order."""
    found: list[int] = []
    for word in row.text("numbers").split():
        first, _, last = word.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()):
            raise row.error("numbers", f"{word!r} is not a number or a range like 0-60")
        found += range(int(first), min(int(last or first), int(first) + most) + 1)
    if found != sorted(set(found)) or len(found) > most:
        raise row.error("numbers", f"numbers: expected ascending ones, for at most {most} rows")
    return tuple(found)


def _select(top: Section, fields: CatalogFields) -> Select | None:
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
        row.words("cover", fields.domains, "field") if "cover" in row else (),
        row.number("in_turn", 1, 10**6) if "in_turn" in row else None,
        _conditions(top, ("select", "categories"), ("name", "condition")),
    )
