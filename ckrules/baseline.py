"""Baselines: findings that are known and do not fail, by file, configuration and code.

No entry holds a line number, so a baseline survives edits elsewhere in the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.engine.errors import UsageError

if TYPE_CHECKING:
    from ckrules.reports.diagnostics import Diagnostic

NAME = "ckrules-baseline.json"
_KEYS = ("file", "configuration", "code")
Key = tuple[str, str, str]


class Baseline:
    """Known findings and how many of them were met; entries may be met as often as they count.

    Args:
        path: The file; entries name files relative to its folder.
        entries: How many findings each entry stands for.
    """

    def __init__(self, path: Path, entries: dict[Key, int] | None = None) -> None:
        self.path = path
        self._folder = os.path.dirname(os.path.abspath(path))
        self.entries = dict(entries or {})
        self.met: dict[Key, int] = {}
        self._files: set[str] = set()

    @classmethod
    def load(cls, path: Path) -> Baseline:
        """The baseline of a file; an absent file is an empty one.

        Raises:
            UsageError: If the file is no baseline.
        """
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            found = {tuple(e[k] for k in _KEYS): int(e["count"]) for e in document["entries"]}
            if not all(isinstance(w, str) for key in found for w in key):
                raise TypeError("words are texts")
        except FileNotFoundError:
            return cls(path)
        except OSError as error:
            raise UsageError(f"{path}: cannot read the baseline: {error.strerror}") from None
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError(f"{path}: not a baseline: {error!r}") from None
        return cls(path, found)

    def seen(self, source: str) -> None:
        """Tells that a file is being checked: its entries can be met, so they can be stale."""
        self._files.add(self._relative(source))

    def meet(self, d: Diagnostic) -> bool:
        """Counts a finding; True if an entry covers it."""
        key = self.key(d)
        self.met[key] = self.met.get(key, 0) + 1
        return self.met[key] <= self.entries.get(key, 0)

    def key(self, d: Diagnostic) -> Key:
        """The entry of a finding."""
        name = d.configuration or ""
        if not name and d.fields:
            import hashlib

            text = json.dumps(sorted(d.fields.items()))
            name = hashlib.sha256(text.encode()).hexdigest()[:12]
        where = f"{name} on {d.arch}" if d.arch else name
        return self._relative(d.place.source), where, d.code

    def stale(self) -> Iterator[tuple[Key, int]]:
        """Entries of the checked files that stand for more findings than there are."""
        for key, count in sorted(self.entries.items()):
            if key[0] in self._files and (left := count - self.met.get(key, 0)) > 0:
                yield key, left

    def written(self) -> str:
        """The text of a baseline with exactly the findings that were met.

        Entries of files that were not checked stay.
        """
        kept = {k: n for k, n in self.entries.items() if k[0] not in self._files}
        return _text((kept | self.met).items())

    def pruned(self) -> str:
        """The text of the baseline without what no finding met any more."""
        kept = {
            k: min(n, self.met.get(k, 0)) if k[0] in self._files else n
            for k, n in self.entries.items()
        }
        return _text((k, n) for k, n in kept.items() if n)

    def _relative(self, source: str) -> str:
        return os.path.relpath(os.path.abspath(source), self._folder).replace(os.sep, "/")


def _text(entries: Iterable[tuple[Key, int]]) -> str:
    rows: list[dict[str, Any]] = [
        {**dict(zip(_KEYS, key, strict=True)), "count": count} for key, count in sorted(entries)
    ]
    return json.dumps({"version": 1, "entries": rows}, indent=1, ensure_ascii=False) + "\n"
