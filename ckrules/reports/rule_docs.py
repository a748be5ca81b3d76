"""The folder of rule pages: one Markdown page a rule and an index, made from the rule books."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ckrules import constraints
from ckrules.engine.book import RuleBook
from ckrules.engine.errors import CkrulesError
from ckrules.engine.rules import KINDS, Rule
from ckrules.reports.page import rule_page
from ckrules.selection import Books

INDEX = "README.md"
#: Pages of the folder that people write; they are neither made nor removed.
WRITTEN = frozenset({"not-modelled.md"})


def every_rule() -> dict[str, tuple[RuleBook, Rule]]:
    """Every rule of every version and profile by code, in the newest book that has it."""
    found: dict[str, tuple[RuleBook, Rule]] = {}
    for ck in constraints.CK_VERSIONS:
        for profile in constraints.PROFILES:
            books = Books(ck, profile)
            for book in books.every() + books.problems():
                found.update({r.code: (book, r) for r in book.rules})
    return dict(sorted(found.items()))


def solver_form(rule: Rule) -> str:
    """The rule as z3 states it, in SMT-LIB."""
    from ckrules.engine.backends.smt import Encoder, numbered_words

    with numbered_words() as words:
        text: str = Encoder().bool(rule.condition).sexpr()
    legend = [f"; {n} = {word}" for word, n in words.items()]
    return "\n".join([*legend, text])


def page(book: RuleBook, rule: Rule) -> str:
    """The page of a rule: what ``ckrules explain`` prints, and the form that z3 gets."""
    form = solver_form(rule)
    lines = form.split("\n")
    shown = "\n".join(lines[:60]) + (f"\n; … {len(lines) - 60} more lines" * (len(lines) > 60))
    return f"{rule_page(book, rule).rstrip()}\n\n## Form for z3\n\n```smt2\n{shown}\n```\n"


def index(rules: Mapping[str, tuple[RuleBook, Rule]]) -> str:
    """The index: a table per family."""
    out = [
        "# Rules",
        "",
        "Made by `ckrules docs`; do not edit. `ckrules explain CODE` prints the same pages.",
        "What the book leaves out is in [not-modelled.md](not-modelled.md).",
        "",
        "| kind | meaning |",
        "| --- | --- |",
        *(f"| {kind} | {text} |" for kind, text in KINDS.items()),
        "",
    ]
    for letters, title in constraints.FAMILIES.items():
        own = {c: r for c, (_, r) in rules.items() if r.family == letters}
        if own:
            out += [f"## {letters}: {title}", "", "| rule | name | kind | CK | legal points |"]
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


def pages() -> dict[str, str]:
    """Every made file of the folder by name."""
    rules = every_rule()
    made = {f"{code}.md": page(*found) for code, found in rules.items()}
    return {INDEX: index(rules), **made}


def stale(folder: Path, made: Mapping[str, str]) -> list[str]:
    """The files that differ from what would be made, are missing, or belong to no rule."""
    out = [n for n, text in made.items() if _read(folder / n) != text]
    return sorted({*out, *_orphans(folder, made)})


def write(folder: Path, made: Mapping[str, str]) -> list[str]:
    """Writes what changed, removes pages of rules that are gone, and names both.

    Raises:
        CkrulesError: If the folder cannot be written.
    """
    changed = stale(folder, made)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in changed:
            if name in made:
                temporary = folder / f".{name}.tmp"
                temporary.write_text(made[name], encoding="utf-8")
                temporary.replace(folder / name)
            else:
                (folder / name).unlink()
    except OSError as error:
        raise CkrulesError(f"{folder}: cannot write the pages: {error.strerror}") from None
    return changed


def _orphans(folder: Path, made: Iterable[str]) -> set[str]:
    there = {p.name for p in folder.glob("*.md")} if folder.is_dir() else set()
    return there - set(made) - WRITTEN


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None
