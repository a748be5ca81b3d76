"""``place: CODE kind: message``, one line a violation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from ckrules.checking.diagnostics import Diagnostic, linked
from ckrules.checking.reports import ReportOptions, beside
from ckrules.checking.verdict import ItemVerdict
from ckrules.support.ansi import BOLD, TINTS, painted
from ckrules.support.visible import hyperlink, visible

SHOWS_PROBLEMS = False


def render(
    verdicts: Iterable[ItemVerdict], write: Callable[[str], object], options: ReportOptions
) -> None:
    """Writes each violation as it is found; with ``verdicts`` legal configurations too."""
    for verdict in verdicts:
        found = [_line(d, options) + "\n" for d in verdict.diagnostics if not d.suppressor]
        if found:
            write("".join(found))
        if more := beside(verdict, options):
            write(more)


def line(d: Diagnostic, color: bool, address: str = "") -> str:
    """The line of one diagnostic; its code leads to an address on terminals that have links."""
    place = painted(visible(str(d.place)), BOLD, color)
    return place + _said(d.code, d.kind, d.severity, d.message, color, address)


def _line(d: Diagnostic, options: ReportOptions) -> str:
    address = linked(options.docs_url, d.url) if options.links and options.docs_url else ""
    return line(d, options.color, address)


@lru_cache(maxsize=1 << 13)
def _said(code: str, kind: str, severity: str, message: str, color: bool, address: str) -> str:
    """What a line says behind the place; files of millions of kernels say the same again."""
    if severity != "error":
        kind = f"{kind} ({severity})"
    if address:
        code = hyperlink(code, address)
    code = painted(code, TINTS[severity], color)
    return f": {code} {kind}: {visible(message)}"
