"""Which measurements a model was trained on: figures of those say what it remembers.

A model's card has a fingerprint of its rows, so it can be asked of any part of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckrules.ranking.fingerprints import ROWS, hashes, rows
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.ranking.learned import TimeModel
    from ckrules.ranking.ranker import Ranker
    from ckrules.ranking.training import Samples


@dataclass(frozen=True, slots=True)
class Remembered:
    """How many of some problems the models that predict them were trained on."""

    problems: int
    trained_on: int | None
    """None: a model's card does not say what it was trained on."""
    cross_validated: Mapping[str, Any] | None
    """The figures of folds that the models' card has, if there is one model and it has them."""

    def said(self) -> str:
        """What a reader of the figures has to know; empty if these rows are new to the models."""
        if self.trained_on is None:
            return "whether the model was trained on these, its card does not say"
        if not self.trained_on:
            return ""
        seen = f"of {count(self.problems, 'problem')} the model was trained on {self.trained_on:,}"
        return f"{seen}; on others {self.others()}"

    def others(self) -> str:
        """How good picks are on problems that no model has seen."""
        if (f := self.cross_validated) is None:
            return "it is worse: ckrules evaluate --folds 5 says how much"
        return (
            f"picks have a mean of {f['mean']:.2f} % and a 10th percentile of {f['p10']:.1f} % "
            f"(cross-validation, {f['folds']} folds)"
        )


def remembered(samples: Samples, ranker: Ranker) -> Remembered:
    """What the models of a ranker remember of measurements: a row of a problem is enough."""
    seen, unknown = 0, False
    models: dict[int, TimeModel] = {}
    known: dict[int, frozenset[bytes]] = {}
    for m, table in zip(samples.measured, samples.tables, strict=True):
        model = ranker.model_of(table)
        if model is None:
            continue
        models[id(model)] = model
        if ROWS not in model.card:
            unknown = True
            continue
        if id(model) not in known:
            known[id(model)] = hashes(model.card[ROWS])
        seen += any(row in known[id(model)] for _, row in rows(m))
    found = [m.card.get("figures") for m in models.values()]
    return Remembered(
        len(samples), None if unknown and not seen else seen, found[0] if len(found) == 1 else None
    )
