"""Baselines: findings that are known and do not fail, by file, configuration and code.

No entry holds a line number, so a baseline survives edits elsewhere in the file. An entry says
what the run added to the file, the GPU and the CK version: another run cannot meet it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ckrules.support import opening
from ckrules.support.errors import UsageError
from ckrules.support.visible import json_text

if TYPE_CHECKING:
    from ckrules.checking.diagnostics import Diagnostic

NAME = "ckrules-baseline.json"
_LARGEST = 1 << 30
_KEYS = ("file", "configuration", "code")


class BaselineRun(NamedTuple):
    """What a run says of configurations that do not say it: their GPU and CK version.

    Empty is what the configuration says itself, or what no run said.
    """

    arch: str = ""
    ck: str = ""


class BaselineKey(NamedTuple):
    """What an entry is about; ``run`` is None in baselines that did not keep it."""

    file: str
    configuration: str
    code: str
    run: BaselineRun | None

    def older(self) -> BaselineKey:
        """The entry as it is where the run was not kept."""
        return self._replace(run=None)


class Baseline:
    """Known findings and how many of them were met; entries may be met as often as they count.

    Args:
        path: The file; entries name files relative to its folder.
        entries: How many findings each entry stands for.
    """

    def __init__(self, path: Path, entries: dict[BaselineKey, int] | None = None) -> None:
        self.path = path
        self._folder = os.path.dirname(os.path.abspath(path))
        self.entries = dict(entries or {})
        self.met: dict[BaselineKey, int] = {}
        self._older: dict[BaselineKey, int] = {}  # met by entries that do not say their run
        self._files: dict[str, tuple[Callable[[str], bool], BaselineRun]] = {}

    @classmethod
    def load(cls, path: Path) -> Baseline:
        """The baseline of a file; an absent file is an empty one.

        Raises:
            UsageError: If the file is not a baseline.
        """
        try:
            document = json.loads(opening.read(path, _LARGEST).decode("utf-8-sig"))
        except FileNotFoundError:
            return cls(path)
        except OSError as error:
            raise UsageError(f"{path}: cannot read the baseline: {error.strerror}") from None
        except UnicodeDecodeError:
            raise UsageError(f"{path}: not a baseline: not UTF-8") from None
        except json.JSONDecodeError as error:
            what = f"{path}:{error.lineno}:{error.colno}: not a baseline: {error.msg}"
            raise UsageError(what) from None
        except (ValueError, RecursionError):  # a number with more than 4,300 digits, or too deep
            raise UsageError(f"{path}: not a baseline: JSON that nothing here writes") from None
        entries = document.get("entries") if isinstance(document, dict) else None
        if not isinstance(entries, list):
            raise UsageError(f"{path}: not a baseline: no list 'entries'")
        found: dict[BaselineKey, int] = {}
        for index, entry in enumerate(entries):
            key, count = _entry(entry)
            if key is None:
                form = "an object with the words file, configuration and code, and a count from 1"
                raise UsageError(f"{path}: not a baseline: #/entries/{index} is not {form}")
            found[key] = found.get(key, 0) + count
        return cls(path, found)

    def seen(self, source: str, looks_at: Callable[[str], bool], run: BaselineRun) -> None:
        """Notes that a file is being checked: its entries can be met, so they can be stale.

        ``looks_at`` says of which codes, ``run`` for which GPU and CK version; other entries stay.
        """
        self._files[self._relative(source)] = looks_at, run

    def unseen(self, source: str) -> None:
        """Notes that not all of a file could be read: nothing is known of its entries."""
        self._files.pop(self._relative(source), None)

    def _checked(self, key: BaselineKey) -> bool:
        """Whether the run would have met the finding if it were still there."""
        if key.file not in self._files:
            return False
        looks_at, run = self._files[key.file]
        if key.run is not None:
            return looks_at(key.code) and all(
                said in ("", here) for said, here in zip(key.run, run, strict=True)
            )
        _, on, arch = key.configuration.rpartition(" on ")
        return looks_at(key.code) and (not on or run.arch in ("", arch))

    def meet(self, d: Diagnostic, run: BaselineRun) -> bool:
        """Counts a finding; True if an entry covers it. ``run`` is what its text does not say."""
        key = self.key(d, run)
        self.met[key] = self.met.get(key, 0) + 1
        if self.met[key] <= self.entries.get(key, 0):
            return True
        key = key.older()
        if key not in self.entries:
            return False
        self._older[key] = self._older.get(key, 0) + 1
        return self._older[key] <= self.entries[key]

    def key(self, d: Diagnostic, run: BaselineRun) -> BaselineKey:
        """The entry of a finding."""
        name = d.configuration or ""
        if not name and d.fields:
            import hashlib

            text = json.dumps(sorted(d.fields.items()))
            name = hashlib.sha256(text.encode()).hexdigest()[:12]
        where = f"{name} on {d.arch}" if d.arch else name
        return BaselineKey(self._relative(d.place.source), where, d.code, run)

    def stale(self) -> Iterator[tuple[BaselineKey, int]]:
        """Entries of what was checked that stand for more findings than there are."""
        for key, count in sorted(self.entries.items(), key=_order):
            if self._checked(key) and (left := count - self._met(key)) > 0:
                yield key, left

    def written(self) -> str:
        """The text of a baseline with exactly the findings that were met.

        Entries of files, codes and GPUs that were not checked stay.
        """
        kept = {k: n for k, n in self.entries.items() if not self._checked(k)}
        return _text((kept | self.met).items())

    def pruned(self) -> str:
        """The text of the baseline without what no finding met any more."""
        kept = {k: min(n, self._met(k)) if self._checked(k) else n for k, n in self.entries.items()}
        return _text((k, n) for k, n in kept.items() if n)

    def _met(self, key: BaselineKey) -> int:
        return (self._older if key.run is None else self.met).get(key, 0)

    def _relative(self, source: str) -> str:
        return os.path.relpath(os.path.abspath(source), self._folder).replace(os.sep, "/")


def _entry(given: object) -> tuple[BaselineKey | None, int]:
    """The key and count of an entry; no key for what is none."""
    if not isinstance(given, dict):
        return None, 0
    words, count = [given.get(k) for k in _KEYS], given.get("count")
    if not all(isinstance(w, str) for w in words) or type(count) is not int or count < 1:
        return None, 0
    run = given.get("run", {})
    if not isinstance(run, dict) or not set(run) <= set(BaselineRun._fields):
        return None, 0
    if not all(isinstance(w, str) for w in run.values()):
        return None, 0
    file, configuration, code = map(str, words)
    return BaselineKey(
        file, configuration, code, BaselineRun(**run) if "run" in given else None
    ), count


def _order(entry: tuple[BaselineKey, int]) -> tuple[str, str, str, tuple[str, ...]]:
    key = entry[0]
    return *key[:3], key.run or ()


def _text(entries: Iterable[tuple[BaselineKey, int]]) -> str:
    rows: list[dict[str, Any]] = []
    for key, count in sorted(entries, key=_order):
        row: dict[str, Any] = dict(zip(_KEYS, key, strict=False))
        if key.run is not None:
            row["run"] = {k: v for k, v in key.run._asdict().items() if v}
        rows.append({**row, "count": count})
    # a file's name may hold bytes that are not UTF-8; JSON can say them
    return json_text({"version": 1, "entries": rows}, indent=1) + "\n"
