"""Tensors of the kernels before and after attention, with their references and errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.constraints.fmha.device.rounding import stored
from ckrules.constraints.fmha.device.tensors import Arrays, AttentionTensors
from ckrules.constraints.fmha.operands import KernelOperand
from ckrules.constraints.fmha.problem import P_DROP, P_SCALE
from ckrules.constraints.fmha_steps.operands import operands
from ckrules.constraints.fmha_steps.words import COMBINE, CONVERT
from ckrules.kernels.parts import Division, Tensor

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Values, and how far each may be off."""
#: Rows of K that a part of dQ has been summed over, where the kernel does not say.
_ROWS = 64


@dataclass(frozen=True)
class StepTensors(AttentionTensors):
    """What one of these kernels reads and writes."""

    _telling = ("variant", "dtype", "mode", "lse", "squant", "deterministic", "tile_sk")

    @property
    def _operands(self) -> Sequence[KernelOperand]:
        return operands(self.config)

    def _tensor(self, name: str, direction: str) -> Tensor:
        p, rows = self.problem, self._rows("q")
        small, wide = (self._element(t) for t in self._types)
        if name == "o":
            kind = wide if self.config["variant"] == COMBINE else small
            return self._like("o", name, direction, p.heads, (rows, p.hdim_v), kind)
        if name == "do":
            return self._like("o", name, direction, p.heads, (rows, p.hdim_v), small)
        if name == "dq":
            return self._like("q", name, direction, p.heads, (rows, p.hdim), small)
        if name == "d":
            return self._of(name, direction, p.heads, (rows,), "fp32", ())
        if name == "o_acc":
            return self._in_parts(self._of(name, direction, p.heads, (rows, p.hdim_v), "fp32", ()))
        if name == "lse_acc":
            found = self._in_parts(self._of(name, direction, p.heads, (rows,), "fp32", ()))
            return replace(found, spread=4.0)
        if name == "dq_acc":
            plain = self._of(name, direction, p.heads, (rows, p.hdim), "fp32", ())
            return self._in_parts(plain) if self.config["deterministic"] else plain
        return super()._tensor(name, direction)

    def _in_parts(self, plain: Tensor) -> Tensor:
        shape = (self.parts_read(self.problem.seqlen_k), *plain.shape)
        return replace(plain, shape=shape, order=tuple(range(len(shape))))

    def parts_read(self, rows_k: int) -> int:
        """The parts of a sequence with so many rows of K."""
        if self.config["variant"] == CONVERT:
            # of kernels that divide by 0 (FSTP013) a caller has parts all the same
            return max(1, math.ceil(rows_k / (int(self.config["tile_sk"]) or _ROWS)))
        return self.problem.parts

    def reference(self, data: Arrays) -> dict[str, NDArray[Any]]:
        """The results by their definitions."""
        return {name: values for name, (values, _) in self._results(data).items()}

    def error(self, name: str, data: Arrays) -> float:
        """How far an element may be off: sums are fp32, and results are rounded once."""
        values, off = self._results(data)[name]
        kind = "fp32" if name in ("lse", "d") else self._types[self.config["variant"] == COMBINE]
        return float((off + stored(values, kind)).max(initial=0.0))

    def _results(self, data: Arrays) -> dict[str, Pair]:
        if self.config["variant"] == COMBINE:
            return self._combined(data)
        if self.config["variant"] == CONVERT:
            return {"dq": self._converted(data["dq_acc"].astype(np.float64))}
        o, do = (data[n].astype(np.float64) for n in ("o", "do"))
        kept = 1 - P_DROP if self.problem.dropout == "yes" else 1.0
        terms = (self.problem.hdim_v + 8) * 2.0**-24
        return {"d": (kept * (o * do).sum(axis=-1), terms * abs(o * do).sum(axis=-1))}

    def _combined(self, data: Arrays) -> dict[str, Pair]:
        """Parts weighted by the exponentials of their logarithms."""
        parts, logs = (data[n].astype(np.float64) for n in ("o_acc", "lse_acc"))
        most = logs.max(axis=0)
        weights = np.exp(logs - most)
        total = weights.sum(axis=0)
        share = (weights / total)[..., None]
        by = 1 / P_SCALE if self.config["squant"] else 1.0
        doubt = (len(parts) + 32) * 2.0**-23
        found = {
            "o": (by * (share * parts).sum(axis=0), by * doubt * (share * abs(parts)).sum(axis=0))
        }
        lse = most + np.log(total)
        return {**found, "lse": (lse, np.full(lse.shape, doubt * (1 + abs(lse).max(initial=0.0))))}

    def _converted(self, sums: NDArray[np.float64]) -> Pair:
        """Parts of dQ added, of each sequence as many as it has blocks of K."""
        if not self.config["deterministic"]:
            return sums, np.zeros(sums.shape)
        found, off = (np.zeros(sums.shape[1:]) for _ in range(2))
        for number, at_q, at_k in self._spans():
            at = self._place(number, at_q)
            read = sums[(slice(0, self.parts_read(at_k.stop - at_k.start)), *at)]
            found[at], off[at] = read.sum(axis=0), len(read) * 2.0**-23 * abs(read).sum(axis=0)
        return found, off

    def _tiles(self, side: str, at: NDArray[np.int_]) -> list[Division]:
        return [Division("tile", at // (int(self.config["tile_s"]) or 8), "tile", " along Q")]
