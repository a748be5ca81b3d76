"""What an editor asks about a place in a text: what stands there, what else may, what repairs it.

Nothing here knows the protocol; places are those of `ckrules.editor.document`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ckrules.checking.diagnostics import FILE, Diagnostic
from ckrules.editor.document import FieldSpot, OpenDocument, covers
from ckrules.engine.expr import Value
from ckrules.engine.expr.variables import Domain, domain_of
from ckrules.engine.rules.derivation import shown
from ckrules.kernels.books import Books
from ckrules.readers.entries import Edit, Entry, Place
from ckrules.readers.inputs import InputFormat
from ckrules.support.errors import CkrulesError
from ckrules.support.tables import word

Line = Callable[[str], str]
"""A line about a word that ckrules prints, such as a field or a rule's code."""

#: ``"key": "val`` or ``key = "val``, up to the place where something is typed.
_VALUE = re.compile(r"""^.*?["']?(?P<key>\w+)["']?\s*[:=]\s*(?P<quote>["']?)(?P<word>[\w.]*)$""")
_NAME = re.compile(r"\w+")
#: What follows the place of a value that is written behind it.
_WRITTEN = re.compile(r"""\s+["'\w\[{-]|["']""")
_KEY = re.compile(r"""^(?:.*[{,])?\s*(?P<quote>["']?)(?P<word>[a-z]\w*)?$""")


#: Findings beside the rules that comments hide.
HIDEABLE = frozenset({"CFG001", "CFG002", "CFG003"})


@dataclass(frozen=True, slots=True)
class CompletionProposal:
    """A word that may stand at a place, and the text that the format has for it."""

    word: str
    detail: str
    edit: Edit
    good: bool = True


@dataclass(frozen=True, slots=True)
class Repair:
    """An edit that fixes a finding."""

    title: str
    diagnostic: Diagnostic
    edit: Edit
    safe: bool = False


def hover(
    document: OpenDocument, text: str, line: int, column: int, books: Books, about: Line
) -> str | None:
    """What stands at a place, as Markdown; None where nothing is known.

    On a field's name or value: the field, its value and what it may be. Elsewhere in a
    configuration: whether it is legal, and its derived quantities. On a field's name in a
    configuration that cannot be read: what the field is.

    Args:
        line: Its number.
        column: The place on it.
        about: A line about a word.
    """
    name = next((w[0] for w in _NAME.finditer(text) if w.start() < column <= w.end()), "")
    spot = document.spot(line, column) or (document.on_line(line, name) if name else None)
    if spot is not None:
        return _of_field(spot, books, about)
    for entry in document.near(line, column):
        if covers(entry.place, line, column):
            return _of_entry(entry, books)
    known = any(name in book.fields for book in books.every())
    return f"**{name}**\n\n{about(name)}" if known else None


def _of_field(spot: FieldSpot, books: Books, about: Line) -> str:
    value, domain = spot.entry.config.point[spot.field], _domains(spot.entry, books)[spot.field]
    listed = ", ".join(f"`{shown(v)}`" for v in domain.values[:40])
    more = ", …" if len(domain.values) > 40 else ""
    head = f"**{spot.field}** = `{shown(value)}`"
    return "\n\n".join([head, about(spot.field), f"Values: {listed}{more}"])


def _of_entry(entry: Entry, books: Books) -> str:
    config = entry.config
    book = books.at(config.ck).of(config.variant)
    broken = [v.code for v in book.violations(config.point)]
    verdict = f"breaks {', '.join(broken)}" if broken else "legal"
    out = [f"**{config.name or config.variant}**: {verdict}", ""]
    for name, value in book.resources(config.point).items():
        out.append(f"- {name} = {'undefined' if value is None else value}")
    return "\n".join(out)


def proposals(
    document: OpenDocument, text: str, line: int, column: int, books: Books, about: Line
) -> list[CompletionProposal]:
    """The words that may be typed at a place: values of a field, or fields.

    Values that keep the configuration legal come first; of the others each says what it breaks.

    Args:
        document: The text as it was last checked.
        text: The line as it is now.
        line: Its number.
        column: Where something is typed.
        about: A line about a word.
    """
    before = text[: column - 1]
    spot = document.spot(line, column) if document.fresh else None
    if spot is not None and spot.place.end_line == line:
        place = _unquoted(spot.place, text)
        own = word(spot.entry.config.point[spot.field])
        plain = text[place.column - 1 : place.end_column - 1] == own
        return list(_values(spot, place, _spelling(document, place != spot.place, plain), books))
    typed = _VALUE.match(before)
    if typed is not None:
        if not (typed["quote"] or typed["word"]) and _WRITTEN.match(text[column - 1 :]):
            return []
        spell = _spelling(document, bool(typed["quote"]))
        place = _word(document, line, text, column, len(typed["word"]))
        spot = document.on_line(line, typed["key"])
        if spot is None:  # the value has just been broken
            spot = next(
                (FieldSpot(e, typed["key"], place) for e in document.near(line, column)
                 if typed["key"] in e.config.point), None,
            )  # fmt: skip
        if spot is not None:
            return list(_values(spot, place, spell, books))
        return _any(typed["key"], place, spell, books)
    key = _KEY.match(before)
    if key is None or not (key["quote"] or key["word"]):
        return []
    place = _word(document, line, text, column, len(key["word"] or ""))
    names = {n for book in books.every() for n in book.fields}
    return [CompletionProposal(n, about(n), Edit(place, n)) for n in sorted(names)]


