"""How well rules are founded: what runs of ``ckrules certify`` have said of them.

A family keeps its evidence in ``evidence.toml`` beside its module, one table a run. A rule that has
changed since is told by a fingerprint of its condition, and the run no longer counts for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ckrules.arch import CK_VERSIONS
from ckrules.engine.expr.printer import to_text
from ckrules.engine.rules import Rule
from ckrules.kernels import library, problem_books
from ckrules.kernels.families import families
from ckrules.kernels.family import Family
from ckrules.support import folders, opening
from ckrules.support.errors import UsageError
from ckrules.support.toml_text import TomlTextError, parse

T = TypeVar("T")

FILE = "evidence.toml"
"""The file's name in a family's folder."""

COMPILER, BACKEND, NUMERICS, HARDWARE = "compiler", "back end", "numerics", "hardware"
METHODS = (COMPILER, BACKEND, NUMERICS, HARDWARE)
"""What rules are checked against: the compiler's front end, code objects, kernels run on the device
cpu, and kernels that upstream ran on hardware."""

_HEAD = """\
# Made by `ckrules certify … --record`, run by run; do not edit.
# A rule's line: confirmed, of these without another broken rule, refuted, its condition's print.
"""


@dataclass(frozen=True)
class RejectionTally:
    """How often a rule's rejections were confirmed, alone, and refuted."""

    confirmed: int = 0
    alone: int = 0
    refuted: int = 0

    def __add__(self, other: RejectionTally) -> RejectionTally:
        return RejectionTally(
            self.confirmed + other.confirmed,
            self.alone + other.alone,
            self.refuted + other.refuted,
        )

    def __bool__(self) -> bool:
        return bool(self.confirmed or self.refuted)


@dataclass(frozen=True)
class CertifyRun:
    """One run of ``ckrules certify`` as it is kept."""

    method: str
    arch: str
    ck: str
    tool: str
    """The compiler's version."""
    drawn: str
    """What was asked for: number, conditions, seed, manner of the runs."""
    agreed: int = 0
    """Configurations that no rule rejects and that passed."""
    differed: int = 0
    """Configurations that no rule rejects and that did not."""
    rules: Mapping[str, tuple[RejectionTally, str]] = field(default_factory=dict)
    """By code: the tally, and the fingerprint of the condition."""
    tree: str = ""
    """`ckrules.kernels.trees.CkTree.name` of the headers, where they are not a version's own."""
    family: str = ""
    """The family, where the file is not one's own."""

    @property
    def headers(self) -> str:
        """What the run is about: a tree, else the version."""
        return self.tree or self.ck

    @property
    def identity(self) -> tuple[str, ...]:
        """What a later run replaces."""
        return self.method, self.arch, self.ck, self.tool, self.drawn, self.tree, self.family


class Ground(NamedTuple):
    """What a tally is about: the C++ of a family in some headers, a GPU, a method, a condition."""

    family: str
    ck: str
    """The headers: a CK release, or the name of a tree."""
    arch: str
    method: str
    condition: str
    """The fingerprint of the rule's condition."""


Tallies = Mapping[Ground, RejectionTally]


def fingerprint(rule: Rule) -> str:
    """A short hash of a rule's condition; derived quantities count by their names.

    >>> from ckrules.constraints import book
    >>> len(fingerprint(book("forward")["TILE001"]))
    8
    """
    text = f"{to_text(rule.applies)} -> {to_text(rule.expr)}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@cache
def evidence() -> Mapping[str, Tallies]:
    """What the files of all families say, by code of a rule; codes without any are left out."""
    tallies: dict[str, dict[Ground, RejectionTally]] = {}
    for family, run in _runs():
        known = conditions(family, run.ck)
        for code, (tally, condition) in run.rules.items():
            if tally and known.get(code) == condition:
                key = Ground(family, run.headers, run.arch, run.method, condition)
                own = tallies.setdefault(code, {})
                own[key] = own.get(key, RejectionTally()) + tally
    return tallies


def _runs() -> Iterator[tuple[str, CertifyRun]]:
    """Every run with its family: those of the package, then the user's own."""
    for family in families().values():
        for run in read(place(family)):
            yield family.name, run
    for path in sorted(own_folder().glob("*.toml")):
        for run in read(path):
            if run.family in families() and run.ck in CK_VERSIONS:
                yield run.family, run


def own_folder() -> Path:
    """Where the evidence of the user's trees is, a file a tree."""
    return folders.data() / "evidence"


def own_place(tree: str) -> Path:
    """The file of a tree's evidence, by the tree's name."""
    return own_folder() / f"{tree.replace(' ', '-')}.toml"


