"""What mkdocs needs besides docs/: pages of rules, commands, the library, and the tree's top.

A hook of mkdocs (mkdocs.yml), which calls its functions by their names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import click

import ckrules
from ckrules.cli.group import GROUPS, about_of, cli
from ckrules.output import rule_docs

ROOT = Path(__file__).resolve().parent.parent
#: Files at the top of the tree that become pages beside those of docs/.
TOP = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
#: What the reference has besides the names of `ckrules`: packages that programs import.
MODULES = {
    "Kernels": ("ckrules.kernels.books", "ckrules.kernels.selection", "ckrules.kernels.config",
                "ckrules.kernels.names"),
    "Predicted times": ("ckrules.ranking.best", "ckrules.ranking.ranker",
                        "ckrules.ranking.search"),
    "Pictures": ("ckrules.pictures.counting", "ckrules.pictures.sampled",
                 "ckrules.pictures.times", "ckrules.pictures.measured",
                 "ckrules.pictures.drawing", "ckrules.pictures.shapes"),
    "Kernels at run time": ("ckrules.runtime",),
    "Other tuners": ("ckrules.adapters.kernel_tuner", "ckrules.adapters.optuna_sampler"),
}  # fmt: skip
#: How much more a match in the page of a command counts in the site's search than another, and one
#: in the change log, which names everything.
FIRST, LAST = 50, 0.1
#: Pages that mention a command which its own page leads to.
_MENTIONS = 3
_OUTSIDE = re.compile(r"\]\(\.\./(" + "|".join(map(re.escape, TOP)) + r")(#[^)]*)?\)")
_DOCS = re.compile(r"\]\(docs/([^)]+)\)")


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that docs/ does not have."""
    from mkdocs.structure.files import File

    for name in TOP:
        text = (ROOT / name).read_text(encoding="utf-8")
        text = _DOCS.sub(r"](\1)", text)
        text = _found(LAST) + text if name == "CHANGELOG.md" else text
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, "api.md", content=reference()))
    for name, text in commands().items():
        files.append(File.generated(config, f"commands/{name}", content=text))
    for name, text in rule_docs.pages().items():
        if old := files.get_file_from_path(f"rules/{name}"):  # of an earlier `make docs`
            files.remove(old)
        files.append(File.generated(config, f"rules/{name}", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leads links to files at the top of the tree to their pages."""
    return _OUTSIDE.sub(r"](\1\2)", markdown)


def commands() -> dict[str, str]:
    """A page a command by its name, what its help says, and a list of all.

    >>> print("\\n".join(commands()["count.md"].splitlines()[4:11]))
    # ckrules count
    <BLANKLINE>
    Count configurations exactly, in all or by the values of fields.
    <BLANKLINE>
    ```text
    Usage: ckrules count [OPTIONS] [FILE]
    <BLANKLINE>
    """
    made: dict[str, str] = {}
    about: dict[str, dict[str, str]] = {}
    documents = {p: p.read_text(encoding="utf-8") for p in sorted((ROOT / "docs").glob("*.md"))}
    root = click.Context(cli, info_name="ckrules", **cli.context_settings)
    with root, mock.patch.dict(os.environ, COLUMNS="90"):
        for name in cli.list_commands(root):
            command = cli.get_command(root, name)
            assert command is not None
            with click.Context(command, info_name=name, parent=root) as context:
                text = command.get_help(context)
            group, first = about_of(name)
            about.setdefault(group, {})[name] = first
            made[_page(name)] = (
                f"{_found(FIRST)}# ckrules {name}\n\n{first}.\n\n```text\n{text}\n```\n"
                f"{_mentioned(name, documents)}"
            )
    lines = ["# Commands", "", "What `ckrules COMMAND --help` says.", ""]
    for group, title in GROUPS.items():
        lines += [f"## {title}", "", "| command | |", "|---|---|"]
        lines += [f"| [{n}]({_page(n)}) | {said} |" for n, said in about.get(group, {}).items()]
        lines += [""]
    return {"README.md": "\n".join(lines), **made}


def _page(command: str) -> str:
    return f"{command.replace(' ', '-')}.md"


def _found(boost: float) -> str:
    """The head of a page that the site's search puts so far up or down."""
    return f"---\nsearch:\n  boost: {boost}\n---\n"


def _mentioned(command: str, documents: Mapping[Path, str]) -> str:
    """Where to read more: the pages that use a command most."""
    used = re.compile(rf"ckrules {re.escape(command)}(?![\w-])|^#+ .*`{re.escape(command)}`", re.M)
    found = {p: len(used.findall(text)) for p, text in documents.items()}
    most = sorted((p for p, n in found.items() if n), key=lambda p: -found[p])[:_MENTIONS]
    links = [f"- [{documents[p].splitlines()[0].removeprefix('# ')}](../{p.name})" for p in most]
    return "\n".join(["", "Read more:", "", *links, ""]) if links else ""


def reference() -> str:
    """The page of the library: its names, then the modules that programs import.

    >>> "::: ckrules.engine.space.Space" in reference(), "heading: ckrules.Space" in reference()
    (True, True)
    """
    out = ["# The library", "", "`import ckrules` costs nothing: names are imported when used.", ""]
    out += ["## Names of `ckrules`", ""]
    for name in ckrules.__all__:
        if not name.startswith("__"):
            value = getattr(ckrules, name)
            home = getattr(value, "__module__", "ckrules")
            said = f"ckrules.{name}"
            out += [f"::: {home}.{getattr(value, '__name__', name)}", *_options(3, said)]
    for title, modules in MODULES.items():
        out += [f"## {title}", ""]
        for module in modules:
            out += [f"::: {module}", *_options(3)]
    return "\n".join(out) + "\n"


def _options(level: int, heading: str = "") -> list[str]:
    """The level of an object's heading, and its words where they are not the object's path."""
    said = [f"      heading: {heading}", f"      toc_label: {heading}"] if heading else []
    return ["    options:", f"      heading_level: {level}", *said, ""]
