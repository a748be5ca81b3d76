"""Whether the kernels of configurations accept a convolution: ``ckrules check --problem``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ckrules.arch import load_all
from ckrules.constraints import problems
from ckrules.device.problem import Problem as Convolution
from ckrules.device.problem import format_problem
from ckrules.device.problem import parse as parse_problem
from ckrules.engine.variables import domain_of
from ckrules.judge import Judge

__all__ = ["Applicability", "Convolution", "parse_problem"]

if TYPE_CHECKING:
    from ckrules.engine.expr import Value
    from ckrules.engine.rules import Violation
    from ckrules.selection import Books


class Applicability:
    """Says which problem rules a configuration breaks with one problem.

    Args:
        problem: The problem, or its text: ``N=32,C=64,K=64,H=56,W=56,Y=3,X=3,pad=1``.
        books: CK version and GPUs.

    Raises:
        UsageError: For what is no problem, or a size that the rules do not know.

    >>> from ckrules.constraints import book
    >>> from ckrules.selection import Books
    >>> found = Applicability("N=32,C=63,K=64,H=56,W=56,Y=3,X=3", Books())
    >>> [v.code for v in found(book("forward").vocabulary.baseline)]
    ['PROB004', 'PROB005']
    """

    def __init__(self, problem: Convolution | str, books: Books) -> None:
        self.problem = parse_problem(problem) if isinstance(problem, str) else problem
        self._books = books
        self._values = problems.values(self.problem)
        for node in problems.fields():
            domain_of(node).accept(self._values[domain_of(node).name])
        self._judges: dict[str, Judge] = {}

    def __call__(self, point: Mapping[str, Value]) -> list[Violation]:
        """The problem rules that the configuration breaks, in the order of the codes."""
        variant = str(point["variant"])
        if variant not in self._judges:
            files = self._books.arch_files
            gpus = load_all(files) if files else None
            self._judges[variant] = Judge(problems.book(variant, ck=self._books.ck, gpus=gpus))
        return self._judges[variant]({**point, **self._values})

    @property
    def codes(self) -> set[str]:
        """The codes of every problem rule of the CK version."""
        return {r.code for b in problems.books(self._books.ck) for r in b.rules}

    def to_dict(self, violations: list[Violation]) -> dict[str, Any]:
        """The form of ``--verdicts``."""
        return {
            "problem": format_problem(self.problem),
            "accepted": not violations,
            "violations": [v.to_dict() for v in violations],
        }