_Spell = Callable[[Value, Edit | None], str | None]


def _spelling(document: OpenDocument, quoted: bool, plain: bool = True) -> _Spell:
    """How a value is written: as its edit has it, else as it is, or not at all.

    Args:
        quoted: Whether the place is within quotes.
        plain: Whether values without an edit stand there as they are.
    """
    quote = document.format is not None and document.format.QUOTED and not quoted

    def spell(value: Value, edit: Edit | None) -> str | None:
        if edit is not None:
            signs = quoted and edit.text.startswith(("'", '"'))
            return edit.text[1:-1] if signs else edit.text
        shown = json.dumps(value) if quote and isinstance(value, str) else word(value)
        return shown if plain else None

    return spell


def _unquoted(place: Place, text: str) -> Place:
    """The place of a value without the quotes around it."""
    if text[place.column - 1 : place.column] not in ("'", '"'):
        return place
    return place._replace(column=place.column + 1, end_column=place.end_column - 1)


def _word(document: OpenDocument, line: int, text: str, column: int, typed: int) -> Place:
    """The place of the word that is being typed: what is before the column and what follows it."""
    rest = re.match(r"[\w.]*", text[column - 1 :])
    end = column + (rest.end() if rest else 0)
    return Place(document.name, line, column - typed, line, end)


def _values(
    spot: FieldSpot, place: Place, spell: _Spell, books: Books
) -> Iterator[CompletionProposal]:
    """The values of a field that its format can say."""
    config, domain = spot.entry.config, _domains(spot.entry, books).get(spot.field)
    if domain is None:
        return
    book = books.at(config.ck).of(config.variant)
    own = frozenset(v.code for v in book.violations(config.point))
    written = spot.entry.written(spot.field)
    found = []
    for value in domain.values:
        edit = spot.entry.rewrite(spot.field, value)
        if edit is None and spot.entry.rewrites:
            continue
        text = spell(value, edit if edit is not None and edit.place == written else None)
        if text is None:
            continue
        broken = [v.code for v in book.violations({**config.point, spot.field: value})]
        worse = [c for c in broken if c not in own]
        detail = f"breaks {', '.join(worse or broken)}" if broken else "legal"
        made = CompletionProposal(word(value), detail, Edit(place, text), not worse)
        found.append((bool(worse), len(broken), made))
    yield from (p for _, _, p in sorted(found, key=lambda row: row[:2]))


def _any(key: str, place: Place, spell: _Spell, books: Books) -> list[CompletionProposal]:
    """The values that a field has in any book, where no configuration can be judged."""
    values: dict[Value, None] = {}
    for book in books.every():
        if key in book.fields:
            values.update(dict.fromkeys(domain_of(book.fields[key]).values))
    about = f"a value of {key}"
    texts = ((v, spell(v, None)) for v in values)
    return [CompletionProposal(word(v), about, Edit(place, t)) for v, t in texts if t is not None]


def _domains(entry: Entry, books: Books) -> Mapping[str, Domain]:
    book = books.at(entry.config.ck).of(entry.config.variant)
    return {n: domain_of(v) for n, v in book.fields.items()}


def repairs(document: OpenDocument, first: int, last: int) -> Iterator[Repair]:
    """What fixes the findings that begin on some lines: their edits, then comments that hide them.

    Args:
        document: The text as it was last checked.
        first: The first line.
        last: The last line.
    """
    found = [d for d in document.diagnostics if first <= d.place.line <= last]
    for d in found:
        if (edit := d.edit) is not None:
            yield Repair(d.help, d, edit, d.applicability == "safe")
    form = document.format
    if form is not None and form.COMMENT:
        lines = document.text.split("\n")
        for d in found:
            if d.code in HIDEABLE or d.kind != FILE:
                line = lines[d.place.line - 1].removeprefix("\ufeff")
                yield _hidden(d, line, form)


def _hidden(d: Diagnostic, line: str, form: InputFormat) -> Repair:
    """A comment behind the line, or before it where it has to stand alone.

    One that is there already gets another code.
    """
    sign = form.COMMENT
    if form.COMMENT_ALONE:
        eol = "\r\n" if line.endswith("\r") else "\n"
        before = Place(d.place.source, d.place.line, 1, d.place.line, 1)
        comment = f"{sign} ckrules: ignore[{d.code}] accepted as it is{eol}"
        return Repair(f"Accept {d.code} here", d, Edit(before, comment))
    codes = re.search(rf"{re.escape(sign)}\s*ckrules\s*:\s*ignore\s*\[[^\]\n]*", line)
    end = (codes.end() if codes else len(line.rstrip())) + 1
    text = f", {d.code}" if codes else f"  {sign} ckrules: ignore[{d.code}] accepted as it is"
    at = Place(d.place.source, d.place.line, end, d.place.line, end)
    return Repair(f"Accept {d.code} here", d, Edit(at, text))


def line_about(find: Callable[[str], str]) -> Line:
    """A line about a word by what raises an error for unknown ones; empty for those."""

    def about(word: str) -> str:
        try:
            return find(word)
        except CkrulesError:
            return ""

    return about
