"""The dispatcher's JSON: ``{"variant": …, "instances": [{"tile_m": …}, …]}``.

Traps of the format: ``warp_m`` counts the waves of a block and ``warp_tile_m`` is the MFMA tile;
``compv1`` is basic_v1; the dimensions, the type and the layout stand once beside the list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ckrules.engine.expr import Value
from ckrules.kernels.families import reader_tables, table_for
from ckrules.kernels.reader_tables import KeyTable
from ckrules.kernels.schema import MOST
from ckrules.readers.entries import (
    Context,
    Entry,
    Place,
    Remark,
    UnreadableText,
    entry_from_mapping,
)
from ckrules.readers.formats import jsonl
from ckrules.readers.json_text import LISTS, Item, Members, items
from ckrules.readers.source import Head, LocatedText, SourceError, SourceFile
from ckrules.support.errors import nearest
from ckrules.support.json_values import Repeats

SUFFIXES: tuple[str, ...] = ()
ORDER = 1
COMMENT = ""
QUOTED, COMMENT_ALONE = True, False


def sniff(head: Head) -> bool:
    """Whether the text is JSON with keys of the dispatcher's own, such as ``warp_m``."""
    if not head or not head[0].startswith(("{", "[")) or '"wave_m"' in head.text:
        return False
    marks = (t.mark for t in reader_tables("dispatcher").values() if t.mark)
    return any(re.search(mark, head.text) for mark in marks)


def read(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText | Remark]:
    """Every instance of the document, or of each line if the name ends as JSON Lines do."""
    if source.name.lower().endswith(jsonl.SUFFIXES):
        for line in source.lines():
            if line.fault:
                yield UnreadableText(Place(source.name, line.number, line.column), line.fault)
            elif line.text.strip():
                try:
                    yield from _items(LocatedText(line.text, line.number), source.name, context)
                except SourceError as error:
                    yield UnreadableText(
                        Place(source.name, error.line, error.column), error.message
                    )
        return
    text = source.text()
    if not text.text.strip():
        yield UnreadableText(Place(source.name), "empty: there is no configuration in it")
        return
    yield from _items(text, source.name, context)


def _items(
    text: LocatedText, name: str, context: Context
) -> Iterator[Entry | UnreadableText | Remark]:
    for item in items(text):
        found = instance(item, text, name, context)
        if isinstance(found, UnreadableText):
            found.pointer = item.pointer
        yield found


def instance(
    item: Item, text: LocatedText, source: str, context: Context
) -> Entry | UnreadableText | Remark:
    """The configuration of one instance."""
    members = Members(text, source, item)
    if not isinstance(item.value, dict):
        kind = jsonl.kind(item.value)
        return UnreadableText(members.place, f"expected an instance, found {kind}")
    if isinstance(item.value, Repeats):
        return members.twice(item.value)
    given = {k: v for k, v in {**item.around.values, **item.value}.items() if k not in LISTS}
    table: KeyTable = table_for("dispatcher", given.get("variant"))
    fields, spelt = _fields(given, table)
    keys = {field: key for key, field in spelt.items()}
    for name, values in table.outside.items():
        if fields.get(name) in values:
            at = members.at(keys.get(name, name)) or members.place
            return Remark(at, "CFG006", f"{name} {fields[name]} is not covered by the rules")
    known = _known(fields, context)
    own = {*table.labels, *table.joined}
    ignored = (
        [] if known is None else [k for k in given if k not in own and spelt.get(k, k) not in known]
    )
    names = _names(table, known or (), given) if ignored else []
    remarks = tuple(
        _remark(key, names if n < MOST else [], members) for n, key in enumerate(ignored)
    )
    for key in ignored:
        fields.pop(key, None)

    def locate(field: str, at_key: bool) -> Place | None:
        return members.at(keys.get(field, field), at_key)

    def spell(field: str, value: Value) -> tuple[str, Value] | None:
        if any(field.startswith(joined) for joined in table.joined.values()):
            return None  # several keys say it
        return keys.get(field, table.key(field)), value

    label = f"id {given['id']}" if isinstance(given.get("id"), (int, str)) else ""
    return entry_from_mapping(
        fields, context, members.place, locate, members.rewriter(spell),
        label=label, remarks=remarks, pointer=item.pointer,
    )  # fmt: skip


def _fields(given: Mapping[str, Any], table: KeyTable) -> tuple[dict[str, Any], dict[str, str]]:
    fields: dict[str, Any] = {}
    spelt: dict[str, str] = {}
    for key, value in given.items():
        if key not in table.labels and key not in table.joined:
            spelt[key] = table.fields.get(key, key)
            fields[spelt[key]] = value
    if table.join is not None:
        table.join(given, fields)
        for key, name in table.joined.items():
            if name in fields:
                spelt.setdefault(key, name)
    return fields, spelt


def _known(fields: Mapping[str, Any], context: Context) -> tuple[str, ...] | None:
    """The fields of the instance's operator; None if its variant does not exist."""
    variant = fields.get("variant")
    if not isinstance(variant, str) or variant not in context.books.variants:
        return None
    return tuple(context.books.of(variant).fields)


def _names(table: KeyTable, known: tuple[str, ...], given: Mapping[str, Any]) -> list[str]:
    """The keys that the instance could have and has not."""
    names = [k for k, f in table.fields.items() if f in known]
    names += [k for k in known if k not in table.fields.values()] + list(table.labels)
    return [n for n in names if n not in given]


def _remark(key: str, names: list[str], members: Members) -> Remark:
    hits = nearest(key[:80], names, n=1)
    near = f": did you mean {hits[0]!r}?" if hits else ""
    at = members.at(key, at_key=True) or members.place
    return Remark(at, "CFG004", f"the dispatcher does not read the key {key[:80]!r}{near}")
