"""Tensors of attention backward: dQ, dK and dV of one kernel, the reference, and its error.

LSE and D are read, and need not belong to Q and K: P = exp(S - LSE) and dS = P (dP - D) hold for
any, so that samples do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckrules.constraints.fmha.device.rounding import ROUNDING, stored
from ckrules.constraints.fmha.device.tensors import Arrays, AttentionTensors
from ckrules.constraints.fmha.operands import KernelOperand
from ckrules.constraints.fmha_bwd.operands import operands, stores_random
from ckrules.kernels.parts import Division, Tensor

RISE = 4.0
"""What alibi adds to a score at the most where a mask is causal."""


class Gradients(NamedTuple):
    """The gradients of one sequence by name, and how far each may be off, in their tensors' order."""

    values: dict[str, NDArray[np.float64]]
    off: dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class BackwardTensors(AttentionTensors):
    """What a kernel of attention backward reads and writes."""

    _telling = (
        "dtype", "mode", "bias", "dbias", "mask", "dropout", "deterministic", "tile_n0",
        "max_seqlen_q",
    )  # fmt: skip
    _v_order = (1, 0, 2)

    @property
    def _operands(self) -> Sequence[KernelOperand]:
        return operands(self.config)

    def _tensor(self, name: str, direction: str) -> Tensor:
        p, rows = self.problem, self._rows
        (small, _), heads = self._types, self.problem.heads
        if name == "d":
            return self._of(name, direction, heads, (rows("q"),), "fp32", ())
        if name in ("do", "dq"):
            last = (rows("q"), p.hdim_v if name == "do" else p.hdim)
            return self._like("o" if name == "do" else "q", name, direction, heads, last, small)
        if name in ("dk", "dv"):  # of each head of Q; nobody adds those that share K
            last = (rows("k"), p.hdim_v if name == "dv" else p.hdim)
            return self._like(name[1], name, direction, heads, last, small, packed=True)
        if name == "dq_acc":
            return self._summed(name, direction)
        if name in ("dbias", "random"):
            kind = small if name == "dbias" else "uint8"
            return self._of(name, direction, heads, (rows("q"), p.seqlen_k), kind, ())
        found = super()._tensor(name, direction)
        if name == "slopes" and p.mask == "causal" and found.content is not None:
            return replace(found, content=tuple(s * self._flatter for s in found.content))
        return replace(found, spread=1.0, shift=0.0) if name == "q" else found

    @property
    def _flatter(self) -> float:
        """By what slopes of columns that count from the first are made flatter, a power of two.

        LSE is not that of the scores: where they grow by more than `RISE`, fp16 would not hold dS.
        """
        most = 2.0 ** (-8.0 / self.problem.heads) * self.problem.seqlen_k / RISE
        return 2.0 ** -max(0, math.ceil(math.log2(most)))

    @property
    def parts_of_dq(self) -> int:
        """Blocks of K, each with a sum of its own where the order of sums is fixed; else 1."""
        if not self.config["deterministic"]:
            return 1
        return math.ceil(self.problem.seqlen_k / int(self.config["tile_n0"]))

    def _summed(self, name: str, direction: str) -> Tensor:
        p = self.problem
        plain = self._of(name, direction, p.heads, (self._rows("q"), p.hdim), "fp32", ())
        if not self.config["deterministic"]:
            return plain
        shape = (self.parts_of_dq, *plain.shape)
        return Tensor(name, direction, shape, "fp32", tuple(range(len(shape))))

    def reference(self, data: Arrays) -> dict[str, NDArray[Any]]:
        """The gradients by their definitions."""
        return self._gathered(data, 0)

    def error(self, name: str, data: Arrays) -> float:
        """How far an element may be off: P and dS are rounded to the type of the operands.

        Random bytes are those of the reference.
        """
        return float(self._gathered(data, 1)[name].max(initial=0.0))

    def _gathered(self, data: Arrays, which: int) -> dict[str, NDArray[Any]]:
        """Values (0) or errors (1) of all sequences, in the tensors' order."""
        shapes = {t.name: t.shape for t in self.all if t.direction == "out"}
        found = {name: np.zeros(shape, np.float64) for name, shape in shapes.items()}
        for number, at_q, at_k in self._spans():
            parts = self._gradients(data, number, at_q, at_k)[which]
            for name, into in found.items():
                at = self._place(number, at_k if name in ("dk", "dv") else at_q)
                if name in ("dbias", "random"):
                    into[at][..., : parts[name].shape[-1]] = parts[name]
                elif name == "dq_acc" and self.config["deterministic"]:
                    for part, values in enumerate(parts[name]):
                        into[(part, *at)] = values
                else:
                    into[at] = parts[name]
        return found

    def _gradients(self, data: Arrays, number: int, at_q: slice, at_k: slice) -> Gradients:
        step, least = ROUNDING[self._types[0]]
        scale = 1.0 / math.sqrt(self.problem.hdim)
        q, do = (self._part(data[n], number, at_q) for n in ("q", "do"))
        lse, d = (self._part(data[n], number, at_q)[..., None] for n in ("lse", "d"))
        k, v = (self._shared(data, n, number, at_k) for n in "kv")
        scores, doubt = self._scores(q, k, self._added(data, number, at_q, k.shape[1]))
        weights = np.where(self.shown(*scores.shape[1:]), np.exp(scores - lse), 0.0)
        doubt += abs(lse) * 2.0**-22
        kept = self._kept(number, weights.shape)
        through = np.matmul(do, v.transpose(0, 2, 1))
        size = np.matmul(abs(do), abs(v).transpose(0, 2, 1))
        most = kept.max(initial=1.0)
        slope = weights * (kept * through - most * d)
        off_slope = abs(slope) * (step + 2 * doubt) + least
        off_slope += weights * most * (size + abs(d)) * (self.problem.hdim_v + 8) * 2.0**-24
        used = weights * kept
        off_used = used * (step + 2 * doubt) + least
        values, off = {}, {}

        def product(name: str, left: Any, off_left: Any, right: Any, by: float, kind: str) -> None:
            terms = left.shape[-1] + 8
            values[name] = by * np.matmul(left, right)
            off[name] = by * np.matmul(off_left + abs(left) * terms * 2.0**-24, abs(right))
            off[name] += stored(values[name], kind)

        small = self._types[0]
        turn = (0, 2, 1)
        product("dv", used.transpose(turn), off_used.transpose(turn), do, 1.0, small)
        product("dk", slope.transpose(turn), off_slope.transpose(turn), q, scale, small)
        product("dq", slope, off_slope, k, scale, small)
        self._in_parts(slope, off_slope, k, scale, values, off)
        values["dbias"], off["dbias"] = slope, off_slope + stored(slope, small)
        if stores_random(self.config):
            values["random"] = self._random(number, weights.shape).astype(np.float64)
            off["random"] = np.zeros(weights.shape)
        return Gradients(values, off)

    def _in_parts(
        self, slope: Any, off_slope: Any, k: Any, scale: float, values: Any, off: Any
    ) -> None:
        """The sums of dQ, whole or by blocks of K."""
        wide = int(self.config["tile_n0"]) if self.config["deterministic"] else max(1, k.shape[1])
        terms = (k.shape[1] + 8) * 2.0**-24
        spans = [slice(at, at + wide) for at in range(0, k.shape[1], wide)] or [slice(0)]
        sums = [scale * np.matmul(slope[..., s], k[:, s]) for s in spans]
        far = [
            scale * np.matmul(off_slope[..., s] + abs(slope[..., s]) * terms, abs(k[:, s]))
            for s in spans
        ]
        one = not self.config["deterministic"]
        values["dq_acc"], off["dq_acc"] = (sums[0], far[0]) if one else (sums, far)

    def axes(self, name: str, mask: Any) -> Any:
        """As forward, with parts of sums in front; rows are of K for dK and dV."""
        if name == "dq_acc" and self.config["deterministic"]:
            mask = mask.any(axis=0)
        return super().axes(name, mask)

    def _side(self, name: str) -> str:
        return "k" if name in ("dk", "dv") else "q"

    def _tiles(self, side: str, at: NDArray[np.int_]) -> list[Division]:
        """Rows of a sequence as tiles; the waves of five products share them."""
        tile = int(self.config["tile_m0" if side == "q" else "tile_n0"])
        return [Division("tile", at // tile, "tile", f" along {side.upper()}")]
