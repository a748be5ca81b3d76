"""What builds came to: one row for each artifact that was built or failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ckrules.build.database import Table

_SORTS = {"str": "enum", "int": "int", "float": "real", "bool": "bool"}


@dataclass(frozen=True, slots=True)
class Result:
    """One row: what was built with what, and what came out. Columns that do not apply are None."""

    name: str
    arch: str
    artifact: str
    ck: str
    rules: str
    legal: bool
    status: str
    """``ok`` or ``failed``."""
    error_class: str | None
    diagnostic: str | None
    finding: str | None
    """Where compiler and rule book disagree: what about."""
    seconds: float
    peak_mb: int | None
    lds_bytes: int | None
    predicted_lds_bytes: int | None
    vgprs: int | None
    agprs: int | None
    sgprs: int | None
    vgpr_spills: int | None
    sgpr_spills: int | None
    scratch_bytes: int | None
    kernarg_bytes: int | None
    entries: int | None
    tool: str
    tool_version: str
    flags: str
    command: str
    """What reproduces the result, for a shell."""
    config: str
    finished: float
    """Seconds since 1970."""
    key: str
    """A hash of everything that the result depends on."""


def _sort(annotation: Any) -> str:
    return _SORTS[str(annotation).split(" ")[0]]


COLUMNS: dict[str, str] = {f.name: _sort(f.type) for f in fields(Result)}
"""Name and sort of every column."""


class Results(Table):
    """The builds of one results database."""

    NAME = "build"
    COLUMNS = COLUMNS
    IDENTITY = ("name", "arch", "artifact", "ck")
    FAILED = "status = 'failed'"

    def put(self, result: Result) -> None:
        """Stores a row at once, in the place of an older one for the same artifact.

        Raises:
            ResultsError: For instance if the disk is full.
        """
        self.store({name: getattr(result, name) for name in COLUMNS})

    def keys(self) -> dict[tuple[str, str, str, str], tuple[str, str, str | None]]:
        """Key, status and error class of every row, by name, GPU, artifact and release."""
        rows = self._query("SELECT name, arch, artifact, ck, key, status, error_class FROM build")
        return {(a, b, c, d): (e, f, g) for a, b, c, d, e, f, g in rows}

    def rows(
        self, *, where: str = "", values: Sequence[Any] = (), limit: int | None = None
    ) -> Iterator[Result]:
        """The rows of `records`, each as a `Result`."""
        for row in self.records(where=where, values=values, limit=limit):
            yield Result(**row)
