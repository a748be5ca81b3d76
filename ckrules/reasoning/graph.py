"""The constraint graph: fields and the rules that read them, its communities and its width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ckrules.engine.restrictions import book_of
from ckrules.engine.rewrite.clauses import clauses
from ckrules.engine.rules import Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.space import Space

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Degree:
    """A field, the rules that read it and the fields that it is tied to by them."""

    field: str
    rules: tuple[str, ...]
    neighbours: tuple[str, ...]


class ConstraintGraph:
    """Fields and rules of a book as a graph; a field and a rule are joined if the rule reads it.

    Args:
        book: The rules, or a space.
        rules: Some of its rules (default: all).

    >>> from ckrules.engine.rules.book import Vocabulary
    >>> from ckrules.engine.expr.variables import Int
    >>> words = Vocabulary([Int(n, [1, 2]) for n in "abcd"])
    >>> rules = [Rule("AA001", "a-b", "compile", words.a < words.b),
    ...          Rule("AA002", "b-c", "compile", words.b < words.c)]
    >>> graph = ConstraintGraph(RuleBook("toy", words, rules, check=False))
    >>> graph.edges
    (('AA001', 'a'), ('AA001', 'b'), ('AA002', 'b'), ('AA002', 'c'))
    >>> graph.elimination, graph.width
    (('d', 'a', 'b', 'c'), 1)
    >>> graph.entangled[0].field
    'b'
    """

    def __init__(self, book: RuleBook | Space, rules: Sequence[Rule] | None = None) -> None:
        book = self.book = book_of(book)
        self.rules = tuple(book.rules if rules is None else rules)
        self.fields = tuple(book.fields)
        self.edges: tuple[Edge, ...] = tuple(
            (r.code, n) for r in self.rules for n in self.fields if n in r.condition.support
        )

    @cached_property
    def _primal(self) -> Any:
        """Fields, joined if a clause reads both."""
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(self.fields)
        for r in self.rules:
            for clause in clauses(r.condition):
                near = [n for n in self.fields if n in clause.support]
                graph.add_edges_from((a, b) for k, a in enumerate(near) for b in near[k + 1 :])
        return graph

    @cached_property
    def bipartite(self) -> Any:
        """The networkx graph of fields and rules; nodes have a ``kind``."""
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(self.fields, kind="field")
        graph.add_nodes_from((r.code for r in self.rules), kind="rule")
        graph.add_edges_from(self.edges)
        return graph

    @cached_property
    def entangled(self) -> tuple[Degree, ...]:
        """The fields, those in most rules first."""
        out = []
        for name in self.fields:
            rules = tuple(code for code, n in self.edges if n == name)
            near = tuple(n for n in self.fields if self._primal.has_edge(name, n))
            out.append(Degree(name, rules, near))
        place = {n: k for k, n in enumerate(self.fields)}
        return tuple(sorted(out, key=lambda d: (-len(d.rules), -len(d.neighbours), place[d.field])))

    @cached_property
    def communities(self) -> tuple[tuple[str, ...], ...]:
        """Fields and rules that belong together (greedy modularity), largest first."""
        import networkx as nx

        if not self.edges:
            return tuple((n,) for n in self.fields)
        found = nx.community.greedy_modularity_communities(self.bipartite)
        place = {n: k for k, n in enumerate([*self.fields, *(r.code for r in self.rules)])}
        groups = [tuple(sorted(c, key=place.__getitem__)) for c in found]
        return tuple(sorted(groups, key=lambda c: (-len(c), place[c[0]])))

    @cached_property
    def _eliminated(self) -> tuple[tuple[str, ...], int]:
        """Min-fill order: the field whose removal ties the fewest new pairs of fields first."""
        near = {n: set(self._primal[n]) for n in self.fields}
        order: list[str] = []
        width = 0
        while near:
            best = min(near, key=lambda n: (_fill(near, n), len(near[n]), self.fields.index(n)))
            width = max(width, len(near[best]))
            tied = near.pop(best)
            for a in tied:
                near[a] |= tied - {a}
                near[a].discard(best)
            order.append(best)
        return tuple(order), width

    @property
    def elimination(self) -> tuple[str, ...]:
        """The fields in a good order of elimination."""
        return self._eliminated[0]

    @property
    def width(self) -> int:
        """The width of that order: an upper bound on the graph's treewidth."""
        return self._eliminated[1]

    def to_dict(self) -> dict[str, Any]:
        """The form of JSON outputs."""
        return {
            "fields": list(self.fields),
            "rules": [r.code for r in self.rules],
            "edges": [list(e) for e in self.edges],
            "communities": [list(c) for c in self.communities],
            "entangled": [
                {"field": d.field, "rules": list(d.rules), "neighbours": list(d.neighbours)}
                for d in self.entangled
            ],
            "elimination": list(self.elimination),
            "width": self.width,
        }


def _fill(near: dict[str, set[str]], name: str) -> int:
    tied = sorted(near[name])
    return sum(b not in near[a] for k, a in enumerate(tied) for b in tied[k + 1 :])
