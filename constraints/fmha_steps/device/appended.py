"""Tensors of kernels that append rows to K and V: copies, of Q and K rotated where they are.

Cosines and sines are samples, which need not belong together: a rotation is two products and their
sum for any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckrules.constraints.fmha.device.rounding import stored
from ckrules.constraints.fmha.device.tensors import Arrays, AttentionTensors
from ckrules.constraints.fmha.operands import KernelOperand
from ckrules.constraints.fmha_steps.operands import operands
from ckrules.kernels.parts import ResultAxis, Tensor

Values = NDArray[np.float64]


@dataclass(frozen=True)
class AppendTensors(AttentionTensors):
    """What a kernel that appends reads and writes."""

    _telling = ("variant", "dtype", "v_layout", "rope", "paged_kv")

    @property
    def _operands(self) -> Sequence[KernelOperand]:
        return operands(self.config)

    def _tensor(self, name: str, direction: str) -> Tensor:
        p, small = self.problem, self._element(self._types[0])
        if name == "cached":
            return Tensor(name, "in", (p.batch,), "int32", (0,), content=p.cached_rows)
        if name in ("cos", "sin"):
            places = max(p.cached_rows) + max(p.appended_rows, p.seqlen_q)
            return Tensor(name, "in", (places, p.rotary_size // 2), small, (0, 1))
        if name in ("k_new", "v_new"):
            last = (p.appended_rows, p.hdim if name == "k_new" else p.hdim_v)
            return self._like(name[0], name, direction, p.heads_k, last, small, packed=True)
        return super()._tensor(name, direction)

    def reference(self, data: Arrays) -> dict[str, Values]:
        """Q rotated, and K and V with the new rows at their places; the others are as they were."""
        return {name: values for name, values, _ in self._results(data)}

    def error(self, name: str, data: Arrays) -> float:
        """How far an element may be off: not at all, where nothing is rotated.

        Elements of 16 bits have products that fp32 holds exactly (22 bits of fp16, 16 of bf16), so
        that their sum is rounded once, and once more to the type of K; of fp32 all three are.
        """
        _, values, terms = next(found for found in self._results(data) if found[0] == name)
        rotated = terms > 0
        off = np.where(rotated, 3 * 2.0**-24 * terms + stored(values, self._types[0]), 0.0)
        return float(off.max(initial=0.0))

    def _results(self, data: Arrays) -> Iterator[tuple[str, Values, Values]]:
        """Name, values and sizes of the terms of each result; no terms where nothing is rotated."""
        if "q" in data:
            q = data["q"].astype(np.float64)
            first, each = self.problem.cached_rows, int(self.problem.mask != "no")
            places = (start + each * np.arange(q.shape[2]) for start in first)
            turned = [self._rotated(data, *both) for both in zip(q, places, strict=True)]
            yield "q", np.stack([values for values, _ in turned]), np.stack([t for _, t in turned])
        for name in "kv":
            found = data[name].astype(np.float64)
            terms = np.zeros(found.shape)
            for number, start in enumerate(self.problem.cached_rows):
                rows = start + np.arange(self.problem.appended_rows)
                new = data[f"{name}_new"][number].astype(np.float64)
                values, sizes = (
                    self._rotated(data, new, rows) if name == "k" else (new, np.zeros(new.shape))
                )
                at = self._at(data, number, rows)
                found[at], terms[at] = (x.swapaxes(0, 1) for x in (values, sizes))
            yield name, found, terms

    def _at(self, data: Arrays, number: int, rows: NDArray[np.int64]) -> tuple[Any, ...]:
        """Where rows of a sequence are in K and V, by row and head."""
        if not self._paged:
            return number, slice(None), rows
        page = self.problem.page_rows
        return data["pages"][number].astype(np.int64)[rows // page], slice(None), rows % page

    def _rotated(
        self, data: Arrays, values: Values, places: NDArray[np.int64]
    ) -> tuple[Values, Values]:
        """Heads of rows rotated by what belongs to their places, and the sizes of the terms."""
        found, terms = values.copy(), np.zeros(values.shape)
        if self.config["rope"] == "no":
            return found, terms
        size = self.problem.rotary_size
        pairs = (slice(0, size, 2), slice(1, size, 2))
        if self.config["rope"] == "halves":
            pairs = (slice(0, size // 2), slice(size // 2, size))
        cos, sin = (data[n][places].astype(np.float64) for n in ("cos", "sin"))
        left, right = (values[..., at] for at in pairs)
        for at, one, other in (
            (pairs[0], left * cos, -right * sin),
            (pairs[1], right * cos, left * sin),
        ):
            found[..., at], terms[..., at] = one + other, abs(one) + abs(other)
        return found, terms

    def axes(
        self, name: str, mask: NDArray[np.bool_]
    ) -> tuple[list[ResultAxis], NDArray[np.bool_]]:
        """Sequences or pages, heads, rows and columns; blocks begin anywhere in a cache."""
        first = "page" if self._paged and name != "q" else "batch"
        names = (first, "head", "row", "column")
        return [ResultAxis(n, size) for n, size in zip(names, mask.shape, strict=True)], mask
