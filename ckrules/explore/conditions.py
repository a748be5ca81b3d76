"""The line for a condition: what is wrong in it, and the words that may stand at the cursor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ckrules.engine.expr import BOOL, ENUM
from ckrules.engine.expr.variables import Role
from ckrules.engine.lang.reader import ExpressionError
from ckrules.engine.lang.where import parse_condition
from ckrules.explore.subject import Subject
from ckrules.support.tables import word

_MOST = 40
#: A field, a comparison and what has been typed of its value; in lists, of the last one.
_VALUE = re.compile(
    r"(?P<field>[A-Za-z_]\w*)\s*(?:==|!=|<=|>=|<|>|(?:not\s+)?in\s*[\[(](?:[^\])]*,)?)"
    r"\s*(?P<word>(?P<quote>['\"])?[\w.]*)$"
)
_WORD = re.compile(r"(?P<word>[A-Za-z_]\w*)?$")


@dataclass(frozen=True)
class ConditionProposal:
    """What may stand at the cursor: the text from ``start`` to ``end`` becomes ``text``."""

    text: str
    detail: str
    start: int
    end: int


@dataclass(frozen=True)
class ConditionFault:
    """What is wrong with a condition, and where: the column, counted from 1."""

    problem: str
    column: int
    text: str

    @property
    def before(self) -> str:
        """The text up to the place."""
        return self.text[: self.column - 1]

    @property
    def behind(self) -> str:
        """The text from the place on."""
        return self.text[self.column - 1 :]


def fault(subject: Subject, text: str) -> ConditionFault | None:
    """What is wrong with a condition over the fields and derived quantities; None: nothing."""
    try:
        if text.strip():
            parse_condition(text, subject.space.vocabulary)
    except ExpressionError as error:
        return ConditionFault(error.problem, min(error.column, len(text) + 1), text)
    return None


def example(subject: Subject) -> str:
    """A condition over fields and quantities that the kernels of a subject have."""
    free = {n: (d, v) for n, (d, v) in subject.domains.items() if len(v) > 1}
    free = free or dict(subject.domains)
    methods = [n for n, (d, _) in free.items() if d.role is Role.METHOD]
    sizes = [n for n, (d, _) in free.items() if d.role is Role.GEOMETRY and n not in methods]
    parts = []
    for name in [*methods[:1], *sizes[:1]] or [*free][:1]:
        domain, values = free[name]
        value = word(values[len(values) // 2])
        same = domain.sort == ENUM or domain.sort == BOOL
        shown = f"'{value}'" if domain.sort == ENUM else value
        parts.append(f"{name} {'==' if same else '>='} {shown}")
    if "lds_bytes" in subject.region.book.vocabulary.quantities:
        parts[1:] = ["lds_bytes <= 32768"]
    return " & ".join(parts)


def proposals(subject: Subject, text: str, cursor: int) -> list[ConditionProposal]:
    """The words that may stand at a place in a condition, those that begin like it first.

    After a comparison these are the values of the field before it, elsewhere names.

    Args:
        subject: Whose fields and quantities there are.
        text: The condition so far.
        cursor: How many characters of it are before the cursor.
    """
    before = text[:cursor]
    names = subject.space.vocabulary
    typed = _VALUE.search(before)
    if typed is not None and typed["field"] in subject.domains:
        rest = re.match(r"[\w.]*['\"]?" if typed["quote"] else r"[\w.]*", text[cursor:])
        end = cursor + (rest.end() if rest else 0)
        found = _values(subject, typed["field"])
        return _fitting(found, typed["word"].strip("'\""), typed.start("word"), end)
    plain = _WORD.search(before)
    if plain is None or not plain["word"]:
        return []
    rest = re.match(r"\w*", text[cursor:])
    end = cursor + (rest.end() if rest else 0)
    ordered = [*subject.domains, *(n for n in names if n not in subject.domains)]
    lines = {name: _line(name, names[name], subject) for name in ordered}
    return _fitting(lines, plain["word"], plain.start("word"), end)


def _values(subject: Subject, name: str) -> Mapping[str, str]:
    domain, values = subject.domains[name]
    counts = subject.whole.by[name]
    quoted = domain.sort == ENUM
    return {(f"'{word(v)}'" if quoted else word(v)): f"{counts[v]:,}" for v in values}


def _line(name: str, node: Any, subject: Subject) -> str:
    if name in subject.domains:
        return subject.domains[name][0].doc
    return getattr(node.data, "doc", "") or "derived"


def _fitting(lines: Mapping[str, str], typed: str, start: int, end: int) -> list[ConditionProposal]:
    def order() -> Iterator[str]:
        key = typed.lower()
        bare = {w: w.strip("'").lower() for w in lines}
        yield from (w for w in lines if bare[w].startswith(key))
        yield from (w for w in lines if key in bare[w] and not bare[w].startswith(key))

    found = list(order())[:_MOST]
    if [w.strip("'") for w in found] == [typed]:  # it stands there already
        return []
    return [ConditionProposal(w, lines[w], start, end) for w in found]
