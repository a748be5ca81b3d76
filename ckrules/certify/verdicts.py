"""Stores on disk of what was found once, so that nothing is compiled or run twice."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from ckrules.certify.oracle import CompilerVerdict
from ckrules.compiling.database import DatabaseTable, sorts

T = TypeVar("T")


class KeyedStore(DatabaseTable, Generic[T]):
    """Objects of one dataclass by key, in a table of their own; use it as a context manager.

    A subclass says which, how its table is called, and which of its rows did not end well.
    """

    OF: ClassVar[type[Any]]
    COLUMN: ClassVar[dict[str, str]] = {}
    """What fields are called whose names mean something in SQL."""
    IDENTITY = ("key",)

    def __init_subclass__(cls) -> None:
        """Has a column for every field, and one for the key."""
        super().__init_subclass__()
        found = {cls.COLUMN.get(name, name): sort for name, sort in sorts(cls.OF).items()}
        cls.COLUMNS = {"key": "enum", **found}

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self.cannot_open(path, error) from None
        super().__init__(path)

    def get(self, key: str) -> T | None:
        """What is stored, or None."""
        row = next(self.records(where="key = ?", values=[key]), None)
        if row is None:
            return None
        found: T = self.OF(
            **{f.name: row[self.COLUMN.get(f.name, f.name)] for f in fields(self.OF)}
        )
        return found

    def put(self, key: str, found: T) -> None:
        """Stores it at once, so that an interrupted run loses nothing.

        Raises:
            ResultsError: For instance if the disk is full.
        """
        row = {self.COLUMN.get(n, n): v for n, v in asdict(found).items()}  # type: ignore[call-overload]  # columns are the fields by name
        self.store({"key": key, **row})


class VerdictStore(KeyedStore[CompilerVerdict]):
    """Verdicts of the compiler.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as d, VerdictStore(Path(d) / "v.sqlite") as store:
    ...     store.put("k", CompilerVerdict(True, None, 1.5))
    ...     store.get("k")
    CompilerVerdict(ok=True, error=None, seconds=1.5)
    """

    OF, NAME, FAILED = CompilerVerdict, "verdict", "NOT ok"