def of(code: str) -> Tallies:
    """What is known about a rule."""
    return evidence().get(code, {})


@cache
def kernels_run(family: str) -> Mapping[tuple[str, str], tuple[int, int]]:
    """How many legal kernels of a family were run, and how many of these computed wrong.

    By headers (a CK version, or a tree) and GPU; what was run twice, in other orders or on other
    problems, counts twice.
    """
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for name, run in _runs():
        if name == family and run.method == NUMERICS and run.agreed + run.differed:
            total, wrong = found.get((run.headers, run.arch), (0, 0))
            found[run.headers, run.arch] = (total + run.agreed + run.differed, wrong + run.differed)
    return found


def place(family: Family) -> Path:
    """Where a family's evidence is, if it has any."""
    return family.folder() / FILE


@lru_cache(maxsize=64)
def conditions(name: str, ck: str) -> Mapping[str, str]:
    """The fingerprints of a family's rules in a CK version, by code."""
    return {r.code: fingerprint(r) for r in rules_of(families()[name], ck)}


def rules_of(family: Family, ck: str) -> list[Rule]:
    """The rules of a family for a CK version, those on problems among them."""
    if not library.available(family, ck):
        return []
    books = [library.book(family.variants[0], ck=ck)]
    if family.problems is not None:
        books.append(problem_books.book(family.variants[0], ck=ck))
    return [r for book in books for r in book.rules]


# The file


def read(path: Path) -> list[CertifyRun]:
    """The runs of a file; none if there is no file.

    Raises:
        UsageError: If it is not such a file.
    """
    return entries(path, "run", _run, "a file that ckrules certify --record wrote")


def entries(path: Path, name: str, made: Callable[[Mapping[str, Any]], T], what: str) -> list[T]:
    """What is made of each table of an array in a family's file; none if there is no file.

    Args:
        path: The file, in TOML.
        name: The array's.
        made: Raises KeyError, TypeError, ValueError or AttributeError for a table of another form.
        what: What the file should be, for the message.

    Raises:
        UsageError: If it cannot be read or is not such a file.

    >>> entries(Path("nowhere.toml"), "run", dict, "a file of runs")
    []
    """
    try:
        text = opening.read(path).decode()
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    try:
        found = parse(text)
        without = text.strip() in ("", _HEAD.strip())
        if not without and [*found] != [name]:  # somebody else's: it would be replaced
            raise ValueError(f"expected [[{name}]] and nothing else")
        return [made(table) for table in found.get(name, [])]
    except TomlTextError as error:
        raise UsageError(f"{path}:{error.line}:{error.column}: {error.what}") from None
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"{path}: not {what}: {error}") from None


_MAYBE = ("tree", "family")


def _run(table: Mapping[str, Any]) -> CertifyRun:
    words = {name: str(table[name]) for name in ("method", "arch", "ck", "tool", "drawn")}
    rules = {}
    for code, (confirmed, alone, refuted, known) in table["rules"].items():
        rules[str(code)] = (RejectionTally(int(confirmed), int(alone), int(refuted)), str(known))
    words |= {name: str(table[name]) for name in _MAYBE if name in table}
    return CertifyRun(
        **words, agreed=int(table["agreed"]), differed=int(table["differed"]), rules=rules
    )


def merged(before: Iterable[CertifyRun], new: CertifyRun) -> list[CertifyRun]:
    """The runs with a new one, which takes the place of one of the same identity."""
    kept = [r for r in before if r.identity != new.identity]
    return sorted([*kept, new], key=lambda r: r.identity)


def text(runs: Sequence[CertifyRun]) -> str:
    """The content of a file.

    >>> run = CertifyRun("compiler", "gfx942", "2025.11", "clang 19", "n=1", 1, 0,
    ...                  {"TILE001": (RejectionTally(2, 1, 0), "0123abcd")})
    >>> print(text([run]).splitlines()[-1])
    TILE001 = [2, 1, 0, "0123abcd"]
    """
    parts = [_HEAD]
    for run in runs:
        lines = ["[[run]]"]
        for name in ("method", "arch", "ck", "tool", "drawn"):
            lines.append(f"{name} = {_quoted(getattr(run, name))}")
        lines += [f"{n} = {_quoted(value)}" for n in _MAYBE if (value := getattr(run, n))]
        lines += [f"agreed = {run.agreed}", f"differed = {run.differed}", "[run.rules]"]
        for code, (t, known) in sorted(run.rules.items()):
            if t:
                lines.append(f'{code} = [{t.confirmed}, {t.alone}, {t.refuted}, "{known}"]')
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _quoted(value: str) -> str:
    plain = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else " " for c in plain) + '"'
