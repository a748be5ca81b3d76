"""What generic code asks about problems of the kernels before and after attention."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ckrules.constraints.fmha.problem import AttentionProblem
from ckrules.constraints.fmha.problems import AttentionProblems
from ckrules.constraints.fmha_steps import problem_fields
from ckrules.constraints.fmha_steps.device import smoke
from ckrules.constraints.fmha_steps.words import APPEND
from ckrules.engine.expr import BoolExpr, Value

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.engine.rules import RuleDef
    from ckrules.engine.rules.book import Vocabulary
    from ckrules.kernels.parts import Point, Tensors


class StepProblems(AttentionProblems):
    """Problems of attention, of which one step is computed."""

    def vocabulary(self, ck: str, gpus: Sequence[Gpu]) -> Vocabulary:
        """Fields of kernel and problem, with what follows from them."""
        return problem_fields.vocabulary(ck, gpus)

    def rules(self) -> list[RuleDef]:
        """What upstream's dispatch asks, and what it does not ask and should."""
        from ckrules.constraints.fmha_steps import problem_rules
        from ckrules.engine.rules.book import collect

        return collect(problem_rules)

    def smoke(self, config: Point) -> list[AttentionProblem]:
        """See `ckrules.constraints.fmha_steps.device.smoke.smoke`."""
        return smoke.smoke(config)

    def tensors(self, problem: AttentionProblem, config: Point) -> Tensors:
        """What a step reads and writes."""
        from ckrules.constraints.fmha_steps.device.appended import AppendTensors
        from ckrules.constraints.fmha_steps.device.tensors import StepTensors

        kind = AppendTensors if config["variant"] == APPEND else StepTensors
        return kind(problem, config)

    def usual(self, fixed: Mapping[str, Iterable[Value]]) -> dict[str, tuple[int, int]]:
        """As of attention; where all kernels append, any number of rows, and any rotated part."""
        found = super().usual(fixed)
        if set(fixed.get("variant", ())) == {APPEND}:
            found |= {"p_appended": (1, 16384), "p_rotary": (16, 256)}
        return found

    def sensible(self, names: Mapping[str, Any]) -> list[BoolExpr]:
        """Appended rows are among those of K, and a head is rotated in pairs, at most as a whole."""
        rotary = names["p_rotary"]
        return [
            *super().sensible(names),
            names["p_appended"] <= names["p_seqlen_k"],
            rotary % 2 == 0,
            (rotary <= names["p_hdim"]) | (rotary == 16),
        ]
