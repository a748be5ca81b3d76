"""Edits of files: spans replaced in the text as it stands, everything else kept byte by byte."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from ckrules.readers.entries import Edit
from ckrules.support.visible import visible

_BOM = b"\xef\xbb\xbf"


def edited(data: bytes, edits: Iterable[Edit]) -> bytes:
    """The bytes of a file with the edits made; of two that overlap the first wins.

    Bytes that are not UTF-8 stay as they are.

    >>> from ckrules.readers.entries import Place
    >>> edited(b'{"a": 1,\\r\\n "b": 2}', [Edit(Place("x", 2, 7, 2, 8), "3")])
    b'{"a": 1,\\r\\n "b": 3}'
    """
    mark = _BOM if data.startswith(_BOM) else b""
    text = data[len(mark) :].decode(errors="surrogateescape")
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    spans = sorted(
        {
            (
                starts[e.place.line - 1] + e.place.column - 1,
                starts[e.place.end_line - 1] + e.place.end_column - 1,
                e.text,
            )
            for e in edits
        }
    )
    out, at = [], 0
    for start, end, new in spans:
        if start < at:
            continue
        out += [text[at:start], new]
        at = end
    return mark + "".join([*out, text[at:]]).encode(errors="surrogateescape")


def difference(path: str, old: bytes, new: bytes) -> str:
    """The unified diff of a file before and after."""
    before, after = (_lines(d) for d in (old, new))
    shown = visible(path if not Path(path).is_absolute() else path.lstrip("/"))
    return "".join(difflib.unified_diff(before, after, f"a/{shown}", f"b/{shown}"))


def _lines(data: bytes) -> list[str]:
    lines = data.decode(errors="replace").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([f"{lines[-1]}\n"] if lines[-1] else [])
