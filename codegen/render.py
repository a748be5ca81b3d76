"""Rendering of the templates; all C++ is in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

TEMPLATES = Path(__file__).resolve().parent / "templates"
"""What every family uses: the first lines of files, what builds a folder, and the runtime."""


def cpp(value: object) -> str:
    """A truth value as C++ writes it.

    >>> cpp(True)
    'true'
    """
    return "true" if value else "false"


def c_string(text: str) -> str:
    r"""A text as a C string literal.

    >>> print(c_string('{"tile_m": 64}'))
    "{\"tile_m\": 64}"
    """
    return json.dumps(text)


@cache
def environment(folders: tuple[Path, ...]) -> Environment:
    """The environment of templates: undefined names are errors, blocks leave no lines.

    Args:
        folders: Where a family's templates are (`Generation.templates`); the shared ones come last.
    """
    found = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    found.filters.update(cpp=cpp, c_string=c_string)
    return found


@cache
def template(name: str, folders: tuple[Path, ...]) -> Template:
    """A template by its path below one of the folders."""
    return environment(folders).get_template(name)


def render(name: str, values: Mapping[str, Any], folders: Sequence[Path] = ()) -> str:
    """The text of a template; it ends with one newline."""
    return template(name, tuple(folders)).render(values).rstrip("\n") + "\n"
