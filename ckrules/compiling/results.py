"""The results of builds: one row for each artifact that was built or failed."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from ckrules.codegen.ck_options import CkOption, lacking, options
from ckrules.compiling.codeobject import LARGEST
from ckrules.compiling.database import DatabaseTable, sorts
from ckrules.support import opening
from ckrules.support.errors import CkrulesError


class BuildStatus(StrEnum):
    """How a build of an artifact ended."""

    OK = "ok"
    FAILED = "failed"


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
    """A `BuildStatus`."""
    error_class: str | None
    """A `FailureClass`."""
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
    lacks: str
    """Options that CK's kernels need and the compiler takes, not in effect; empty: none."""
    command: str
    """What reproduces the result, for a shell."""
    config: str
    finished: float
    """Seconds since 1970."""
    key: str
    """A hash of everything that the result depends on."""
    artifact_bytes: int | None = None
    artifact_digest: str | None = None
    """What the artifact was: its size and `digest`."""
    sources_digest: str | None = None
    """What it was compiled from: `ckrules.compiling.sources.sources_digest`."""


class KnownArtifact(NamedTuple):
    """The columns of a row that say whether its artifact has to be made again."""

    key: str
    status: str
    error_class: str | None
    artifact_bytes: int | None
    artifact_digest: str | None
    sources_digest: str | None

    def is_artifact(self, path: Path) -> bool:
        """Whether a file is what the build made."""
        try:
            if path.is_symlink() or path.stat().st_size != self.artifact_bytes:
                return False
            return digest(opening.read(path, LARGEST)) == self.artifact_digest
        except OSError:
            return False


def digest(data: bytes) -> str:
    """What tells an artifact from others.

    >>> digest(b"")
    'cae66941d9efbd404e4d88758ea67670'
    """
    return hashlib.blake2b(data, digest_size=16).hexdigest()


COLUMNS: dict[str, str] = sorts(Result)
"""Name and sort of every column."""


class Results(DatabaseTable):
    """The builds of one results database."""

    NAME = "build"
    COLUMNS = COLUMNS
    IDENTITY = ("name", "arch", "artifact", "ck")
    FAILED = f"status = '{BuildStatus.FAILED}'"

    def _upgrade(self, version: int) -> None:
        """Also says what rows from before the options were given lack of them."""
        super()._upgrade(version)
        self._db.create_function("lacks_of", 3, _lacks_of, deterministic=True)
        self._db.execute(
            "UPDATE build SET lacks = lacks_of(ck, flags, tool_version) WHERE lacks IS NULL"
        )

    def _cell(self, name: str) -> str:
        if name != "lacks":
            return super()._cell(name)
        self._db.create_function("lacks_of", 3, _lacks_of, deterministic=True)
        return "coalesce(lacks, lacks_of(ck, flags, tool_version)) AS lacks"

    def put(self, result: Result) -> None:
        """Stores a row at once, in the place of an older one for the same artifact.

        Raises:
            ResultsError: For instance if the disk is full.
        """
        self.store({name: getattr(result, name) for name in COLUMNS})

    def take(self, other: Path) -> None:
        """Stores what another database knows later of artifacts, or alone.

        Raises:
            ResultsError: For a file that is damaged, or if this one cannot be written.
        """
        finished = {tuple(row[n] for n in self.IDENTITY): row["finished"] for row in self.records()}
        with Results(other, reading=True) as rows:
            for row in rows.records():
                if row["finished"] > finished.get(tuple(row[n] for n in self.IDENTITY), 0.0):
                    self.store(row)

    def known(self) -> dict[tuple[str, ...], KnownArtifact]:
        """What is known of every artifact, by name, GPU, artifact and release."""
        columns = (*self.IDENTITY, *KnownArtifact._fields)
        rows = self._query(f"SELECT {', '.join(columns)} FROM build")
        at = len(self.IDENTITY)
        return {row[:at]: KnownArtifact(*row[at:]) for row in rows}

    def rows(
        self, *, where: str = "", values: Sequence[Any] = (), limit: int | None = None
    ) -> Iterator[Result]:
        """The rows of `records`, each as a `Result`."""
        for row in self.records(where=where, values=values, limit=limit):
            yield Result(**row)


def lacks(wanted: Iterable[CkOption], flags: str) -> str:
    """Those of the options that a build with these flags was made without, in one line."""
    return ", ".join(o.text for o in lacking(wanted, shlex.split(flags)))


def _lacks_of(ck: str | None, flags: str | None, version: str | None) -> str | None:
    """`lacks` of a row that does not say it; None for a release or flags that nobody can read."""
    if ck is None or flags is None:
        return None
    try:
        return lacks((o for o in options(ck) if o.meant_for(version or "")), flags)
    except (CkrulesError, ValueError):
        return None
