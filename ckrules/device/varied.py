"""Random problems of a kernel: its built-in ones crossed with each other, some sizes changed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from ckrules.device import problem_set
from ckrules.device.prediction import predict
from ckrules.kernels.families import problems_of
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.compiling.manifest import ManifestEntry
    from ckrules.kernels.parts import Problem, Problems

#: Problems that are made for each one that is kept, at most: most break a rule, or are nonsense.
_TRIES = 60
#: How often a field is the second problem's, and how often a size is changed: some kernels take
#: few other sizes, so that of some problems little is.
_CROSSED, _CHANGED = (0.0, 0.4), (0.06, 0.12, 0.25)
#: Of as many problems one may be refused by the rules.
_REFUSED = 8


def varied(kernel: ManifestEntry, count: int, seed: int) -> list[Problem]:
    """Random problems of the kernel, none of them built in and none more work than those are.

    By the rules the kernel takes nearly all of them; the others say whether it refuses what it
    should. None is foretold to come out wrong: by how much, random sizes do not say. Fewer where
    not so many are found; none where problems are of another kind than dataclasses.

    Args:
        seed: The same seed gives the same problems.

    Raises:
        UsageError: If the manifest's configuration is none of its variant.
    """
    dice = random.Random(f"{seed} {kernel.name} {kernel.arch}")
    made = _problems(kernel, count * _TRIES, dice)
    spare = -(-count // _REFUSED)
    found: list[Problem] = []
    for problem, taken in made:
        spare -= not taken
        if taken or spare >= 0:
            found.append(problem)
        if len(found) == count:
            break
    return found


def _problems(
    kernel: ManifestEntry, tries: int, dice: random.Random
) -> Iterator[tuple[Problem, bool]]:
    """Problems that no rule foretells to come out wrong, and whether the kernel takes each."""
    own = problems_of(str(kernel.config["variant"]))
    parents = [p for p in problem_set.smoke(kernel) if problem_set.fits(kernel, p)]
    if not parents or not is_dataclass(parents[0]):
        return
    most = max(p.flops for p in parents)
    seen = set(parents)
    for _ in range(tries):
        problem = _child(dice.choice(parents), dice.choice(parents), own, dice)
        if problem is None or problem in seen or problem.flops > most:
            continue
        seen.add(problem)
        said = predict(kernel, problem) if problem_set.fits(kernel, problem) else None
        if said is not None and not (said.supported and said.wrong):
            yield problem, said.supported


def _child(one: Any, other: Any, own: Problems, dice: random.Random) -> Problem | None:
    """A problem with fields of both; None where they make none together."""
    crossed, rate = dice.choice(_CROSSED), dice.choice(_CHANGED)
    made: Mapping[str, Any] = {
        f.name: _changed(getattr(other if dice.random() < crossed else one, f.name), rate, dice)
        for f in fields(one)
        if f.init
    }
    try:
        problem: Problem = own.parse(str(type(one)(**made)))
    except UsageError:
        return None
    return problem


def _changed(value: Any, rate: float, dice: random.Random) -> Any:
    """The value, or another size: 0 and what is less stand for something, and words stay."""
    if isinstance(value, tuple):
        return tuple(_changed(part, rate, dice) for part in value)
    if type(value) is not int or value < 1 or dice.random() >= rate:
        return value
    return dice.choice(_others(value, dice))


def _others(value: int, dice: random.Random) -> Sequence[int]:
    """Sizes near one, multiples and parts of it, and any that is not much larger."""
    return (1, max(1, value - 1), value + 1, value + 8, max(1, value // 2), 2 * value, 3 * value,
            dice.randint(1, 2 * value + 4))  # fmt: skip
