"""Files of kernel names, one a line; ``#`` begins a comment.

The names of generated files are understood too: ``dispatcher_wrapper_NAME.hpp``, in any folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ckrules.names import strip_file_decoration
from ckrules.readers.entries import Context, Entry, Place, Problem, entry_from_name
from ckrules.readers.source import Source

_NAME = re.compile(r"(?:\S*[/\\])?(?:dispatcher_wrapper_|ns_)?grouped_conv_\S*(?:\s*#.*)?")
TITLE = "kernel names, one a line"
SUFFIXES = (".txt", ".names", ".list")
ORDER = 9
COMMENT = "#"


def sniff(head: list[str]) -> bool:
    """Whether the first line begins like a kernel's name."""
    return bool(head) and "grouped_conv_" in head[0] and bool(_NAME.fullmatch(head[0]))


def read(source: Source, context: Context) -> Iterator[Entry | Problem]:
    """Every name of the file."""
    for line in source.lines():
        if line.fault:
            yield Problem(Place(source.name, line.number, line.column), line.fault)
            continue
        body = line.text.split("#", 1)[0]
        text = body.strip()
        if text:
            indent = len(body) - len(body.lstrip())
            bare = strip_file_decoration(text)
            if bare != text and bare.startswith("grouped_conv_"):
                indent += text.rindex(bare)
                text = bare
            yield _entry(text, context, Place(source.name, line.number, indent + 1))


def _entry(text: str, context: Context, place: Place) -> Entry | Problem:
    def at(column: int) -> Place:
        return Place(place.source, place.line, place.column + column - 1)

    return entry_from_name(text, context, place, at)
