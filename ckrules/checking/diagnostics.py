"""Diagnostics: everything that a report says about one place of a source.

Rules and findings of readers become the same type; renderers know nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ckrules.checking.findings import FINDINGS
from ckrules.engine.expr import Value
from ckrules.engine.rules import KINDS, Violation
from ckrules.engine.rules.derivation import shown
from ckrules.engine.rules.repairs import Repairs, advice
from ckrules.kernels.books import Books
from ckrules.kernels.standing import Scope, Standing, of_rule
from ckrules.readers.entries import Edit, Entry, Place

#: The kind of findings beside the rules.
FILE = "file"


def linked(base: str, url: str) -> str:
    """The address of a page (`Diagnostic.url`) as the setting ``docs-url`` says it.

    ``{page}`` in the setting is the page's path without ``docs/`` and its suffix, as a built site
    has it; a setting without it goes before the path in the repository.

    >>> linked("https://ck.example/{page}.html", "docs/check.md#cfg001")
    'https://ck.example/check.html#cfg001'
    >>> linked("file:///srv/ckrules/", "docs/rules/TILE001.md")
    'file:///srv/ckrules/docs/rules/TILE001.md'
    """
    if "{page}" not in base:
        return base + url
    path, sign, anchor = url.partition("#")
    page = path.removeprefix("docs/").removesuffix(".md")
    return base.replace("{page}", page) + sign + anchor


@dataclass(frozen=True, slots=True)
class Help:
    """What would repair a finding: in words, as an edit, and whether that is safe to make."""

    text: str = ""
    edit: Edit | None = None
    applicability: str = ""


class Diagnostic:
    """One finding: code, severity, place with its span, numbers, and what would repair it.

    ``suppressed`` is the reason of a comment or ``baseline``; such diagnostics fail nothing.
    """

    __slots__ = (
        "_entry", "_help", "code", "kind", "message", "name", "place", "severity", "suppressed",
        "suppressor",
    )  # fmt: skip

    def __init__(
        self, code: str, name: str, kind: str, severity: str, message: str, place: Place,
        entry: Entry | None = None,
    ) -> None:  # fmt: skip
        self.code, self.name, self.kind = code, name, kind
        self.severity, self.message, self.place = severity, message, place
        self.suppressor = self.suppressed = ""
        self._entry = entry
        self._help: Help | None = None

    @property
    def configuration(self) -> str | None:
        """The name of the configuration that it is about, if it is and that has one."""
        return None if self._entry is None else self._entry.config.name

    @property
    def arch(self) -> str:
        """The GPU of the configuration; empty if it is about none."""
        return "" if self._entry is None else str(self._entry.config.point["arch"])

    @property
    def variant(self) -> str:
        """The variant of the configuration; empty if it is about none."""
        return "" if self._entry is None else str(self._entry.config.point["variant"])

    @property
    def pointer(self) -> str:
        """The JSON pointer of the configuration; empty if there is none."""
        return "" if self._entry is None else self._entry.pointer

    @property
    def fields(self) -> Mapping[str, Value]:
        """The values that the rule read; none for other findings."""
        return {}

    @property
    def related(self) -> list[tuple[Place, str]]:
        """The other fields that the message names, where the source writes them."""
        return []

    @property
    def help(self) -> str:
        """The cheapest repair or the rule's advice; empty if there is none."""
        return self._sought().text

    @property
    def edit(self) -> Edit | None:
        """The edit that the help describes, None where the format cannot say it."""
        return self._sought().edit

    @property
    def applicability(self) -> str:
        """``safe`` for what ``--fix`` makes, ``unsafe`` for other repairs; empty without one."""
        return self._sought().applicability

    def _sought(self) -> Help:
        if self._help is None:
            self._help = self._seek()
        return self._help

    def _seek(self) -> Help:
        return Help()

    @property
    def url(self) -> str:
        """The page that explains the code, from the root of the repository."""
        if self.kind == FILE:
            return f"docs/check.md#{self.code.lower()}"
        return f"docs/rules/{self.code}.md"

    @property
    def evidence(self) -> str:
        """How well the rule is founded, in words; empty for what is not a rule."""
        found = self.standing
        return "" if found is None else str(found)

    @property
    def standing(self) -> Standing | None:
        """How the rule stands for kernels such as the configuration; None for others."""
        return None

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
            "fix": None if edit is None else self._fix(edit),
            "url": self.url,
            "evidence": self.evidence or None,
        }

    def _fix(self, edit: Edit) -> dict[str, Any]:
        return {"text": edit.text, "applicability": self.applicability, **_where(edit.place)}


