"""The run of ``ckrules check``: files read with their settings, judged, filtered, one by one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from ckrules.engine.errors import unknown
from ckrules.judge import Judge
from ckrules.readers import Context, Edit, Entry, Place, Problem, Reading, Remark, formats
from ckrules.readers.findings import FINDINGS
from ckrules.readers.source import Source, SourceError
from ckrules.repair import Repairs
from ckrules.reports.diagnostics import Diagnostic, about, of_finding, of_violation
from ckrules.reports.verdict import Verdict
from ckrules.selection import Books
from ckrules.settings import Codes, Finder, Settings, below, matches

if TYPE_CHECKING:
    from ckrules.baseline import Baseline
    from ckrules.problems import Applicability, Convolution

_TRACKED = 1 << 20  # configurations of a file among which duplicates are found


class Plan:
    """Everything that files with the same settings share: rule books, judges, codes, baseline."""

    def __init__(self, settings: Settings, problem: Convolution | None = None) -> None:
        self.settings = settings
        files = [Path(p) for p in settings["arch-paths"]]
        self.books = Books(settings["ck"], settings["profile"], files)
        arch = settings["arch"]
        from ckrules.readers.formats.macros import READINGS

        reading = settings["tile-reading"]
        if reading not in READINGS:
            raise unknown("tile-reading", str(reading), READINGS)
        plain = self.books.plain_arch(arch) if arch is not None else None
        self.context = Context(self.books, plain, reading)
        self.applicability: Applicability | None = None
        if problem is not None:
            from ckrules.problems import Applicability

            self.applicability = Applicability(problem, self.books)
        self.codes = Codes(settings, self.known)
        path = settings["baseline"]
        self.baseline: Baseline | None = None
        if path is not None:
            from ckrules.baseline import Baseline

            self.baseline = Baseline.load(Path(path))
        self._judges: dict[str, Judge] = {}
        self._repairs: dict[str, Repairs] = {}

    def known(self) -> set[str]:
        """Every code that exists."""
        rules = {r.code for book in self.books.every() for r in book.rules}
        everywhere = {r.code for b in Books(self.settings["ck"]).every() for r in b.rules}
        found = rules | everywhere | set(FINDINGS)
        return found | self.applicability.codes if self.applicability is not None else found

    def judge(self, variant: str) -> Judge:
        """The judge of a variant's book."""
        book = self.books.of(variant)
        if book.name not in self._judges:
            self._judges[book.name] = Judge(book)
        return self._judges[book.name]

    def repairs(self, variant: str) -> Repairs:
        """The repairs by a variant's book."""
        book = self.books.of(variant)
        if book.name not in self._repairs:
            self._repairs[book.name] = Repairs(book)
        return self._repairs[book.name]


class Checker:
    """Judges everything that arguments name.

    Args:
        finder: Where settings come from.
        input_format: The format of every file, instead of the one it looks like.
        stdin_name: What messages call standard input.
        stdin: Standard input, where its text was read before.
        resources: Whether verdicts carry derived quantities.
        force_exclude: Whether files that are named also obey ``exclude``.
        problem: The convolution that kernels are asked about, as text.
    """

    def __init__(
        self,
        finder: Finder,
        *,
        input_format: str | None = None,
        stdin_name: str = "-",
        stdin: bytes | None = None,
        resources: bool = False,
        force_exclude: bool = False,
        problem: str | None = None,
    ) -> None:
        self._finder, self._input_format = finder, input_format
        self._stdin_name, self._stdin = stdin_name, stdin
        self._resources, self._force_exclude = resources, force_exclude
        self._problem: Convolution | None = None
        if problem is not None:
            from ckrules.problems import parse_problem

            self._problem = parse_problem(problem)
        self._plans: dict[int, Plan] = {}
        self.files = 0

    @property
    def plans(self) -> list[Plan]:
        """The plans that were needed."""
        return list(self._plans.values())

    def plan(self, argument: str) -> Plan:
        """The plan of an argument: of its folder, or of this one for names and standard input."""
        path = self._stdin_name if argument == "-" else argument
        inside = argument == "-" or os.path.lexists(path)
        folder = os.path.dirname(path) if inside and path != "-" else ""
        try:
            settings = self._finder.of(Path(folder or "."))
        except ValueError:  # a NUL in the path
            settings = self._finder.of(Path("."))
        if id(settings) not in self._plans:
            self._plans[id(settings)] = Plan(settings, self._problem)
        return self._plans[id(settings)]

    def arguments(self, given: Iterable[str]) -> Iterator[str]:
        """The arguments with folders replaced by the files in them."""
        for argument in given:
            if argument != "-" and _is_folder(argument):
                yield from self._walk(Path(argument))
            elif not (self._force_exclude and self._excluded(argument)):
                yield argument

    def _excluded(self, argument: str) -> bool:
        settings = self.plan(argument).settings
        path = below(argument, settings.root)
        return any(matches(path, p) for p in settings["exclude"])

    def _walk(self, folder: Path) -> Iterator[str]:
        for root, folders, files in os.walk(folder):
            settings = self._finder.of(Path(root))
            inside = Path(os.path.abspath(folder)).is_relative_to(settings.root)
            base = settings.root if inside else folder

            def meant(
                key: str,
                name: str,
                settings: Settings = settings,
                at: str = root,
                base: Path = base,
            ) -> bool:
                path = below(os.path.join(at, name), base)
                return any(matches(path, p) for p in settings[key])

            folders[:] = sorted(f for f in folders if not meant("exclude", f))
            for name in sorted(files):
                path = os.path.normpath(os.path.join(root, name))
                wanted = meant("include", name) and not meant("exclude", name)
                if wanted and (self._input_format or _is_known(path)):
                    yield path

    def read(self, argument: str) -> Reading:
        """The items of an argument."""
        stdin: BinaryIO | None = None
        if argument == "-" and self._stdin is not None:
            stdin = cast(BinaryIO, BufferedReader(BytesIO(self._stdin)))
        return Reading(
            argument, self.plan(argument).context, input_format=self._input_format,
            stdin_name=self._stdin_name, stdin=stdin,
        )  # fmt: skip

    def verdicts(self, given: Iterable[str]) -> Iterator[Verdict]:
        """The verdict on each item of all arguments, in order."""
        for argument in self.arguments(given):
            self.files += 1
            yield from _File(self.plan(argument), self.read(argument), self._resources).verdicts()
        for plan in self.plans:
            if plan.baseline is not None and plan.codes.selected("BASE001"):
                yield from _stale(plan, plan.baseline)

    def edits(self, given: Iterable[str]) -> Iterator[tuple[str, list[Edit]]]:
        """The safe repairs of each file, by file."""
        for argument in self.arguments(given):
            if argument == "-" or not os.path.isfile(argument):
                continue
            file = _File(self.plan(argument), self.read(argument), False)
            found = list(file.edits())
            if found:
                yield argument, found


