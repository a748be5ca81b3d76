"""What the reasoning commands share: configurations as arguments, and answers as text or JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ckrules.cli.formats import TEXT, output_options
from ckrules.cli.once import option
from ckrules.cli.options import F, Seconds, gathered
from ckrules.cli.output import text_output
from ckrules.cli.request import Request
from ckrules.engine.expr.printer import literal
from ckrules.engine.restrictions import book_of
from ckrules.engine.rules import Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.kernels.names import format_name
from ckrules.readers import Context, Entry, Input, InputReading, UnreadableText
from ckrules.support.errors import CkrulesError, UsageError
from ckrules.support.json_values import Repeats, with_repeats
from ckrules.support.visible import json_text, visible


def configurations(
    arguments: Sequence[str], books: Books, archs: Sequence[str] = ()
) -> list[Config]:
    """The configurations that names, files, their parts, ``-`` or JSON objects give.

    Those that name no GPU are made for each of ``archs``.

    Raises:
        UsageError: For the first one that cannot be read, with its place.
    """
    stdin = sys.stdin.buffer.read() if "-" in arguments else b""
    gpus: list[str | None] = list(dict.fromkeys(map(books.plain_arch, archs)))
    found: list[Config] = []
    for argument in arguments:
        given = Input.of(argument, stdin=stdin)
        seen: list[Config] = []
        for gpu in gpus or [None]:
            read = _read(given, Context(books, gpu))
            seen += [c for c in read if c not in seen] if seen else read
        found += seen
    return found


def _read(given: Input, context: Context) -> list[Config]:
    found: list[Config] = []
    of_rows: set[int] = set()  # a table's kernels stand in many rows
    for entry in InputReading(given, context):
        if isinstance(entry, UnreadableText):
            place, message = entry.lines()[0]
            raise UsageError(f"{place}: {message}")
        if isinstance(entry, Entry):
            if entry.problem and id(entry.config) in of_rows:
                continue
            of_rows.add(id(entry.config))
            found.append(entry.config)
    return found


def title_of(config: Config) -> str:
    """A configuration in one line: its name and GPU, or its fields."""
    return f"{config.name or point_text(config.point)} on {config.point['arch']}"


@dataclass(frozen=True, slots=True)
class PointOfBook:
    """A point beside the rules that decide about it.

    Args:
        title: The point in one line.
        named: The kernel's name for JSON; nothing where the point is not a kernel.
    """

    book: RuleBook
    point: Mapping[str, Any]
    title: str
    named: Mapping[str, Any]

    @classmethod
    def of(cls, config: Config, books: Books, *, advised: bool = False) -> PointOfBook:
        """A configuration, by the rules of its own release where it names one.

        ``advised`` has the warnings that `ckrules check` gives among them.
        """
        own = books.at(config.ck)
        book = own.advised(config.variant) if advised else own.of(config.variant)
        return cls(
            book,
            config.point,
            title_of(config),
            {"ck": own.ck, "name": config.name},
        )


def point_in(request: Request, words: Sequence[str]) -> PointOfBook:
    """The point that a JSON object, or a file of one, gives in the space that a file describes.

    Raises:
        UsageError: For several points, and for anything else.
    """
    if len(words) > 1:
        raise UsageError(f"one point is needed, not {len(words)}")
    text = words[0]
    raw, place = text, text[:40]
    if not text.lstrip().startswith("{"):
        try:
            with open(text, encoding="utf-8") as file:
                raw, place = file.read(1 << 20), text
        except UnicodeDecodeError:
            raise UsageError(f"{text}: not UTF-8 text") from None
    try:
        point = json.loads(raw, object_pairs_hook=with_repeats)
    except (ValueError, RecursionError):
        point = None
    if not isinstance(point, dict):
        raise UsageError(f"{place}: not a JSON object of values by variable")
    if isinstance(point, Repeats):
        raise UsageError(f"{place}: duplicate key {point.twice[0]!r}")
    book = book_of(request.region.space)
    return PointOfBook(book, point, point_text(point), {})


def point_text(point: Mapping[str, Any]) -> str:
    """A point in one line, as the expression that says it."""
    return " ".join(f"{k}={v if isinstance(v, str) else literal(v)}" for k, v in point.items())


def name_or_text(point: Mapping[str, Any]) -> str:
    """A point's kernel name, or its fields where no name says it."""
    try:
        return format_name(dict(point))
    except (CkrulesError, KeyError):  # another operator's, or without a field that names need
        return point_text(point)


def source_lines(rules: Iterable[Rule]) -> list[str]:
    """Where rules come from, a line each."""
    said = [(f"    {r.code}: {r.summary}", "; ".join(r.sources)) for r in rules]
    return [f"{text} ({places})" if places else text for text, places in said]


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes an answer as JSON or as lines."""

    form: str
    output: str | None

    def __call__(self, answer: Any, lines: Iterable[str]) -> None:
        """Writes it to the file, or to standard output, whose reader may have gone."""
        with suppress(BrokenPipeError), text_output(self.output) as stream:
            if self.form == "json":
                stream.write(json_text(answer, indent=2) + "\n")
            else:
                stream.writelines(f"{visible(line)}\n" for line in lines)


#: ``--format`` and ``-o``, given to the command as one `Writer`.
answer_options = gathered("write", Writer, output_options(TEXT))


def timeout_option(seconds: int, of: str = "for a question to the solver") -> Callable[[F], F]:
    """``--timeout``: how long a solver may take, and for what."""
    said = f"Seconds {of} [{seconds}]."
    return option("--timeout", type=Seconds(), default=float(seconds), help=said)
