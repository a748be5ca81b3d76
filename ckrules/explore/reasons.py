"""Why a value has no kernel under a choice, what gives it some, and the nearest legal kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ckrules.engine.expr import Value
from ckrules.engine.expr.variables import Role
from ckrules.explore.choice import FieldChoice
from ckrules.explore.solving import Solver, SolverAnswer, SolverQuestion
from ckrules.explore.subject import Subject
from ckrules.support.tables import word


@dataclass(frozen=True)
class Way:
    """A choice under which the value has kernels: what is given up, and how many there are."""

    given_up: str
    choice: FieldChoice
    count: int


@dataclass(frozen=True)
class Reason:
    """Why there is no kernel with a value of a field.

    ``count`` is how many there are after all, ``elsewhere`` how many where nothing else is chosen.
    """

    name: str
    value: Value
    count: int
    elsewhere: int
    ways: tuple[Way, ...]
    answer: SolverAnswer


def reason(
    subject: Subject, solver: Solver, choice: FieldChoice, name: str, value: Value
) -> Reason:
    """Why no kernel under a choice has a value of a field, and what is near.

    Raises:
        ExpressionError: If the choice's condition is none.
    """
    asked = choice.held(name, (value,))
    count = subject.counted(asked).total
    elsewhere = subject.counted(choice.cleared().held(name, (value,))).total
    start = _start(subject, choice, name, value) if elsewhere and not count else None
    purpose = [n for n, (domain, _) in subject.domains.items() if domain.role is Role.PURPOSE]
    keep = tuple(dict.fromkeys([name, *purpose, *subject.fixed]))
    question = SolverQuestion(asked.chosen, asked.where, not count, start, keep)
    answer = SolverAnswer() if count else solver.ask(question)
    ways = () if count else _ways(subject, choice, asked, name)
    return Reason(name, value, count, elsewhere, ways, answer)


def never(subject: Subject, solver: Solver, name: str, value: Value) -> str:
    """By which rules no kernel of the whole space has a value of a field, in a line."""
    if number := subject.counted(FieldChoice({name: (value,)})).total:
        return f"none: {number:,} have it"  # the solver takes a question's word for it
    answer = solver.ask(SolverQuestion({name: (value,)}, "", True, None, ()))
    if answer.excluding is None:
        return "; ".join(answer.undecided) or "not decided"
    rules = [f"{code}: {summary}" for code, summary, _ in answer.excluding.rules]
    return "\n".join(rules) or answer.excluding.sentence


def _ways(subject: Subject, choice: FieldChoice, asked: FieldChoice, name: str) -> tuple[Way, ...]:
    """Each part of the choice without which the value has kernels; all of it, if no part is."""
    tried = [
        (f"{n} = {' or '.join(map(word, values))}", asked.held(n, ()))
        for n, values in choice.chosen.items()
        if n != name
    ]
    if choice.where:
        tried.append((f"the condition {choice.where}", asked.asking("")))
    alone = choice.cleared().held(name, asked.chosen[name])
    for few in (tried, [("everything else", alone)] if len(tried) > 1 else []):
        if found := [Way(t, c, n) for t, c in few if (n := subject.counted(c).total)]:
            return tuple(found)
    return ()


def _start(
    subject: Subject, choice: FieldChoice, name: str, value: Value
) -> Mapping[str, Value] | None:
    """A kernel of the current set with the value put in; None where the space has no kernel."""
    for near in (choice, choice.asking(""), choice.cleared()):
        free = near.held(name, ())
        if not subject.exact(free):
            if drawn := subject.sample(free, 1, seed=1):
                return {**drawn[0], name: value}
        elif total := (space := subject.space_of(free)).count():
            return {**space[total // 2], name: value}
    return None
