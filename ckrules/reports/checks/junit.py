"""JUnit XML: one suite a file, one failed case a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from xml.sax.saxutils import escape, quoteattr

from ckrules.reports.checks import Options
from ckrules.reports.diagnostics import Diagnostic
from ckrules.reports.verdict import Verdict

TITLE = "JUnit XML"
SHOWS_PROBLEMS = True


def render(verdicts: Iterable[Verdict], write: Callable[[str], object], options: Options) -> None:
    """Writes a suite for each source; one without findings has one passed case."""
    suites: dict[str, list[Diagnostic]] = {}
    for verdict in verdicts:
        suite = suites.setdefault(verdict.item.place.source, [])
        suite.extend((*verdict.shown, *verdict.problems()))
    total = sum(len(s) or 1 for s in suites.values())
    failed = sum(_fails(d) for s in suites.values() for d in s)
    write('<?xml version="1.0" encoding="utf-8"?>\n')
    write(f'<testsuites name="ckrules" tests="{total}" failures="{failed}">\n')
    for source, found in suites.items():
        count, bad = len(found) or 1, sum(map(_fails, found))
        name = quoteattr(_clean(source))
        write(f'  <testsuite name={name} tests="{count}" failures="{bad}" errors="0">\n')
        for diagnostic in found:
            write(_case(diagnostic))
        if not found:
            write(f'    <testcase name="ckrules" classname={name}/>\n')
        write("  </testsuite>\n")
    write("</testsuites>\n")


def _fails(d: Diagnostic) -> bool:
    return d.severity == "error"


def _case(d: Diagnostic) -> str:
    message = quoteattr(_clean(d.message))
    lines = f"{d.place}: {d.code} {d.message}" + (f"\nhelp: {d.help}" if d.help else "")
    tag, kind = ("failure", f" type={quoteattr(d.kind)}") if _fails(d) else ("system-out", "")
    shown = f" message={message}{kind}" if _fails(d) else ""
    return (
        f'    <testcase name="ckrules.{d.code}" classname={quoteattr(_clean(d.place.source))}'
        f' line="{d.place.line}" column="{d.place.column}">\n'
        f"      <{tag}{shown}>{escape(_clean(lines))}</{tag}>\n"
        "    </testcase>\n"
    )


def _clean(text: str) -> str:
    """The text without signs that XML cannot hold."""
    return "".join(c if c in "\t\n" or (c >= " " and not "\ud800" <= c <= "\udfff") else "?"
                   for c in text).replace("\ufffe", "?").replace("\uffff", "?")  # fmt: skip
