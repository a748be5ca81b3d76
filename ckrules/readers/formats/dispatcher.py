"""The dispatcher's convolution JSON: ``{"variant": …, "instances": [{"tile_m": …}, …]}``.

Traps of the format: ``warp_m`` counts the waves of a block and ``warp_tile_m`` is the MFMA tile;
``compv1`` is basic_v1; the dimensions, the type and the layout stand once beside the list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ckrules.engine.errors import nearest
from ckrules.engine.expr import Value
from ckrules.readers.entries import Context, Entry, Place, Problem, Remark, entry_from_mapping
from ckrules.readers.formats import jsonl
from ckrules.readers.json_text import LISTS, Item, Members, Repeats, items
from ckrules.readers.source import Head, Source, SourceError, Text

TITLE = "the dispatcher's convolution JSON (warp_* are waves, warp_tile_* the MFMA tile)"
SUFFIXES: tuple[str, ...] = ()
ORDER = 1
COMMENT = ""
_WAVES = re.compile(r'"warp_[mnk]"\s*:')
_DEPTHWISE = re.compile(r'"(?:filt|str_h|str_w)"\s*:')

#: Field by key, where they differ.
FIELDS = {
    **{f"warp_{x}": f"wave_{x}" for x in "mnk"},
    **{f"vector_size_{x}": f"vector_{x}" for x in "abc"},
    "ndim_spatial": "ndim", "datatype": "dtype", "data_type": "dtype",
    "streamk_reduction_strategy": "streamk",
    "filt": "filter", "str_h": "stride_h", "str_w": "stride_w",
}  # fmt: skip
#: Keys that say nothing about a kernel's legality.
LABELS = ("id", "block_per_cu", "memory_op", "kernel_set_name", "comment", "description")
#: Layouts of convolutions that the rule books do not describe.
OTHER_LAYOUTS = ("ngchw", "ngcdhw", "ngcw", "gnhwc", "gndhwc", "gnwc")
_STREAMK = "streamk_enabled"


def sniff(head: Head) -> bool:
    """Whether the text is JSON with waves called ``warp_*``, or depthwise instances."""
    if not head or not head[0].startswith(("{", "[")) or '"wave_m"' in head.text:
        return False
    waves = '"warp_tile_' in head.text and _WAVES.search(head.text)
    return bool(waves or _DEPTHWISE.search(head.text))


def read(source: Source, context: Context) -> Iterator[Entry | Problem | Remark]:
    """Every instance of the document, or of each line if the name ends as JSON Lines do."""
    if source.name.lower().endswith(jsonl.SUFFIXES):
        for line in source.lines():
            if line.fault:
                yield Problem(Place(source.name, line.number, line.column), line.fault)
            elif line.text.strip():
                try:
                    yield from _items(Text(line.text, line.number), source.name, context)
                except SourceError as error:
                    yield Problem(Place(source.name, error.line, error.column), error.message)
        return
    text = source.text()
    if not text.text.strip():
        yield Problem(Place(source.name), "empty: there is no configuration in it")
        return
    yield from _items(text, source.name, context)


def _items(text: Text, name: str, context: Context) -> Iterator[Entry | Problem | Remark]:
    for item in items(text):
        yield instance(item, text, name, context)


def instance(item: Item, text: Text, source: str, context: Context) -> Entry | Problem | Remark:
    """The configuration of one instance."""
    place = jsonl.span_place(text, source, item.offset, item.end)
    if not isinstance(item.value, dict):
        return Problem(place, f"expected an instance, found {jsonl.kind(item.value)}")
    members = Members(text, item.offset, item.end, (), item.shared_offset if item.shared else None)
    if isinstance(item.value, Repeats):
        return jsonl.twice(item.value, members, text, source, place)
    given = {k: v for k, v in {**item.shared, **item.value}.items() if k not in LISTS}
    layout = given.get("layout")
    if layout in OTHER_LAYOUTS and "filt" not in given:
        at = _at(members, "layout", text, source) or place
        return Remark(at, "CFG006", f"layout {layout} is not covered by the rules")
    fields, spelt = _fields(given)
    keys = {field: key for key, field in spelt.items()}
    known = _known(fields, context)
    ignored = [] if known is None else [k for k in given if _ignored(k, spelt.get(k, k), known)]
    remarks = tuple(_remark(k, given, known or (), members, text, source, place) for k in ignored)
    for key in ignored:
        fields.pop(key, None)

    def locate(field: str, at_key: bool) -> Place | None:
        return _at(members, keys.get(field, field), text, source, at_key)

    def spell(field: str, value: Value) -> tuple[str, Value] | None:
        if field.startswith("streamk"):
            return None
        own = next((k for k, f in FIELDS.items() if f == field and k not in ("data_type",)), field)
        return keys.get(field, own), value

    label = f"id {given['id']}" if isinstance(given.get("id"), (int, str)) else ""
    edits = jsonl.rewriter(members, text, source, spell)
    return entry_from_mapping(
        fields, context, place, locate, edits,
        label=label, remarks=remarks, pointer=item.pointer,
    )  # fmt: skip


def _at(members: Members, key: str, text: Text, source: str, at_key: bool = False) -> Place | None:
    span = members.span(key, at_key)
    return None if span is None else jsonl.span_place(text, source, *span)


def _fields(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The fields that the keys mean, and the field of each key."""
    fields: dict[str, Any] = {}
    spelt: dict[str, str] = {}
    for key, value in given.items():
        if key in LABELS or key == _STREAMK:
            continue
        field = FIELDS.get(key, key)
        spelt[key] = field
        fields[field] = value
    enabled = given.get(_STREAMK)
    strategy = fields.get("streamk")
    if "streamk" in fields or enabled is not None:
        fields["streamk"] = (strategy or "linear") if enabled else "off"
        if enabled is None and strategy:
            fields["streamk"] = strategy
        spelt.setdefault(_STREAMK, "streamk")
    return fields, spelt


def _known(fields: Mapping[str, Any], context: Context) -> tuple[str, ...] | None:
    """The fields of the instance's operator; None if its variant does not exist."""
    variant = fields.get("variant")
    if not isinstance(variant, str) or variant not in context.books.variants:
        return None
    return tuple(context.books.of(variant).fields)


def _ignored(key: str, field: str, known: tuple[str, ...]) -> bool:
    return field not in known and key not in LABELS and key != _STREAMK


def _remark(
    key: str,
    given: Mapping[str, Any],
    known: tuple[str, ...],
    members: Members,
    text: Text,
    source: str,
    place: Place,
) -> Remark:
    names = [k for k, f in FIELDS.items() if f in known]
    names += [k for k in known if k not in FIELDS.values()] + list(LABELS)
    hits = nearest(key[:80], [n for n in names if n not in given], n=1)
    near = f": did you mean {hits[0]!r}?" if hits else ""
    at = _at(members, key, text, source, at_key=True) or place
    return Remark(at, "CFG004", f"the dispatcher does not read the key {key[:80]!r}{near}")
