"""Optuna: a sampler that proposes legal points only, and what an objective asks a trial for."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ckrules.engine.codec import Point
from ckrules.support.errors import UsageError
from ckrules.support.plain_values import plain

if TYPE_CHECKING:
    from ckrules.engine.space import Space

_BEST = 10  # trials whose surroundings are looked at


def suggest(trial: Any, space: Space) -> Point:
    """The trial's point: a categorical parameter for each variable of the space.

    With `LegalSampler` it is a point of the space; other samplers know no restrictions.
    """
    return {n: trial.suggest_categorical(n, list(v)) for n, v in space.domains.items()}


class LegalSampler:
    """A sampler for ``optuna.create_study`` that proposes points of a space.

    It draws random points, or neighbours (`Space.neighbors`) of the best trials so far, and
    proposes none twice as long as it finds another.

    Args:
        space: The space, which has at least one point.
        seed: The same seed and results give the same proposals.
        explore: The share of random points.

    Raises:
        UsageError: For a space without points.

    >>> from ckrules.engine.expr.variables import Int
    >>> from ckrules.engine.space import Space
    >>> m, w = Int("m", [16, 32, 64]), Int("w", [1, 2, 4])
    >>> space = Space([m, w], [m % (w * 16) == 0])
    >>> LegalSampler(space, seed=1).proposal([], set()) in space
    True
    """

    def __init__(self, space: Space, seed: int | None = None, explore: float = 0.3) -> None:
        if not space.count():
            raise UsageError("the space has no points to propose")
        self.space, self.explore = space, explore
        self._rng = random.Random(plain(seed))

    # -- what Optuna asks (optuna.samplers.BaseSampler) ----------------------------------------

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
        """All variables are proposed together."""
        from optuna.distributions import CategoricalDistribution

        return {n: CategoricalDistribution(v) for n, v in self.space.domains.items()}

    def sample_relative(self, study: Any, trial: Any, search_space: Mapping[str, Any]) -> Point:
        """The point that the trial is given."""
        names = set(self.space.domains)
        known = [t for t in study.get_trials(deepcopy=False) if names <= t.params.keys()]
        done = [t for t in known if t.state.name == "COMPLETE" and t.values]
        best = sorted(
            done, key=lambda t: t.values[0], reverse=study.directions[0].name[:3] == "MAX"
        )
        seen = {self._key(t.params) for t in known}
        return self.proposal([t.params for t in best[:_BEST]], seen)

    def sample_independent(self, study: Any, trial: Any, param_name: str, distribution: Any) -> Any:
        """Refuses a parameter that is not a variable of the space.

        Raises:
            UsageError: Always.
        """
        raise UsageError(
            f"{param_name} is not a variable of the space: ask for its variables with suggest(), "
            "and draw others before the study"
        )

    def before_trial(self, study: Any, trial: Any) -> None:
        """Nothing is to be done."""

    def after_trial(self, study: Any, trial: Any, state: Any, values: Any) -> None:
        """Nothing is to be done: results are read from the study."""

    def reseed_rng(self) -> None:
        """Another stream of random numbers, for a process of its own."""
        self._rng.seed()

    # -- proposals -----------------------------------------------------------------------------

    def proposal(self, best: list[Mapping[str, Any]], seen: set[tuple[Any, ...]]) -> Point:
        """A point near one of the best ones, or a random one; not one of ``seen`` if possible."""
        if best and self._rng.random() >= self.explore:
            around = self._rng.choice(best)
            near = self.space.neighbors({n: around[n] for n in self.space.domains})
            fresh = [p for p in near if self._key(p) not in seen]
            if fresh:
                return self._rng.choice(fresh)
        for _ in range(100):
            point = self.space[self._rng.randrange(self.space.count())]
            if self._key(point) not in seen:
                break
        return point

    def _key(self, point: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(point[n] for n in self.space.domains)
