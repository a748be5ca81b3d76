"""Books of problem applicability: which problems a kernel's argument check accepts.

A point is a configuration and a problem together; the rules are what ``IsSupportedArgument`` of the
kernels tests. What a problem is, its fields and its rules are the family's own (`Family.problems`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ckrules.arch import Gpu, load_all
from ckrules.engine.expr import Value
from ckrules.engine.expr.variables import Domain, domain_of
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels import library
from ckrules.kernels.families import families, family_of, gpus_of, problems_of
from ckrules.kernels.parts import Problems


def book(
    variant: str | None = None, *, ck: str = library.DEFAULT_CK, gpus: Sequence[Gpu] | None = None
) -> RuleBook:
    """The rules on problems for a variant's family.

    Raises:
        UnknownNameError: For an unknown variant or version, with near matches.
        UsageError: If the CK version does not have the family, or nothing is known of its problems.

    >>> "PROB004" in [r.code for r in book("forward").rules]
    True
    """
    library.book(variant, ck=ck, gpus=gpus)  # the same complaints
    problems_of(variant)
    return _book(family_of(variant).name, ck, tuple(load_all() if gpus is None else gpus))


@lru_cache(maxsize=64)  # every family and CK version
def _book(name: str, ck: str, gpus: tuple[Gpu, ...]) -> RuleBook:
    family = families()[name]
    problems = problems_of(family.variants[0])
    vocabulary = problems.vocabulary(ck, gpus_of(family, gpus))
    rules = [r.build(vocabulary) for r in problems.rules()]
    kept = [r for r in rules if r.valid_for(ck)]
    own = bool(family.targets) or gpus == load_all()  # whose names examples have
    return RuleBook(f"{name} problems", vocabulary, kept, check=own, sentences=False)


def books(ck: str) -> list[RuleBook]:
    """The problem book of each family that a CK version has."""
    return [
        book(family.variants[0], ck=ck)
        for family in families().values()
        if library.available(family, ck) and family.problems is not None
    ]


def accepted(problems: Problems, problem: Any) -> dict[str, Value]:
    """The fields of a problem, each within the range that rules know.

    Raises:
        UsageError: If one is not.

    >>> accepted(problems_of("forward"), problems_of("forward").parse("N=1,C=8,K=8,W=9,X=3"))["G"]
    1
    """
    values = problems.values(problem)
    for domain in _domains(problems):
        domain.accept(values[domain.name])
    return values


@lru_cache(maxsize=32)
def _domains(problems: Problems) -> tuple[Domain, ...]:
    return tuple(map(domain_of, problems.fields()))
