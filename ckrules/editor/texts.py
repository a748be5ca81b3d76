"""The open texts of an editor: `ckrules.editor.answers` in the words of its protocol."""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate

from lsprotocol import types as lsp
from pygls.workspace import TextDocument

from ckrules.checking.checker import Checker
from ckrules.checking.diagnostics import Diagnostic, linked
from ckrules.checking.settings import OWN_FILE, SHARED_FILE
from ckrules.editor.answers import Line, Repair, hover, proposals, repairs
from ckrules.editor.document import OpenDocument
from ckrules.kernels.books import Books
from ckrules.readers import Edit, Input, Place
from ckrules.support.errors import CkrulesError

SOURCE = "ckrules"
_SEVERITIES: Mapping[str, lsp.DiagnosticSeverity] = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}


LARGEST = 2 << 20
"""Characters of a text that is checked while it is typed: more take longer than a pause does."""


@dataclass(frozen=True)
class Judged:
    """A text that has been checked; without a document it was not."""

    document: OpenDocument | None
    said: str = ""
    """What kept it from being checked."""
    severity: lsp.DiagnosticSeverity = lsp.DiagnosticSeverity.Error


class Editor:
    """The open texts of one editor.

    Args:
        checker: Makes a checker, which finds settings by a text's folder; called again when a
            settings file is saved.
        about: Makes, for rule books, what says a line about a word.
    """

    def __init__(self, checker: Callable[[], Checker], about: Callable[[Books], Line]) -> None:
        self._make, self._about = checker, about
        self._checker = checker()
        self._documents: dict[str, OpenDocument] = {}
        self._lines: dict[int, Line] = {}

    def saved(self, name: str) -> bool:
        """Reads settings and baselines again if a file of settings was saved; whether it was."""
        if name not in (OWN_FILE, SHARED_FILE):
            return False
        self._checker = self._make()
        self._lines.clear()
        return True

    def close(self, uri: str) -> None:
        """Forgets a text."""
        self._documents.pop(uri, None)

    def judged(self, uri: str, name: str, text: str) -> Judged:
        """What a text comes to; nothing of the editor is changed, so that a thread may ask."""
        document = copy.copy(self._documents.get(uri)) or OpenDocument(name)
        if len(text) > LARGEST:
            size = f"{len(text) >> 20} MB: too large to be checked while typing"
            return Judged(
                None, f"{size}; ckrules check reads it", lsp.DiagnosticSeverity.Information
            )
        try:
            document.check(text, self._checker)
        except CkrulesError as error:
            return Judged(document, str(error))
        return Judged(document)

    def take(self, text: TextDocument, judged: Judged) -> list[lsp.Diagnostic]:
        """The findings of a text as it is now; what stops them all is one on its first line."""
        self.close(text.uri)
        if judged.document is not None:
            self._documents[text.uri] = judged.document
        if judged.document is None or judged.said:
            first = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
            return [lsp.Diagnostic(first, judged.said, severity=judged.severity, source=SOURCE)]
        place = _Places(text)
        return [self._shown(d, place, judged.document) for d in judged.document.diagnostics]

    def _shown(self, d: Diagnostic, place: _Places, document: OpenDocument) -> lsp.Diagnostic:
        related = [
            lsp.DiagnosticRelatedInformation(lsp.Location(place.uri, place.range(at)), said)
            for at, said in d.related
            if at.source == document.name and at.line
        ]
        base = self._context(document)[1]
        return lsp.Diagnostic(
            place.range(d.place),
            f"{d.message}\nhelp: {d.help}" if d.help else d.message,
            severity=_SEVERITIES[d.severity],
            code=d.code,
            code_description=lsp.CodeDescription(linked(base, d.url)) if base else None,
            source=SOURCE,
            related_information=related or None,
        )

    def _context(self, document: OpenDocument) -> tuple[Books, str]:
        """The books that hold for a text, and what goes before the pages of rules."""
        context = self._checker.context(Input.of("-", document.name).folder)
        return context.books, str(context.settings["docs-url"])

    def _known(self, document: OpenDocument) -> tuple[Books, Line]:
        books = self._context(document)[0]
        line = self._lines.get(id(books))
        if line is None:
            line = self._lines[id(books)] = self._about(books)
        return books, line

    def hover(self, text: TextDocument, at: lsp.Position) -> lsp.Hover | None:
        """What stands at a position."""
        document = self._documents.get(text.uri)
        if document is None:
            return None
        place = _Places(text)
        line, column = place.of(at)
        said = hover(document, place.line(line) or "", line, column, *self._known(document))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, said)) if said else None

    def complete(self, text: TextDocument, at: lsp.Position) -> list[lsp.CompletionItem]:
        """What may be typed at a position, legal values first."""
        document = self._documents.get(text.uri)
        if document is None:
            return []
        place = _Places(text)
        line, column = place.of(at)
        words = place.line(line) or ""
        found = proposals(document, words, line, column, *self._known(document))
        return [
            lsp.CompletionItem(
                p.word,
                detail=p.detail,
                sort_text=f"{i:04}",
                filter_text=p.word,
                tags=None if p.good else [lsp.CompletionItemTag.Deprecated],
                text_edit=place.edit(p.edit),
            )
            for i, p in enumerate(found)
        ]

    def actions(self, text: TextDocument, where: lsp.Range) -> list[lsp.CodeAction]:
        """What fixes the findings of some lines."""
        document = self._documents.get(text.uri)
        if document is None or document.text != text.source:
            return []
        place = _Places(text)
        found = repairs(document, where.start.line + 1, where.end.line + 1)
        return [self._action(r, place, document) for r in found]

    def _action(self, repair: Repair, place: _Places, document: OpenDocument) -> lsp.CodeAction:
        edit = lsp.WorkspaceEdit(changes={place.uri: [place.edit(repair.edit)]})
        return lsp.CodeAction(
            repair.title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[self._shown(repair.diagnostic, place, document)],
            is_preferred=repair.safe or None,
            edit=edit,
        )


