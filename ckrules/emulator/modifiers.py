"""Which modifiers the instructions of each group take; any other is refused, never skipped."""

from __future__ import annotations

from ckrules.emulator.errors import UnknownInstructionError
from ckrules.emulator.instruction import Decoded

_CACHE = frozenset({"glc", "slc", "dlc", "sc0", "sc1", "nt", "scc"})
"""Hints for caches: they change no result here, where there are none."""
_DPP = frozenset(
    {
        "quad_perm", "row_shl", "row_shr", "row_ror", "row_share", "row_newbcast", "row_xmask",
        "row_bcast", "wave_shr", "wave_shl", "row_mask", "bank_mask", "bound_ctrl", "fi", "dpp8",
        "row_mirror", "row_half_mirror",
    }
)  # fmt: skip
_SDWA = frozenset({"dst_sel", "dst_unused", "src0_sel", "src1_sel"})
_LANES = {"dpp": _DPP, "e64_dpp": _DPP, "sdwa": _SDWA}

ACCEPTED: dict[str, frozenset[str]] = {
    "flow": frozenset(),
    "scalar": frozenset(),
    "vector": frozenset({"clamp", "mul", "div", "op_sel"}),
    "special": frozenset(),
    "pair": frozenset(),
    "packed": frozenset({"op_sel", "op_sel_hi", "neg_lo", "neg_hi", "clamp"}),
    "fp8_convert": frozenset({"op_sel", "byte_sel"}),
    "local": frozenset({"offset", "offset0", "offset1"}),
    "memory": frozenset({"offset", "th", "scope", *_CACHE}),
}
"""Names of modifiers by group of instructions, without those of SDWA and DPP.

Each matrix instruction has its own.
"""

_BUFFER = frozenset({"offen", "idxen", "lds"})
_NO_EFFECT = ("s_waitcnt", "s_delay_alu", "s_sendmsg", "s_wait_alu", "s_setreg", "s_clause")
"""Instructions whose operands are words."""


def check(d: Decoded, group: str) -> None:
    """Refuses modifiers that a group does not know.

    Raises:
        UnknownInstructionError: If there is one.
    """
    if group == "matrix" or (group == "flow" and d.name.startswith(_NO_EFFECT)):
        return
    accepted = ACCEPTED[group]
    if group in ("vector", "special", "fp8_convert"):
        accepted |= _LANES.get(d.encoding, frozenset())
    if d.name.startswith("v_bitop3"):
        accepted |= {"bitop3"}
    if d.name.startswith("v_permlane"):
        accepted |= {"bound_ctrl", "fi"}
    if group == "memory" and d.name.startswith("buffer_"):
        accepted |= _BUFFER
    if group == "flow" and d.name.startswith(("buffer_", "global_")):
        accepted |= _CACHE | {"scope"}
    refuse(d, accepted)


def refuse(d: Decoded, accepted: frozenset[str]) -> None:
    """Refuses all modifiers but these.

    Raises:
        UnknownInstructionError: If there is another.
    """
    for name in sorted((d.operands.flags | d.operands.values.keys()) - accepted):
        raise UnknownInstructionError(f"{d.line}: modifier {name} without semantics here")
