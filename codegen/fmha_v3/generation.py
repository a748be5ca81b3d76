"""How attention with two groups of waves becomes C++: as forward, with types of its own.

Facts: fmha_fwd_v3_kernel_traits of example/ck_tile/01_fmha/fmha_fwd_v3_impl.hpp, CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ckrules.codegen.fmha.cpp_names import MASKS, MODES, ROW_MAJOR
from ckrules.codegen.fmha.generation import TEMPLATES as FORWARD
from ckrules.codegen.fmha.generation import AttentionGeneration
from ckrules.codegen.fmha.model import AttentionModel, OwnChoice, OwnFunction
from ckrules.codegen.probing import Point, integer, pick, truth
from ckrules.codegen.render import cpp
from ckrules.constraints.fmha.vocabulary import PADS, TILE, WARP_TILES, WAVES
from ckrules.constraints.fmha_v3.operands import operands
from ckrules.engine.expr import Value

TYPES: Mapping[str, str] = {"fp16": "ck_tile::half_t", "bf16": "ck_tile::bf16_t"}


def words_of(point: Point) -> dict[str, Any]:
    """The words of the templates for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    return {
        "types_template": "fmha_v3_types.hpp.j2",
        "type": pick(point, "dtype", TYPES),
        "tile": [integer(point, name) for name in TILE],
        "waves": [[integer(point, name) for name in names] for names in WAVES],
        "warp_tiles": [[integer(point, name) for name in names] for names in WARP_TILES],
        "row_major": cpp(pick(point, "v_layout", ROW_MAJOR)),
        "pads": [cpp(truth(point, name)) for name in PADS],
        "lse": cpp(truth(point, "lse")),
        "mask": pick(point, "mask", MASKS),
        "group_mode": cpp(pick(point, "mode", MODES)),
        "block_per_cu": integer(point, "block_per_cu"),
    }


TEMPLATES = Path(__file__).resolve().parent / "templates"


class TwoGroupModel(AttentionModel):
    """A kernel of attention with two groups of waves."""

    __slots__ = ()
    operands = staticmethod(operands)
    arguments = "fmha_v3_args.hpp.j2"
    strided = ""
    """None: their tensors are packed."""

    @property
    def functions(self) -> tuple[OwnFunction, ...]:
        """What tells kernels apart that compute different things, and what none of these has."""
        absent = {"logits": "soft cap", "dropout": "dropout", "squant": "static quantisation"}
        return (
            self.own_mode,
            self.own_mask,
            OwnFunction(bool(self.point["lse"]), "lse", "LSE"),
            *(OwnFunction(False, member, text) for member, text in absent.items()),
        )

    @property
    def choices(self) -> tuple[OwnChoice, ...]:
        """There is no bias."""
        return (OwnChoice.of("bias", "no", "bias"),)


class TwoGroupGeneration(AttentionGeneration):
    """Kernels of attention with two groups of waves."""

    templates = (TEMPLATES, FORWARD)
    model = TwoGroupModel
    words = staticmethod(words_of)

    def why_not(self, point: Mapping[str, Value]) -> str:
        """Nothing: every kernel can be built, those that read columns of V as rows, too."""
        return ""


GENERATION = TwoGroupGeneration()
