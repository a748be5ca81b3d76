"""The ```console blocks of Markdown files: read, run, compared and, on request, written again.

A line that begins with ``$ ckrules`` is a command (a backslash at its end continues it); what
follows, up to the next command, is what a pipe gets to see of both streams. ``…`` stands for
anything: within a line for characters, alone on a line for lines. ``$ python`` is a command, too;
others are not run. Plain commands of ``ckrules`` run in this process, those that need a shell in
one. A block with ``title="NAME"`` is a file that the commands after it find in their folder. Each
command has a folder of its own, but on pages that are typed from top to bottom (`TYPED`): there a
second block of a name shows what commands made of the file.

    python tests/docs/consoles.py README.md    writes the outputs that are not true any more
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[2]
TYPED = ("README.md", "tutorial.md", "tutorial-generator.md", "tutorial-tuning.md")
_SHELL = re.compile(r"[$`*?~{}!]|\\")
_OPERATORS = frozenset("();<>|&")
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EITHER = re.compile(r'^```\w+ title="[^"]+"\n.*?^```$|^```console\n.*?^```$', re.M | re.S)
_FILE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Console:
    """One command of a document and the output that the document shows."""

    command: str
    shown: str
    line: int
    files: Mapping[str, str] = field(default_factory=dict)


def consoles(text: str) -> Iterator[Console]:
    """Every command of the ``console`` blocks."""
    for block in _BLOCK.finditer(text):
        start = text.count("\n", 0, block.start(1)) + 1
        files = {f[1]: f[2] for f in _FILE.finditer(text, 0, block.start())}
        lines = block[1].splitlines()
        at = 0
        while at < len(lines):
            first, command = at, lines[at]
            while command.endswith("\\"):
                at += 1
                command += "\n" + lines[at]
            at += 1
            output = at
            while at < len(lines) and not lines[at].startswith("$ "):
                at += 1
            shown = "".join(f"{line}\n" for line in lines[output:at])
            yield Console(command.removeprefix("$ "), shown, start + first, files)


def is_ours(console: Console) -> bool:
    """Whether the command is one of this package's."""
    return console.command.startswith(("ckrules ", "python "))


def plain(command: str) -> list[str] | None:
    """The words of a command of ``ckrules`` that needs nothing of a shell; None for another.

    >>> plain("ckrules count --where 'tile_m > 64' a.json#/0")
    ['count', '--where', 'tile_m > 64', 'a.json#/0']
    >>> plain("ckrules archs | head"), plain("ckrules check *.json"), plain("python a.py")
    (None, None, None)
    """
    line = command.replace("\\\n", " ")
    if _SHELL.search(line):
        return None
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    program, *words = lexer
    ours = program == "ckrules" and not any(_OPERATORS.issuperset(word) for word in words if word)
    return words if ours else None


def called(words: Sequence[str], folder: Path) -> str:
    """What a pipe gets from a command of ``ckrules`` in a folder, both streams together."""
    from ckrules.cli.group import cli

    pipe = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with (
        patch.dict(os.environ, _environment(), clear=True),
        chdir(folder), redirect_stdout(pipe), redirect_stderr(pipe), suppress(SystemExit),
    ):  # fmt: skip
        cli.main(list(words), prog_name="ckrules")
    pipe.seek(0)
    return pipe.read()


def _environment() -> dict[str, str]:
    """That of a terminal of 100 columns without settings of the package."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("CKRULES_")}
    return {**own, "COLUMNS": "100", "NO_COLOR": "1"}


class Shell:
    """A folder, and commands that are typed in it."""

    def __init__(self, folder: Path) -> None:
        self._programs, self.work = folder / "bin", folder / "work"
        self._programs.mkdir()
        self.work.mkdir()
        for name, words in {"ckrules": "-m ckrules ", "python": ""}.items():
            script = self._programs / name
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n', encoding="utf-8")
            script.chmod(0o755)

    def run(self, command: str) -> str:
        """What a pipe gets from the command, both streams together."""
        environment = {
            **_environment(),
            "PATH": f"{self._programs}:{os.environ['PATH']}",
            "PYTHONUNBUFFERED": "1",
            "PYTHONUTF8": "1",
        }
        done = subprocess.run(
            ["bash", "-c", command],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8",
            check=False, cwd=self.work, env=environment,
        )  # fmt: skip
        return done.stdout


def run(command: str, files: Mapping[str, str] | None = None) -> str:
    """What a command prints in a folder with these files."""
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(Path(folder))
        for name, text in (files or {}).items():
            (shell.work / name).write_text(text, encoding="utf-8")
        return _output(command, shell)


def _output(command: str, shell: Shell) -> str:
    words = plain(command)
    return shell.run(command) if words is None else called(words, shell.work)


def typed(text: str) -> Iterator[tuple[Console, str]]:
    """The commands of a page from top to bottom, each with what it prints in one folder.

    Raises:
        AssertionError: Where a file is not what the page says that commands made of it.
    """
    commands = {c.line: c for c in consoles(text)}
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(Path(folder))
        for block in _EITHER.finditer(text):
            if file := _FILE.fullmatch(block[0]):
                place = shell.work / file[1]
                if place.exists():
                    assert place.read_text(encoding="utf-8") == file[2], f"{file[1]} is otherwise"
                place.write_text(file[2], encoding="utf-8")
                continue
            start = text.count("\n", 0, block.start()) + 1
            for line in range(start, start + block[0].count("\n")):
                if (console := commands.get(line)) is not None and is_ours(console):
                    yield console, _output(console.command, shell)


def matches(shown: str, output: str) -> bool:
    """Whether the output is what the document shows, elisions apart.

    >>> matches("a…c\\n…\\nz\\n", "abbc\\nd\\ne\\nz\\n"), matches("a\\n", "b\\n")
    (True, False)
    """
    parts = []
    for line in shown.splitlines():
        if line.strip() == "…":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(".*".join(map(re.escape, line.rstrip().split("…"))) + r" *\n")
    return re.fullmatch("".join(parts), output) is not None


def _as_long(output: str, shown: str) -> str:
    """The output, cut where the document has cut it."""
    lines = shown.splitlines()
    if not lines or lines[-1] != "…":
        return output
    return "".join(output.splitlines(keepends=True)[: len(lines) - 1]) + "…\n"


def _apart(text: str) -> Iterator[tuple[Console, str]]:
    """The commands of a page, each with what it prints in a folder of its own."""
    ours = filter(is_ours, consoles(text))
    return ((console, run(console.command, console.files)) for console in ours)


def main(paths: list[str]) -> None:
    """Replaces each shown output that does not match."""
    for path in map(Path, paths):
        text = path.read_text(encoding="utf-8")
        for console, output in typed(text) if path.name in TYPED else _apart(text):
            if not matches(console.shown, output):
                print(f"{path}:{console.line}: {console.command}", file=sys.stderr)
                head = f"$ {console.command}\n"
                new = _as_long(output, console.shown)
                text = text.replace(head + console.shown, head + new, 1)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
