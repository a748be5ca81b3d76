"""Say which rules configurations break, and where."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ckrules.checking import reports as checks
from ckrules.checking.checker import Checker
from ckrules.checking.offers import Offers
from ckrules.checking.settings import SettingsResolver
from ckrules.checking.verdict import ItemVerdict, Tally
from ckrules.cli.formats import by_suffix, format_option, output_option
from ckrules.cli.group import session
from ckrules.cli.options import (
    Words,
    arch_file_option,
    arch_option,
    input_format,
    known_values,
    option,
    quiet_option,
)
from ckrules.cli.output import binary_output, text_output
from ckrules.cli.terminal import colored, is_terminal, note, say
from ckrules.readers import Entry, Problem, Remark
from ckrules.readers.inputs import INLINE, STDIN, is_inline
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
_SHOWN = 20  # lines about unreadable entries; the rest is counted

GROUP = "check"

EPILOG = """\b
INPUTS are kernel names, files, folders, JSON objects or - (standard input);
FILE#/kernels/3 is one configuration of a file. Files hold
  names       one a line, also as names of generated files
  json jsonl  fields of ckrules, as an object, a list or {"kernels": [...]}
  toml csv    the same fields
  dispatcher  the dispatcher's JSON: {"variant": …, "instances": [...]}
  registry    JSON with signature and algorithm
  conf        CK Builder's .conf
  macros      C++ with DECL_GROUPED_CONV_KERNEL_SET or DECL_KERNEL_SET
  ranges      ranges of tile_engine, the dispatcher or its kernel_config_loader
  python_lists  aiter's lists in Python, which is not run
  tuned       aiter's tables of tuned kernels
Fields with a default (`ckrules explain FIELD`) may be left out; --arch is the
GPU of those that name none. Settings: docs/check.md.

