"""CK Builder's ``.conf``: one instance a line, arguments by position, in both generations.

Trap: upstream's generator skips a line that holds ``#`` or ``;`` anywhere. Suppression comments
therefore stand on a line of their own. Waves and the warp tile's K of XDL instances are derived
from the block size and the GPU's wave size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ckrules.readers.entries import Context, Entry, Problem, Remark
from ckrules.readers.source import Head, Source

TITLE = "CK Builder's .conf: one instance a line"
SUFFIXES = (".conf",)
ORDER = 7
COMMENT = "#"
_INSTANCE = re.compile(r"(?:Device|GroupedConvolution)\w*\s*<")
_TWELVE = re.compile(r"\d+(?:\s*,\s*\d+){11}")


def sniff(head: Head) -> bool:
    """Whether the first line is an instance or twelve depthwise numbers."""
    return bool(head) and bool(_INSTANCE.match(head[0]) or _TWELVE.fullmatch(head[0]))


def read(source: Source, context: Context) -> Iterator[Entry | Problem | Remark]:
    """Every instance of the file."""
    from ckrules.readers.builder_conf import instances

    return instances(source, context)
