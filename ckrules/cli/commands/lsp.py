"""Serve an editor: findings, help and completion in configurations while they are written."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckrules.cli.once import option
from ckrules.editor.greeting import greet
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.editor.texts import Editor
    from ckrules.kernels.books import Books

GROUP = "maintain"


@click.command()
@option("--arch", help="GPU of configurations that name none.")
@option("--ck", help="CK headers.")
@option("--profile", metavar="NAME", help="Rule set (default: legal).")
def command(arch: str | None, ck: str | None, profile: str | None) -> int:
    """Serve an editor: findings, hover, completion and quick fixes (Language Server Protocol)."""
    if any(find_spec(name) is None for name in ("pygls", "lsprotocol")):
        raise UsageError("the language server needs pygls: pip install 'ckrules[editor]'")
    given = {"arch": arch, "ck": ck, "profile": profile}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    # copies, since the server closes what it is given
    with os.fdopen(os.dup(0), "rb") as stdin, os.fdopen(os.dup(1), "wb") as stdout:
        read, write = greet(stdin, stdout)
        from ckrules.editor.server import server  # takes a second or two

        server(partial(_editor, given)).start_io(read, write)
    return 0


def _end(number: int, _: object) -> None:
    """Ends at once: a thread waits for standard input, and there is nothing to tidy up."""
    os._exit(128 + number)


def _editor(given: Mapping[str, str | None]) -> Editor:
    """What knows the texts; importing it takes longer than an editor's first question should."""
    from ckrules.checking.checker import Checker
    from ckrules.checking.settings import SettingsResolver
    from ckrules.cli.glossary import Glossary
    from ckrules.editor.answers import Line, line_about
    from ckrules.editor.texts import Editor

    def checker() -> Checker:
        return Checker(SettingsResolver(given))

    def about(books: Books) -> Line:
        words = Glossary(books)
        return line_about(lambda word: words.find(word)[2].line)

    checker().context(Path("."))  # faulty options are said before a text is opened
    return Editor(checker, about)
