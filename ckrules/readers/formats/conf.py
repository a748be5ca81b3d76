"""CK Builder's ``.conf``: one instance a line, arguments by position, in both generations.

Trap: upstream's generator skips a line that holds ``#`` or ``;`` anywhere. Suppression comments
therefore stand on a line of their own. Waves and the warp tile's K of XDL instances are derived
from the block size and the GPU's wave size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ckrules.engine.expr import Value
from ckrules.kernels.families import reader_tables
from ckrules.kernels.reader_tables import LineError, LineTable
from ckrules.readers.entries import (
    Context,
    Edit,
    Entry,
    Place,
    Remark,
    UnreadableText,
    entry_from_mapping,
)
from ckrules.readers.source import Head, SourceFile, SourceLine
from ckrules.support.errors import nearest

SUFFIXES = (".conf",)
ORDER = 7
COMMENT = "#"
QUOTED, COMMENT_ALONE = False, True
_INSTANCE = re.compile(r"(?:Device\w*|\w+Kernel)\s*<")


def sniff(head: Head) -> bool:
    """Whether the first line is an instance or numbers alone."""
    if not head:
        return False
    bare = (t.bare for t in reader_tables("conf").values() if t.bare is not None)
    return bool(_INSTANCE.match(head[0])) or any(b.fullmatch(head[0]) for b in bare)


def read(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText | Remark]:
    """Every instance of the file."""
    gpus = context.books.gpus if context.arch is not None else ()
    wave_size = next((g.wave_size for g in gpus if g.name == context.arch), None)
    for line in source.lines():
        body = line.text.strip()
        if line.fault:
            yield UnreadableText(Place(source.name, line.number, line.column), line.fault)
        elif body and not body.startswith(("#", ";")):
            hidden = min((i for i in map(line.text.find, "#;") if i >= 0), default=-1)
            if hidden < 0:
                yield _instance(line, source.name, context, wave_size)
                continue
            text = "hides the whole line from the generator, not only what follows"
            place = _place(source.name, line, (hidden, hidden + 1))
            yield Remark(place, "CFG005", f"{line.text[hidden]!r} {text}")


def _place(source: str, line: SourceLine, span: tuple[int, int]) -> Place:
    return Place(source, line.number, span[0] + 1, line.number, span[1] + 1)


def _instance(
    line: SourceLine, source: str, context: Context, wave_size: int | None
) -> Entry | UnreadableText | Remark:
    text = line.text.rstrip()
    whole = _place(source, line, (len(text) - len(text.lstrip()), len(text)))
    name = text.partition("<")[0].strip() if "<" in text else ""
    try:
        table = _table(name, text.strip())
        found = table.read(line.text, source, wave_size)
    except LineError as error:
        place = whole if error.span is None else _place(source, line, error.span)
        return UnreadableText(place, error.message)
    except KeyError as error:
        return Remark(whole, "CFG006", _unknown(str(error.args[0])))
    fields: dict[str, Any] = {"variant": found.instance.variant, **found.fields}

    def locate(field: str, at_key: bool = False) -> Place | None:
        index = found.home.get(field, found.made_from.get(field, -1))
        return _place(source, line, found.spans[index]) if index >= 0 else None

    def rewrite(field: str, value: Value) -> Edit | None:
        place = locate(field) if field in found.home else None
        derived = field in table.fixed and not found.instance.native
        if place is None or isinstance(value, str) or derived:
            return None
        word = isinstance(value, bool) and found.texts[found.home[field]].isalpha()
        new = str(value).lower() if word else str(int(value))
        start, end = found.spans[found.home[field]]
        try:  # other fields are derived from the arguments
            again = table.read(line.text[:start] + new + line.text[end:], source, wave_size)
        except LineError:
            return None
        said = {"variant": again.instance.variant, **again.fields}
        return Edit(place, new) if said == {**fields, field: value} else None

    for key, outside in table.outside.items():
        if outside(fields.get(key)):
            at = locate(key) if key in found.home else None
            what = f"{key} {fields.get(key)} is not covered by the rules"
            return Remark(at or whole, "CFG006", what)
    return entry_from_mapping(fields, context, whole, locate, rewrite)


def _table(name: str, text: str) -> LineTable:
    """The table of the family that a line belongs to; by default one that says what it expects."""
    tables: list[LineTable] = list(reader_tables("conf").values())
    if name:
        return next((t for t in tables if name in t.names), tables[0])
    bare = [t for t in tables if t.bare is not None]
    return next((t for t in bare if t.bare and t.bare.fullmatch(text)), (bare or tables)[0])


def _unknown(name: str) -> str:
    known = [n for t in reader_tables("conf").values() for n in t.names]
    if name in known:
        return f"the short form of {name} says too little of the kernel"
    hits = nearest(name[:80], known, n=1)
    near = f": did you mean {hits[0]!r}?" if hits else ""
    return f"no rules for instances of {name[:80]!r}{near}"
