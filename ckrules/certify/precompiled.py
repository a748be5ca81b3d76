"""The headers of a probe, compiled once for all of a certification's runs.

Most of what a rejected kernel costs the front end is reading CK's headers. With them precompiled
it is done in a seventh of the time, and a legal one is about two seconds faster.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from ckrules.compiling.tasks import execute

_WORTH = 3
"""So many runs pay for the headers."""
_TIMEOUT = 600.0


class Precompiled:
    """What the probes of one oracle include, precompiled when it is worth it; threads may ask.

    The folder goes when the object does.

    Args:
        command: The compiler and its flags, without a unit.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self._lock = Lock()
        self._asked = 0
        self._flags: tuple[str, ...] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def flags(self, source: str) -> tuple[str, ...]:
        """The flags with which a source takes its headers from here; none if it had better not."""
        with self._lock:
            self._asked += 1
            if self._flags is None and self._asked >= _WORTH:
                self._flags = self._compiled(source)
            return self._flags or ()

    def _compiled(self, source: str) -> tuple[str, ...]:
        """Compiles the headers that a source includes; its own kernel says so if they fail."""
        lines = [line for line in source.splitlines() if line.startswith("#include")]
        self._folder = tempfile.TemporaryDirectory(prefix="ckrules-headers-")
        folder = Path(self._folder.name)
        (folder / "headers.hpp").write_text("\n".join([*lines, ""]), encoding="utf-8")
        result = str(folder / "headers.pch")
        asked = _clang("-emit-pch", "-o", result)
        status, _, _ = execute([*self._command, *asked, "headers.hpp"], folder, _TIMEOUT)
        if status != 0 or not Path(result).is_file():
            return ()
        known = _clang("-include-pch", result)
        # clang 19 writes what it cannot read: functions of HIP for host and device look alike
        status, _, _ = execute([*self._command, *known, "headers.hpp"], folder, _TIMEOUT)
        return known if status == 0 else ()


def _clang(*words: str) -> tuple[str, ...]:
    """Words for the front end itself, past the driver."""
    return tuple(part for word in words for part in ("-Xclang", word))
