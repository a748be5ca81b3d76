"""Whether the kernels of configurations accept a problem: ``ckrules check --problem``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ckrules.engine.rules import Severity
from ckrules.engine.rules.batch import BatchChecker
from ckrules.kernels import problem_books, problem_files
from ckrules.kernels.families import family_of, problems_of
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.engine.expr import Value
    from ckrules.engine.rules import Violation
    from ckrules.kernels.books import Books


class Applicability:
    """Says which problem rules a configuration breaks with one problem.

    Args:
        text: The problem, such as ``N=32,C=64,K=64,H=56,W=56,Y=3,X=3,pad=1``.

    Raises:
        UsageError: For what is not a problem of any kernel, or a size that the rules do not know.

    >>> from ckrules.constraints import book
    >>> from ckrules.kernels.books import Books
    >>> found = Applicability("N=32,C=63,K=64,H=56,W=56,Y=3,X=3", Books())
    >>> [v.code for v in found(book("forward").vocabulary.baseline)]
    ['PROB004', 'PROB005']
    """

    def __init__(self, text: str, books: Books) -> None:
        self._books = books
        families = (f for f in books.families if f.problems is not None)
        kinds = problem_files.kinds(f.variants[0] for f in families)
        self._problems = problem_files.by_kind(text, kinds)
        known = {kind.name: kind for kind in kinds}
        self._values = {
            name: problem_books.accepted(known[name], problem)
            for name, problem in self._problems.items()
        }
        self._checkers: dict[str, BatchChecker] = {}

    def __call__(self, point: Mapping[str, Value]) -> list[Violation] | None:
        """The problem rules that the configuration breaks, in the order of the codes.

        None if its kernel computes another kind of problem.
        """
        variant = str(point["variant"])
        own = family_of(variant).problems
        values = self._values.get(own.name) if own is not None else None
        if values is None:
            return None
        if variant not in self._checkers:
            book = problem_books.book(variant, ck=self._books.ck, gpus=self._books.gpus)
            self._checkers[variant] = BatchChecker(book)
        return self._checkers[variant]({**point, **values})

    def concerns(self, variant: str) -> bool:
        """Whether kernels of a variant compute such problems."""
        own = family_of(variant).problems
        return own is not None and own.name in self._values

    @property
    def codes(self) -> set[str]:
        """The codes of every problem rule of the CK version."""
        return {r.code for b in problem_books.books(self._books.ck) for r in b.rules}

    def to_dict(self, variant: str, violations: list[Violation]) -> dict[str, Any]:
        """The form of ``--verdicts``."""
        return {
            "problem": str(self._problems[problems_of(variant).name]),
            "accepted": not violations,
            "violations": [v.to_dict() for v in violations],
        }


class OwnProblems:
    """Says which problem rules kernels break with sizes of their own, as rows of tables have them.

    >>> from ckrules.constraints import book
    >>> from ckrules.kernels.books import Books
    >>> found = OwnProblems(Books())
    >>> point = book("flatmm").vocabulary.baseline
    >>> said = found(point, {"M": 8, "N": 192, "K": 512})
    >>> str(said[0]), [v.code for v in said[1]]
    ('M=8,N=192,K=512', ['SPROB004'])
    """

    def __init__(self, books: Books) -> None:
        self._books = books
        self._checkers: dict[str, BatchChecker] = {}

    def __call__(
        self, point: Mapping[str, Value], sizes: Mapping[str, int]
    ) -> tuple[Any, list[Violation]] | None:
        """The problem, and the rules of severity error that kernel and problem break.

        None for kernels without such rules, and for sizes that do not make a problem of theirs.
        """
        variant = str(point["variant"])
        own = family_of(variant).problems
        if own is None:
            return None
        try:
            problem = own.from_mapping(sizes)
            values = problem_books.accepted(own, problem)
        except UsageError:
            return None
        if variant not in self._checkers:
            book = problem_books.book(variant, ck=self._books.ck, gpus=self._books.gpus)
            self._checkers[variant] = BatchChecker(book)
        broken = self._checkers[variant]({**point, **values})
        return problem, [v for v in broken if v.rule.severity == Severity.ERROR]
