"""What generic code asks about attention problems: their text, sizes and rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ckrules.constraints.fmha import problem, problem_fields
from ckrules.constraints.fmha.device import smoke
from ckrules.constraints.fmha.operands import can_store_random
from ckrules.constraints.fmha.problem import PACKED, SINKS, STRIDES, UNSAID, WORDS, AttentionProblem
from ckrules.engine.expr import BoolExpr, Value
from ckrules.kernels.folder_problems import FolderProblems

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point, Tensors

_PLAIN: Mapping[str, int] = {
    **dict.fromkeys((*WORDS, *STRIDES), 0), "page": 256, "appended": 1, "rotary": 16,
    **dict.fromkeys(UNSAID, -1), "sink_size": 0, "splits": 4,
}  # fmt: skip


class AttentionProblems(FolderProblems):
    """Attention of one head dimension, with its functions."""

    name = "attention"

    parse = staticmethod(problem.parse)
    from_mapping = staticmethod(problem.from_mapping)
    from_row = staticmethod(problem.from_row)
    pack = staticmethod(problem.pack)
    row = staticmethod(problem.row)
    fields = staticmethod(problem_fields.fields)
    values = staticmethod(problem_fields.values)

    def members(self) -> tuple[str, Mapping[str, str]]:
        """``ckrules_attention`` of ``runtime/ckrules_attention.h``, which can say no sinks."""
        none = {f"p_{n}": "0" for n in (*SINKS, "sink_size")}
        said = {f"p_{n}": f"p.{n}" for n in (*PACKED, "splits")}
        return "ckrules_attention", none | said

    def fits(self, config: Point, problem: object) -> bool:
        """Whether it is a problem of attention, and stores random numbers where the kernel can."""
        if not isinstance(problem, AttentionProblem):
            return False
        return problem.random <= 0 or can_store_random(config)

    smoke = staticmethod(smoke.smoke)

    def tensors(self, problem: AttentionProblem, config: Point) -> Tensors:
        """Q, K, V, what is added to scores, O and LSE."""
        from ckrules.constraints.fmha.device.tensors import AttentionTensors

        return AttentionTensors(problem, config)

    def usual(self, fixed: Mapping[str, Iterable[Value]]) -> dict[str, tuple[int, int]]:
        """Lengths up to 16384, head dimensions up to 256, and the plainest function."""
        sizes = {
            "batch": (1, 64), "heads": (1, 128), "heads_k": (1, 128), "seqlen_q": (1, 16384),
            "seqlen_k": (1, 16384), "hdim": (8, 256), "hdim_v": (8, 256),
        }  # fmt: skip
        sizes |= {n: (value, value) for n, value in _PLAIN.items()}
        return {f"p_{n}": span for n, span in sizes.items()}

    def sensible(self, names: Mapping[str, Any]) -> list[BoolExpr]:
        """Heads of Q share those of K evenly."""
        return [names["p_heads"] % names["p_heads_k"] == 0]

    def quiet(self) -> dict[str, Value]:
        """The plainest function, packed tensors, and the rest as it is where nothing is said."""
        return {f"p_{n}": value for n, value in _PLAIN.items()}
