"""A store of compiler verdicts on disk, so that no configuration is compiled twice."""

from __future__ import annotations

from pathlib import Path

from ckrules.certify.oracle import Verdict
from ckrules.compiling.database import DatabaseTable


class VerdictStore(DatabaseTable):
    """Verdicts by key, in a file of their own; use it as a context manager.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as d, VerdictStore(Path(d) / "v.sqlite") as store:
    ...     store.put("k", Verdict(True, None, 1.5))
    ...     store.get("k")
    Verdict(ok=True, error=None, seconds=1.5)
    """

    NAME = "verdict"
    COLUMNS = {"key": "enum", "ok": "bool", "error": "enum", "seconds": "real"}  # noqa: RUF012
    IDENTITY = ("key",)
    FAILED = "NOT ok"

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self.cannot_open(path, error) from None
        super().__init__(path)

    def get(self, key: str) -> Verdict | None:
        """The stored verdict, or None."""
        row = next(self.records(where="key = ?", values=[key]), None)
        return None if row is None else Verdict(row["ok"], row["error"], row["seconds"])

    def put(self, key: str, verdict: Verdict) -> None:
        """Stores a verdict at once, so that an interrupted run loses none.

        Raises:
            ResultsError: For instance if the disk is full.
        """
        self.store({"key": key, "ok": verdict.ok, "error": verdict.error,
                    "seconds": verdict.seconds})  # fmt: skip
