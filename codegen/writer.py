"""Writing of generated files: whole or not at all, and only where the content changes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from ckrules.support import files, opening
from ckrules.support.errors import UsageError

_HEAD = 1 << 16
_STAMP = re.compile(rb"^(?://|#) ckrules \S+, rule book \S", re.MULTILINE)


@dataclass
class Tree:
    """A folder that generated files are written to; counts what was written and what stood.

    Where it is not ``own``, because no run of ckrules has filled it, files of others are refused.
    """

    root: Path
    own: bool = True
    written: int = 0
    unchanged: int = 0
    _folders: set[Path] = field(default_factory=set, repr=False)

    def check(self, relative: str, text: str | None = None) -> None:
        """Complains of a file that is there, does not hold the text, and is somebody else's.

        Raises:
            UsageError: If ckrules did not write it, and no run of it has filled the folder.
        """
        path = self.root / relative
        try:
            if self.own or not path.exists() or _stamped(path):
                return
            if text is None or not files.holds(path, text.encode()):
                advice = "move it away, or choose another folder"
                raise UsageError(f"{path}: ckrules did not write it: {advice}")
        except OSError as error:
            raise UsageError(f"{path}: cannot write: {error.strerror or error}") from None

    def put(self, relative: str, text: str) -> bool:
        """Writes a file unless it holds this text already; true if it was written.

        Raises:
            UsageError: If the file cannot be written, or ckrules did not write the one there.
        """
        path = self.root / relative
        data = text.encode()
        try:
            if files.holds(path, data):
                self.unchanged += 1
                return False
            self.check(relative, text)
            if path.parent not in self._folders:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._folders.add(path.parent)
            files.replace(path, data)
        except OSError as error:
            raise UsageError(f"{path}: cannot write: {error.strerror or error}") from None
        self.written += 1
        return True


def _stamped(path: Path) -> bool:
    with opening.binary(path) as stream:
        return bool(_STAMP.search(stream.read(_HEAD)))
