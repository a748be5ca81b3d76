"""Which codes of rules and findings a report shows, where, and with which severity."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping

from ckrules.checking.findings import FINDINGS, SEVERITIES
from ckrules.checking.patterns import below, matches
from ckrules.checking.settings import Settings
from ckrules.support.errors import nearest
from ckrules.support.toml_path import TomlPath


class _Reported(dict[str, bool]):
    """Whether each code of a rule is reported, worked out when it is first asked for."""

    def __init__(self, selected: Callable[[str], bool]) -> None:
        super().__init__()
        self._selected = selected

    def __missing__(self, code: str) -> bool:
        found = self[code] = self._selected(code)
        return found


class CodeFilter:
    """Which codes are reported where, and with which severity.

    Raises:
        UsageError: For a code that does not exist, with near matches.
    """

    def __init__(self, settings: Settings, known: Callable[[], Iterable[str]]) -> None:
        self._settings = settings
        self._severities: Mapping[str, str] = settings["severity"]
        wanted: dict[str, TomlPath] = {}
        for key in ("select", "extend-select", "ignore"):
            for at, code in enumerate(settings[key]):
                wanted.setdefault(code, (key, at))
        for code, severity in settings["severity"].items():
            wanted.setdefault(code, ("severity", code))
            if severity not in SEVERITIES:
                what = f"severity of {code}: {severity!r} is not one of {', '.join(SEVERITIES)}"
                raise settings.error(what, "severity", code)
        for pattern, codes in settings["per-file-ignores"].items():
            for at, code in enumerate(codes):
                wanted.setdefault(code, ("per-file-ignores", pattern, at))
            with settings.blamed("per-file-ignores", pattern):
                matches("a", [pattern.partition("#")[0]])
        wanted.pop("ALL", None)
        if wanted:
            _check(wanted, set(known()), settings)
        self._ignores = [
            ([pattern.partition("#")[0]], pattern.partition("#")[2], codes)
            for pattern, codes in settings["per-file-ignores"].items()
        ]
        #: Whether findings may be left out for some files, or have other severities.
        self.changes = bool(self._ignores or self._severities)
        self._selected: dict[tuple[str, bool], bool] = {}
        self.reported: Mapping[str, bool] = _Reported(self.selected)

    def selected(self, code: str, default: bool = True) -> bool:
        """Whether a code is reported at all; ``default`` is whether ALL means it too."""
        key = code, default
        if key not in self._selected:
            s = self._settings
            select = s["select"] if default else [c for c in s["select"] if c != "ALL"]
            on = _covers(select, code) or _covers(s["extend-select"], code)
            self._selected[key] = on and not _covers(s["ignore"], code)
        return self._selected[key]

    def ignored_in(self, code: str, source: str, pointer: str) -> bool:
        """Whether ``per-file-ignores`` leaves the code out for a file, or a part of it."""
        if not self._ignores:
            return False
        path = below(source, self._settings.root)
        for patterns, part, codes in self._ignores:
            if not _covers(codes, code) or not matches(path, patterns):
                continue
            if not part or pointer == part or pointer.startswith(part.rstrip("/") + "/"):
                return True
        return False

    def looks_at(self, code: str, source: str) -> bool:
        """Whether a code's findings are reported in the whole of a file."""
        default = code not in FINDINGS or FINDINGS[code].default
        if not self.selected(code, default):
            return False
        path = below(source, self._settings.root)
        return not any(
            _covers(codes, code) and matches(path, patterns) for patterns, _, codes in self._ignores
        )

    def severity(self, code: str, own: str) -> str:
        """The severity of a code: that of the settings, the most exact first, else its ``own``."""
        found = (self._severities[w] for w in _words(code) if w in self._severities)
        return str(next(found, own))


def _covers(codes: Container[str], code: str) -> bool:
    return any(word in codes for word in _words(code))


def _words(code: str) -> tuple[str, str, str]:
    """What settings may call a code, the most exact first."""
    return code, code.rstrip("0123456789"), "ALL"


def _check(wanted: Mapping[str, TomlPath], known: set[str], settings: Settings) -> None:
    families = {c.rstrip("0123456789") for c in known}
    for code in sorted(wanted.keys() - known - families):
        hits = nearest(code, known | families)
        tail = f"did you mean {' or '.join(hits)}?" if hits else "`ckrules rules` lists them"
        key, *below = wanted[code]
        raise settings.error(f"unknown code {code!r}: {tail}", str(key), *below)
