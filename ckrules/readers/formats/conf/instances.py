"""Instances of CK Builder's ``.conf`` files as configurations; `builder_lines` reads a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ckrules.engine.expr import Value
from ckrules.kernels.families import reader_tables
from ckrules.kernels.reader_tables import Arguments, LineError, LineTable
from ckrules.readers.entries import (
    Context,
    Edit,
    Entry,
    Place,
    Remark,
    UnreadableText,
    entry_from_mapping,
)
from ckrules.readers.source import SourceFile, SourceLine
from ckrules.support.errors import nearest


def instances(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText | Remark]:
    """Every instance of the file."""
    waves = _wave_size(context)
    for line in source.lines():
        body = line.text.strip()
        if line.fault:
            yield UnreadableText(Place(source.name, line.number, line.column), line.fault)
        elif body and not body.startswith(("#", ";")):
            hidden = min((i for i in map(line.text.find, "#;") if i >= 0), default=-1)
            if hidden < 0:
                yield from _line(line, source.name, context, waves)
                continue
            place = Place(source.name, line.number, hidden + 1, line.number, hidden + 2)
            sign = line.text[hidden]
            yield Remark(
                place,
                "CFG005",
                f"{sign!r} hides the whole line from the generator, not only what follows",
            )


def _wave_size(context: Context) -> int | None:
    if context.arch is None:
        return None
    return next((g.wave_size for g in context.books.gpus if g.name == context.arch), None)


def _line(
    line: SourceLine, source: str, context: Context, wave_size: int | None
) -> Iterator[Entry | UnreadableText | Remark]:
    indent = len(line.text) - len(line.text.lstrip())
    whole = Place(source, line.number, indent + 1, line.number, len(line.text.rstrip()) + 1)
    name = line.text.partition("<")[0].strip() if "<" in line.text else ""
    found: Arguments | None = None
    try:
        table = _table(name, line.text.strip())
        found = table.split(line.text)
        table.read(found, name, wave_size)
    except LineError as error:
        place = whole
        if found is not None and error.argument >= 0:
            place = _place(source, line, found.spans[error.argument])
        yield UnreadableText(place, error.message)
        return
    except KeyError as error:
        name = str(error.args[0])
        known = [n for t in reader_tables("conf").values() for n in t.names]
        if name in known:
            text = f"the short form of {name} says too little of the kernel"
        else:
            hits = nearest(name[:80], known, n=1)
            near = f": did you mean {hits[0]!r}?" if hits else ""
            text = f"no rules for instances of {name[:80]!r}{near}"
        yield Remark(whole, "CFG006", text)
        return
    yield _entry(found, table, line, source, context, whole)


def _table(name: str, text: str) -> LineTable:
    """The table of the family that a line belongs to; by default one that says what it expects."""
    tables: list[LineTable] = list(reader_tables("conf").values())
    if name:
        return next((t for t in tables if name in t.names), tables[0])
    bare = [t for t in tables if t.bare is not None]
    return next((t for t in bare if t.bare and t.bare.fullmatch(text)), (bare or tables)[0])


def _place(source: str, line: SourceLine, span: tuple[int, int]) -> Place:
    return Place(source, line.number, span[0] + 1, line.number, span[1] + 1)


def _entry(
    found: Arguments,
    table: LineTable,
    line: SourceLine,
    source: str,
    context: Context,
    whole: Place,
) -> Entry | UnreadableText | Remark:
    lacks = table.finish(found, source)
    if lacks is not None:
        return UnreadableText(whole, lacks)
    fields: dict[str, Any] = {"variant": found.instance.variant, **found.fields}
    for key, outside in table.outside.items():
        if outside(fields.get(key)):
            at = _place(source, line, found.spans[found.home[key]]) if key in found.home else whole
            return Remark(at, "CFG006", f"{key} {fields.get(key)} is not covered by the rules")

    def locate(field: str, at_key: bool) -> Place | None:
        index = found.home.get(field, found.made_from.get(field, -1))
        return _place(source, line, found.spans[index]) if index >= 0 else None

    def rewrite(field: str, value: Value) -> Edit | None:
        place = locate(field, False) if field in found.home else None
        derived = field in table.fixed and not found.instance.native
        if place is None or isinstance(value, str) or derived:
            return None
        old = found.texts[found.home[field]]
        if isinstance(value, bool):
            new = str(value).lower() if old.isalpha() else str(int(value))
        else:
            new = str(value)
        return Edit(place, new)

    return entry_from_mapping(fields, context, whole, locate, rewrite)
