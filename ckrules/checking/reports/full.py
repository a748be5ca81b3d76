"""Every finding with the lines it is about: carets below the field, dashes below the related."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from ckrules.checking.diagnostics import Diagnostic, linked
from ckrules.checking.reports import ReportOptions, beside
from ckrules.checking.verdict import ItemVerdict
from ckrules.kernels.names import beginnings
from ckrules.kernels.standing import READ_ONLY, REFUTED, Standing, places
from ckrules.readers.entries import Place
from ckrules.support import opening
from ckrules.support.ansi import BLUE, BOLD, GREEN, TINTS, painted
from ckrules.support.recent import Recent
from ckrules.support.visible import hyperlink, visible

SHOWS_PROBLEMS = True
Paint = Callable[[str, str], str]
_WIDTH = 100
_LARGEST = 64 << 20
_SHOWN = 200  # problems; the rest is counted


def render(
    verdicts: Iterable[ItemVerdict], write: Callable[[str], object], options: ReportOptions
) -> None:
    """Writes each finding as it is found."""
    sources = Sources(options.texts)
    paint = partial(painted, color=options.color)
    problems = hidden = 0
    for verdict in verdicts:
        for diagnostic in verdict.shown:
            write(_text(diagnostic, sources, paint, options) + "\n")
        found = verdict.problems() if problems < _SHOWN or not verdict.readable else []
        for diagnostic in found:
            problems += 1
            if problems > _SHOWN:
                hidden += 1
                break
            write(_text(diagnostic, sources, paint, options) + "\n")
        if more := beside(verdict, options):
            write(more)
    if hidden:
        write(f"… and {hidden:,} more that cannot be read\n")


class Sources:
    """Lines of the files that findings are about; the last few files are kept."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._kept: Recent[str, list[str]] = Recent(4)

    def line(self, place: Place) -> str | None:
        """The text of a place's line, None where the source cannot be read again."""
        if not place.line:
            return None
        if place.source not in self._kept:
            self._kept[place.source] = self._lines(place.source)
        lines = self._kept[place.source]
        return lines[place.line - 1] if place.line <= len(lines) else None

    def _lines(self, source: str) -> list[str]:
        if source in self._texts:
            return self._texts[source].split("\n")
        try:
            text = opening.read(source, _LARGEST).decode("utf-8-sig", errors="replace")
        except (OSError, ValueError):
            return []
        return text.split("\n")


def _text(d: Diagnostic, sources: Sources, paint: Paint, options: ReportOptions) -> str:
    tint = TINTS[d.severity]
    see = linked(options.docs_url, d.url) if options.docs_url else f"ckrules explain {d.code}"
    code = hyperlink(d.code, see) if options.links and options.docs_url else d.code
    head = f"{d.severity}[{code}]"
    what = "" if d.kind == "file" else f" ({d.kind})"
    message = paint(visible(d.message), BOLD)
    out = [f"{paint(head, BOLD + tint)}{paint(':', BOLD)} {message}{what}"]
    marks = [(d.place, d.name, True)]
    marks += [(at, text, False) for at, text in d.related if at.source == d.place.source]
    gutter = len(str(max(at.line for at, _, _ in marks)))
    out.append(f"{' ' * gutter}{paint('-->', BLUE)} {visible(str(d.place))}")
    out += _excerpt(marks, gutter, sources, paint, tint)
    tail = paint("=", BLUE)
    if d.configuration and not d.place.source.startswith(beginnings()):
        part = f"{d.place.source}#{d.pointer}: " if d.pointer else ""
        said = f"{part}{d.configuration} on {d.arch}"
        out.append(f"{' ' * gutter} {tail} note: {visible(said)}")
    if d.help:
        out.append(f"{' ' * gutter} {tail} {paint('help', GREEN)}: {visible(d.help)}")
    if d.severity == "error" and (said := _doubt(d.standing)):
        out.append(f"{' ' * gutter} {tail} note: {said}")
    out.append(f"{' ' * gutter} {tail} see: {visible(see)}")
    return "\n".join(out) + "\n"


def _doubt(standing: Standing | None) -> str:
    """What is to be said of a rule that nothing has confirmed; empty for others."""
    if standing is None or standing.word not in (READ_ONLY, REFUTED):
        return ""
    if standing.word == READ_ONLY:
        return "this rule was read from sources; nothing has confirmed it yet"
    return f"kernels that break this rule were fine ({places(standing.tallies)}); it may be wrong"


def _excerpt(
    marks: list[tuple[Place, str, bool]], gutter: int, sources: Sources, paint: Paint, tint: str
) -> list[str]:
    by_line: dict[int, list[tuple[Place, str, bool]]] = {}
    for mark in marks:
        if mark[0].line:
            by_line.setdefault(mark[0].line, []).append(mark)
    bar = paint("|", BLUE)
    out: list[str] = []
    last = 0
    for number, group in sorted(by_line.items()):
        raw = sources.line(group[0][0])
        if raw is None:
            continue
        # As wide as it is, so that the marks below stand where they belong.
        text = "".join(c if c.isprintable() else " " for c in raw.rstrip("\r"))
        text = text.replace("##", "# ") if "##" in text and visible(text) != text else text
        if not out:
            out.append(f"{' ' * gutter} {bar}")
        elif number > last + 1:
            out.append(paint("." * 3, BLUE))
        last = number
        previous = None
        for place, label, primary in sorted(group, key=lambda m: (m[0].column, not m[2])):
            start, shown = _window(text, place)
            if shown != previous:
                out.append(f"{paint(str(number).rjust(gutter), BLUE)} {bar} {shown}")
                previous = shown
            here = place.column - 1 - start
            width = place.end_column - place.column if place.end_line == place.line else 1
            if place.end_line > place.line:
                width = len(shown) - here
            width = max(1, min(width, len(shown) - here))
            under = paint(
                ("^" if primary else "-") * width + " " + visible(label), tint if primary else BLUE
            )
            out.append(f"{' ' * gutter} {bar} {' ' * here}{under}")
    if out:
        out.append(f"{' ' * gutter} {bar}")
    return out


def _window(text: str, place: Place) -> tuple[int, str]:
    """The part of a long line around a place, and how much is left out before it."""
    if len(text) <= _WIDTH:
        return 0, text
    start = max(0, min(place.column - 1 - _WIDTH // 3, len(text) - _WIDTH))
    part = text[start : start + _WIDTH]
    if start + _WIDTH < len(text):
        part = part[:-1] + "…"
    if start:
        return start, "…" + part[1:]
    return 0, part
