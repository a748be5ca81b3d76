"""What the reasoning commands share: configurations as arguments, and answers as text or JSON."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from ckrules.cli.options import F
from ckrules.cli.output import text_output
from ckrules.config import Config, config_from_mapping
from ckrules.engine.errors import UsageError, unknown
from ckrules.engine.rules import Rule
from ckrules.engine.text import literal
from ckrules.names import format_name
from ckrules.readers import Context, Problem, read_input
from ckrules.selection import Books

FORMATS = ("text", "json")


def configurations(arguments: Sequence[str], books: Books, arch: str | None) -> list[Config]:
    """The configurations that names, files, ``-`` or JSON objects on the command line give.

    Raises:
        UsageError: For the first one that cannot be read, with its place.
    """
    context = Context(books, books.plain_arch(arch) if arch is not None else None)
    found: list[Config] = []
    for argument in arguments:
        if argument.lstrip().startswith("{"):
            found.append(_inline(argument, books, context.arch))
            continue
        for entry in read_input(argument, context):
            if isinstance(entry, Problem):
                place, message = entry.lines()[0]
                raise UsageError(f"{place}: {message}")
            found.append(entry.config)
    return found


def _inline(text: str, books: Books, arch: str | None) -> Config:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{text[:40]!r} is not a JSON object") from None
    return config_from_mapping(given, books, arch=arch)


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
    except Exception:  # a point of another operator or without a field that names need
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
                stream.write(json.dumps(answer, ensure_ascii=False, indent=2) + "\n")
            else:
                stream.writelines(f"{line}\n" for line in lines)


def answer_options(function: F) -> F:
    """``--format`` and ``-o``, given to the command as one `Writer`.

    The format is looked at first: an answer may take a minute.
    """

    @click.option("--format", "form", metavar="text|json", default="text", help="[text]")
    @click.option("-o", "--output", metavar="FILE", help="Write to a file.")
    @functools.wraps(function)
    def wrapped(*args: Any, form: str, output: str | None, **rest: Any) -> Any:
        if form not in FORMATS:
            raise unknown("format", form, FORMATS)
        return function(*args, write=Writer(form, output), **rest)

    return wrapped  # type: ignore[return-value]


def timeout_option(seconds: int) -> Callable[[F], F]:
    """``--timeout``: how long a solver may take."""
    return click.option(
        "--timeout",
        type=click.FloatRange(min=0.1),
        default=float(seconds),
        help=f"Seconds [{seconds}].",
    )
