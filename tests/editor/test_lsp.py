"""The language server as an editor sees it: a client starts it and asks about texts."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient as Client
from pygls.workspace import PositionCodec, TextDocument

from ckrules.editor.greeting import AnsweredInput, greet
from ckrules.editor.server import server
from ckrules.editor.texts import _Places
from ckrules.readers import Place
from tests.cli.run import run

DATA = Path(__file__).parent.parent / "data"
NAME = "grouped_conv_fwd_fp16_nhwgc_2d_compv4_cshuffle_intrawave_64x64x32_1x1x1_16x16x32"
CONFIG: dict[str, Any] = {
    "variant": "forward", "arch": "gfx942", "dtype": "fp16", "ndim": 2,
    "tile_m": 64, "tile_n": 64, "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1,
    "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16, "pipeline": "compv4",
    "double_smem_buffer": False, "epilogue": "cshuffle", "scheduler": "intrawave",
    "vector_a": 8, "vector_b": 8, "vector_c": 8,
}  # fmt: skip
TOML = "\n".join(["[[kernels]]", *(f"{k} = {json.dumps(v)}" for k, v in CONFIG.items())]) + "\n"
CSV = ",".join(CONFIG) + "\n" + ",".join(str(v) for v in CONFIG.values()) + "\n"
TEXTS = {
    "kernels.names": f"# one kernel\n{NAME}\n",
    "kernels.ck.json": json.dumps(CONFIG, indent=1),
    "kernels.ck.jsonl": json.dumps(CONFIG) + "\n",
    "kernels.ck.toml": TOML,
    "kernels.ck.csv": CSV,
}


class LanguageClient(Client):
    """An editor that keeps the findings that are sent to it."""

    def __init__(self) -> None:
        super().__init__("tests", "1")
        self.sent: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.told: asyncio.Queue[str] = asyncio.Queue()
        self.open: set[str] = set()

        @self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def keep(found: lsp.PublishDiagnosticsParams) -> None:
            self.sent.put_nowait(found)

        @self.feature(lsp.WINDOW_SHOW_MESSAGE)  # type: ignore[untyped-decorator]
        def hear(said: lsp.ShowMessageParams) -> None:
            self.told.put_nowait(said.message)

    async def findings(self, path: Path) -> list[lsp.Diagnostic]:
        """The findings that are sent next, which are of a file."""
        found = await self.sent.get()
        assert found.uri == path.as_uri()
        return list(found.diagnostics)


class Kept(io.BytesIO):
    """What a server says, and an editor that says no more when it has heard something."""

    said = b""

    def flush(self) -> None:
        self.said = self.getvalue()

    def readline(self, size: int | None = -1, /) -> bytes:
        for _ in range(600):
            if self.said:
                break
            time.sleep(0.1)
        return b""


def _initialize(capabilities: dict[str, Any]) -> bytes:
    asked = {"id": 1, "method": "initialize", "params": {"capabilities": capabilities}}
    body = json.dumps({"jsonrpc": "2.0", **asked}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


Session = Callable[[LanguageClient, Path], Awaitable[None]]


class Editor:
    """A client and a server that it started and greeted; tests speak to it in turn."""

    def __init__(self, arch: str) -> None:
        self._loop = asyncio.Runner()
        self.client = self._loop.run(self._start(arch))

    def speak(self, folder: Path, session: Session) -> None:
        self._loop.run(self._session(folder, session))

    def close(self) -> None:
        self._loop.run(self._end())
        self._loop.close()

    async def _session(self, folder: Path, session: Session) -> None:
        await session(self.client, folder)
        for uri in sorted(self.client.open):  # or it would be checked again when settings change
            which = lsp.TextDocumentIdentifier(uri)
            self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(which))
            last = await self.client.sent.get()
            assert (last.uri, list(last.diagnostics)) == (uri, [])
        self.client.open.clear()

    async def _start(self, arch: str) -> LanguageClient:
        client = LanguageClient()
        await client.start_io(sys.executable, "-m", "ckrules", "lsp", "--arch", arch)
        asked = lsp.InitializeParams(capabilities=lsp.ClientCapabilities())
        await client.initialize_async(asked)
        client.initialized(lsp.InitializedParams())
        return client

    async def _end(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()  # type: ignore[no-untyped-call]


_EDITORS: dict[str, Editor] = {}


@pytest.fixture(scope="module", autouse=True)
def editors() -> Iterator[None]:
    """Ends the servers, which take a second each to start, after all tests."""
    yield
    while _EDITORS:
        _EDITORS.popitem()[1].close()


def speak(folder: Path, session: Session, arch: str = "gfx942") -> None:
    """Hands over the client of a server for a GPU."""
    if arch not in _EDITORS:
        _EDITORS[arch] = Editor(arch)
    try:
        _EDITORS[arch].speak(folder, session)
    except BaseException:  # the next test speaks to a server that nothing failed with
        _EDITORS.pop(arch).close()
        raise


def begin(client: LanguageClient, path: Path, text: str) -> None:
    """Opens a text."""
    item = lsp.TextDocumentItem(path.as_uri(), "plaintext", 1, text)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    client.open.add(path.as_uri())


async def opened(client: LanguageClient, path: Path, text: str) -> list[lsp.Diagnostic]:
    """The findings of a text that has just been opened."""
    begin(client, path, text)
    return await client.findings(path)


async def changed(
    client: LanguageClient, path: Path, text: str, version: int = 2
) -> list[lsp.Diagnostic]:
    """The findings of a text after it has become another."""
    which = lsp.VersionedTextDocumentIdentifier(version, path.as_uri())
    whole = lsp.TextDocumentContentChangeWholeDocument(text)
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(which, [whole]))
    return await client.findings(path)


def within(text: str, where: lsp.Range) -> str:
    """The part of a text, of one line, in a range."""
    assert where.start.line == where.end.line
    return text.split("\n")[where.start.line][where.start.character : where.end.character]


def edited(text: str, edit: lsp.TextEdit) -> str:
    lines = text.split("\n")
    at, line = edit.range, lines[edit.range.start.line]
    assert at.start.line == at.end.line
    lines[at.start.line] = line[: at.start.character] + edit.new_text + line[at.end.character :]
    return "\n".join(lines)


@pytest.mark.parametrize("name", TEXTS)
def test_findings_and_their_repair(name: str, tmp_path: Path) -> None:
    """compv4 without double buffering: a finding at a field, an edit that mends it."""

    async def session(client: LanguageClient, folder: Path) -> None:
        path, text = folder / name, TEXTS[name]
        found = await opened(client, path, text)
        (d,) = [d for d in found if d.code == "PIPE003"]
        assert d.severity == lsp.DiagnosticSeverity.Error
        assert d.source == "ckrules"
        assert "double_smem_buffer = true" in d.message
        assert within(text, d.range) in ("false", "False", "compv4", '"compv4"')
        which = lsp.TextDocumentIdentifier(path.as_uri())
        context = lsp.CodeActionContext([d])
        actions = await client.text_document_code_action_async(
            lsp.CodeActionParams(which, d.range, context)
        )
        titles = [a.title for a in actions or ()]
        if name.endswith(("names", "toml")):
            assert "Accept PIPE003 here" in titles
        if name == "kernels.names":  # which cannot say it where it is not written
            return
        (action,) = [a for a in actions or () if isinstance(a, lsp.CodeAction) and a.is_preferred]
        assert action.edit is not None
        assert action.edit.changes is not None
        ((edit,),) = action.edit.changes.values()
        left = await changed(client, path, edited(text, edit))
        assert "PIPE003" not in [d.code for d in left]

    speak(tmp_path, session)


@pytest.mark.parametrize("name", ["kernels.names", "kernels.ck.toml"])
def test_a_comment_hides_a_finding(name: str, tmp_path: Path) -> None:
    async def session(client: LanguageClient, folder: Path) -> None:
        path, text = folder / name, TEXTS[name]
        found = await opened(client, path, text)
        d = next(d for d in found if d.code == "PIPE003")
        which = lsp.TextDocumentIdentifier(path.as_uri())
        actions = await client.text_document_code_action_async(
            lsp.CodeActionParams(which, d.range, lsp.CodeActionContext([d]))
        )
        action = next(a for a in actions or () if a.title == "Accept PIPE003 here")
        assert isinstance(action, lsp.CodeAction)
        assert action.edit is not None
        assert action.edit.changes is not None
        ((edit,),) = action.edit.changes.values()
        left = await changed(client, path, edited(text, edit))
        assert "PIPE003" not in [d.code for d in left]

    speak(tmp_path, session)


def test_a_field_is_explained_in_what_cannot_be_read(tmp_path: Path) -> None:
    async def session(client: LanguageClient, folder: Path) -> None:
        path = folder / "kernels.ck.json"
        text = '{"variant": "forward", "dtype": "fp16", "tile_n": 96, "zzz": 3}'
        await opened(client, path, text)
        which = lsp.TextDocumentIdentifier(path.as_uri())
        for word, known in (("tile_n", True), ("zzz", False)):
            at = lsp.Position(0, text.index(word) + 2)
            hover = await client.text_document_hover_async(lsp.HoverParams(which, at))
            assert (hover is not None) is known
            if hover is not None:
                assert isinstance(hover.contents, lsp.MarkupContent)
                assert hover.contents.value.startswith("**tile_n**\n\n")

    speak(tmp_path, session)


def test_hover_and_completion(tmp_path: Path) -> None:
    async def session(client: LanguageClient, folder: Path) -> None:
        path, text = folder / "kernels.ck.json", TEXTS["kernels.ck.json"]
        await opened(client, path, text)
        which = lsp.TextDocumentIdentifier(path.as_uri())
        line = next(i for i, row in enumerate(text.split("\n")) if '"pipeline"' in row)
        column = text.split("\n")[line].index("compv4")
        hover = await client.text_document_hover_async(
            lsp.HoverParams(which, lsp.Position(line, column))
        )
        assert hover is not None
        assert isinstance(hover.contents, lsp.MarkupContent)
        assert hover.contents.value.startswith("**pipeline** = `compv4`")
        assert "mem" in hover.contents.value
        name = lsp.Position(line, text.split("\n")[line].index("pipeline") + 3)
        assert await client.text_document_hover_async(lsp.HoverParams(which, name)) == hover
        found = await client.text_document_completion_async(
            lsp.CompletionParams(which, lsp.Position(line, column + 2))
        )
        assert isinstance(found, lsp.CompletionList)
        details = {i.label: i.detail for i in found.items}
        assert details["compv3"] == "legal"
        assert details["compv4"] is not None
        assert "PIPE003" in details["compv4"]
        assert found.items[0].detail == "legal"
        edit = found.items[0].text_edit
        assert isinstance(edit, lsp.TextEdit)
        assert within(text, edit.range) == "compv4"
        # the value is typed again: the text is not JSON for a while
        broken = text.replace('"compv4"', '"comp')
        await changed(client, path, broken)
        found = await client.text_document_completion_async(
            lsp.CompletionParams(which, lsp.Position(line, column + 4))
        )
        assert isinstance(found, lsp.CompletionList)
        assert {i.label: i.detail for i in found.items}["compv3"] == "legal"
        edit = found.items[0].text_edit
        assert isinstance(edit, lsp.TextEdit)
        assert within(broken, edit.range) == "comp"

    speak(tmp_path, session)


def test_columns_are_those_of_the_editor(tmp_path: Path) -> None:
    """Editors count UTF-16 units: a character of two units stands before the name."""

    async def session(client: LanguageClient, folder: Path) -> None:
        text = f"\U0001d11e/{NAME}.hpp"
        found = await opened(client, folder / "kernels.names", text)
        at = next(d.range for d in found if d.code == "PIPE003")
        units = text.encode("utf-16-le")
        part = units[2 * at.start.character : 2 * at.end.character].decode("utf-16-le")
        assert part == "compv4"
        which = lsp.TextDocumentIdentifier((folder / "kernels.names").as_uri())
        hover = await client.text_document_hover_async(lsp.HoverParams(which, at.start))
        assert hover is not None
        assert isinstance(hover.contents, lsp.MarkupContent)
        assert hover.contents.value.startswith("**pipeline**")

    speak(tmp_path, session)


def test_faults_are_findings(tmp_path: Path) -> None:
    """What cannot be read, an empty text and faulty settings are said; the server goes on."""

    async def session(client: LanguageClient, folder: Path) -> None:
        path = folder / "kernels.ck.json"
        found = await opened(client, path, '{"variant": ')
        assert [d.code for d in found] == ["CFG000"]
        assert await changed(client, path, "", 2)
        assert "PIPE003" in [d.code for d in await changed(client, path, TEXTS[path.name], 3)]
        settings = folder / "ckrules.toml"
        settings.write_text('select = ["NOPE001"]\n')
        which = lsp.TextDocumentIdentifier(settings.as_uri())
        client.text_document_did_save(lsp.DidSaveTextDocumentParams(which))
        (said,) = await client.findings(path)
        assert "NOPE001" in said.message
        settings.write_text('ignore = ["PIPE003"]\n')
        client.text_document_did_save(lsp.DidSaveTextDocumentParams(which))
        assert "PIPE003" not in [d.code for d in await client.findings(path)]

    speak(tmp_path, session)


def test_lines_end_where_editors_end_them(tmp_path: Path) -> None:
    """Python ends lines at form feeds and others, too; the finding was a line too short."""

    async def session(client: LanguageClient, folder: Path) -> None:
        text = f"# \f\u2028\U0001d11e\n{NAME}"
        found = await opened(client, folder / "kernels.names", text)
        at = next(d.range for d in found if d.code == "PIPE003")
        assert within(text.partition("\n")[2], _up(at)) == "compv4"
        found = await changed(client, folder / "kernels.names", f"{text}_", 2)
        assert [(d.code, d.range.start.line, d.range.end.line) for d in found] == [("CFG000", 1, 1)]

    speak(tmp_path, session)


def _up(at: lsp.Range) -> lsp.Range:
    """A range of one line above."""
    start, end = (lsp.Position(p.line - 1, p.character) for p in (at.start, at.end))
    return lsp.Range(start, end)


def test_a_text_with_half_a_character_has_findings(tmp_path: Path) -> None:
    """Editors keep such texts; it was never answered about them."""

    async def session(client: LanguageClient, folder: Path) -> None:
        (found,) = await opened(client, folder / "kernels.ck.json", '["\ud800"]')
        assert found.code == "CFG000"
        assert "UTF-8" in found.message

    speak(tmp_path, session)


def test_faulty_settings_are_no_errors_of_questions(tmp_path: Path) -> None:
    """Editors show an error of each hover; the first line of the text says the fault."""

    async def session(client: LanguageClient, folder: Path) -> None:
        path = folder / "kernels.names"
        await opened(client, path, NAME)
        settings = folder / "ckrules.toml"
        settings.write_text("arch = 3\n")
        which = lsp.TextDocumentIdentifier(settings.as_uri())
        client.text_document_did_save(lsp.DidSaveTextDocumentParams(which))
        (said,) = await client.findings(path)
        assert "arch is not a string" in said.message
        text, at = lsp.TextDocumentIdentifier(path.as_uri()), lsp.Position(0, 40)
        assert await client.text_document_hover_async(lsp.HoverParams(text, at)) is None
        asked = lsp.CompletionParams(text, at)
        answer = await client.text_document_completion_async(asked)
        assert isinstance(answer, lsp.CompletionList)
        assert not answer.items

    speak(tmp_path, session)


def test_texts_that_are_not_open_are_not_read(tmp_path: Path) -> None:
    """A pipe would keep the server waiting, a missing file was an error with a traceback."""

    async def session(client: LanguageClient, folder: Path) -> None:
        os.mkfifo(folder / "pipe.names")
        for name in ("pipe.names", "missing.names"):
            text = lsp.TextDocumentIdentifier((folder / name).as_uri())
            asked = lsp.CompletionParams(text, lsp.Position(0, 0))
            answer = await client.text_document_completion_async(asked)
            assert isinstance(answer, lsp.CompletionList)
            assert not answer.items

    speak(tmp_path, session)


def test_places_on_a_long_line_are_counted_once() -> None:
    """A file without line ends has thousands of findings on one line; it took a minute."""
    counted = 0

    class Codec(PositionCodec):
        def client_num_units(self, string: str) -> int:
            nonlocal counted
            counted += len(string)
            return int(super().client_num_units(string))

    line = "\U0001d11e" + "x" * 5000
    place = _Places(TextDocument("file:///a", line, position_codec=Codec()))
    ranges = [place.range(Place("a", 1, k, 1, k + 1)) for k in range(1, 5001)]
    assert counted == len(line)
    assert ranges[0] == lsp.Range(lsp.Position(0, 0), lsp.Position(0, 2))
    assert ranges[-1] == lsp.Range(lsp.Position(0, 5000), lsp.Position(0, 5001))
    assert [place.of(r.start) for r in ranges] == [(1, k) for k in range(1, 5001)]


def test_a_huge_text_is_not_checked(tmp_path: Path) -> None:
    async def session(client: LanguageClient, folder: Path) -> None:
        path = folder / "kernels.ck.json"
        (found,) = await opened(client, path, "[" * (3 << 20))
        assert found.message.startswith("3 MB: too large to be checked while typing")
        assert found.severity == lsp.DiagnosticSeverity.Information
        which = lsp.TextDocumentIdentifier(path.as_uri())
        asked = lsp.CompletionParams(which, lsp.Position(0, 0))
        answer = await client.text_document_completion_async(asked)
        assert isinstance(answer, lsp.CompletionList)
        assert not answer.items
        assert "PIPE003" in [d.code for d in await changed(client, path, TEXTS[path.name])]

    speak(tmp_path, session)


def test_it_answers_while_it_checks(tmp_path: Path) -> None:
    """Another text is spoken of while a large one is checked; only its last version counts."""

    async def session(client: LanguageClient, folder: Path) -> None:
        small, large = folder / "a.names", folder / "b.names"
        await opened(client, small, f"{NAME}\n")
        many = "".join(f"{NAME.replace('64x64x32', f'{i}x64x32')}\n" for i in range(800))
        begin(client, large, many)
        asked = lsp.HoverParams(lsp.TextDocumentIdentifier(small.as_uri()), lsp.Position(0, 35))
        assert await client.text_document_hover_async(asked) is not None
        assert client.sent.empty()
        for version in (2, 3):
            which = lsp.VersionedTextDocumentIdentifier(version, large.as_uri())
            text = f"{NAME}\n" * version
            whole = lsp.TextDocumentContentChangeWholeDocument(text)
            client.text_document_did_change(lsp.DidChangeTextDocumentParams(which, [whole]))
        found = await client.sent.get()
        assert (found.uri, found.version) == (large.as_uri(), 3)
        assert max(d.range.start.line for d in found.diagnostics) == 2

    speak(tmp_path, session)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_it_is_asked_to(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "ckrules", "lsp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(_initialize({}))
        child.stdin.flush()
        assert child.stdout.readline().startswith(b"Content-Length")
        child.send_signal(number)
        assert child.wait(60) == 128 + number


def test_initialize_is_answered_before_the_protocol_is_imported(tmp_path: Path) -> None:
    """An import that never ends does not keep the editor waiting."""
    (tmp_path / "lsprotocol.py").write_text("import time\ntime.sleep(600)\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-m", "ckrules", "lsp"],
        stdin=pipe, stdout=pipe, env={**os.environ, "PYTHONPATH": path},
    ) as child:  # fmt: skip
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(_initialize({}))
            child.stdin.flush()
            assert child.stdout.readline().startswith(b"Content-Length")
        finally:
            child.kill()


@pytest.mark.parametrize(
    "capabilities",
    [{}, {"textDocument": {"hover": {}}, "general": {"positionEncodings": ["utf-8", "utf-16"]}}],
)
def test_the_greeting_says_what_the_server_would(capabilities: dict[str, Any]) -> None:
    """The answer is that of pygls, which is then told the same and whose answer is left out."""
    told, own = io.BytesIO(), Kept()
    read, write = greet(io.BytesIO(_initialize(capabilities)), told)
    again = AnsweredInput(b"".join(iter(read.readline, b"")), own)
    server(lambda: pytest.fail("no text was opened")).start_io(again, own)  # type: ignore[arg-type]
    said, later = (json.loads(x.partition(b"\r\n\r\n")[2]) for x in (told.getvalue(), own.said))
    later["result"]["capabilities"].pop("executeCommandProvider")  # there is none
    later["result"]["capabilities"]["workspace"].pop("fileOperations")
    assert said == later
    write.write(own.said)
    write.write(own.said)
    assert told.getvalue().count(b"Content-Length") == 2  # the second is an answer of its own


@pytest.mark.parametrize("first", [b"", b"Content-Length: 2\r\n\r\n[]", b"rubbish\n\n"])
def test_what_does_not_greet_is_left_to_the_server(first: bytes) -> None:
    told = io.BytesIO()
    read, write = greet(io.BytesIO(first + b"rest\n"), told)
    assert b"".join(iter(read.readline, b"")) == first + b"rest\n"
    assert write is told
    assert not told.getvalue()


def test_faulty_options_are_said(tmp_path: Path) -> None:
    async def session(client: LanguageClient, folder: Path) -> None:
        assert "gfx943" in await client.told.get()

    speak(tmp_path, session, "gfx943")


def test_every_format_has_the_findings_of_check() -> None:
    """Code and place of every finding, for a file of each format that ckrules reads.

    What cannot be read is not a finding of ``check --format json``; it goes to the standard error.
    Kernels that no list has (ROW007) are found among several files only.
    """
    files = sorted(p for p in (DATA / "formats").iterdir() if p.is_file())
    words = ["check", "--arch", "gfx942", "--format", "json", *map(str, files)]
    wanted: dict[str, list[tuple[str, int, int]]] = {p.name: [] for p in files}
    for d in json.loads(run(*words).stdout):
        if d["code"] != "ROW007":
            wanted[Path(d["source"]).name].append((d["code"], d["line"], d["column"]))

    async def session(client: LanguageClient, folder: Path) -> None:
        for path in files:
            found = await opened(client, path, path.read_text())
            seen = [
                (d.code, d.range.start.line + 1, d.range.start.character + 1)
                for d in found
                if d.code != "CFG000"
            ]
            assert seen == wanted[path.name]

    assert any(wanted.values())
    speak(files[0].parent, session)


def test_a_text_that_is_opened_again_has_its_own_findings(tmp_path: Path) -> None:
    """It was closed while it was checked; the findings of what it had held were shown for good."""

    async def session(client: LanguageClient, folder: Path) -> None:
        path = folder / "kernels.names"
        await opened(client, path, NAME)
        which = lsp.TextDocumentIdentifier(path.as_uri())
        many = "".join(f"{NAME.replace('64x64x32', f'{i}x64x32')}\n" for i in range(800))
        for text in (many, f"\n{NAME}\n"):
            client.text_document_did_close(lsp.DidCloseTextDocumentParams(which))
            begin(client, path, text)
            await asyncio.sleep(0.05)
        lines: set[int] = set()
        while lines != {1}:  # those of texts that were closed come before
            found = await asyncio.wait_for(client.sent.get(), 20)
            lines = {d.range.start.line for d in found.diagnostics}

    speak(tmp_path, session)
