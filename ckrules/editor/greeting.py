"""The answer to an editor's `initialize`, before what speaks the protocol is imported.

Importing pygls and the protocol's types takes a second or two, for which an editor would wait and
show nothing. What the server can do is known without them, so that this module answers, and the
server that starts then is told of the same message and its own answer is left out.
"""

from __future__ import annotations

import io
import json
from typing import IO, Any

from ckrules import __version__

TRIGGERS = ('"', ":", "=")
"""Characters after which editors ask for completions."""
_CAPABILITIES = {
    "positionEncoding": "utf-16",
    "textDocumentSync": {"openClose": True, "change": 1, "save": True},
    "completionProvider": {"triggerCharacters": list(TRIGGERS)},
    "hoverProvider": True,
    "codeActionProvider": {"codeActionKinds": ["quickfix"]},
    "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
}
_LONGEST = 1 << 24


class AnsweredInput:
    """The editor's messages, the first of which has been read."""

    def __init__(self, first: bytes, rest: IO[bytes]) -> None:
        self._first, self._rest = io.BytesIO(first), rest

    def readline(self) -> bytes:
        """The next line of a header."""
        return self._first.readline() or self._rest.readline()

    def read(self, count: int) -> bytes:
        """So many bytes of a message, which is of the first or of the rest."""
        return self._first.read(count) or self._rest.read(count)


class AnsweredOutput:
    """What the server says, without the answer that the editor has had."""

    def __init__(self, number: Any, out: IO[bytes]) -> None:
        self._number, self._out, self._waiting = number, out, True

    def write(self, data: bytes) -> None:
        """Passes a message on."""
        if self._waiting and self._is_answer(data):
            self._waiting = False
            return
        self._out.write(data)

    def flush(self) -> None:
        """Sends what was written."""
        self._out.flush()

    def close(self) -> None:
        """Ends what is said."""
        self._out.close()

    def _is_answer(self, data: bytes) -> bool:
        said = json.loads(data.partition(b"\r\n\r\n")[2])
        return "method" not in said and said.get("id") == self._number


def greet(stdin: IO[bytes], stdout: IO[bytes]) -> tuple[Any, Any]:
    """Answers `initialize`; returns what the server reads from and writes to.

    Whatever else comes first is left to the server.

    >>> body = b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"capabilities":{}}}'
    >>> told = io.BytesIO()
    >>> asked = io.BytesIO(b"Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
    >>> read, write = greet(asked, told)
    >>> json.loads(told.getvalue().partition(b"\\r\\n\\r\\n")[2])["result"]["serverInfo"]["name"]
    'ckrules'
    """
    head, body = _message(stdin)
    try:
        asked = json.loads(body)
    except ValueError:
        asked = None
    if not _is_initialize(asked):
        return AnsweredInput(head + body, stdin), stdout
    result = {
        "capabilities": _CAPABILITIES,
        "serverInfo": {"name": "ckrules", "version": __version__},
    }
    stdout.write(_framed({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
    stdout.flush()
    # Encodings stand there: the server counts columns as was promised.
    asked["params"]["capabilities"].pop("general", None)
    return AnsweredInput(_framed(asked), stdin), AnsweredOutput(asked["id"], stdout)


def _is_initialize(asked: Any) -> bool:
    if not isinstance(asked, dict) or asked.get("method") != "initialize" or "id" not in asked:
        return False
    params = asked.get("params")
    return isinstance(params, dict) and isinstance(params.get("capabilities"), dict)


def _message(stdin: IO[bytes]) -> tuple[bytes, bytes]:
    """Header and body of the first message, as far as there is one."""
    head, length = b"", 0
    while line := stdin.readline():
        head += line
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
        if not line.strip():
            break
    return head, stdin.read(length) if length <= _LONGEST else b""


def _framed(message: Any) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
