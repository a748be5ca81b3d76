"""What the rule book says of a kernel on a problem, to be held against the kernel's own answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckrules.device.built import Built
    from ckrules.device.problem import Problem


@dataclass(frozen=True, slots=True)
class Prediction:
    """Whether a kernel takes a problem, and the codes of the rules that say it does not."""

    supported: bool
    codes: tuple[str, ...] = ()


def predict(kernel: Built, problem: Problem) -> Prediction | None:
    """The prediction; None where the rule book has nothing to say."""
    return None
