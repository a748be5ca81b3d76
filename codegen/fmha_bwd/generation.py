"""How attention backward becomes C++: as forward, with types and arguments of its own.

Facts: FMHA_BWD_DQ_DK_DV_KERNEL_BODY of example/ck_tile/01_fmha/codegen/ops/fmha_bwd.py and
FmhaBwdTypeConfig of fmha_bwd.hpp, CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ckrules.codegen.ck_options import NO_SINKING, CkOption
from ckrules.codegen.fmha.cpp_names import BIASES, MASKS, MODES
from ckrules.codegen.fmha.generation import TEMPLATES as FORWARD
from ckrules.codegen.fmha.generation import AttentionGeneration
from ckrules.codegen.fmha.model import AttentionModel, OwnFunction
from ckrules.codegen.probing import Point, integer, pick, truth
from ckrules.codegen.render import cpp
from ckrules.constraints.fmha.operands import KernelOperand
from ckrules.constraints.fmha_bwd.operands import operands, stores_random
from ckrules.constraints.fmha_bwd.vocabulary import TILE, WARP_TILES, WAVES
from ckrules.engine.expr import Value

TYPES: Mapping[str, str] = {"fp32": "float", "fp16": "ck_tile::half_t", "bf16": "ck_tile::bf16_t"}
#: ``DROPOUT_MAP``: whether there is one, of 32x32 warp tiles, and whether numbers are stored.
DROPOUTS: Mapping[str, str] = {
    "no": "false, true, false",
    "dropout_wg32": "true, true, false",
    "dropout_wg32_storerandval": "true, true, true",
    "dropout_wg16": "true, false, false",
    "dropout_wg16_storerandval": "true, false, true",
}


def words_of(point: Point) -> dict[str, Any]:
    """The words of the templates for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    return {
        "types_template": "fmha_bwd_types.hpp.j2",
        "type": pick(point, "dtype", TYPES),
        "tile": [integer(point, name) for name in TILE],
        "waves": [[integer(point, name) for name in names] for names in WAVES],
        "warp_tiles": [[integer(point, name) for name in names] for names in WARP_TILES],
        "max_seqlen_q": integer(point, "max_seqlen_q"),
        "pads": [integer(point, "pad_d"), integer(point, "pad_dv")],
        "bias": pick(point, "bias", BIASES),
        "dbias": cpp(truth(point, "dbias")),
        "mask": pick(point, "mask", MASKS),
        "dropout": pick(point, "dropout", DROPOUTS),
        "group_mode": cpp(pick(point, "mode", MODES)),
        "deterministic": cpp(truth(point, "deterministic")),
        "trload": cpp(truth(point, "trload")),
        "block_per_cu": integer(point, "block_per_cu"),
    }


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
    words = staticmethod(words_of)

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
