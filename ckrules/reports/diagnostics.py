"""Diagnostics: everything that a report says about one place of a source.

Rules and findings of readers become the same type; renderers know nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ckrules.engine.expr import Value
from ckrules.engine.rules import KINDS, Violation
from ckrules.engine.text import literal
from ckrules.readers.entries import Edit, Entry, Place
from ckrules.readers.findings import FINDINGS
from ckrules.repair import Change, Repairs, advice

_WORD = re.compile(r"[a-z_0-9]+")
#: The kind of what is no rule.
FILE = "file"


class Diagnostic:
    """One finding: code, severity, place with its span, numbers, and what would mend it.

    ``suppressed`` is the reason of a comment or ``baseline``; such diagnostics fail nothing.
    """

    __slots__ = (
        "_repair", "_repaired", "arch", "code", "configuration", "fields", "kind", "message",
        "name", "place", "pointer", "related", "severity", "suppressed", "suppressor", "variant",
    )  # fmt: skip

    def __init__(
        self, code: str, name: str, kind: str, severity: str, message: str, place: Place
    ) -> None:
        self.code, self.name, self.kind = code, name, kind
        self.severity, self.message, self.place = severity, message, place
        self.related: list[tuple[Place, str]] = []
        self.configuration: str | None = None
        self.arch = self.variant = self.pointer = ""
        self.fields: Mapping[str, Value] = {}
        self.suppressor = self.suppressed = ""
        self._repair: Callable[[], tuple[str, Edit | None]] | None = None
        self._repaired: tuple[str, Edit | None] | None = None

    @property
    def help(self) -> str:
        """The nearest legal value or the rule's advice; empty if there is none."""
        return self._mended()[0]

    @property
    def edit(self) -> Edit | None:
        """The edit that the help describes, None where the format cannot say it."""
        return self._mended()[1]

    def _mended(self) -> tuple[str, Edit | None]:
        if self._repaired is None:
            self._repaired = ("", None) if self._repair is None else self._repair()
        return self._repaired

    @property
    def url(self) -> str:
        """The page that explains the code, from the root of the repository."""
        if self.kind == FILE:
            return f"docs/check.md#{self.code.lower()}"
        return f"docs/rules/{self.code}.md"

    def to_dict(self) -> dict[str, Any]:
        """The form of ``json`` and ``jsonl``; every key is always there."""
        edit = self.edit
        return {
            "code": self.code,
            "name": self.name,
            "kind": self.kind,
            "severity": self.severity,
            "message": self.message,
            "fields": dict(self.fields),
            **_where(self.place),
            "configuration": self.configuration,
            "arch": self.arch,
            "variant": self.variant,
            "pointer": self.pointer,
            "related": [{"message": text, **_where(at)} for at, text in self.related],
            "help": self.help,
            "fix": None if edit is None else {"text": edit.text, **_where(edit.place)},
            "url": self.url,
        }


def _where(place: Place) -> dict[str, Any]:
    return {
        "source": place.source,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }


def of_finding(code: str, message: str, place: Place) -> Diagnostic:
    """The diagnostic of a finding that is no rule."""
    finding = FINDINGS[code]
    return Diagnostic(code, finding.name, FILE, finding.severity, message, place)


def of_violation(
    violation: Violation,
    entry: Entry,
    broken: frozenset[str],
    repairs: Callable[[], Repairs] | None,
) -> Diagnostic:
    """The diagnostic of a broken rule; its repair is sought when it is asked for.

    Without ``repairs`` the rule's own advice is all the help there is.
    """
    rule = violation.rule
    written = {f: at for f in violation.values if (at := entry.written(f)) is not None}
    main = _main(violation, written)
    made = Diagnostic(
        rule.code, rule.name, rule.kind, rule.severity, violation.message,
        written.get(main, entry.place),
    )  # fmt: skip
    made.related = [
        (at, f"{f} = {_shown(violation.values[f])}") for f, at in written.items() if f != main
    ]
    made.fields = violation.values
    about(made, entry)

    def repair() -> tuple[str, Edit | None]:
        if repairs is None:
            return advice(rule), None
        change: Change | None = repairs().nearest(entry.config.point, rule, broken)
        if change is not None:
            return str(change), entry.rewrite(change.field, change.value)
        said = advice(rule)
        return f"no single field mends this{': ' + said if said else ''}", None

    made._repair = repair
    return made


def _main(violation: Violation, written: Mapping[str, Place]) -> str:
    """The field that a message is about: one that it names, else a number, else the first."""
    words = set(_WORD.findall(violation.message))
    named = (f for f in written if f in words)
    numbers = (f for f in written if type(violation.values[f]) is int)
    return next(named, "") or next(numbers, "") or next(iter(written), "")


def about(made: Diagnostic, entry: Entry) -> None:
    """Says which configuration a diagnostic is about."""
    point = entry.config.point
    made.configuration = entry.config.name
    made.arch, made.variant = str(point["arch"]), str(point["variant"])
    made.pointer = entry.pointer


def _shown(value: Value) -> str:
    return value if isinstance(value, str) else literal(value)


def kind_sentence(kind: str) -> str:
    """What a kind means."""
    return KINDS.get(kind, "something about the file and not about a kernel")
