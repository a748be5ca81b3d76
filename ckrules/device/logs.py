"""What a worker printed: kept for whoever wants to see it, and the line that says why it ended."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

_TAIL = 1 << 16
_LONGEST = 300
_DUMP = "Fatal Python error: "
"""How Python's fault handler begins."""
_FRAME = re.compile(
    r'^Current thread .*\n  File "(?P<file>[^"\n]+)", line (?P<line>\d+) in (?P<function>\S+)', re.M
)


def text(log: Path) -> str:
    """All that a worker printed since the log was emptied."""
    with contextlib.suppress(OSError):
        return log.read_bytes().decode(errors="replace")
    return ""


def tail(log: Path) -> str:
    """The last line that a worker printed, and where its Python was, for the end of a message."""
    said, _, dump = text(log)[-_TAIL:].partition(_DUMP)
    frame = _FRAME.search(dump)
    where = f"{Path(frame['file']).name}:{frame['line']} in {frame['function']}" if frame else ""
    printed = [line.strip() for line in said.split("\n") if line.strip()]
    parts = [printed[-1][:_LONGEST] if printed else "", where]
    return "".join(f": {part}" for part in parts if part)
