"""JUnit XML: one suite a file, one failed case a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from tempfile import SpooledTemporaryFile
from xml.sax.saxutils import escape, quoteattr

from ckrules.checking.diagnostics import Diagnostic
from ckrules.checking.reports import ReportOptions
from ckrules.checking.verdict import ItemVerdict
from ckrules.support.visible import visible

SHOWS_PROBLEMS = True


def render(
    verdicts: Iterable[ItemVerdict], write: Callable[[str], object], options: ReportOptions
) -> None:
    """Writes a suite for each source; one without findings has one passed case."""
    total = failed = 0
    with _spool() as body:
        for source, group in groupby(verdicts, lambda v: v.item.place.source):
            count = bad = 0
            with _spool() as cases:
                for verdict in group:
                    for diagnostic in (*verdict.shown, *verdict.problems()):
                        cases.write(_case(diagnostic))
                        count, bad = count + 1, bad + _fails(diagnostic)
                name = quoteattr(visible(source))
                if not count:
                    cases.write(f'    <testcase name="ckrules" classname={name}/>\n')
                count = count or 1
                head = f'  <testsuite name={name} tests="{count}" failures="{bad}" errors="0">\n'
                body.write(head)
                _copy(cases, body.write)
                body.write("  </testsuite>\n")
            total, failed = total + count, failed + bad
        write('<?xml version="1.0" encoding="utf-8"?>\n')
        write(f'<testsuites name="ckrules" tests="{total}" failures="{failed}">\n')
        _copy(body, write)
        write("</testsuites>\n")


def _spool() -> SpooledTemporaryFile[str]:
    """A text that leaves memory when it is long: its numbers go before it."""
    return SpooledTemporaryFile(1 << 20, "w+", encoding="utf-8", newline="")


def _copy(spool: SpooledTemporaryFile[str], write: Callable[[str], object]) -> None:
    spool.seek(0)
    while text := spool.read(1 << 20):
        write(text)


def _fails(d: Diagnostic) -> bool:
    return d.severity == "error"


def _case(d: Diagnostic) -> str:
    message = quoteattr(visible(d.message))
    lines = visible(f"{d.place}: {d.code} {d.message}")
    lines += f"\nhelp: {visible(d.help)}" if d.help else ""
    tag, kind = ("failure", f" type={quoteattr(d.kind)}") if _fails(d) else ("system-out", "")
    shown = f" message={message}{kind}" if _fails(d) else ""
    return (
        f'    <testcase name="ckrules.{d.code}" classname={quoteattr(visible(d.place.source))}'
        f' line="{d.place.line}" column="{d.place.column}">\n'
        f"      <{tag}{shown}>{escape(lines)}</{tag}>\n"
        "    </testcase>\n"
    )
