"""What generic code asks about problems of the kernels before and after attention."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ckrules.constraints.fmha.problem import AttentionProblem
from ckrules.constraints.fmha.problems import AttentionProblems
from ckrules.constraints.fmha_steps.device import smoke
from ckrules.constraints.fmha_steps.words import APPEND
from ckrules.engine.expr import BoolExpr, Value

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point, Tensors


class StepProblems(AttentionProblems):
    """Problems of attention, of which one step is computed."""

    smoke = staticmethod(smoke.smoke)

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
