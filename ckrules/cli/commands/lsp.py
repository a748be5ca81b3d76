"""Serve an editor: findings, help and completion in configurations while they are written."""

from __future__ import annotations

import os

import click

from ckrules.checking.checker import Checker
from ckrules.checking.settings import SettingsResolver
from ckrules.cli.glossary import Glossary
from ckrules.kernels.books import Books
from ckrules.support.errors import UsageError

GROUP = "maintain"

EPILOG = """\b
An editor starts it and speaks to it through standard input and output.
docs/editors.md shows how for VS Code, Neovim and Emacs.
"""


@click.command(epilog=EPILOG)
@click.option("--arch", help="GPU of configurations that name none.")
@click.option("--ck", help="CK headers.")
@click.option("--profile", metavar="NAME", help="Rule set (default: legal).")
def command(arch: str | None, ck: str | None, profile: str | None) -> int:
    """Serve an editor: findings, hover, completion and quick fixes (Language Server Protocol)."""
    try:
        from ckrules.editor.server import server
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        raise UsageError("the language server needs pygls: pip install 'ckrules[editor]'") from None
    from ckrules.editor.answers import Line, line_about

    given = {"arch": arch, "ck": ck, "profile": profile}

    def checker() -> Checker:
        return Checker(SettingsResolver(given))

    def about(books: Books) -> Line:
        words = Glossary(books)
        return line_about(lambda word: words.find(word)[2].line)

    checker().context(".")  # faulty options are said at once
    # copies, since the server closes what it is given
    with os.fdopen(os.dup(0), "rb") as stdin, os.fdopen(os.dup(1), "wb") as stdout:
        server(checker, about).start_io(stdin, stdout)
    return 0
