"""CK Builder's ``.conf``: one instance a line, arguments by position, in both generations.

Trap: upstream's generator skips a line that holds ``#`` or ``;`` anywhere. Suppression comments
therefore stand on a line of their own. Waves and the warp tile's K of XDL instances are derived
from the block size and the GPU's wave size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ckrules.kernels.families import reader_tables
from ckrules.readers.entries import Context, Entry, Remark, UnreadableText
from ckrules.readers.source import Head, SourceFile

SUFFIXES = (".conf",)
ORDER = 7
COMMENT = "#"
_INSTANCE = re.compile(r"(?:Device\w*|\w+Kernel)\s*<")


def sniff(head: Head) -> bool:
    """Whether the first line is an instance or numbers alone."""
    if not head:
        return False
    bare = (t.bare for t in reader_tables("conf").values() if t.bare is not None)
    return bool(_INSTANCE.match(head[0])) or any(b.fullmatch(head[0]) for b in bare)


def read(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText | Remark]:
    """Every instance of the file."""
    from ckrules.readers.formats.conf.instances import instances

    return instances(source, context)
