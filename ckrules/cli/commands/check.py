"""Say which rules configurations break, and where."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ckrules.checking import reports as checks
from ckrules.checking.checker import Checker
from ckrules.checking.offers import Offers
from ckrules.checking.settings import SettingsResolver
from ckrules.checking.verdict import CheckTally, ItemVerdict
from ckrules.cli.formats import by_suffix, format_option, output_option
from ckrules.cli.group import session
from ckrules.cli.once import option
from ckrules.cli.options import (
    ParamType,
    Words,
    arch_file_option,
    arch_option,
    input_format,
    known_values,
    quiet_option,
    tell_tree,
)
from ckrules.cli.output import binary_output, text_output
from ckrules.cli.terminal import PATIENCE, colored, is_terminal, note, progress, say
from ckrules.readers import Census, Entry, Input, Remark, UnreadableText
from ckrules.readers.source import MAX_TEXT
from ckrules.support import opening
from ckrules.support.errors import UsageError, unknown
from ckrules.support.tables import count
from ckrules.support.visible import visible_source

_SUFFIXES = {
    "concise": (".txt",),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "junit": (".xml",),
    "sarif": (".sarif",),
}
_FOR_READING = ("full", "concise")  # reports of people; others mark each repair
_LINKING = (*_FOR_READING, "sarif")
#: The formats of one object a configuration.
_OBJECTS = ("json", "jsonl")
_ONLY = ("variant", "dtype", "layout")
_SHOWN = 20  # lines about unreadable entries; the rest is counted

GROUP = "check"


@dataclass(frozen=True)
class CheckArguments:
    """The options of ``ckrules check`` by name, as the help says them."""

    inputs: tuple[str, ...]
    archs: tuple[str, ...]
    form: str | None
    verdicts: bool
    resources: bool
    problem: str | None
    fix: bool
    unsafe_fixes: bool
    diff: bool
    select: tuple[str, ...] | None
    extend_select: tuple[str, ...] | None
    ignore: tuple[str, ...] | None
    baseline: str | None
    write_baseline: bool
    prune_baseline: bool
    config: str | None
    isolated: bool
    show_settings: bool
    show_files: bool
    force_exclude: bool
    allow_empty: bool
    exit_zero: bool
    input_format: str | None
    tile_reading: str | None
    only: Mapping[str, str]
    stdin_filename: str
    output: str | None
    quiet: bool
    ck: str | None
    ck_include: str | None
    profile: str | None
    arch_files: tuple[str, ...]

    @property
    def report(self) -> str:
        """The form of the report: as asked for, by the file's suffix, or the usual one.

        Raises:
            UsageError: For one that has no object a configuration, where these are asked for.
        """
        form = self.form or by_suffix(self.output, _SUFFIXES)
        if self.verdicts:
            form = form or "jsonl"
            if form not in _OBJECTS:
                raise UsageError(f"--verdicts writes {' or '.join(_OBJECTS)}, not {form}")
        to_terminal = self.output is None and is_terminal(sys.stdout)
        return form or ("full" if to_terminal else "concise")

    @property
    def for_baseline(self) -> bool:
        """Whether findings go to the baseline, and not to a report."""
        return self.write_baseline or self.prune_baseline

    def resolver(self, arch: str | None) -> SettingsResolver:
        """Where settings come from; ``arch`` is the GPU of configurations that name none."""
        options = {
            "arch": arch,
            "arch-paths": self.arch_files or None,
            "baseline": self.baseline,
            "ck": self.ck,
            "ck-include": Path(self.ck_include) if self.ck_include else None,
            "extend-select": self.extend_select,
            "ignore": self.ignore,
            "profile": self.profile,
            "select": self.select,
            "tile-reading": self.tile_reading,
        }
        config = Path(self.config) if self.config else None
        return SettingsResolver(options, config=config, isolated=self.isolated)

    def one_gpu(self) -> None:
        """Refuses several GPUs for what changes files.

        Raises:
            UsageError: If there are several.
        """
        changing = {
            "--fix": self.fix,
            "--diff": self.diff,
            "--write-baseline": self.write_baseline,
            "--prune-baseline": self.prune_baseline,
        }
        if len(self.archs) > 1 and (asked := [name for name, said in changing.items() if said]):
            raise UsageError(f"{asked[0]} takes one GPU: {', '.join(self.archs)}")


class _Only(ParamType):
    """``dtype=fp16,…``: fields of files of ranges, each with its value."""

    name = "dtype=fp16,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, str]:
        found: dict[str, str] = {}
        for part in value.split(",") if value and isinstance(value, str) else ():
            name, sign, word = part.strip().partition("=")
            if name not in _ONLY:
                raise UsageError(f"--only: {unknown('field', name, _ONLY)}")
            if not sign or not word:
                raise UsageError(f"--only: {name} has no value")
            if name in found:
                raise UsageError(f"--only: {name} is given twice, and takes one value")
            if word not in (known := known_values(name)):
                raise UsageError(f"--only: {unknown(name, word, known)}")
            found[name] = word
        return found


@click.command()
@click.argument("inputs", nargs=-1)
@arch_option
@format_option({name: _SUFFIXES.get(name, ()) for name in checks.available()})
@option(
    "--verdicts",
    is_flag=True,
    help="One object a configuration, in input order (format jsonl unless said otherwise).",
)
@option("--resources", is_flag=True, help="Add derived quantities, such as LDS bytes.")
@option(
    "--problem",
    metavar="N=32,C=64,…",
    help="Say too which kernels refuse this problem (N=32,C=64,K=64,H=56,W=56,Y=3,X=3,pad=1).",
)
@option("--fix", is_flag=True, help="Make the safe repairs in place, then check.")
@option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: the other repairs, too.")
@option("--diff", is_flag=True, help="Show the safe repairs and change nothing.")
@option("--select", type=Words(), help="Codes or families to check [ALL].")
@option("--extend-select", type=Words(), help="Codes or families to check too.")
@option("--ignore", type=Words(), help="Codes or families not to report.")
@option("--baseline", metavar="FILE", help="Known findings, which do not fail.")
@option("--write-baseline", is_flag=True, help="Write all findings to the baseline.")
@option("--prune-baseline", is_flag=True, help="Remove entries that nothing matches.")
@option("--config", metavar="FILE", help="Settings, instead of the nearest file.")
@option("--isolated", is_flag=True, help="Use no settings file.")
@option("--show-settings", is_flag=True, help="Show the settings and their origins.")
@option("--show-files", is_flag=True, help="Show which files would be checked.")
@option("--force-exclude", is_flag=True, help="Exclude files that are named, too.")
@option("--allow-empty", is_flag=True, help="Finding no configuration is not a failure.")
@option("--exit-zero", is_flag=True, help="Findings do not fail.")
@option("--input-format", type=input_format, metavar="NAME", help="Read every file in this format.")
@option("--tile-reading", metavar="gmn|mnk", help="How .tile(a, b, c) of macros is read.")
@option(
    "--only",
    type=_Only(),
    default="",
    metavar="dtype=fp16,…",
    help="Of files of ranges, only kernels of this variant, dtype or layout.",
)
@option("--stdin-filename", metavar="NAME", default="-", help="What messages call stdin.")
@output_option
@quiet_option
@option("--ck", metavar="VERSION", help="CK headers: 2025.11, 2026.06 or 2026.09 (default).")
@option("--ck-include", metavar="DIR", help="CK's include folder: its version counts.")
@option("--profile", metavar="NAME", help="Rule set (default: legal).")
@arch_file_option
def command(**options: Any) -> int:
    """Say which rules configurations break, and where."""
    asked = CheckArguments(**options)
    arch = next(iter(asked.archs), None)
    resolver = asked.resolver(arch)
    if asked.show_settings:
        return _show_settings(resolver, asked.inputs)
    if not asked.inputs:
        raise click.UsageError("missing argument 'INPUTS...'", click.get_current_context())
    form = asked.report
    asked.one_gpu()
    several = len(asked.archs) > 1
    stdin = sys.stdin.buffer.read() if "-" in asked.inputs and (several or form == "full") else None

    def checker_for(resolver: SettingsResolver) -> Checker:
        return Checker(
            resolver, asked.input_format, asked.stdin_filename, stdin, asked.resources,
            asked.force_exclude, asked.problem, asked.only,
        )  # fmt: skip

    checker = checker_for(resolver)
    if asked.show_files:
        for found in checker.inputs(asked.inputs):
            say(found.argument)
        return 0
    if asked.fix or asked.diff:
        changed = _repair(checker, asked)
        if asked.diff:
            return int(changed > 0 and not asked.exit_zero)
    by_arch = {arch: checker_for(asked.resolver(arch)) for arch in asked.archs if several}
    _tell_unknown(checker, asked.archs)
    if asked.for_baseline:
        return _baselines(checker, asked)
    return _report(by_arch or {"": checker}, form, asked)


def _tell_unknown(checker: Checker, archs: Sequence[str]) -> None:
    """Says which of the GPUs asked for the headers do not know, before every kernel is illegal."""
    if archs:
        books = checker.context(Path(".")).books
        asked = {books.plain_arch(a) for a in archs}
        for lacking in (g.lacking(books.ck) for g in books.gpus if g.name in asked):
            if lacking is not None:
                note(f"note: {lacking}")


def _show_settings(resolver: SettingsResolver, inputs: tuple[str, ...]) -> int:
    folder = Path(inputs[0]) if inputs else Path(".")
    for line in resolver.of(folder if folder.is_dir() else folder.parent).lines():
        say(line)
    return 0


def _report(checkers: Mapping[str, Checker], form: str, asked: CheckArguments) -> int:
    tallies, complaints = {arch: CheckTally() for arch in checkers}, _Complaints()
    offers, report = Offers(), checks.report(form)
    offering = form in _FOR_READING and len(checkers) == 1 and not asked.quiet

    def seen() -> Iterator[ItemVerdict]:
        for verdict in _verdicts(checkers, asked.inputs, tallies):
            if isinstance(verdict.item, UnreadableText) and not report.SHOWS_PROBLEMS:
                complaints.add(verdict.item)
            if offering:
                offers.add(verdict)
            bar.advance(1)
            yield verdict

    beside = asked.output is None and is_terminal(sys.stdout)
    checker = next(iter(checkers.values()))
    with (
        progress("configurations", patience=PATIENCE, beside=beside) as bar,
        text_output(asked.output) as stream,
    ):
        color = asked.output is None and colored(session().color, sys.stdout)
        inputs = [Input.of(a, checker.stdin_name, checker.stdin) for a in asked.inputs]
        context = checker.context(inputs[0].folder)
        tell_tree(context.books, context.tree)
        settings = context.settings
        options = checks.ReportOptions(
            verdicts=asked.verdicts,
            color=color,
            links=color and is_terminal(sys.stdout),
            texts=_texts(inputs),
            docs_url=str(settings["docs-url"]) if form in _LINKING else "",
        )
        try:
            report.render(seen(), stream.write, options)
            stream.flush()
        except BrokenPipeError:  # head has enough: what was found until then still fails
            if asked.exit_zero or not any(t.failing for t in tallies.values()):
                raise
            return 1
    complaints.finish()
    return _finish(tallies, offers, asked, checker.census)


def _texts(inputs: Sequence[Input]) -> dict[str, str]:
    """The texts of sources that are not files, for excerpts."""
    inline = sum(i.is_inline for i in inputs)  # several have the same name
    return {
        i.name: i.text.decode("utf-8-sig", errors="replace")
        for i in inputs
        if i.text is not None and not (i.is_inline and inline > 1)
    }


def _verdicts(
    checkers: Mapping[str, Checker], inputs: tuple[str, ...], tallies: Mapping[str, CheckTally]
) -> Iterator[ItemVerdict]:
    """The verdicts of each GPU, counted; what names another GPU itself is judged once."""
    if len(checkers) == 1:
        ((arch, checker),) = checkers.items()
        for verdict in checker.verdicts(inputs):
            tallies[arch].add(verdict)
            yield verdict
        return
    told: set[str] = set()
    plain = {a: checker.context(Path(".")).books.plain_arch(a) for a, checker in checkers.items()}
    first = next(iter(checkers))
    for arch, checker in checkers.items():
        for verdict in checker.verdicts(inputs):
            if isinstance(verdict.item, Entry):
                own = verdict.item.config.point["arch"]
                if own == plain[arch] or (arch == first and own not in plain.values()):
                    tallies[arch].add(verdict)
                    yield verdict
                continue
            tallies[arch].add(verdict)  # what is told once counts for each GPU
            said = repr(verdict.item if isinstance(verdict.item, Remark) else verdict.item.lines())
            if said not in told:
                told.add(said)
                yield verdict


def _finish(
    tallies: Mapping[str, CheckTally], offers: Offers, asked: CheckArguments, census: Census
) -> int:
    """The summary, a line a GPU, what could be repaired, and the exit code."""
    seen = [t for t in tallies.values() if t.configurations or t.remarks or t.unreadable]
    for arch, tally in tallies.items():
        if tally in seen and not asked.quiet:
            note(f"{arch}: {tally.summary()}" if arch else tally.summary())
    for sentence in census.sentences() if not asked.quiet else ():
        note(sentence)
    if offered := offers.sentence():
        note(offered)
    if any(t.unreadable for t in tallies.values()):
        return 2
    if any(t.failing for t in tallies.values()):
        return 0 if asked.exit_zero else 1
    found = census.found or any(t.configurations for t in tallies.values())
    if not found and not asked.allow_empty:
        note("no configurations found")
        return 3
    return 0


def _repair(checker: Checker, asked: CheckArguments) -> int:
    """Makes or shows the repairs; returns how many edits there are."""
    from ckrules.checking.edits import difference, edited

    changed = files = 0
    for path, edits in checker.edits(asked.inputs, unsafe=asked.unsafe_fixes):
        old = opening.read(path, MAX_TEXT)
        new = edited(old, edits)
        changed, files = changed + len(edits), files + 1
        if asked.diff:
            click.echo(visible_source(difference(path, old, new)), nl=False)
        else:
            with binary_output(path) as stream:
                stream.write(new)
    if changed:
        done = "can be repaired" if asked.diff else "repaired"
        note(f"{count(changed, 'finding')} {done} in {count(files, 'file')}")
    if asked.diff and not asked.unsafe_fixes and not asked.quiet:  # after --fix the report says it
        more = sum(len(edits) for _, edits in checker.edits(asked.inputs, unsafe=True)) - changed
        if more > 0:
            note(f"{count(more, 'repair')} more with --unsafe-fixes")
    return changed


def _baselines(checker: Checker, asked: CheckArguments) -> int:
    """Writes the findings to their baselines, beside the settings where none is named."""
    from ckrules.checking.baseline import NAME, Baseline

    for found in checker.inputs(asked.inputs):
        if found.argument == "-" or found.is_inline:
            raise UsageError("standard input and JSON objects have no baseline")
        context = checker.context(found.folder)
        if context.baseline is None:
            context.baseline = Baseline.load(context.settings.root / NAME)
    unreadable, complaints = 0, _Complaints()
    for verdict in checker.verdicts(asked.inputs):
        if isinstance(verdict.item, UnreadableText):
            complaints.add(verdict.item)
            unreadable += 1
    complaints.finish()
    if unreadable:
        raise UsageError(f"no baseline written: {unreadable:,} could not be read")
    for baseline in [c.baseline for c in checker.contexts if c.baseline is not None]:
        text = baseline.written() if asked.write_baseline else baseline.pruned()
        with text_output(str(baseline.path)) as stream:
            stream.write(text)
        entries = text.count('"code"')
        note(f"{baseline.path}: {count(entries, 'entry')}")
    return 0


class _Complaints:
    """Lines about entries that cannot be read: the first few, then a count."""

    def __init__(self) -> None:
        self.lines = self.hidden = 0

    def add(self, problem: UnreadableText) -> None:
        if self.lines >= _SHOWN:
            self.hidden += 1
            return
        found = problem.lines()
        for place, message in found[:_SHOWN]:
            note(f"{place}: error: {message}")
            self.lines += 1
        self.hidden += len(found[_SHOWN:])

    def finish(self) -> None:
        if self.hidden:
            note(f"… and {self.hidden:,} more that cannot be read")
