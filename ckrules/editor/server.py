"""The language server: `ckrules.editor.texts` behind the Language Server Protocol, by pygls.

It answers while a text is checked: one thread checks, and what was typed meanwhile is checked
next. What checks is imported there as well. `ckrules.editor.greeting` has answered `initialize`
before this module is imported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from ckrules import __version__
from ckrules.editor.greeting import TRIGGERS
from ckrules.support.errors import CkrulesError, raised

if TYPE_CHECKING:
    from pygls.workspace import TextDocument

    from ckrules.editor.texts import Editor

_PATIENCE = 1.0
"""Seconds for which an answer waits for the text to be checked; then it is of the text before."""
_T = TypeVar("_T")


def failed(error: Exception) -> lsp.Diagnostic:
    """What stands on the first line of a text that could not be checked."""
    said = f"this text could not be checked: {raised(error)}"
    return lsp.Diagnostic(lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0)), said, source="ckrules")


class EditorServer:
    """The texts of one editor and the thread that checks them.

    Args:
        ls: What speaks the protocol.
        make: Makes what knows the texts; called in the thread.
    """

    def __init__(self, ls: LanguageServer, make: Callable[[], Editor]) -> None:
        self._ls, self._make = ls, make
        self._pool = ThreadPoolExecutor(1, "ckrules-check")
        self._editor: asyncio.Task[Editor] | None = None
        self._asked: dict[str, int] = {}
        """For each open text the number of the last question, which no other one has."""
        self._numbers = count(1)
        self._running: dict[str, asyncio.Task[None]] = {}

    async def _apart(self, work: Callable[..., _T], *given: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *given)

    def begin(self) -> asyncio.Task[Editor]:
        """What knows the texts, which is made at the first call."""
        if self._editor is None:
            self._editor = asyncio.create_task(self._apart(self._make))
        return self._editor

    def ask(self, uri: str) -> None:
        """Has a text checked, after the check of it that is running."""
        self._asked[uri] = next(self._numbers)
        if uri not in self._running:
            self._running[uri] = asyncio.create_task(self._check(uri))

    async def _check(self, uri: str) -> None:
        seen = -1
        try:
            editor = await asyncio.shield(self.begin())
            while uri in self._asked and seen != self._asked[uri]:
                seen = self._asked[uri]
                text = self._ls.workspace.get_text_document(uri)
                name = text.path or uri
                judged = await self._apart(editor.judged, uri, name, text.source)
                if seen == self._asked.get(uri):  # it is still that text
                    found = editor.take(text, judged)
                    self._publish(uri, found, text.version)
        except CkrulesError as error:
            self._complain(error)
        except Exception as error:  # whatever it is, the findings shown are of another text
            self._publish(uri, [failed(error)], None)
        finally:
            del self._running[uri]

    def _publish(self, uri: str, found: list[lsp.Diagnostic], version: int | None) -> None:
        said = lsp.PublishDiagnosticsParams(uri, found, version=version)
        self._ls.text_document_publish_diagnostics(said)

    def _complain(self, error: CkrulesError) -> None:
        """Faulty options of the command, which keep every text from being checked."""
        said = lsp.ShowMessageParams(lsp.MessageType.Error, f"ckrules lsp: {error}")
        self._ls.window_show_message(said)

    async def saved(self, uri: str) -> None:
        """Reads the settings again, where they were saved."""
        if (await asyncio.shield(self.begin())).saved(Path(uri).name):
            for each in list(self._asked):
                self.ask(each)

    def closed(self, uri: str) -> None:
        """Forgets a text and its findings, before the next message opens it again."""
        self._asked.pop(uri, None)
        if self._editor is not None and self._editor.done() and not self._editor.exception():
            self._editor.result().close(uri)
        self._publish(uri, [], None)

    async def ready(self, params: Any) -> tuple[Editor, TextDocument]:
        """What answers, and the text that is asked about, checked if that is soon done."""
        uri = params.text_document.uri
        editor = await asyncio.shield(self.begin())
        if uri in self._running:
            await asyncio.wait([self._running[uri]], timeout=_PATIENCE)
        return editor, self._ls.workspace.get_text_document(uri)


def server(make: Callable[[], Editor]) -> LanguageServer:
    """The language server, which `LanguageServer.start_io` starts.

    Args:
        make: Makes what knows the texts.
    """
    # Whole texts: where a part changes, pygls ends lines at more characters than editors do.
    whole = lsp.TextDocumentSyncKind.Full
    ls = LanguageServer("ckrules", __version__, text_document_sync_kind=whole)
    own = EditorServer(ls, make)

    @ls.feature(lsp.INITIALIZED)
    async def initialized(_: lsp.InitializedParams) -> None:
        try:
            await asyncio.shield(own.begin())
        except CkrulesError as error:
            own._complain(error)
        except asyncio.CancelledError:  # the editor ended meanwhile
            pass

    @ls.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        own.ask(params.text_document.uri)

    @ls.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        own.ask(params.text_document.uri)

    @ls.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        await own.saved(params.text_document.uri)

    @ls.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        own.closed(params.text_document.uri)

    @ls.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        editor, text = await own.ready(params)
        with suppress(CkrulesError):  # faulty settings, which the first line of the text says
            return editor.hover(text, params.position)
        return None

    @ls.feature(
        lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=list(TRIGGERS))
    )
    async def completed(params: lsp.CompletionParams) -> lsp.CompletionList:
        editor, text = await own.ready(params)
        items: list[lsp.CompletionItem] = []
        with suppress(CkrulesError):
            items = editor.complete(text, params.position)
        return lsp.CompletionList(is_incomplete=False, items=items)

    @ls.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix]))
    async def acted(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        editor, text = await own.ready(params)
        with suppress(CkrulesError):
            return editor.actions(text, params.range)
        return []

    return ls
