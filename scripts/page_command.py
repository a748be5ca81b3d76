"""The command of scripts that make a page of the documentation: print, write or check it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def rendered(template: str, **values: object) -> str:
    """The text of a template of this folder."""
    env = Environment(
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined,
        keep_trailing_newline=True, trim_blocks=True, autoescape=False,
    )  # fmt: skip
    return env.get_template(template).render(values)


def run(
    doc: str | None, page: Path, text: Callable[[], str], argv: Sequence[str] | None = None
) -> int:
    """Prints the text, writes it with ``--write``; with ``--check``: 1 unless the page is it."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n", maxsplit=1)[0])
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--write", action="store_true", help="write the page")
    mode.add_argument("--check", action="store_true", help="exit 1 unless the file is the page")
    options = parser.parse_args(argv)
    found = text()
    if options.write:
        page.write_text(found, encoding="utf-8")
    elif not options.check:
        print(found, end="")
    elif not page.exists() or page.read_text(encoding="utf-8") != found:
        print(f"{page.name} is stale: run {sys.argv[0]} --write", file=sys.stderr)
        return 1
    return 0
