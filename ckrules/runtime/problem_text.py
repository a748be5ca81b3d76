"""What is asked of a dispatcher: a problem in any form, and values of kernels' fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ckrules.kernels import problem_files
from ckrules.kernels.families import plain_variant, variants
from ckrules.support.errors import CkrulesError, UsageError

if TYPE_CHECKING:
    from ckrules.kernels.parts import Problem
    from ckrules.runtime.built import BuiltKernel


def asked_for(
    problem: Any, variant: str | None, wanted: Mapping[str, Any], kernels: Sequence[BuiltKernel]
) -> tuple[Problem, dict[str, Any]]:
    """The problem, and the values that fields must have.

    Args:
        problem: A problem, or its text or mapping as one of the families has it.
        variant: What is computed; None: whatever the kernels compute.
        wanted: Values of further fields.
        kernels: Whose families may read the problem; every family, where there are none.

    Raises:
        UsageError: For what is not a problem.

    >>> problem, fields = asked_for("M=8,N=16,K=32", "standard", {"dtype": "fp16"}, ())
    >>> problem.n, fields
    (16, {'dtype': 'fp16', 'variant': 'standard'})
    """
    fields = dict(wanted)
    if variant is not None:
        if not isinstance(variant, str):
            raise UsageError(f"variant = {variant!r}: expected a word such as 'forward'")
        fields["variant"] = plain_variant(variant)
    if not isinstance(problem, (str, Mapping)):
        if not hasattr(problem, "flops"):
            raise UsageError(f"problem = {problem!r}: expected a problem, or its text or mapping")
        return problem, fields
    own = [fields["variant"]] if variant else [k.variant for k in kernels]
    kinds = problem_files.kinds(own or variants())
    if isinstance(problem, str):
        found: Problem = problem_files.parse(problem, kinds)[0]
        return found, fields
    faults = []
    for kind in kinds:
        try:
            return kind.from_mapping(problem), fields
        except CkrulesError as error:
            faults.append(f"{kind.name}: {error}" if len(kinds) > 1 else str(error))
    raise UsageError("; ".join(faults))
