"""The ```console blocks of Markdown files: read, run, compared and, on request, written again.

A line that begins with ``$ ckrules`` is a command (a backslash at its end continues it); what
follows, up to the next command, is what a pipe gets to see of both streams. ``…`` stands for
anything: within a line for characters, alone on a line for lines. Other commands are not run.
A block with ``title="NAME"`` is a file that the commands after it find in their folder; each
command has a folder of its own.

    python tests/docs/consoles.py README.md    writes the outputs that are not true any more
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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
    return console.command.startswith("ckrules ")


def run(command: str, files: Mapping[str, str] | None = None) -> str:
    """What a pipe gets from the command, both streams together, from a folder with these files."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "bin" / "ckrules"
        script.parent.mkdir()
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ckrules "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        work = Path(folder) / "work"
        work.mkdir()
        for name, text in (files or {}).items():
            (work / name).write_text(text, encoding="utf-8")
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("CKRULES_")},
            "PATH": f"{script.parent}:{os.environ['PATH']}",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "PYTHONUNBUFFERED": "1",
            "PYTHONUTF8": "1",
        }
        done = subprocess.run(
            ["bash", "-c", command],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8",
            check=False, cwd=work, env=environment,
        )  # fmt: skip
    return done.stdout


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


def main(paths: list[str]) -> None:
    """Replaces each shown output that does not match."""
    for path in map(Path, paths):
        text = path.read_text(encoding="utf-8")
        for console in consoles(text):
            if is_ours(console) and not matches(
                console.shown, output := run(console.command, console.files)
            ):
                print(f"{path}:{console.line}: {console.command}", file=sys.stderr)
                head = f"$ {console.command}\n"
                new = _as_long(output, console.shown)
                text = text.replace(head + console.shown, head + new, 1)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
