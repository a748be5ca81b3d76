"""Writing of generated files: whole or not at all, and only where the content changes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from ckrules.engine.errors import UsageError


@dataclass
class Tree:
    """A folder that generated files are written to; counts what was written and what stood."""

    root: Path
    written: int = 0
    unchanged: int = 0
    _folders: set[Path] = field(default_factory=set, repr=False)

    def put(self, relative: str, text: str) -> bool:
        """Writes a file unless it holds this text already; true if it was written.

        The text goes to another name in the same folder first, so that an interrupted run
        leaves the old file or the new one and nothing between.

        Raises:
            UsageError: If the file cannot be written.
        """
        path = self.root / relative
        data = text.encode()
        try:
            if _holds(path, data):
                self.unchanged += 1
                return False
            if path.parent not in self._folders:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._folders.add(path.parent)
            self._replace(path, data)
        except OSError as error:
            raise UsageError(f"{path}: cannot write: {error.strerror or error}") from None
        self.written += 1
        return True

    @staticmethod
    def _replace(path: Path, data: bytes) -> None:
        # Short, so that a name at the file system's limit still has a temporary one.
        part = path.with_name(f".{os.getpid()}.part")
        try:
            part.write_bytes(data)
            os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _holds(path: Path, data: bytes) -> bool:
    try:
        if path.stat().st_size != len(data):
            return False
        return path.read_bytes() == data
    except FileNotFoundError:
        return False