def _where(place: Place) -> dict[str, Any]:
    return {
        "source": place.source,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }


class _Broken(Diagnostic):
    """The diagnostic of a broken rule; its repair is sought when it is asked for."""

    __slots__ = ("_books", "_main", "_repairs", "_together", "_violation")

    def __init__(
        self,
        violation: Violation,
        entry: Entry,
        together: frozenset[str],
        repairs: Repairs | None,
        books: Books,
    ) -> None:
        # as the constructor of the class above does, which files with millions of findings notice
        rule = violation.rule
        self.code, self.name, self.kind, self.severity = (
            rule.code, rule.name, str(rule.kind), str(rule.severity),
        )  # fmt: skip
        self.message, self._entry, self._help = violation.message, entry, None
        self.suppressor = self.suppressed = ""
        self._violation, self._together = violation, together
        self._books = books
        self._main, self.place = _main(violation, entry, together, repairs)
        self._repairs = repairs if repairs is not None and repairs.seeks else None

    @property
    def fields(self) -> Mapping[str, Value]:
        return self._violation.values

    @property
    def related(self) -> list[tuple[Place, str]]:
        assert self._entry is not None
        values, written = self._violation.values, self._entry.written
        return [
            (at, f"{f} = {shown(values[f])}")
            for f in self._violation.named
            if f != self._main and (at := written(f)) is not None
        ]

    @property
    def standing(self) -> Standing | None:
        assert self._entry is not None
        family = self._entry.config.family
        if not family.certified():
            return None
        return of_rule(self._violation.rule, Scope(family.name, self._books.headers, (self.arch,)))

    def _seek(self) -> Help:
        entry, rule = self._entry, self._violation.rule
        if entry is None or self._repairs is None:
            return Help(advice(rule))
        change = self._repairs.nearest(entry.config.point, rule, self._together)
        if change is not None:
            edit = entry.rewrite(change.field, change.value)
            return Help(str(change), edit, change.applicability)
        prose = advice(rule)
        return Help(f"no single field repairs this{': ' + prose if prose else ''}")


def of_finding(
    code: str, message: str, place: Place, entry: Entry | None = None, edit: Edit | None = None
) -> Diagnostic:
    """The diagnostic of a finding beside the rules, about an entry if there is one.

    ``edit`` is what makes it true, where that is mechanical.
    """
    finding = FINDINGS[code]
    made = Diagnostic(code, finding.name, FILE, finding.severity, message, place, entry)
    if edit is not None:
        done = f"write {edit.text}" if edit.text else "remove the line"
        made._help = Help(done, edit, "safe")
    return made


def of_violation(
    violation: Violation,
    entry: Entry,
    together: frozenset[str],
    repairs: Repairs | None,
    books: Books,
) -> Diagnostic:
    """The diagnostic of a broken rule, ``together`` being the codes of all that the entry breaks.

    ``books`` are those that judge the configuration. Without ``repairs`` the rule's own
    advice is all the help there is.
    """
    return _Broken(violation, entry, together, repairs, books)


def _main(
    violation: Violation, entry: Entry, together: frozenset[str], repairs: Repairs | None
) -> tuple[str, Place]:
    """The field to change, and its place: that of the best repair, else one that is named."""
    tried: tuple[str, ...] | None
    if repairs is None:
        tried = _tried(violation, ())
    else:
        best = repairs.field(entry.config.point, violation.rule, together)
        key = (violation.rule.code, violation.named, best)
        tried = repairs.tried.get(key)
        if tried is None:
            open_ = repairs.fields(violation.rule)
            asked = [best, *(f for f in open_ if f in violation.named), *open_]
            tried = repairs.tried[key] = _tried(violation, asked)
    for name in tried:
        if (at := entry.written(name)) is not None:
            return name, at
    return "", entry.place


def _tried(violation: Violation, asked: Iterable[str]) -> tuple[str, ...]:
    """The fields that may be the one to change, the likeliest first."""
    plain = [f for f in violation.named if f not in ("arch", "variant")]
    values = violation.values
    every = dict.fromkeys((*asked, *plain, *violation.named, *values))
    return tuple(n for n in every if n in values)


def kind_sentence(kind: str) -> str:
    """What a kind means."""
    return KINDS.get(kind, "something about the file and not about a kernel")
