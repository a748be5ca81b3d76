"""What a file is checked with, and the check of one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ckrules.checking.baseline import Baseline, BaselineRun
from ckrules.checking.codes import CodeFilter
from ckrules.checking.diagnostics import Diagnostic, of_finding, of_violation
from ckrules.checking.findings import FINDINGS
from ckrules.checking.first_seen import Sightings
from ckrules.checking.settings import Settings
from ckrules.checking.verdict import ItemVerdict
from ckrules.engine.rules.batch import BatchChecker
from ckrules.engine.rules.repairs import FieldRepair, Repairs
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.kernels.families import family_of
from ckrules.kernels.library import profiles
from ckrules.kernels.trees import read_tree
from ckrules.readers import (
    Census,
    Context,
    Edit,
    Entry,
    InputReading,
    Place,
    Remark,
    UnreadableText,
)
from ckrules.support.errors import unknown

if TYPE_CHECKING:
    from ckrules.kernels.applicability import Applicability, OwnProblems


class CheckContext:
    """What files with the same settings share: rule books, compiled rules, codes, baseline."""

    def __init__(
        self, settings: Settings, problem: str | None = None, only: Mapping[str, str] | None = None,
        census: Census | None = None,
    ) -> None:  # fmt: skip
        self.settings = settings
        files = [Path(p) for p in settings["arch-paths"]]
        for key in ("ck", "profile"):
            with settings.blamed(key):
                Books(**{key: settings[key]})
        ck, include = settings.release()
        with settings.blamed("ck-include"):
            #: The tree that is given, whether it is of the version or of another one.
            self.tree = None if include is None else read_tree(include)
        self.books = Books(ck, settings["profile"], files, self.tree)
        arch = settings["arch"]
        from ckrules.readers.formats.macros import READINGS

        reading = settings["tile-reading"]
        if reading not in READINGS:
            raise settings.error(
                str(unknown("tile-reading", str(reading), READINGS)), "tile-reading"
            )
        with settings.blamed("arch"):
            plain = self.books.plain_arch(arch) if arch is not None else None
        self.reading = Context(self.books, plain, reading, only or {}, census or Census())
        self.applicability: Applicability | None = None
        if problem is not None:
            from ckrules.kernels.applicability import Applicability

            self.applicability = Applicability(problem, self.books)
        self.codes = CodeFilter(settings, self.known)
        path = settings["baseline"]
        self.baseline: Baseline | None = None
        if path is not None:
            self.baseline = Baseline.load(Path(path))
        self._by_book: dict[tuple[str, str], tuple[BatchChecker, Repairs]] = {}
        self._judges: dict[tuple[str, str], tuple[BatchChecker, Repairs]] = {}
        self._own: dict[str, OwnProblems] = {}
        self.run = BaselineRun(plain or "", self.books.ck)

    def known(self) -> set[str]:
        """Every code that exists."""
        books = [self.books.advised(f.variants[0]) for f in self.books.families]
        rules = {r.code for book in books for r in book.rules}
        everywhere = {r.code for b in Books(self.books.ck).every() for r in b.rules}
        found = rules | everywhere | set(FINDINGS)
        return found | self.applicability.codes if self.applicability is not None else found

    def looks_at(self, code: str, source: str) -> bool:
        """Whether all findings of a code in a file are looked for.

        Not those of ignored codes, nor of rules that another profile or ``--problem`` has. A code
        that does not exist any more counts as looked for.
        """
        if not self.codes.looks_at(code, source):
            return False
        return code in self._judged or code not in self._elsewhere

    @cached_property
    def _judged(self) -> set[str]:
        rules = {r.code for book in self.books.every() for r in book.rules}
        asked = set() if self.applicability is None else self.applicability.codes
        return rules | set(FINDINGS) | asked

    @cached_property
    def _elsewhere(self) -> set[str]:
        books = [b for name in profiles() for b in Books(self.books.ck, name).every()]
        books += Books(self.books.ck).problems()
        return {r.code for book in books for r in book.rules}

    def judges(self, config: Config) -> tuple[BatchChecker, Repairs]:
        """The checker and the repairs by the book of a configuration's variant and CK version."""
        asked = config.variant, config.ck
        judges = self._judges.get(asked)
        if judges is None:
            books = self.books.at(config.ck)
            book = books.of(config.variant)
            key = book.name, books.ck
            if key not in self._by_book:
                advised = books.advised(config.variant)
                self._by_book[key] = BatchChecker(advised, in_range=True), Repairs(book)
            judges = self._judges[asked] = self._by_book[key]
        return judges

    def begin(self) -> None:
        """Another text is checked, whose first findings get repairs again."""
        for _, repairs in self._by_book.values():
            repairs.begin()

    def own_problems(self, config: Config) -> OwnProblems:
        """What judges configurations of its CK version with problems of their own."""
        books = self.books.at(config.ck)
        if books.ck not in self._own:
            from ckrules.kernels.applicability import OwnProblems

            self._own[books.ck] = OwnProblems(books)
        return self._own[books.ck]

    def added(self, entry: Entry | None) -> BaselineRun:
        """What the run says of an entry and its text does not."""
        if entry is None:
            return BaselineRun()
        arch = "" if entry.written("arch") is not None else self.run.arch
        return BaselineRun(arch, "" if entry.config.ck else self.run.ck)