\b
Exit codes: 0 nothing of severity error was found, 1 something was, 2 something
could not be read, 3 there was no configuration.
"""


@click.command(epilog=EPILOG)
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
    metavar="dtype=fp16,…",
    help="Of files of ranges, only kernels of this variant, dtype or layout.",
)
@option("--stdin-filename", metavar="NAME", default="-", help="What messages call stdin.")
@output_option
@quiet_option
@option("--ck", metavar="VERSION", help="CK headers: 2025.11 or 2026.06 (default).")
@option("--profile", metavar="NAME", help="Rule set (default: legal).")
@arch_file_option
def command(inputs: tuple[str, ...], **given: Any) -> int:
    """Say which rules configurations break, and where."""
    archs: tuple[str, ...] = given["archs"]
    resolver = _resolver(given, next(iter(archs), None))
    if given["show_settings"]:
        return _show_settings(resolver, inputs)
    if not inputs:
        raise click.UsageError("missing argument 'INPUTS...'", click.get_current_context())
    form = _form(given)
    several = len(archs) > 1
    stdin = sys.stdin.buffer.read() if "-" in inputs and (several or form == "full") else None

    def checker_for(arch: str | None) -> Checker:
        return Checker(
            _resolver(given, arch) if several else resolver,
            input_format=given["input_format"],
            stdin_name=given["stdin_filename"],
            stdin=stdin,
            resources=given["resources"],
            force_exclude=given["force_exclude"],
            problem=given["problem"],
            only=_only(given["only"]),
        )

    if several:
        for name in ("fix", "diff", "write_baseline", "prune_baseline"):
            if given[name]:
                raise UsageError(f"--{name.replace('_', '-')} takes one GPU: {', '.join(archs)}")
    checker = checker_for(next(iter(archs), None))
    if given["show_files"]:
        for argument in checker.arguments(inputs):
            say(argument)
        return 0
    if given["fix"] or given["diff"]:
        changed = _repair(checker, inputs, given)
        if given["diff"]:
            return int(changed > 0 and not given["exit_zero"])
    checkers = {a: checker_for(a) for a in archs} if several else {"": checker}
    _tell_unknown(checker, archs)
    return _report(checkers, inputs, form, stdin, given)


def _tell_unknown(checker: Checker, archs: Sequence[str]) -> None:
    """Says which of the GPUs asked for the headers do not know, before every kernel is illegal."""
    if archs:
        books = checker.context(".").books
        asked = {books.plain_arch(a) for a in archs}
        for lacking in (g.lacking(books.ck) for g in books.gpus if g.name in asked):
            if lacking is not None:
                note(f"note: {lacking}")


def _only(text: str | None) -> dict[str, str]:
    """The fields of ``--only`` with their values."""
    found: dict[str, str] = {}
    for part in (text or "").split(",") if text else ():
        name, sign, value = part.strip().partition("=")
        if name not in ("variant", "dtype", "layout"):
            raise UsageError(f"--only: {unknown('field', name, ('variant', 'dtype', 'layout'))}")
        if not sign or not value:
            raise UsageError(f"--only: {name} has no value")
        if name in found:
            raise UsageError(f"--only: {name} is given twice, and takes one value")
        if value not in (known := known_values(name)):
            raise UsageError(f"--only: {unknown(name, value, known)}")
        found[name] = value
    return found


def _resolver(given: dict[str, Any], arch: str | None) -> SettingsResolver:
    options = {k: given[k] for k in ("ck", "profile", "select", "ignore", "baseline")}
    options["arch"] = arch
    options |= {"extend-select": given["extend_select"], "tile-reading": given["tile_reading"]}
    options["arch-paths"] = given["arch_files"] or None
    config = Path(given["config"]) if given["config"] else None
    return SettingsResolver(options, config=config, isolated=given["isolated"])


#: The formats of one object a configuration.
_OBJECTS = ("json", "jsonl")


def _form(given: dict[str, Any]) -> str:
    form: str | None = given["form"] or by_suffix(given["output"], _SUFFIXES)
    if given["verdicts"]:
        form = form or "jsonl"
        if form not in _OBJECTS:
            raise UsageError(f"--verdicts writes {' or '.join(_OBJECTS)}, not {form}")
    if form is None:
        form = "full" if given["output"] is None and is_terminal(sys.stdout) else "concise"
    return form


def _show_settings(resolver: SettingsResolver, inputs: tuple[str, ...]) -> int:
    folder = Path(inputs[0]) if inputs else Path(".")
    for line in resolver.of(folder if folder.is_dir() else folder.parent).lines():
        say(line)
    return 0


def _report(
    checkers: Mapping[str, Checker],
    inputs: tuple[str, ...],
    form: str,
    stdin: bytes | None,
    given: dict[str, Any],
) -> int:
    """Writes the report of one GPU, or of several one after the other."""
    tallies, complaints = {arch: Tally() for arch in checkers}, _Complaints()
    offers = Offers()
    checker = next(iter(checkers.values()))
    report, output = checks.report(form), given["output"]
    baselines = given["write_baseline"] or given["prune_baseline"]
    if baselines:
        _need_baseline(checker, inputs)

    def seen() -> Iterator[ItemVerdict]:
        for arch, verdict in _verdicts(checkers, inputs):
            tallies[arch].add(verdict)
            if isinstance(verdict.item, Problem) and not report.SHOWS_PROBLEMS:
                complaints.add(verdict.item)
            if form in _FOR_READING and len(checkers) == 1 and not (baselines or given["quiet"]):
                offers.add(verdict)
            yield verdict

    if baselines:
        for verdict in seen():
            if isinstance(verdict.item, Problem) and report.SHOWS_PROBLEMS:
                complaints.add(verdict.item)
        complaints.finish()
        return _write_baselines(checker, given["write_baseline"], tallies[""])
    with text_output(output) as stream:
        color = output is None and colored(session().color, sys.stdout)
        options = checks.ReportOptions(
            verdicts=given["verdicts"],
            color=color,
            links=color and is_terminal(sys.stdout),
            texts=_texts(inputs, stdin, given["stdin_filename"]),
            docs_url=_docs_url(checker, inputs) if form in _LINKING else "",
        )
        report.render(seen(), stream.write, options)
        stream.flush()
    complaints.finish()
    return _finish(tallies, offers, given)


def _texts(inputs: tuple[str, ...], stdin: bytes | None, stdin_name: str) -> dict[str, str]:
    """The texts of sources that are no files, for excerpts."""
    texts: dict[str, str] = {}
    if stdin is not None:
        name = STDIN if stdin_name == "-" else stdin_name
        texts[name] = stdin.decode("utf-8-sig", errors="replace")
    inline = [i for i in inputs if is_inline(i)]
    if len(inline) == 1:  # several have the same name
        texts[INLINE] = inline[0]
    return texts


def _docs_url(checker: Checker, inputs: tuple[str, ...]) -> str:
    return str(checker.context(inputs[0]).settings["docs-url"])


def _verdicts(
    checkers: Mapping[str, Checker], inputs: tuple[str, ...]
) -> Iterator[tuple[str, ItemVerdict]]:
    """The verdicts of each GPU; what names another GPU itself is judged once."""
    if len(checkers) == 1:
        ((arch, checker),) = checkers.items()
        yield from ((arch, verdict) for verdict in checker.verdicts(inputs))
        return
    told: set[str] = set()
    plain = {a: checker.context(".").books.plain_arch(a) for a, checker in checkers.items()}
    first = next(iter(checkers))
    for arch, checker in checkers.items():
        for verdict in checker.verdicts(inputs):
            if isinstance(verdict.item, Entry):
                own = verdict.item.config.point["arch"]
                if own == plain[arch] or (arch == first and own not in plain.values()):
                    yield arch, verdict
                continue
            said = repr(verdict.item if isinstance(verdict.item, Remark) else verdict.item.lines())
            if said not in told:
                told.add(said)
                yield arch, verdict


def _finish(tallies: Mapping[str, Tally], offers: Offers, given: dict[str, Any]) -> int:
    """The summary, a line a GPU, what could be repaired, and the exit code."""
    seen = [t for t in tallies.values() if t.configurations or t.remarks or t.unreadable]
    for arch, tally in tallies.items():
        if tally in seen and not given["quiet"]:
            note(f"{arch}: {tally.summary()}" if arch else tally.summary())
    if offered := offers.sentence():
        note(offered)
    if any(t.unreadable for t in tallies.values()):
        return 2
    if any(t.failing for t in tallies.values()):
        return 0 if given["exit_zero"] else 1
    if not any(t.configurations for t in tallies.values()) and not given["allow_empty"]:
        note("no configurations found")
        return 3
    return 0


def _repair(checker: Checker, inputs: tuple[str, ...], given: dict[str, Any]) -> int:
    """Makes or shows the repairs; returns how many edits there are."""
    from ckrules.checking.edits import difference, edited

    changed = files = 0
    only_show, unsafe = given["diff"], given["unsafe_fixes"]
    for path, edits in checker.edits(inputs, unsafe=unsafe):
        old = opening.read(path, MAX_TEXT)
        new = edited(old, edits)
        changed, files = changed + len(edits), files + 1
        if only_show:
            click.echo(visible_source(difference(path, old, new)), nl=False)
        else:
            with binary_output(path) as stream:
                stream.write(new)
    if changed:
        done = "can be repaired" if only_show else "repaired"
        note(f"{count(changed, 'finding')} {done} in {count(files, 'file')}")
    if only_show and not unsafe and not given["quiet"]:  # after --fix the report says it
        more = sum(len(edits) for _, edits in checker.edits(inputs, unsafe=True)) - changed
        if more > 0:
            note(f"{count(more, 'repair')} more with --unsafe-fixes")
    return changed


def _need_baseline(checker: Checker, inputs: tuple[str, ...]) -> None:
    """Gives every context a baseline, beside the settings where none is named."""
    from ckrules.checking.baseline import NAME, Baseline

    for argument in checker.arguments(inputs):
        if argument == "-" or is_inline(argument):
            raise UsageError("standard input and JSON objects have no baseline")
        context = checker.context(argument)
        if context.baseline is None:
            context.baseline = Baseline.load(context.settings.root / NAME)


def _write_baselines(checker: Checker, anew: bool, tally: Tally) -> int:
    if tally.unreadable:
        raise UsageError(f"no baseline written: {tally.unreadable:,} could not be read")
    for context in checker.contexts:
        if context.baseline is None:
            continue
        text = context.baseline.written() if anew else context.baseline.pruned()
        with text_output(str(context.baseline.path)) as stream:
            stream.write(text)
        entries = text.count('"code"')
        note(f"{context.baseline.path}: {count(entries, 'entry')}")
    return 0


class _Complaints:
    """Lines about entries that cannot be read: the first few, then a count."""

    def __init__(self) -> None:
        self.lines = self.hidden = 0

    def add(self, problem: Problem) -> None:
        """Says what is wrong, unless enough has been said."""
        if self.lines >= _SHOWN:
            self.hidden += 1
            return
        found = problem.lines()
        for place, message in found[:_SHOWN]:
            note(f"{place}: error: {message}")
            self.lines += 1
        self.hidden += len(found[_SHOWN:])

    def finish(self) -> None:
        """Says how many more there were."""
        if self.hidden:
            note(f"… and {self.hidden:,} more that cannot be read")
