"""How attention backward becomes C++: as forward, with types and arguments of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ckrules.codegen.ck_options import NO_SINKING, CkOption
from ckrules.codegen.fmha.generation import TEMPLATES as FORWARD
from ckrules.codegen.fmha.generation import AttentionGeneration
from ckrules.codegen.fmha.model import AttentionModel, OwnFunction
from ckrules.codegen.fmha_bwd import probe
from ckrules.constraints.fmha.operands import KernelOperand
from ckrules.constraints.fmha_bwd.operands import operands, stores_random
from ckrules.engine.expr import Value

TEMPLATES = Path(__file__).resolve().parent / "templates"


class BackwardModel(AttentionModel):
    """A kernel of attention backward."""

    __slots__ = ()
    operands = staticmethod(operands)
    rows = True
    lying = ("dk", "dv")
    """Gradients that lie in an order alone."""
    joins = False
    arguments = "fmha_bwd_args.hpp.j2"

    @property
    def cleared(self) -> tuple[KernelOperand, ...]:
        """What dQ is summed in, and the gradient of the bias, of which blocks write what they see.

        Source: example/ck_tile/01_fmha/fmha_bwd_runner.hpp: SetZero of dq_acc_buf, dbias_buf.
        """
        return tuple(t for t in self.tensors if t.name in ("dq_acc", "dbias"))

    @property
    def summed(self) -> bool:
        """Whether dQ is summed in fp32, and converted afterwards."""
        return any(t.name == "dq_acc" for t in self.tensors)

    @property
    def random(self) -> bool:
        """Whether it stores the random bytes by which probabilities are dropped."""
        return stores_random(self.point)

    @property
    def functions(self) -> tuple[OwnFunction, ...]:
        return (
            self.own_mode,
            self.own_mask,
            OwnFunction(self.point["dropout"] != "no", "dropout", "dropout"),
        )


class BackwardGeneration(AttentionGeneration):
    """Kernels of dQ, dK and dV."""

    templates = (TEMPLATES, FORWARD)
    model = BackwardModel
    words = staticmethod(probe.words_of)

    def why_not(self, point: Mapping[str, Value]) -> str:
        whole = point["mode"] == "batch" and point["mask"] == "no"
        if stores_random(point) and not whole:
            return "random numbers of what a mask hides, or a group lacks, are not stored"
        if point["dbias"] and point["mode"] == "group":
            return "the gradient of a group's bias"
        return ""

    def build_options(self, point: Mapping[str, Any]) -> tuple[CkOption, ...]:
        """The compiler options that a kernel needs beside those of CK: V is read before the loop.

        >>> [o.text for o in GENERATION.build_options({"trload": False})]
        ['-mllvm -disable-machine-sink']
        """
        return () if point.get("trload") else (NO_SINKING,)


GENERATION = BackwardGeneration()