class _Owners:
    """The configuration that a word was first given to."""

    def __init__(self) -> None:
        self._lines, self._identities = Sightings(), Sightings()

    def other(self, word: str, line: int, identity: int) -> int:
        key = hash(word)
        first = self._lines.first(key, line)
        return first if self._identities.first(key, identity) != identity else 0


class FileCheck:
    """One source being checked."""

    def __init__(self, context: CheckContext, reading: InputReading, resources: bool) -> None:
        self._context, self.reading, self._resources = context, reading, resources
        self._seen, self._labels, self._short = Sightings(), _Owners(), _Owners()

    def verdicts(self) -> Iterator[ItemVerdict]:
        """The verdict on each item, then on the comments; the baseline learns of the file."""
        context, name = self._context, self.reading.name
        baseline = context.baseline
        if baseline is not None and not self.reading.pointer:
            baseline.seen(name, lambda code: context.looks_at(code, name), context.run)
        for item in self.reading:
            if isinstance(item, UnreadableText):
                if baseline is not None:
                    baseline.unseen(name)
                yield ItemVerdict(item)
            elif isinstance(item, Remark):
                yield from self.remarked(item)
            else:
                yield self._judged(item)
        yield from self._comments()

    def remarked(self, item: Remark) -> Iterator[ItemVerdict]:
        """The verdict on something beside the configurations, unless its code is not asked for."""
        if self._context.codes.selected(item.code, FINDINGS[item.code].default):
            found = of_finding(item.code, item.message, item.place, edit=item.edit)
            yield ItemVerdict(item, diagnostics=self._filtered(found))

    def edits(self, *, unsafe: bool = False) -> Iterator[Edit]:
        """The safe repairs of each configuration, or ``unsafe`` ones as well."""
        for item in self.reading:
            if isinstance(item, Remark):
                shown = (v.shown for v in self.remarked(item))
                yield from (d.edit for found in shown for d in found if d.edit is not None)
            elif isinstance(item, Entry):
                yield from self._edits_of(item, unsafe)

    def _edits_of(self, entry: Entry, unsafe: bool) -> Iterable[Edit]:
        """The repairs of a configuration, one for each field."""
        point = entry.config.point
        checker, repairs = self._context.judges(entry.config)
        wanted = [v.code for v in checker(point) if self._wanted(v.code, entry)]
        edits: dict[str, Edit] = {}

        def make(change: FieldRepair) -> bool:
            edit = entry.rewrite(change.field, change.value)
            if edit is None or not edit.place.end_line:
                return False
            edits[change.field] = edit  # instead of one that was made before
            return True

        if wanted:
            repairs.every(point, wanted, unsafe=unsafe, make=make)
        return edits.values()

    def _wanted(self, code: str, item: Entry) -> bool:
        codes, suppressions = self._context.codes, self.reading.suppressions
        if not codes.selected(code) or codes.ignored_in(code, self.reading.name, item.pointer):
            return False
        return suppressions is None or suppressions.find(code, [item.place.line]) is None

    def _judged(self, entry: Entry) -> ItemVerdict:
        context, config = self._context, entry.config
        point, books = config.point, context.books.at(config.ck)
        checker, repairs = context.judges(config)
        violations = checker(point)
        made: list[Diagnostic] = []
        if violations:
            together = frozenset([v.rule.code for v in violations])
            plain = self._is_plain()
            for v in violations:
                if context.codes.reported[v.rule.code]:
                    d = of_violation(v, entry, together, repairs, books)
                    if plain:
                        made.append(d)
                    else:
                        made += self._filtered(d, entry)
        for code, message, place in self._oddities(entry):
            if context.codes.selected(code, FINDINGS[code].default):
                d = of_finding(code, message, place, entry)
                made += self._filtered(d, entry)
        values = None
        if self._resources:
            values = books.of(config.variant).resources(point)
        applicability = context.applicability
        refused = applicability(point) if applicability is not None else None
        if applicability is None or refused is None:
            return ItemVerdict(entry, violations, values, made)
        for v in refused:
            if context.codes.selected(v.code):
                d = of_violation(v, entry, frozenset(), None, books)
                made += self._filtered(d, entry)
        accepted = applicability.to_dict(config.variant, refused)
        return ItemVerdict(entry, violations, values, made, accepted)

    def _oddities(self, entry: Entry) -> Iterator[tuple[str, str, Place]]:
        """What is odd about an entry beside the rules: code, message, place."""
        for remark in entry.remarks:
            yield remark.code, remark.message, remark.place
        asked = self._context.applicability
        if asked is not None and not asked.concerns(entry.config.variant):
            text = f"no kernel of {entry.config.family.name} computes such a problem"
            yield "CFG011", text, entry.place
        yield from self._own_problem(entry)
        if not entry.place.line:
            return
        line, identity = entry.place.line, hash(tuple(entry.config.point.values()))
        here = line << 32 | entry.place.column
        first = self._seen.first(identity, here)
        if first != here and not entry.problem:  # else it is another problem's
            where = f"line {first >> 32}"
            if first >> 32 == line:
                where = f"column {first & 0xFFFFFFFF}"
            yield "CFG001", f"the same configuration as in {where}", entry.place
        if entry.label and entry.label != entry.config.read_from:  # which says everything
            other = self._labels.other(entry.label, line, identity)
            if other:
                message = f"{entry.label} is another configuration in line {other}"
                yield "CFG002", message, entry.place
        if self._context.codes.selected("CFG003", False):
            short = family_of(entry.config.variant).short_name(entry.config.point)
            if short is None:
                return
            other = self._short.other(short, line, identity)
            if other:
                message = f"upstream's Python name {short} is also that of line {other}"
                yield "CFG003", message, entry.place

    def _own_problem(self, entry: Entry) -> Iterator[tuple[str, str, Place]]:
        """That the kernel of a row does not take the row's own problem."""
        if not entry.problem:
            return
        point = {**entry.config.point, **entry.launched}
        found = self._context.own_problems(entry.config)(point, entry.problem)
        if found is not None and found[1]:
            problem, (first, *_) = found
            text = f"the kernel does not take {problem}: {first.code}: {first.message}"
            yield "ROW012", text, entry.place

    def _is_plain(self) -> bool:
        """Whether findings stay as they are: so far nothing hides any or changes its severity."""
        context, suppressions = self._context, self.reading.suppressions
        hides = context.codes.changes or context.baseline is not None
        return not (hides or (suppressions is not None and suppressions.all))

    def _filtered(self, d: Diagnostic, entry: Entry | None = None) -> list[Diagnostic]:
        """The diagnostic with its severity, suppressed or not; nothing if it is ignored."""
        lines = () if entry is None else (entry.place.line,)
        codes, suppressions = self._context.codes, self.reading.suppressions
        d.severity = codes.severity(d.code, d.severity)
        if codes.ignored_in(d.code, d.place.source, d.pointer):
            return []
        if suppressions is not None and suppressions.all:
            named = (at.line for at, _ in d.related)
            found = suppressions.find(d.code, (d.place.line, *named, *lines))
            if found is not None:
                d.suppressor, d.suppressed = "comment", found.reason
                return [d]
        baseline = self._context.baseline
        if baseline is not None and baseline.meet(d, self._context.added(entry)):
            d.suppressor = d.suppressed = "baseline"
        return [d]

    def _comments(self) -> Iterator[ItemVerdict]:
        suppressions, codes = self.reading.suppressions, self._context.codes
        if suppressions is None or not suppressions.all:
            return
        known = self._context.known()
        found: list[tuple[str, str, Place]] = []
        for s in suppressions.all:
            place = Place(self.reading.name, s.line, s.column, s.line, s.end)
            if not s.reason:
                found.append(("SUP002", "the suppression gives no reason", place))
        for s, code in suppressions.unused():
            place = Place(self.reading.name, s.line, s.column, s.line, s.end)
            if not code:
                message = "the suppression names no code, and there is no blanket form"
            elif code not in known:
                message = str(unknown("code", code, sorted(known)))
            else:
                message = f"nothing breaks {code} here: the suppression is not used"
            found.append(("SUP001", message, place))
        for code, message, place in found:
            if codes.selected(code):
                made = of_finding(code, message, place)
                made.severity = codes.severity(code, made.severity)
                if not codes.ignored_in(code, place.source, ""):
                    yield ItemVerdict(Remark(place, code, message), diagnostics=[made])
