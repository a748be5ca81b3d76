"""What the reasoning commands share: configurations as arguments, and answers as text or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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


def write(form: str, output: str | None, answer: Any, lines: Iterable[str]) -> None:
    """Writes an answer as JSON or as lines.

    Raises:
        UnknownNameError: For an unknown format.
    """
    if form not in FORMATS:
        raise unknown("format", form, FORMATS)
    with text_output(output) as stream:
        if form == "json":
            stream.write(json.dumps(answer, ensure_ascii=False, indent=2) + "\n")
        else:
            stream.writelines(f"{line}\n" for line in lines)
