"""How the kernels before and after attention become C++.

Facts: FMHA_FWD_SPLITKV_COMBINE_KERNEL_BODY, FMHA_FWD_APPENDKV_KERNEL_BODY,
FMHA_BWD_DOT_DO_O_KERNEL_BODY and FMHA_BWD_CONVERT_DQ_KERNEL_BODY of
example/ck_tile/01_fmha/codegen/ops, and ROPE_MAP of its cpp_symbol_map.py, CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ckrules.codegen.fmha.cpp_names import MODES, ROW_MAJOR, TYPES
from ckrules.codegen.fmha.generation import TEMPLATES as FORWARD
from ckrules.codegen.fmha.generation import AttentionGeneration
from ckrules.codegen.fmha.model import AttentionModel, OwnChoice, OwnFunction
from ckrules.codegen.probing import Point, integer, pick, text, truth
from ckrules.codegen.render import cpp
from ckrules.constraints.fmha_steps.operands import operands
from ckrules.constraints.fmha_steps.words import APPEND, COMBINE, CONVERT, DOT

_OPERANDS: Mapping[str, str] = {word: types.operand for word, types in TYPES.items()}
#: The results of combined splits, and the operands of the others.
_TYPES: Mapping[str, Mapping[str, str]] = {
    COMBINE: {word: types.result for word, types in TYPES.items()},
    **dict.fromkeys((APPEND, DOT, CONVERT), _OPERANDS),
}
_SIZES: Mapping[str, tuple[str, ...]] = {
    COMBINE: ("tile_dv",), APPEND: ("tile_s", "tile_sk", "tile_d", "tile_dv"), DOT: ("tile_s",),
    CONVERT: ("tile_s", "tile_sk"),
}  # fmt: skip
_SWITCHES: Mapping[str, tuple[str, ...]] = {
    COMBINE: ("pad_s", "pad_dv", "lse", "squant"), DOT: ("pad_s", "pad_dv"),
    APPEND: ("pad_s", "pad_sk", "pad_d", "pad_dv", "paged_kv"),
    CONVERT: ("pad_s", "pad_d", "deterministic"),
}  # fmt: skip
#: ``RotaryEmbeddingEnum``.
_ROPES: Mapping[str, str] = {"no": "NONE", "inter": "INTERLEAVED", "halves": "HALF_ROTATED"}


def words_of(point: Point) -> dict[str, Any]:
    """The words of the templates for a point.

    Raises:
        UsageError: For a point that lacks a field.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    pick(point, "variant", _TYPES)
    variant = text(point, "variant")
    return {
        "types_template": "fmha_steps_types.hpp.j2",
        "variant": variant.removeprefix("fmha_"),
        "type": pick(point, "dtype", _TYPES[variant]),
        "hdim": integer(point, "hdim"),
        "group_mode": cpp(pick(point, "mode", MODES)),
        "block_per_cu": integer(point, "block_per_cu"),
        "row_major": cpp(pick(point, "v_layout", ROW_MAJOR)),
        "rope": pick(point, "rope", _ROPES),
        **{name: integer(point, name) for name in _SIZES[variant]},
        **{name: cpp(truth(point, name)) for name in _SWITCHES[variant]},
    }


TEMPLATES = Path(__file__).resolve().parent / "templates"


class StepModel(AttentionModel):
    """A kernel before or after attention."""

    __slots__ = ()
    operands = staticmethod(operands)
    workspace = False
    windowless = False
    """They have no mask."""

    @property
    def joins(self) -> bool:
        """Whether it joins splits."""
        return self.point["variant"] == COMBINE

    @property
    def arguments(self) -> str:
        return f"fmha_{'appendkv' if self.appends else 'steps'}_args.hpp.j2"

    @property
    def appends(self) -> bool:
        return self.point["variant"] == APPEND

    @property
    def rotates(self) -> bool:
        """Whether it rotates Q and the rows that it appends to K."""
        return self.point["rope"] != "no"

    @property
    def entries(self) -> Any:
        """One launch."""
        return super().entries[:1]

    @property
    def functions(self) -> tuple[OwnFunction, ...]:
        if not self.joins:
            return (self.own_mode,)
        return (
            self.own_mode,
            OwnFunction(bool(self.point["lse"]), "lse", "LSE"),
            OwnFunction(bool(self.point["squant"]), "squant", "static quantisation"),
        )

    @property
    def choices(self) -> tuple[OwnChoice, ...]:
        """They see no scores; those that append rotate or do not."""
        rope = OwnChoice.of("rope", self.point["rope"], "rotary embedding")
        return (rope,) if self.appends else ()


class StepGeneration(AttentionGeneration):
    """Splits combined, K and V appended, dO times O, dQ converted."""

    templates = (TEMPLATES, FORWARD)
    model = StepModel
    words = staticmethod(words_of)


GENERATION = StepGeneration()
