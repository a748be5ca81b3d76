"""What one server shows: the kernels asked for at its start, and others that the page asks for.

Which kernels are meant (their variant or family, GPU, data type and CK release) is chosen on the
page as everything else is, and stands in its address; each such scope is a subject of its own.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ckrules import arch as gpu_facts
from ckrules.engine.expr.variables import domain_of
from ckrules.explore.choice import FieldChoice
from ckrules.explore.fastest import FastestSearches
from ckrules.explore.rows import Chip, FieldRow, at
from ckrules.explore.solving import Solver
from ckrules.explore.subject import Subject
from ckrules.kernels import library
from ckrules.kernels.families import families, family_of, named
from ckrules.support.errors import unknown
from ckrules.support.tables import word

SCOPE = ("family", "variant", "arch", "dtype", "ck")
"""What may be chosen of a subject itself, in the order of the page."""
_DOCS = {
    "family": "what the kernels compute",
    "variant": "what the kernels compute",
    "arch": "the GPU",
    "dtype": "the type of A and B",
    "ck": "the release of Composable Kernel whose rules count",
}
_KEPT = 6
GENERATED = "2025.11"
"""The release whose headers are public, of which every family has templates and pictures."""

Scope = Mapping[str, str]


@dataclass
class _Shown:
    subject: Subject
    solver: Solver


class Site:
    """The subjects of a server.

    Args:
        first: What it was started for.
        scope: The keys of `SCOPE` that the page may change, and what they are of ``first``.
        make: Makes the subject of another scope; None: there is only the first.

    >>> from ckrules.kernels.books import Books
    >>> from ckrules.kernels.selection import select
    >>> def made(scope):
    ...     given = {"variant": "forward_depthwise", "dtype": "fp16", "filter": 3, **scope}
    ...     return Subject(select(Books(), given), Books(), scope["arch"])
    >>> site = Site(made({"arch": "gfx942"}), {"arch": "gfx942"}, made)
    >>> site.read([("arch", "gfx90a"), ("filter", "3")])
    ({'arch': 'gfx90a'}, [('filter', '3')], [])
    >>> site.subject({"arch": "gfx90a"}).title, site.subject({}).title
    ('gfx90a', 'gfx942')
    >>> site.close()
    """

    def __init__(
        self,
        first: Subject,
        scope: Scope | None = None,
        make: Callable[[Scope], Subject] | None = None,
    ) -> None:
        self.scope: Scope = {k: v for k, v in (scope or {}).items() if make is not None}
        self.searches = FastestSearches()
        self._make = make
        self._lock = threading.Lock()
        self._first = _Shown(first, Solver(first.region))
        self._others: OrderedDict[tuple[tuple[str, str], ...], _Shown] = OrderedDict()

    def read(
        self, pairs: Iterable[tuple[str, str]]
    ) -> tuple[dict[str, str], list[tuple[str, str]], list[str]]:
        """The scope that a query asks for, where it is another, the rest, and what is wrong."""
        asked, rest, faults = dict[str, str](), list[tuple[str, str]](), list[str]()
        for key, text in pairs:
            if key not in self.scope:
                rest.append((key, text))
            elif text in (known := self._values(key, {**self.scope, **asked})):
                asked[key] = text
            else:
                faults.append(str(unknown(key, text[:80], known)))
        return {k: v for k, v in asked.items() if v != self.scope[k]}, rest, faults

    def subject(self, scope: Scope) -> Subject:
        """The subject of a scope."""
        return self._shown(scope).subject

    def solver(self, scope: Scope) -> Solver:
        """What answers why there is no kernel of a scope."""
        return self._shown(scope).solver

    def rows(self, choice: FieldChoice) -> list[FieldRow]:
        """A row for each part of the scope, with what may be chosen instead."""
        now = self._possible({**self.scope, **choice.scope})
        return [self._row(key, now, choice) for key in SCOPE if key in self.scope]

    def exchanged(self, scope: Scope) -> list[str]:
        """What of a scope is shown with another value, since the kernels lack the one asked for."""
        asked = {**self.scope, **scope}
        found = self._possible(asked) if scope else asked
        kernels = asked.get("variant") or asked.get("family", "these")
        return [
            f"There is no {key} {asked[key]} of {kernels} kernels: {found[key]} is shown."
            for key in asked if asked[key] != found[key]
        ]  # fmt: skip

    def generated(self, choice: FieldChoice) -> Scope | None:
        """The scope of the release whose kernels are generated; None where it is chosen."""
        now = {**self.scope, **choice.scope}
        if "ck" not in now or GENERATED not in self._values("ck", now) or now["ck"] == GENERATED:
            return None
        return {**choice.scope, "ck": GENERATED}

    def close(self) -> None:
        """Ends the processes and searches of all subjects."""
        self.searches.close()
        with self._lock:
            for shown in (self._first, *self._others.values()):
                shown.solver.close()

    def _shown(self, scope: Scope) -> _Shown:
        asked = {**self.scope, **scope}
        if asked == self.scope or self._make is None:
            return self._first
        key = tuple(sorted(asked.items()))
        with self._lock:
            if key not in self._others:
                subject = self._make(self._possible(asked))
                self._others[key] = _Shown(subject, Solver(subject.region))
            self._others.move_to_end(key)
            while len(self._others) > _KEPT:
                _, old = self._others.popitem(last=False)
                old.solver.close()
            return self._others[key]

    def _possible(self, asked: Scope) -> Scope:
        """A scope that there is: what the kernels do not know is exchanged for what they do."""
        found = dict(asked)
        for key in ("ck", "dtype"):
            if key in found and found[key] not in (known := self._values(key, found)):
                found[key] = next(iter(known), found[key])
        return found

    def _values(self, key: str, scope: Scope) -> Sequence[str]:
        """The values of a key of the scope, under the others."""
        books = self._first.subject.books
        if key == "family":
            return [f.name for f in families().values()]
        if key == "variant":
            return [v for f in families().values() for v in f.variants]
        if key == "arch":
            return books.archs
        family = named(scope["family"]) if "family" in scope else family_of(scope.get("variant"))
        if key == "ck":
            return [ck for ck in reversed(gpu_facts.CK_VERSIONS)
                    if library.available(family, ck, books.profile)]  # fmt: skip
        book = books.at(scope.get("ck", books.ck)).of(family.variants[0])
        return [word(v) for v in domain_of(book.fields["dtype"]).values]

    def _row(self, key: str, now: Scope, choice: FieldChoice) -> FieldRow:
        chips = {
            value: Chip(f"{key}-{value}", value, None, value == now[key],
                        at("/", choice.within({**choice.scope, key: value})))
            for value in self._values(key, now)
        }  # fmt: skip
        shown = family_of(now[key]).variants if key == "variant" else tuple(chips)
        first = tuple(chip for value, chip in chips.items() if value in shown)
        others = tuple(chip for value, chip in chips.items() if value not in shown)
        return FieldRow(key, _DOCS[key], first, (), None, others)
