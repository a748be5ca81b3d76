"""Text of a file or of standard input: decoded, by lines or whole, with every fault placed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from typing import NamedTuple, TypeVar

from ckrules.readers.suppressions import Suppressions
from ckrules.support import opening
from ckrules.support.errors import UsageError

T = TypeVar("T")

#: A line longer than this is not a configuration.
MAX_LINE = 4 << 20
#: A whole document longer than this is not read.
MAX_TEXT = 1 << 30
_HEAD = 1 << 16
_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class SourceError(UsageError):
    """Nothing more can be read from a source; ``line`` and ``column`` say where."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class SourceLine(NamedTuple):
    """One line without its end; ``fault`` says why it could not be decoded, at ``column``."""

    number: int
    text: str
    fault: str = ""
    column: int = 1


def read_file(path: str, read: Callable[[LocatedText], T]) -> T:
    """What is read from the text of a file.

    Raises:
        UsageError: With file, line and column, for what cannot be read.
    """
    try:
        with opening.binary(path) as stream:
            return read(SourceFile(path, stream).text())
    except SourceError as error:
        shown = [str(n) for n in (error.line, error.column) if n]
        raise UsageError(f"{':'.join([path, *shown])}: {error.message}") from None


class Head(list[str]):
    """The first lines that hold more than blanks and comments; ``text`` is all that was seen."""

    def __init__(self, lines: Iterable[str] = (), text: str = "") -> None:
        super().__init__(lines)
        self.text = text or "\n".join(self)


class SourceFile:
    """An open file under the name that messages show.

    ``suppressions`` are the comments seen so far, if the format has comments (`comments`).
    """

    def __init__(self, name: str, stream: BufferedReader) -> None:
        self.name, self._stream = name, stream
        self._head = self._peek()
        self.suppressions: Suppressions | None = None

    def comments(self, sign: str) -> None:
        """Collects the suppression comments that begin with ``sign``."""
        self.suppressions = Suppressions(sign)

    def _peek(self) -> bytes:
        head = self._stream.peek(_HEAD)[:_HEAD]
        for bom, encoding in _BOMS.items():
            if head.startswith(bom):
                raise SourceError(f"{encoding} text, expected UTF-8", 1, 1)
        nul = head.find(b"\0")
        if nul >= 0:
            raise SourceError("a binary file, expected text", *_line_and_column(head, nul))
        return head

    @property
    def empty(self) -> bool:
        """Whether there is not a single byte."""
        return not self._head

    def head(self) -> Head:
        """The first lines that hold more than blanks and comments, for telling formats apart."""
        text = self._head.decode("utf-8-sig", errors="replace")
        stripped = (line.strip() for line in text.splitlines()[:200])
        kept = [line for line in stripped if line and not line.startswith(("#", "//"))]
        return Head(kept[:3], text)

    def lines(self) -> Iterator[SourceLine]:
        """Every line in turn; a line that is not UTF-8 has a fault and the rest still follows."""
        number = 0
        while raw := self._stream.readline(MAX_LINE + 1):
            number += 1
            if len(raw) > MAX_LINE:
                while raw and not raw.endswith(b"\n"):
                    raw = self._stream.readline(MAX_LINE)
                yield SourceLine(number, "", f"line longer than {MAX_LINE >> 20} MB")
                continue
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            try:
                text = raw.decode()
            except UnicodeDecodeError as error:
                at = len(raw[: error.start].decode(errors="replace")) + 1
                yield SourceLine(number, "", f"byte {raw[error.start]:#04x} is not UTF-8", at)
                continue
            text = text.rstrip("\r\n")
            if self.suppressions is not None:
                self.suppressions.add(number, text)
            yield SourceLine(number, text)

    def text(self) -> LocatedText:
        """The whole text.

        Raises:
            SourceError: If it is not UTF-8 or too long.
        """
        raw = self._stream.read(MAX_TEXT + 1)
        if len(raw) > MAX_TEXT:
            raise SourceError(f"longer than {MAX_TEXT >> 30} GB: use JSON Lines")
        try:
            text = LocatedText(raw.decode("utf-8-sig"))
            if self.suppressions is not None and "ckrules" in text.text:
                self.suppressions.add_all(text.text.split("\n"))
            return text
        except UnicodeDecodeError as error:
            data = error.object
            what = f"byte {data[error.start]:#04x} is not UTF-8"
            raise SourceError(what, *_line_and_column(data, error.start)) from None


def _line_and_column(data: bytes, offset: int) -> tuple[int, int]:
    """Where a byte is, in characters."""
    start = data.rfind(b"\n", 0, offset) + 1
    before = data[start:offset].decode("utf-8" if start else "utf-8-sig", errors="replace")
    return data.count(b"\n", 0, offset) + 1, len(before) + 1


class LocatedText:
    """A text that knows the line and column of an offset.

    >>> LocatedText("ab\\ncd").place(4)
    (2, 2)
    """

    def __init__(self, text: str, first_line: int = 1) -> None:
        self.text, self._first = text, first_line
        self._starts: list[int] | None = None

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1, of an offset; offsets behind the end count as the end."""
        if self._starts is None:
            self._starts = [0]
            at = self.text.find("\n")
            while at >= 0:
                self._starts.append(at + 1)
                at = self.text.find("\n", at + 1)
        offset = min(max(offset, 0), len(self.text))
        row = bisect_right(self._starts, offset) - 1
        return row + self._first, offset - self._starts[row] + 1
