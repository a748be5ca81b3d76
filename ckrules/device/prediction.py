"""What the rule book says of a kernel on a problem, to be held against the kernel's own answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ckrules.engine.errors import CkrulesError

if TYPE_CHECKING:
    from ckrules.build.folder import Listed
    from ckrules.device.problem import Problem
    from ckrules.judge import Judge


@dataclass(frozen=True, slots=True)
class Prediction:
    """Whether a kernel takes a problem, and the codes of the rules that say it does not."""

    supported: bool
    codes: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    """The rules that say that it takes the problem and computes something else."""


def predict(kernel: Listed, problem: Problem) -> Prediction | None:
    """The prediction; None where the rules do not know the release, the GPU or such a size."""
    try:
        judge = _judge(str(kernel.config["variant"]), kernel.ck)
        broken = judge({**kernel.config, **_values(problem)})
    except CkrulesError:
        return None
    errors = [v for v in broken if v.rule.severity == "error"]
    codes = tuple(v.code for v in errors if v.kind != "wrong-result")
    return Prediction(not codes, codes, tuple(v.code for v in errors if v.kind == "wrong-result"))


@lru_cache(maxsize=1024)
def _values(problem: Problem) -> Mapping[str, Any]:
    """The problem's fields.

    Raises:
        UsageError: If one is outside of its range.
    """
    from ckrules.constraints import problems
    from ckrules.engine.variables import domain_of

    found = problems.values(problem)
    for node in problems.fields():
        domain = domain_of(node)
        domain.accept(found[domain.name])
    return found


@lru_cache(maxsize=8)
def _judge(variant: str, ck: str) -> Judge:
    from ckrules.constraints import problems
    from ckrules.judge import Judge

    return Judge(problems.book(variant, ck=ck))
