"""What the rule book says of a kernel on a problem, to be held against the kernel's own answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ckrules.support.errors import CkrulesError

if TYPE_CHECKING:
    from ckrules.compiling.folder import ManifestEntry
    from ckrules.engine.rules.batch import BatchChecker
    from ckrules.kernels.parts import Problem


@dataclass(frozen=True, slots=True)
class Prediction:
    """Whether a kernel takes a problem, and the codes of the rules that say it does not."""

    supported: bool
    codes: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    """The rules that say that it takes the problem and computes something else."""


def predict(kernel: ManifestEntry, problem: Problem) -> Prediction | None:
    """The prediction; None where the rules do not know the variant or such a size."""
    from ckrules.kernels.families import family_of

    try:
        variant = str(kernel.config["variant"])
        # Fields that a folder of an earlier version lacks had their defaults.
        usual = family_of(variant).defaults(variant, kernel.config.get("ndim"))
        config = {**usual, **kernel.config}
        broken = _judge(variant, kernel.ck)({**config, **_values(variant, problem)})
    except CkrulesError:
        return None
    errors = [v for v in broken if v.rule.severity == "error"]
    codes = tuple(v.code for v in errors if v.kind != "wrong-result")
    return Prediction(not codes, codes, tuple(v.code for v in errors if v.kind == "wrong-result"))


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
