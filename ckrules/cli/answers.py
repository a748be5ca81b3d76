"""What the reasoning commands share: configurations as arguments, and answers as text or JSON."""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from ckrules.cli.formats import TEXT, output_options
from ckrules.cli.options import F, option
from ckrules.cli.output import text_output
from ckrules.engine.expr.printer import literal
from ckrules.engine.rules import Rule
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.kernels.names import format_name
from ckrules.readers import Context, Entry, Problem, Reading
from ckrules.support.errors import CkrulesError, UsageError
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
        seen: list[Config] = []
        for gpu in gpus or [None]:
            read = _read(argument, Context(books, gpu), stdin)
            seen += [c for c in read if c not in seen] if seen else read
        found += seen
    return found


def _read(argument: str, context: Context, stdin: bytes) -> list[Config]:
    found = []
    for entry in Reading(argument, context, stdin=io.BytesIO(stdin)):
        if isinstance(entry, Problem):
            place, message = entry.lines()[0]
            raise UsageError(f"{place}: {message}")
        if isinstance(entry, Entry):
            found.append(entry.config)
    return found


def title_of(config: Config) -> str:
    """A configuration in one line: its name and GPU, or its fields."""
    name = config.name or point_text(config.point)
    return f"{name} on {config.point['arch']}"


def point_text(point: Mapping[str, Any]) -> str:
    """A point in one line, as the expression that says it."""
    return " ".join(f"{k}={v if isinstance(v, str) else literal(v)}" for k, v in point.items())


def name_or_text(point: Mapping[str, Any]) -> str:
    """A point's kernel name, or its fields where no name says it."""
    try:
        return format_name(dict(point))
    except (CkrulesError, KeyError):  # another operator's, or without a field that names need
        return point_text(point)


def source_lines(rules: Iterable[Rule], indent: str = "    ") -> list[str]:
    """Where rules come from, a line each."""
    return [f"{indent}{r.code}: {r.summary} ({'; '.join(r.sources)})" for r in rules]


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes an answer as JSON or as lines."""

    form: str
    output: str | None

    def __call__(self, answer: Any, lines: Iterable[str]) -> None:
        """Writes it to the file, or to standard output."""
        with text_output(self.output) as stream:
            if self.form == "json":
                stream.write(json_text(answer, indent=2) + "\n")
            else:
                stream.writelines(f"{visible(line)}\n" for line in lines)


def answer_options(function: F) -> F:
    """``--format`` and ``-o``, given to the command as one `Writer`."""

    @output_options(TEXT)
    @functools.wraps(function)
    def wrapped(*args: Any, form: str, output: str | None, **rest: Any) -> Any:
        return function(*args, write=Writer(form, output), **rest)

    return wrapped  # type: ignore[return-value]


def timeout_option(seconds: int) -> Callable[[F], F]:
    """``--timeout``: how long a solver may take."""
    return option(
        "--timeout",
        type=click.FloatRange(min=0.1),
        default=float(seconds),
        help=f"Seconds [{seconds}].",
    )
