"""Say which rules configurations break, and where."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ckrules.checker import Checker
from ckrules.cli.group import session
from ckrules.cli.options import Words, arch_file_option
from ckrules.cli.output import binary_output, text_output
from ckrules.cli.terminal import colored, is_terminal, note
from ckrules.engine.errors import UsageError, unknown
from ckrules.readers import Problem, formats
from ckrules.reports import checks
from ckrules.reports.verdict import Tally, Verdict, count
from ckrules.settings import Finder

_SHOWN = 20  # lines about unreadable entries; the rest is counted

EPILOG = """\b
INPUTS are kernel names, files, folders or - (standard input). Files hold
  names       one a line, also as names of generated files
  json jsonl  fields of ckrules, as an object, a list or {"kernels": [...]}
  toml csv    the same fields
  dispatcher  the dispatcher's JSON: {"variant": …, "instances": [...]}
  registry    JSON with signature and algorithm
  conf        CK Builder's .conf
  macros      C++ with DECL_GROUPED_CONV_KERNEL_SET
Fields that a configuration leaves out have upstream's defaults; --arch is the
GPU of those that name none. Settings: docs/check.md.

\b
Exit codes: 0 nothing of severity error was found, 1 something was, 2 something
could not be read, 3 there was no configuration.
"""


@click.command(epilog=EPILOG)
@click.argument("inputs", nargs=-1)
@click.option("--arch", metavar="GPU", help="GPU of configurations that name none.")
@click.option(
    "--format",
    "form",
    metavar="|".join(checks.available()),
    help="Form of the report [full on a terminal, else concise].",
)
@click.option(
    "--verdicts",
    is_flag=True,
    help="One object a configuration, in input order (format jsonl unless said otherwise).",
)
@click.option("--resources", is_flag=True, help="Add derived quantities, such as LDS bytes.")
@click.option(
    "--problem",
    metavar="N=32,C=64,…",
    help="Say too which kernels refuse this problem (N=32,C=64,K=64,H=56,W=56,Y=3,X=3,pad=1).",
)
@click.option("--fix", is_flag=True, help="Make the safe repairs in place, then check.")
@click.option("--diff", is_flag=True, help="Show the safe repairs and change nothing.")
@click.option("--select", type=Words(), help="Codes or families to check [ALL].")
@click.option("--extend-select", type=Words(), help="Codes or families to check too.")
@click.option("--ignore", type=Words(), help="Codes or families not to report.")
@click.option("--baseline", metavar="FILE", help="Known findings, which do not fail.")
@click.option("--write-baseline", is_flag=True, help="Write all findings to the baseline.")
@click.option("--prune-baseline", is_flag=True, help="Remove entries that nothing matches.")
@click.option("--config", metavar="FILE", help="Settings, instead of the nearest file.")
@click.option("--isolated", is_flag=True, help="Use no settings file.")
@click.option("--show-settings", is_flag=True, help="Show the settings and their origins.")
@click.option("--show-files", is_flag=True, help="Show which files would be checked.")
@click.option("--force-exclude", is_flag=True, help="Exclude files that are named, too.")
@click.option("--allow-empty", is_flag=True, help="No configuration is no failure.")
@click.option("--exit-zero", is_flag=True, help="Findings do not fail.")
@click.option("--input-format", metavar="NAME", help="Read every file in this format.")
@click.option("--tile-reading", metavar="gmn|mnk", help="How .tile(a, b, c) of macros is read.")
@click.option("--stdin-filename", metavar="NAME", default="-", help="What messages call stdin.")
@click.option("-o", "--output", metavar="FILE", help="Write the report to a file.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@click.option("--ck", metavar="VERSION", help="CK headers: 2025.11 or 2026.06 (default).")
@click.option("--profile", metavar="NAME", help="Rule set (default: legal).")
@arch_file_option
def command(inputs: tuple[str, ...], **given: Any) -> int:
    """Say which rules configurations break, and where."""
    finder = _finder(given)
    if given["show_settings"]:
        return _show_settings(finder, inputs)
    if not inputs:
        raise click.UsageError("missing argument 'INPUTS...'", click.get_current_context())
    form = _form(given)
    input_format = given["input_format"]
    if input_format is not None and input_format not in formats():
        raise unknown("input format", input_format, formats())
    stdin = sys.stdin.buffer.read() if form == "full" and "-" in inputs else None
    checker = Checker(
        finder, input_format=input_format, stdin_name=given["stdin_filename"], stdin=stdin,
        resources=given["resources"], force_exclude=given["force_exclude"],
        problem=given["problem"],
    )  # fmt: skip
    if given["show_files"]:
        for argument in checker.arguments(inputs):
            click.echo(argument)
        return 0
    if given["fix"] or given["diff"]:
        changed = _repair(checker, inputs, given["diff"])
        if given["diff"]:
            return int(changed > 0 and not given["exit_zero"])
    return _report(checker, inputs, form, stdin, given)


def _finder(given: dict[str, Any]) -> Finder:
    options = {k: given[k] for k in ("arch", "ck", "profile", "select", "ignore", "baseline")}
    options |= {"extend-select": given["extend_select"], "tile-reading": given["tile_reading"]}
    options["arch-paths"] = given["arch_files"] or None
    config = Path(given["config"]) if given["config"] else None
    return Finder(options, config=config, isolated=given["isolated"])


def _form(given: dict[str, Any]) -> str:
    form: str | None = given["form"]
    if form is None and given["verdicts"]:
        form = "jsonl"
    if form is None:
        form = "full" if given["output"] is None and is_terminal(sys.stdout) else "concise"
    if form not in checks.available():
        raise unknown("format", form, checks.available())
    return form


def _show_settings(finder: Finder, inputs: tuple[str, ...]) -> int:
    folder = Path(inputs[0]) if inputs else Path(".")
    for line in finder.of(folder if folder.is_dir() else folder.parent).lines():
        click.echo(line)
    return 0


def _report(
    checker: Checker, inputs: tuple[str, ...], form: str, stdin: bytes | None, given: dict[str, Any]
) -> int:
    tally, complaints = Tally(), _Complaints()
    report, output = checks.report(form), given["output"]
    baselines = given["write_baseline"] or given["prune_baseline"]
    if baselines:
        _need_baseline(checker, inputs)

    def seen() -> Iterator[Verdict]:
        for verdict in checker.verdicts(inputs):
            tally.add(verdict)
            if isinstance(verdict.item, Problem) and not report.SHOWS_PROBLEMS:
                complaints.add(verdict.item)
            yield verdict

    if baselines:
        for _ in seen():
            pass
        return _write_baselines(checker, given["write_baseline"], tally)
    with text_output(output) as stream:
        options = checks.Options(
            verdicts=given["verdicts"],
            color=output is None and colored(session().color, sys.stdout),
            stdin=stdin.decode("utf-8-sig", errors="replace") if stdin is not None else None,
            docs_url=_docs_url(checker, inputs) if form in ("full", "sarif") else "",
        )
        report.render(seen(), stream.write, options)
        stream.flush()
    complaints.finish()
    return _finish(tally, given)


def _docs_url(checker: Checker, inputs: tuple[str, ...]) -> str:
    return str(checker.plan(inputs[0]).settings["docs-url"])


def _finish(tally: Tally, given: dict[str, Any]) -> int:
    """The summary line and the exit code."""
    if (tally.configurations or tally.remarks) and not given["quiet"]:
        note(tally.summary())
    if tally.unreadable:
        return 2
    if tally.failing:
        return 0 if given["exit_zero"] else 1
    if not tally.configurations and not tally.remarks and not given["allow_empty"]:
        note("no configurations found")
        return 3
    return 0


def _repair(checker: Checker, inputs: tuple[str, ...], only_show: bool) -> int:
    """Makes or shows the safe repairs; returns how many edits there are."""
    from ckrules.edits import difference, edited

    changed = files = 0
    for path, edits in checker.edits(inputs):
        old = Path(path).read_bytes()
        new = edited(old, edits)
        changed, files = changed + len(edits), files + 1
        if only_show:
            click.echo(difference(path, old, new), nl=False)
        else:
            with binary_output(path) as stream:
                stream.write(new)
    if changed:
        done = "can be repaired" if only_show else "repaired"
        note(f"{count(changed, 'finding')} {done} in {count(files, 'file')}")
    return changed


def _need_baseline(checker: Checker, inputs: tuple[str, ...]) -> None:
    """Gives every plan a baseline, beside the settings where none is named."""
    from ckrules.baseline import NAME, Baseline

    for argument in checker.arguments(inputs):
        if argument == "-":
            raise UsageError("standard input has no baseline")
        plan = checker.plan(argument)
        if plan.baseline is None:
            plan.baseline = Baseline.load(plan.settings.root / NAME)


def _write_baselines(checker: Checker, anew: bool, tally: Tally) -> int:
    for plan in checker.plans:
        if plan.baseline is None:
            continue
        text = plan.baseline.written() if anew else plan.baseline.pruned()
        with text_output(str(plan.baseline.path)) as stream:
            stream.write(text)
        entries = text.count('"code"')
        note(f"{plan.baseline.path}: {entries:,} {'entry' if entries == 1 else 'entries'}")
    return 2 if tally.unreadable else 0


class _Complaints:
    """Lines about entries that cannot be read: the first few, then a count."""

    def __init__(self) -> None:
        self.lines = self.hidden = 0

    def add(self, problem: Problem) -> None:
        """Says what is wrong, unless enough has been said."""
        if self.lines >= _SHOWN:
            self.hidden += 1
            return
        for place, message in problem.lines():
            note(f"{place}: error: {message}")
            self.lines += 1

    def finish(self) -> None:
        """Says how many more there were."""
        if self.hidden:
            note(f"… and {self.hidden:,} more that cannot be read")
