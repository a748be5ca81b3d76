"""What the rule book says of a kernel on a problem, to be compared with the kernel's own answer."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ckrules.support.errors import CkrulesError

if TYPE_CHECKING:
    from ckrules.compiling.folder import ManifestEntry
    from ckrules.engine.expr import BoolExpr
    from ckrules.engine.rules.batch import BatchChecker
    from ckrules.kernels.parts import Problem


@dataclass(frozen=True, slots=True)
class SupportPrediction:
    """Whether a kernel takes a problem, and the codes of the rules that say it does not."""

    supported: bool
    codes: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    """The rules that say that it takes the problem and computes something else."""


def predict(kernel: ManifestEntry, problem: Problem) -> SupportPrediction | None:
    """The prediction; None where the rules do not know the variant or such a size."""
    try:
        variant = str(kernel.config["variant"])
        broken = _judge(variant, kernel.ck)({**_config(kernel), **_values(variant, problem)})
    except CkrulesError:
        return None
    errors = [v for v in broken if v.rule.severity == "error"]
    codes = tuple(v.code for v in errors if v.kind != "wrong-result")
    return SupportPrediction(
        not codes, codes, tuple(v.code for v in errors if v.kind == "wrong-result")
    )


class WrongSums:
    """The rules by which one kernel takes problems and computes something else.

    What of their conditions the kernel alone decides is decided once.
    """

    def __init__(self, kernel: ManifestEntry) -> None:
        from ckrules.engine.codec import completed
        from ckrules.engine.evaluate.compiled import compile_function
        from ckrules.engine.expr import TRUE
        from ckrules.engine.expr.variables import domain_of
        from ckrules.engine.rewrite.simplify import Simplifier
        from ckrules.kernels import problem_books
        from ckrules.kernels.families import problems_of

        self._variant = str(kernel.config["variant"])
        left: list[tuple[str, BoolExpr]] = []
        with suppress(CkrulesError):  # the rules do not know the release, or such fields
            book = problem_books.book(self._variant, ck=kernel.ck)
            sizes = dict.fromkeys(domain_of(f).name for f in problems_of(self._variant).fields())
            whole = completed({**_config(kernel), **sizes}, book.fields)
            simple = Simplifier({n: v for n, v in whole.items() if n not in sizes})
            rules = [r for r in book.rules if r.kind == "wrong-result" and r.severity == "error"]
            left = [(r.code, simple.condition(r.condition)) for r in rules]
        left = [(code, condition) for code, condition in left if condition is not TRUE]
        self._codes = tuple(code for code, _ in left)
        self._holds = compile_function([condition for _, condition in left])

    def __call__(self, problem: Problem) -> tuple[str, ...]:
        """The codes of the rules that say so of a problem."""
        if not self._codes:
            return ()
        try:
            holds = self._holds(_values(self._variant, problem))
        except CkrulesError:  # they do not know such a size
            return ()
        return tuple(code for code, right in zip(self._codes, holds, strict=True) if not right)


def _config(kernel: ManifestEntry) -> dict[str, Any]:
    """A kernel's configuration, where fields that an earlier version lacked had their defaults."""
    from ckrules.kernels.families import family_of

    variant = str(kernel.config["variant"])
    return {**family_of(variant).defaults(variant, kernel.config.get("ndim")), **kernel.config}


@lru_cache(maxsize=1024)
def _values(variant: str, problem: Problem) -> Mapping[str, Any]:
    """The problem's fields."""
    from ckrules.kernels.families import problems_of
    from ckrules.kernels.problem_books import accepted

    return accepted(problems_of(variant), problem)


@lru_cache(maxsize=8)
def _judge(variant: str, ck: str) -> BatchChecker:
    from ckrules.engine.rules.batch import BatchChecker
    from ckrules.kernels import problem_books

    return BatchChecker(problem_books.book(variant, ck=ck))
