"""Rendering of the templates; all C++ is in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from ckrules.codegen.model import Kernel
from ckrules.codegen.variants import Entry
from ckrules.codegen.words import DATA_TYPES

TEMPLATES = Path(__file__).resolve().parent / "templates"


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


def entry_kernel(kernel: Kernel, entry: Entry) -> str:
    """The kernel class behind an entry, inside the kernel's namespace."""
    if kernel.ck == "2025.11":
        return f"Variant<{entry.cpp}>::Kernel"
    return "Reference"


@cache
def environment() -> Environment:
    """The environment of every template: undefined names are errors, blocks leave no lines."""
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    found.filters.update(cpp=cpp, c_string=c_string, data_type=DATA_TYPES.__getitem__)
    found.globals["entry_kernel"] = entry_kernel
    return found


@cache
def template(name: str) -> Template:
    """A template by its path below ``templates``."""
    return environment().get_template(name)


def render(name: str, values: Mapping[str, Any]) -> str:
    """The text of a template; it ends with one newline."""
    return template(name).render(values).rstrip("\n") + "\n"
