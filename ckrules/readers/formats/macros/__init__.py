"""The C++ macros ``DECL_GROUPED_CONV_KERNEL_SET`` and ``DECL_KERNEL_SET``.

Upstream's tools read ``.tile(a, b, c)`` of convolutions in two ways. ``gmn``, the default, is that
of the CMake scripts: a is a batch of groups, b and c are tile_m and tile_n, and tile_k is filled
in (64, or 128 for compv4). ``mnk`` takes the three as they are written. ``.wave`` counts waves,
``.warp`` is the MFMA tile. What a declaration leaves out is filled in as the scripts do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ckrules.readers.entries import Context, Entry, Remark, UnreadableText
from ckrules.readers.formats.macros.readings import READINGS
from ckrules.readers.source import Head, SourceFile

SUFFIXES = (".cpp", ".hpp", ".cc", ".cxx", ".h", ".hip", ".cu", ".inc")
ORDER = 6
COMMENT = "//"
QUOTED, COMMENT_ALONE = False, False
__all__ = ["COMMENT", "COMMENT_ALONE", "ORDER", "QUOTED", "READINGS", "SUFFIXES", "read", "sniff"]
_CALLED = re.compile(r"\bDECL_(\w++)\s*+\(")


def sniff(head: Head) -> bool:
    """Whether the text looks like C++: an include or a declaration."""
    declared = any("KERNEL" in match[1] for match in _CALLED.finditer(head.text))
    return declared or head.text.lstrip().startswith("#include")


def read(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText | Remark]:
    """Every declared kernel of the file."""
    from ckrules.readers.formats.macros.kernel_sets import kernels

    return kernels(source, context)
