"""JSON documents: one configuration, a list of them, or ``{"kernels": [...]}``.

Scalars beside the list are fields of every entry that does not give its own. An entry may be
an object of fields, ``{"config": {...}}`` with labels beside it, or a kernel's name.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckrules.readers.entries import Context, Entry, Place, UnreadableText
from ckrules.readers.formats.jsonl import entry
from ckrules.readers.json_text import items
from ckrules.readers.source import SourceFile

SUFFIXES = (".json",)
ORDER = 4
COMMENT = ""
QUOTED, COMMENT_ALONE = True, False


def sniff(head: list[str]) -> bool:
    """Whether the text begins like a JSON object or list."""
    return bool(head) and head[0].startswith(("{", "["))


def read(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText]:
    """Every configuration of the document; one is decoded at a time."""
    text = source.text()
    if not text.text.strip():
        yield UnreadableText(Place(source.name), "empty: there is no configuration in it")
        return
    for item in items(text):
        yield entry(item, text, source.name, context)