def _stale(plan: Plan, baseline: Baseline) -> Iterator[Verdict]:
    place = Place(os.path.relpath(baseline.path))
    for (file, configuration, code), left in baseline.stale():
        about_what = f" of {configuration}" if configuration else ""
        said = f"{file}: {code}{about_what} is not found any more ({left} in the baseline)"
        made = of_finding("BASE001", said, place)
        made.severity = plan.codes.severity("BASE001", made.severity)
        yield Verdict(Remark(place, "BASE001", said), diagnostics=[made])


def _is_folder(argument: str) -> bool:
    try:
        return os.path.isdir(argument)
    except ValueError:
        return False


def _is_known(path: str) -> bool:
    """Whether a file looks like one of the formats; a suffix alone is not enough."""
    try:
        with open(path, "rb") as stream:
            head = Source(path, stream).head()
    except (OSError, SourceError):
        return False
    if path.endswith(".conf"):
        return True
    found = (n for n, f in formats().items() if f.sniff(head))
    name = next(found, "")
    if name != "macros":
        return bool(name)
    return "DECL_" in head.text or _declares(path)


def _declares(path: str) -> bool:
    with open(path, "rb") as stream:
        return any(b"DECL_" in chunk for chunk in iter(lambda: stream.read(1 << 20), b""))


