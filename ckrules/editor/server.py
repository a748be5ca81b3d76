"""The language server: `ckrules.editor.answers` in the Language Server Protocol, by pygls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from ckrules import __version__
from ckrules.checking.checker import Checker
from ckrules.checking.diagnostics import Diagnostic, linked
from ckrules.checking.settings import OWN_FILE, SHARED_FILE
from ckrules.editor.answers import Line, Repair, hover, proposals, repairs
from ckrules.editor.document import Document
from ckrules.kernels.books import Books
from ckrules.readers.entries import Edit, Place
from ckrules.support.errors import CkrulesError

SOURCE = "ckrules"
_SEVERITIES: Mapping[str, lsp.DiagnosticSeverity] = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}


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
        self._documents: dict[str, Document] = {}
        self._lines: dict[int, Line] = {}

    def afresh(self) -> None:
        """Reads settings and baselines again."""
        self._checker = self._make()
        self._lines.clear()

    def close(self, uri: str) -> None:
        """Forgets a text."""
        self._documents.pop(uri, None)

    @property
    def open(self) -> list[str]:
        """The texts that are open."""
        return list(self._documents)

    def check(self, text: TextDocument) -> list[lsp.Diagnostic]:
        """The findings of a text as it is now; faulty settings are one on its first line."""
        document = self._documents.setdefault(text.uri, Document(text.path or text.uri))
        place = _Places(text)
        try:
            document.check(text.source, self._checker)
        except CkrulesError as error:
            first = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
            severity = lsp.DiagnosticSeverity.Error
            return [lsp.Diagnostic(first, str(error), severity=severity, source=SOURCE)]
        return [self._shown(d, place, document) for d in document.diagnostics]

    def _shown(self, d: Diagnostic, place: _Places, document: Document) -> lsp.Diagnostic:
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

    def _context(self, document: Document) -> tuple[Books, str]:
        """The books that hold for a text, and what goes before the pages of rules."""
        context = self._checker.of_text(document.name, b"").context("-")
        return context.books, str(context.settings["docs-url"])

    def _known(self, document: Document) -> tuple[Books, Line]:
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
        said = hover(document, *_Places(text).of(at), *self._known(document))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, said)) if said else None

    def complete(self, text: TextDocument, at: lsp.Position) -> list[lsp.CompletionItem]:
        """What may be typed at a position, legal values first."""
        document = self._documents.get(text.uri)
        place = _Places(text)
        line, column = place.of(at)
        if document is None or line > len(text.lines):
            return []
        found = proposals(
            document, text.lines[line - 1].rstrip("\r\n"), line, column, *self._known(document)
        )
        return [
            lsp.CompletionItem(
                p.word,
                detail=p.detail,
                sort_text=f"{i:04}",
                filter_text=p.word,
                tags=None if p.good else [lsp.CompletionItemTag.Deprecated],
                text_edit=lsp.TextEdit(place.range(p.place), p.word),
            )
            for i, p in enumerate(found)
        ]

    def actions(self, text: TextDocument, where: lsp.Range) -> list[lsp.CodeAction]:
        """What mends the findings of some lines."""
        document = self._documents.get(text.uri)
        if document is None or document.text != text.source:
            return []
        place = _Places(text)
        found = repairs(document, where.start.line + 1, where.end.line + 1)
        return [self._action(r, place, document) for r in found]

    def _action(self, repair: Repair, place: _Places, document: Document) -> lsp.CodeAction:
        edit = lsp.WorkspaceEdit(changes={place.uri: [place.edit(repair.edit)]})
        return lsp.CodeAction(
            repair.title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[self._shown(repair.diagnostic, place, document)],
            is_preferred=repair.safe or None,
            edit=edit,
        )


class _Places:
    """Places of a text, from 1 and in characters, as positions in units of the editor."""

    def __init__(self, text: TextDocument) -> None:
        self.uri, self._lines, self._codec = text.uri, text.lines, text.position_codec

    def range(self, place: Place) -> lsp.Range:
        """The range of a span; of a place without an end, the rest of its line."""
        line = max(place.line, 1)
        start = lsp.Position(line - 1, max(place.column, 1) - 1)
        end = lsp.Position(max(place.end_line, 1) - 1, max(place.end_column, 1) - 1)
        if not place.end_line or (place.line, place.column) == (place.end_line, place.end_column):
            rest = self._lines[line - 1].rstrip("\r\n") if line <= len(self._lines) else ""
            end = lsp.Position(line - 1, max(len(rest), start.character))
        return lsp.Range(self._to(start), self._to(end))

    def edit(self, edit: Edit) -> lsp.TextEdit:
        """An edit whose span may be empty."""
        place = edit.place
        start = lsp.Position(place.line - 1, place.column - 1)
        end = lsp.Position(place.end_line - 1, place.end_column - 1)
        return lsp.TextEdit(lsp.Range(self._to(start), self._to(end)), edit.text)

    def _to(self, at: lsp.Position) -> lsp.Position:
        return self._codec.position_to_client_units(self._lines, at)

    def of(self, at: lsp.Position) -> tuple[int, int]:
        """Line and column of a position."""
        own = self._codec.position_from_client_units(self._lines, at)
        return own.line + 1, own.character + 1


def server(checker: Callable[[], Checker], about: Callable[[Books], Line]) -> LanguageServer:
    """The language server, which `LanguageServer.start_io` starts.

    Args:
        checker: Makes a checker.
        about: Makes, for rule books, what says a line about a word.
    """
    ls = LanguageServer(SOURCE, __version__)
    editor = Editor(checker, about)

    def publish(uri: str) -> None:
        text = ls.workspace.get_text_document(uri)
        found = lsp.PublishDiagnosticsParams(uri, editor.check(text), version=text.version)
        ls.text_document_publish_diagnostics(found)

    @ls.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @ls.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @ls.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        if Path(params.text_document.uri).name in (OWN_FILE, SHARED_FILE):
            editor.afresh()
            for uri in editor.open:
                publish(uri)

    @ls.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        editor.close(params.text_document.uri)
        empty = lsp.PublishDiagnosticsParams(params.text_document.uri, [])
        ls.text_document_publish_diagnostics(empty)

    @ls.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        return editor.hover(_text(ls, params), params.position)

    @ls.feature(
        lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=['"', ":", "="])
    )
    def completed(params: lsp.CompletionParams) -> lsp.CompletionList:
        items = editor.complete(_text(ls, params), params.position)
        return lsp.CompletionList(is_incomplete=False, items=items)

    @ls.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix]))
    def acted(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return editor.actions(_text(ls, params), params.range)

    return ls


def _text(ls: LanguageServer, params: Any) -> TextDocument:
    return ls.workspace.get_text_document(params.text_document.uri)