class _Places:
    """Places of a text, from 1 and in characters, as positions in units of the editor.

    Lines end at line feeds, as editors and readers see it, and not at other characters at which
    Python splits lines.
    """

    def __init__(self, text: TextDocument) -> None:
        self.uri, self._codec = text.uri, text.position_codec
        self._lines = text.source.removeprefix("\ufeff").split("\n")
        #: Units of a byte order mark, which is no character of the first line to readers.
        self._mark = len(text.source) - len(text.source.removeprefix("\ufeff"))
        self._units: dict[int, list[int]] = {}

    def line(self, number: int) -> str | None:
        """A line without its end; None behind the last one."""
        return self._lines[number - 1].removesuffix("\r") if number <= len(self._lines) else None

    def range(self, place: Place) -> lsp.Range:
        line = max(place.line, 1)
        start = (line, max(place.column, 1))
        end = (max(place.end_line, 1), max(place.end_column, 1))
        if not place.end_line or (place.line, place.column) == (place.end_line, place.end_column):
            end = (line, max(len(self.line(line) or "") + 1, start[1]))
        return lsp.Range(self._to(*start), self._to(*end))

    def edit(self, edit: Edit) -> lsp.TextEdit:
        place = edit.place
        start = self._to(place.line, place.column)
        return lsp.TextEdit(lsp.Range(start, self._to(place.end_line, place.end_column)), edit.text)

    def _ends(self, line: int) -> list[int]:
        """The units before each character of a line, and before its end."""
        if line not in self._units:
            words = self.line(line) or ""
            first = self._mark if line == 1 else 0
            plain = range(first, first + len(words) + 1)
            counted = accumulate(map(self._codec.client_num_units, words), initial=first)
            self._units[line] = list(plain if words.isascii() else counted)
        return self._units[line]

    def _to(self, line: int, column: int) -> lsp.Position:
        if line > len(self._lines):
            return lsp.Position(len(self._lines), 0)
        ends = self._ends(line)
        return lsp.Position(line - 1, ends[min(column, len(ends)) - 1])

    def of(self, at: lsp.Position) -> tuple[int, int]:
        """Line and column of a position; of one behind the text, its last one."""
        line = min(at.line + 1, len(self._lines))
        ends = self._ends(line)
        if at.line >= len(self._lines):
            return line, len(ends)
        return line, min(bisect_left(ends, at.character) + 1, len(ends))
