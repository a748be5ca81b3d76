"""CK trees that somebody gives: which version their headers come closest to, and what differs.

A tree of ``develop`` lies between the versions that the rules know. Marks, words that one version's
headers have and the one before lacks, tell where; rules of marks that disagree are named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from ckrules.arch import CK_VERSIONS
from ckrules.support.errors import UsageError

_OLDEST = "ops/grouped_convolution/kernel/grouped_convolution_backward_data_kernel.hpp"
_RELEASED = {"e6acade50436": "2025.11"}
"""Contents of ``ck_tile`` that are a version's own, by their digest."""


@dataclass(frozen=True)
class Mark:
    """What headers since a version have."""

    since: str
    file: str
    """Below ``ck_tile``; every version has it."""
    words: tuple[str, ...]
    """Any of them is in the file."""
    what: str
    rules: tuple[str, ...]
    """Codes of rules that begin or change with it."""


@lru_cache(maxsize=1)
def marks() -> tuple[Mark, ...]:
    """Every mark, in the order of versions: ``marks.toml``."""
    import tomllib

    text = Path(__file__).with_name("marks.toml").read_text(encoding="utf-8")
    return tuple(
        Mark(**{**said, "words": tuple(said["words"]), "rules": tuple(said["rules"])})
        for said in tomllib.loads(text)["mark"]
    )


@dataclass(frozen=True)
class CkTree:
    """A CK include folder, and the version that judges it.

    ``astray`` are the marks that the tree has and the version lacks, or the other way round.
    """

    include: Path
    ck: str
    astray: tuple[Mark, ...] = ()

    @cached_property
    def digest(self) -> str:
        """What tells the contents of the headers from others."""
        found = hashlib.sha256()
        base = self.include / "ck_tile"
        for path in sorted(p for p in base.rglob("*.h*") if p.is_file()):
            content = path.read_bytes()
            found.update(f"{path.relative_to(base).as_posix()} {len(content)}\n".encode())
            found.update(content)
        return found.hexdigest()[:12]

    @property
    def name(self) -> str:
        """What evidence calls it: the version if these are its headers, else with their digest."""
        return _RELEASED.get(self.digest) or f"{self.ck} tree {self.digest}"

    @property
    def note(self) -> str:
        """One line on what tells the tree from its version; empty if nothing does.

        The marks say it of some rules; ``ckrules diff`` has all that changed between versions.
        """
        if not self.astray:
            return ""
        newer = [m for m in self.astray if m.since > self.ck]
        at = CK_VERSIONS.index(self.ck)
        ends = CK_VERSIONS[at : at + 2] if newer else CK_VERSIONS[at - 1 : at + 1]
        parts = [
            f"{'has' if m in newer else 'lacks'} {m.what} (since {m.since}: {', '.join(m.rules)})"
            for m in self.astray
        ]
        return (
            f"{self.include}: between CK {ends[0]} and {ends[1]}, judged as {self.ck}: "
            f"{'; '.join(parts)}; all that changed: ckrules diff {ends[0]} {ends[1]}"
        )


@lru_cache(maxsize=8)
def read_tree(include: Path) -> CkTree:
    """The tree of an include folder, with the version that most marks speak for.

    Of two versions that as many speak for the newer one is taken. A file that is not there says
    nothing.

    Raises:
        UsageError: If it is not CK's include folder, or older than every version.
    """
    if not (include / "ck_tile" / "core.hpp").is_file():
        raise UsageError(f"{include}: no ck_tile/core.hpp in it; expected CK's include folder")
    if not (include / "ck_tile" / _OLDEST).is_file():
        raise UsageError(
            f"{include}: these headers have no backward data kernel; expected CK 2025.11 or newer"
        )
    found = [(mark, has) for mark in marks() if (has := _has(include, mark)) is not None]

    def astray(ck: str) -> Sequence[Mark]:
        return [mark for mark, has in found if has != (mark.since <= ck)]

    nearest = min(reversed(CK_VERSIONS), key=lambda ck: len(astray(ck)))
    return CkTree(include, nearest, tuple(astray(nearest)))


def _has(include: Path, mark: Mark) -> bool | None:
    try:
        text = (include / "ck_tile" / mark.file).read_text(errors="replace")
    except OSError:
        return None
    return any(word in text for word in mark.words)
