"""The registry's JSON: entries with a ``signature`` and an ``algorithm``, waves as ``"2x2x1"``.

GEMMs have shapes as objects of m, n and k. An entry that has only a name and an algorithm, as the
ctypes library writes it, is what its name says: that library registers one key for all kernels.

Upstream's reader of this format drops double_smem_buffer, split_image, two_stage, explicit_gemm
and the pads; what the file writes is judged here all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ckrules.engine.expr import Value
from ckrules.kernels.families import family_of, reader_tables, table_for
from ckrules.kernels.names import beginnings
from ckrules.kernels.reader_tables import Fields, KeyTable
from ckrules.kernels.schema import MOST
from ckrules.readers.entries import (
    Context,
    Edit,
    Entry,
    Place,
    Remark,
    UnreadableText,
    entry_from_mapping,
    entry_from_name,
)
from ckrules.readers.formats import jsonl
from ckrules.readers.json_text import Item, Members, items
from ckrules.readers.source import Head, LocatedText, SourceFile
from ckrules.support.errors import nearest
from ckrules.support.json_values import Repeats

SUFFIXES: tuple[str, ...] = ()
ORDER = 0
COMMENT = ""
QUOTED, COMMENT_ALONE = True, False
PARTS = ("signature", "algorithm")
#: Keys of GEMMs by which an entry without a readable name is told.
_LITTLE = ("tile_shape", "wave_shape", "dtypes")
_TRIPLE = re.compile(r"\d{1,9}x\d{1,9}x\d{1,9}")


def sniff(head: Head) -> bool:
    """Whether the text is JSON with signatures and algorithms."""
    if not head or not head[0].startswith(("{", "[")):
        return False
    return '"algorithm"' in head.text and (
        '"signature"' in head.text or '"identifier"' in head.text
    )


def read(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText | Remark]:
    """Every entry of the registry."""
    text = source.text()
    if not text.text.strip():
        yield UnreadableText(Place(source.name), "empty: there is no configuration in it")
        return
    for item in items(text):
        found = _entry(item, text, source.name, context)
        if isinstance(found, UnreadableText):
            found.pointer = item.pointer
        yield found


def _entry(
    item: Item, text: LocatedText, source: str, context: Context
) -> Entry | UnreadableText | Remark:
    whole, value = Members(text, source, item), item.value
    if not isinstance(value, dict):
        return UnreadableText(whole.place, f"expected an entry, found {jsonl.kind(value)}")
    if not all(isinstance(value.get(part), dict) for part in PARTS):
        return _partial(value, text, item, whole, context)
    if (part := _repeating(value)) is not None:
        repeats, inner = part
        return Members(text, source, item, inner).twice(repeats)
    return _Reader(item, text, source).entry(context)


def _repeating(value: Mapping[str, Any]) -> tuple[Repeats, tuple[str, ...]] | None:
    """The entry, or the first of its parts, if it has a key twice, and the way to it."""
    parts = [(value, ()), *((value[p], (p,)) for p in PARTS)]
    return next(((v, way) for v, way in parts if isinstance(v, Repeats)), None)


def _partial(
    value: Mapping[str, Any], text: LocatedText, item: Item, members: Members, context: Context
) -> Entry | UnreadableText | Remark:
    """An entry without a part: its name says the kernel, or what it lacks is said."""
    name = value.get("name")
    whole = "signature" in value or not isinstance(value.get("algorithm"), dict)
    if isinstance(name, str) and name.startswith(beginnings()) and not whole:
        span, at = members.span("name"), members.at("name") or members.place
        spread = span is not None and text.text[slice(*span)] == f'"{name}"'
        if spread:
            at = at._replace(column=at.column + 1)
        found = entry_from_name(name, context, at, spread=spread)
        found.pointer = item.pointer
        return found
    if any(
        k in value or (isinstance(value.get("algorithm"), dict) and k in value["algorithm"])
        for k in _LITTLE
    ):
        return Remark(members.place, "CFG006", "a GEMM kernel: the entry says too little of it")
    lacks = next(p for p in PARTS if not isinstance(value.get(p), dict))
    return UnreadableText(members.place, f"an entry of a registry without {lacks}")


def _table(value: Mapping[str, Any]) -> KeyTable:
    """The table of the family whose entries have such parts, else that of the variant."""
    tables: Iterable[KeyTable] = reader_tables("registry").values()
    algorithm = value["algorithm"]
    own = next((t for t in tables if any(part in algorithm for part in t.parts)), None)
    return own or table_for("registry", value["signature"].get("variant"))


class _Reader:
    def __init__(self, item: Item, text: LocatedText, source: str) -> None:
        self.item, self.text, self.source = item, text, source
        self.members = {"": Members(text, source, item)}
        self.members |= {part: Members(text, source, item, (part,)) for part in PARTS}
        self.place = self.members[""].place
        self.table = _table(item.value)
        self.home: dict[str, tuple[str, str, int]] = {}  # part, key, place in a triple or -1

    def entry(self, context: Context) -> Entry | UnreadableText | Remark:
        value = self.item.value
        fields: dict[str, Any] = {}
        gpu = self.table.gpu
        if isinstance(value.get(gpu), str) and value[gpu]:
            fields["arch"] = value[gpu]
            self.home["arch"] = "", gpu, -1
        for part in PARTS:
            for key, given in value[part].items():
                if key in self.table.triples:
                    fault = self._triple(part, key, given, fields)
                    if fault is not None:
                        return fault
                    continue
                field = self.table.fields.get(key, key)
                fields[field] = given
                self.home[field] = part, key, -1
        for name, values in self.table.outside.items():
            if fields.get(name) in values:
                at = self._place(name) or self.place
                return Remark(at, "CFG006", f"{name} {fields[name]} is not covered by the rules")
        self.said = dict(fields)
        if self.table.join is not None:
            self.table.join(value, fields)
            for key, name in self.table.joined.items():
                if key in self.home and name in fields:
                    self.home.setdefault(name, self.home[key])
        remarks = tuple(self._ignored(fields, context))
        label = value["name"] if isinstance(value.get("name"), str) else ""
        return entry_from_mapping(
            fields, context, self.place, self._place, self._rewrite,
            label=label, remarks=remarks, pointer=self.item.pointer,
        )  # fmt: skip

    def _triple(
        self, part: str, key: str, given: Any, fields: dict[str, Any]
    ) -> UnreadableText | None:
        numbers = given
        if isinstance(given, str) and _TRIPLE.fullmatch(given):
            numbers = [int(n) for n in given.split("x")]
        if isinstance(given, dict) and given.keys() == set("mnk"):
            numbers = [given[k] for k in "mnk"]
        if not isinstance(numbers, list) or len(numbers) != 3:
            at = self.members[part].at(key) or self.place
            return UnreadableText(at, f'{key} is not three numbers, as in "2x2x1"')
        for index, field in enumerate(self.table.triples[key]):
            fields[field] = numbers[index]
            self.home[field] = part, key, index
        return None

    def _ignored(self, fields: dict[str, Any], context: Context) -> Iterator[Remark]:
        variant = fields.get("variant")
        if not isinstance(variant, str) or variant not in context.books.variants:
            return
        known = [*context.books.of(variant).fields, *family_of(variant).follows]
        for n, field in enumerate([f for f in fields if f not in known]):
            part, key, _ = self.home.get(field, ("", field, -1))
            del fields[field]
            if key in self.table.labels:
                continue
            hits = nearest(key[:80], [*known, *self.table.fields], n=1) if n < MOST else []
            near = f": did you mean {hits[0]!r}?" if hits else ""
            at = self._place(field, at_key=True) or self.place
            yield Remark(at, "CFG004", f"no field of {part} is called {key[:80]!r}{near}")

    def _place(self, field: str, at_key: bool = False) -> Place | None:
        if field not in self.home:
            return None
        part, key, index = self.home[field]
        span = self.members[part].span(key, at_key)
        if span is None:
            return None
        raw = self.text.text[slice(*span)]
        if index >= 0 and raw.startswith("{") and not at_key:
            return Members(self.text, self.source, self.item, (part, key)).at("mnk"[index])
        if index >= 0 and not at_key and _TRIPLE.fullmatch(raw.strip('"')):
            number = list(re.finditer(r"\d+", raw))[index]
            span = span[0] + number.start(), span[0] + number.end()
        return self.members[part].part(*span)

    def _joined(self, change: Fields) -> Fields:
        """The fields of the entry, with a change of what its keys say."""
        fields = {**self.said, **change}
        if self.table.join is not None:
            self.table.join(self.item.value, fields)
        return fields

    def _rewrite(self, field: str, value: Value) -> Edit | None:
        home = self.home.get(field)
        if field in self.table.joined.values():
            return None  # several keys say it
        if self._joined({field: value}) != {**self._joined({}), field: value}:
            return None  # another field follows from it
        if home is not None and home[2] >= 0:
            at = self._place(field)
            inside = at is not None and not isinstance(self.item.value[home[0]].get(home[1]), list)
            return Edit(at, str(value)) if at is not None and inside else None
        part = home[0] if home else "algorithm"
        key = home[1] if home else self.table.key(field)
        return self.members[part].rewriter(lambda f, v: (key, v))(field, value)