class _File:
    """One source being checked."""

    def __init__(self, plan: Plan, reading: Reading, resources: bool) -> None:
        self._plan, self._reading, self._resources = plan, reading, resources
        self._seen: dict[int, tuple[int, int]] = {}
        self._labels: dict[str, tuple[int, int]] = {}
        self._short: dict[str, tuple[int, int]] = {}
        if plan.baseline is not None:
            plan.baseline.seen(reading.name)

    def verdicts(self) -> Iterator[Verdict]:
        """The verdict on each item, then on the comments."""
        codes = self._plan.codes
        for item in self._reading:
            if isinstance(item, Problem):
                yield Verdict(item)
            elif isinstance(item, Remark):
                if codes.selected(item.code, FINDINGS[item.code].default):
                    made = self._filtered(of_finding(item.code, item.message, item.place), ())
                    yield Verdict(item, diagnostics=made)
            else:
                yield self._judged(item)
        yield from self._comments()

    def edits(self) -> Iterator[Edit]:
        """The safe repairs of each configuration."""
        for item in self._reading:
            if not isinstance(item, Entry):
                continue
            point, variant = item.config.point, item.config.variant
            broken = [v.code for v in self._plan.judge(variant)(point)]
            wanted = [c for c in broken if self._wanted(c, item)]
            if not wanted:
                continue
            for change in self._plan.repairs(variant).safe(point, wanted):
                edit = item.rewrite(change.field, change.value)
                if edit is not None and edit.place.end_line:
                    yield edit

    def _wanted(self, code: str, item: Entry) -> bool:
        codes, suppressions = self._plan.codes, self._reading.suppressions
        if not codes.selected(code) or codes.ignored_in(code, self._reading.name, item.pointer):
            return False
        return suppressions is None or suppressions.find(code, [item.place.line]) is None

    def _judged(self, entry: Entry) -> Verdict:
        plan, config = self._plan, entry.config
        point, variant = config.point, config.variant
        violations = plan.judge(variant)(point)
        made: list[Diagnostic] = []
        if violations:
            broken = frozenset(v.code for v in violations)
            for v in violations:
                if plan.codes.selected(v.code):
                    d = of_violation(v, entry, broken, lambda: plan.repairs(variant))
                    made += self._filtered(d, (entry.place.line,))
        for code, message, place in self._oddities(entry):
            if plan.codes.selected(code, FINDINGS[code].default):
                d = of_finding(code, message, place)
                about(d, entry)
                made += self._filtered(d, (entry.place.line,))
        values = plan.books.of(variant).resources(point) if self._resources else None
        if plan.applicability is None:
            return Verdict(entry, violations, values, made)
        refused = plan.applicability(point)
        for v in refused:
            if plan.codes.selected(v.code):
                d = of_violation(v, entry, frozenset(), None)
                made += self._filtered(d, (entry.place.line,))
        return Verdict(entry, violations, values, made, plan.applicability.to_dict(refused))

    def _oddities(self, entry: Entry) -> Iterator[tuple[str, str, Place]]:
        """Findings about an entry that are no rules: code, message, place."""
        for remark in entry.remarks:
            yield remark.code, remark.message, remark.place
        if not entry.place.line or len(self._seen) >= _TRACKED:
            return
        line, identity = entry.place.line, hash(tuple(entry.config.point.values()))
        first = self._seen.setdefault(identity, (line, entry.place.column))
        if first != (line, entry.place.column):
            where = f"line {first[0]}" if first[0] != line else f"column {first[1]}"
            yield "CFG001", f"the same configuration as in {where}", entry.place
        if entry.label:
            line, other = self._labels.setdefault(entry.label, (line, identity))
            if other != identity:
                said = f"{entry.label} is another configuration in line {line}"
                yield "CFG002", said, entry.place
        if self._plan.codes.selected("CFG003", False) and entry.config.variant[:7] != "forward_":
            short = short_name(entry)
            line, other = self._short.setdefault(short, (entry.place.line, identity))
            if other != identity:
                said = f"upstream's Python name {short} is also that of line {line}"
                yield "CFG003", said, entry.place

    def _filtered(self, d: Diagnostic, lines: tuple[int, ...]) -> list[Diagnostic]:
        """The diagnostic with its severity, suppressed or not; nothing if it is ignored."""
        codes, suppressions = self._plan.codes, self._reading.suppressions
        d.severity = codes.severity(d.code, d.severity)
        if codes.ignored_in(d.code, d.place.source, d.pointer):
            return []
        if suppressions is not None:
            found = suppressions.find(d.code, (d.place.line, *lines))
            if found is not None:
                d.suppressor, d.suppressed = "comment", found.reason
                return [d]
        if self._plan.baseline is not None and self._plan.baseline.meet(d):
            d.suppressor = d.suppressed = "baseline"
        return [d]

    def _comments(self) -> Iterator[Verdict]:
        suppressions, codes = self._reading.suppressions, self._plan.codes
        if suppressions is None or not suppressions.all:
            return
        known = self._plan.known()
        found: list[tuple[str, str, Place]] = []
        for s in suppressions.all:
            place = Place(self._reading.name, s.line, s.column, s.line, s.end)
            if not s.reason:
                found.append(("SUP002", "the suppression gives no reason", place))
        for s, code in suppressions.unused():
            place = Place(self._reading.name, s.line, s.column, s.line, s.end)
            if not code:
                said = "the suppression names no code, and there is no blanket form"
            elif code not in known:
                said = str(unknown("code", code, sorted(known)))
            else:
                said = f"nothing breaks {code} here: the suppression is not used"
            found.append(("SUP001", said, place))
        for code, message, place in found:
            if codes.selected(code):
                made = of_finding(code, message, place)
                made.severity = codes.severity(code, made.severity)
                if not codes.ignored_in(code, place.source, ""):
                    yield Verdict(Remark(place, code, message), diagnostics=[made])


def short_name(entry: Entry) -> str:
    """The name that upstream's Python objects give a configuration; it leaves much out."""
    p = entry.config.point
    tile = f"{p['tile_m']}x{p['tile_n']}x{p['tile_k']}"
    text = f"grouped_conv_{p['variant']}_{p['dtype']}_{p['ndim']}d_{tile}"
    text += f"_{p['pipeline']}_{p['scheduler']}"
    if p["num_groups_to_merge"] != 1:
        text += f"_gm{p['num_groups_to_merge']}"
    flags: list[tuple[str, str]] = [
        ("double_smem_buffer", "_dsb"), ("split_image", "_si"), ("two_stage", "_2stage"),
    ]  # fmt: skip
    return text + "".join(tail for field, tail in flags if p[field])
