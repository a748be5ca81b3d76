"""Files of kernel names, one a line; ``#`` begins a comment.

The names of generated files are understood too: ``dispatcher_wrapper_NAME.hpp``, in any folder.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckrules.kernels.names import beginnings, strip_file_decoration
from ckrules.readers.entries import Context, Entry, Place, UnreadableText, entry_from_name
from ckrules.readers.source import SourceFile

SUFFIXES = (".txt", ".names", ".list")
ORDER = 9
COMMENT = "#"
QUOTED, COMMENT_ALONE = False, False


def sniff(head: list[str]) -> bool:
    """Whether the first line begins like a kernel's name, or a file that is called by one."""
    if not head:
        return False
    word, _, rest = head[0].partition(" ")
    alone = not rest.strip() or rest.strip().startswith("#")
    return alone and strip_file_decoration(word.partition("#")[0]).startswith(beginnings())


def read(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText]:
    """Every name of the file."""
    for line in source.lines():
        if line.fault:
            yield UnreadableText(Place(source.name, line.number, line.column), line.fault)
            continue
        body = line.text.split("#", 1)[0]
        text = body.strip()
        if text:
            indent = len(body) - len(body.lstrip())
            bare = strip_file_decoration(text)
            if bare != text and bare.startswith(beginnings()):
                indent += text.rindex(bare)
                text = bare
            place = Place(source.name, line.number, indent + 1)
            yield entry_from_name(text, context, place, spread=True)
