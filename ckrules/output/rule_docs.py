"""The folder of rule pages: a Markdown page a rule, one of fields, and an index.

The repository does not hold them: the site has them (scripts/site_pages.py), and `make docs` or
`ckrules docs` writes them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from ckrules.arch import CK_VERSIONS
from ckrules.engine.rules import KINDS, Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels import library
from ckrules.kernels.books import Books
from ckrules.output.field_docs import PAGE, fields_page
from ckrules.output.rule_page import rule_page
from ckrules.support import files
from ckrules.support.errors import CkrulesError

INDEX = "README.md"
_HEAD = "# Rules\n\n`ckrules explain CODE` prints the same pages."
_ROW = re.compile(r"^\| \[(\w+)\]\(\1\.md\) \|", re.MULTILINE)


def every_rule() -> dict[str, tuple[RuleBook, Rule]]:
    """Every rule of every version and profile by code, in the newest and plainest book of it.

    A rule that families share is that of the first.
    """
    found: dict[str, tuple[RuleBook, Rule]] = {}
    for ck in CK_VERSIONS:
        for profile in reversed(list(library.profiles())):  # legal last: it wins
            books = Books(ck, profile)
            for book in reversed(books.every() + books.problems()):
                found.update({r.code: (book, r) for r in book.rules})
    return dict(sorted(found.items()))


def index(rules: Mapping[str, tuple[RuleBook, Rule]]) -> str:
    """The index: a table per family."""
    out = [
        (
            f"{_HEAD} What the book leaves out is in "
            "[not-modelled.md](../not-modelled.md), what fields and quantities are in "
            "[fields.md](fields.md)."
        ),
        "",
        "| kind | meaning |",
        "| --- | --- |",
        *(f"| {kind} | {text} |" for kind, text in KINDS.items()),
        "",
    ]
    for letters, title in library.topics().items():
        own = {c: r for c, (_, r) in rules.items() if r.topic == letters}
        if own:
            out += [
                f"## {letters}: {title}",
                "",
                "| rule | name | kind | CK | every configuration meets |",
            ]
            out += ["| --- | --- | --- | --- | --- |"]
            out += [
                f"| [{c}]({c}.md) | {r.name} | {r.kind} | {_versions(r)} | {r.summary} |"
                for c, r in own.items()
            ]
            out += [""]
    return "\n".join(out)


def _versions(rule: Rule) -> str:
    since = "" if rule.since == "0" else f"since {rule.since}"
    until = "" if rule.until is None else f"until {rule.until}"
    return " ".join(filter(None, (since, until))) or "all"


def pages(
    rules: Mapping[str, tuple[RuleBook, Rule]] | None = None,
    told: Callable[[int], None] = lambda _: None,
) -> dict[str, str]:
    """Every made file of the folder by name; ``told`` hears of each rule's."""
    rules = every_rule() if rules is None else rules
    made = {}
    for code, found in rules.items():
        made[f"{code}.md"] = rule_page(*found)
        told(1)
    return {INDEX: index(rules), PAGE: fields_page(Books().every()), **made}


def stale(folder: Path, made: Mapping[str, str]) -> list[str]:
    """The files that differ from what would be made or are missing, and pages of rules gone."""
    out = [n for n, text in made.items() if _read(folder / n) != text]
    gone = _written(folder) - set(made)
    return sorted({*out, *(n for n in gone if (folder / n).is_file())})


def write(folder: Path, made: Mapping[str, str]) -> list[str]:
    """Writes what changed, removes pages of rules that are gone, and names both.

    Raises:
        CkrulesError: If the folder cannot be written, or has a file of a page's name that the
            index there does not list; then nothing is written.
    """
    changed = stale(folder, made)
    for name in sorted({*changed} - _written(folder)):
        if os.path.lexists(folder / name):
            text = "`ckrules docs` did not write it: move it away, or choose another folder"
            raise CkrulesError(f"{folder / name}: {text}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # The index first: it says which pages are ours, even where the run is interrupted.
        for name in sorted(changed, key=lambda n: (n in made, n != INDEX)):
            if name in made:
                files.replace(folder / name, made[name])
            else:
                (folder / name).unlink()
    except OSError as error:
        raise CkrulesError(f"{folder}: cannot write the pages: {error.strerror}") from None
    return changed


def _written(folder: Path) -> set[str]:
    """The names of the pages that an earlier run wrote: those that its index lists."""
    text = _read(folder / INDEX) or ""
    if not text.startswith(_HEAD):
        return set()
    return {INDEX, PAGE, *(f"{code}.md" for code in _ROW.findall(text))}


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
