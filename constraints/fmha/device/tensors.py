"""Tensors of attention forward: shapes and orders in memory, the reference, and its error.

Pages of K and V lie in the order that the tensor of their numbers says.

Canonical are Q and O (batch, heads, rows, columns), K and V likewise, and LSE (batch, heads, rows);
in group mode the batch is missing, and rows are those of all sequences, one behind the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckrules.arch import load
from ckrules.constraints.fmha.device.dropout import random_bytes
from ckrules.constraints.fmha.device.memory import TensorMemory
from ckrules.constraints.fmha.device.rounding import ROUNDING, stored
from ckrules.constraints.fmha.operands import KernelOperand, left_out, lists_rows, operands
from ckrules.constraints.fmha.problem import (
    OFFSET,
    P_DROP,
    P_SCALE,
    SEED,
    SOFT_CAP,
    AttentionProblem,
)
from ckrules.constraints.fmha.words import NARROW, OPERANDS
from ckrules.kernels.parts import Division, Point, ResultAxis, Tensor, Unsliced

Arrays = Mapping[str, NDArray[Any]]

SPREAD = 4.0
"""Q and biases lie between -4 and 4, so that a softmax has large and small weights."""

Q_SHIFT, K_SHIFT = 2.0, -0.5
"""Scores are about minus the root of the head dimension, so that what counts beside them shows."""


class Softmax(NamedTuple):
    """The softmax of one sequence, each (heads, rows of Q, rows of K)."""

    weights: NDArray[np.float64]
    """Exponentials of scores less the largest of a row; 0 where hidden or dropped."""
    sums: NDArray[np.float64]
    """(heads, rows of Q)."""
    lse: NDArray[np.float64]
    doubt: NDArray[np.float64]
    """How far a score may be off, computed in fp32."""


@dataclass(frozen=True)
class AttentionTensors(Unsliced):
    """Q, K, V, what is added, and O of a problem for one kernel."""

    problem: AttentionProblem
    config: Point

    @cached_property
    def all(self) -> tuple[Tensor, ...]:
        """Every tensor, in the order in which the host library takes their addresses."""
        return tuple(self._tensor(o.name, o.direction) for o in self._operands)

    @property
    def _operands(self) -> Sequence[KernelOperand]:
        """The operands of the kernel, with random numbers or LSE where the problem asks for them."""
        asked = {"random": self.problem.random > 0, "lse": self.problem.lse == "yes"}
        return (*operands(self.config), *(o for o in left_out(self.config) if asked[o.name]))

    def _tensor(self, name: str, direction: str) -> Tensor:
        p, rows = self.problem, self._rows
        small, wide = (self._element(t) for t in self._types)
        if name in ("start_q", "start_k"):
            starts = np.cumsum((0, *p.rows_of(name[-1])))
            return Tensor(name, "in", starts.shape, "int32", (0,), content=tuple(starts.tolist()))
        if name == "slopes":
            # upstream's slopes: 2^(-8 i / heads)
            row = tuple(2.0 ** (-8.0 * (i + 1) / p.heads) for i in range(p.heads))
            return Tensor(name, "in", (p.batch, p.heads), "fp32", (0, 1), content=row * p.batch)
        if name == "pages" and lists_rows(self.config):
            # kernels read behind the last row: the rest of its tile, and a step of V
            behind = [0] * int(self.config["tile_n0"] + self.config["tile_k1"])
            listed = (*range(sum(p.rows_of("k")))[::-1], *behind)
            return Tensor(name, "in", (len(listed),), "int32", (0,), content=listed)
        if name == "pages":
            table = np.arange(p.batch * self._pages)[::-1]
            shape = (p.batch, self._pages)
            return Tensor(name, "in", shape, "int32", (0, 1), content=tuple(table.tolist()))
        if name in "kv" and self._paged:
            columns, shift = (p.hdim, K_SHIFT) if name == "k" else (p.hdim_v, 0.0)
            size = (p.batch * self._pages, p.heads_k, p.page_rows, columns)
            memory = self._memory(name)
            order = (0, *(i + 1 for i in memory.order))
            if lists_rows(self.config):
                size = (sum(p.rows_of("k")), p.heads_k, 1, columns)
                order = (1, 2, 0, 3) if memory.order[0] == 0 else order
            return memory.of_tensor(Tensor(name, direction, size, small, order, shift=shift))
        if name == "lse":
            return self._of(name, direction, p.heads, (rows("q"),), "fp32", ())
        if name == "random":
            return self._of(name, direction, p.heads, (rows("q"), p.seqlen_k), "uint8", ())
        if name == "bias":
            kind = small if small in ("fp32", "fp16", "bf16") else "fp32"
            return self._of(name, direction, p.heads, (rows("q"), p.seqlen_k), kind, (), SPREAD)
        heads = p.heads_k if name in "kv" else p.heads
        columns = p.hdim_v if name in "vo" else p.hdim
        shape = (rows("k" if name in "kv" else "q"), columns)
        kind = wide if name == "o" else small
        spread, shift = {"q": (SPREAD, Q_SHIFT), "k": (1.0, K_SHIFT)}.get(name, (1.0, 0.0))
        return replace(
            self._like(name, name, direction, heads, shape, kind), spread=spread, shift=shift
        )

    def _like(
        self, of: str, name: str, direction: str, heads: int, last: tuple[int, ...], dtype: str,
        *, packed: bool = False,
    ) -> Tensor:  # fmt: skip
        """A tensor that lies as Q, K, V or O does, or in its order alone."""
        memory = self._memory(of)
        plain = self._of(name, direction, heads, last, dtype, memory.order)
        placed = memory.of_tensor(plain)
        return replace(placed, pitch=0, outer=0) if packed else placed

    def _memory(self, name: str) -> TensorMemory:
        return TensorMemory.of(self.problem, name, name == "v" and self._v_order[-1] == 1)

    def _of(
        self, name: str, direction: str, heads: int, last: tuple[int, ...], dtype: str,
        order: tuple[int, ...], spread: float = 1.0, shift: float = 0.0,
    ) -> Tensor:  # fmt: skip
        """A tensor with heads in front, and the batch before them where there is one.

        ``order`` is that of heads and what follows.
        """
        shape, order = (heads, *last), order or tuple(range(1 + len(last)))
        if not self._grouped:
            shape, order = (self.problem.batch, *shape), (0, *(i + 1 for i in order))
        return Tensor(name, direction, shape, dtype, order, spread=spread, shift=shift)

    @property
    def _grouped(self) -> bool:
        return str(self.config["mode"]) == "group"

    @property
    def _paged(self) -> bool:
        return bool(self.config.get("paged_kv"))

    @property
    def _pages(self) -> int:
        return -(-self.problem.seqlen_k // self.problem.page_rows)

    @property
    def _v_order(self) -> tuple[int, ...]:
        """Of heads, rows and columns."""
        return (1, 0, 2) if self.config["v_layout"] == "row" else (0, 2, 1)

    @property
    def _types(self) -> tuple[str, str]:
        dtype = str(self.config["dtype"])
        wide = dtype.removeprefix("fp8") if dtype in NARROW and dtype != "fp8" else dtype
        return OPERANDS[dtype], wide

    def _element(self, dtype: str) -> str:
        """The type's bits: 8-bit floats have two encodings, by GPU."""
        if dtype == "fp8" and not load(str(self.config["arch"])).has("ocp_fp8"):
            return "fp8_fnuz"
        return dtype

    def _rows(self, name: str) -> int:
        p = self.problem
        longest: int = getattr(p, f"seqlen_{name}")
        return sum(p.rows_of(name)) if self._grouped else longest

    def key(self) -> str:
        """What tells kernels apart, types, and problem."""
        words = (str(v) for k, v in self.config.items() if k in self._telling)
        return f"{self.problem} in {' '.join(words)} on {self._element('fp8')}"

    @property
    def _telling(self) -> Sequence[str]:
        """The fields on which tensors and references depend."""
        listed = ("variant", "tile_n0", "tile_k1") if lists_rows(self.config) else ()
        return ("dtype", "v_layout", "mode", "bias", "mask", "lse", "paged_kv", *listed)

    def _spans(self) -> Iterator[tuple[int, slice, slice]]:
        """Number, rows of Q and rows of K of each sequence, in its tensors."""
        first_q = first_k = 0
        lengths = zip(self.problem.rows_of("q"), self.problem.rows_of("k"), strict=True)
        for number, (rows_q, rows_k) in enumerate(lengths):
            if self._grouped:
                yield number, slice(first_q, first_q + rows_q), slice(first_k, first_k + rows_k)
            else:
                yield number, slice(0, rows_q), slice(0, rows_k)
            first_q, first_k = first_q + rows_q, first_k + rows_k

    def _part(self, values: NDArray[Any], number: int, rows: slice) -> NDArray[np.float64]:
        found = values if self._grouped else values[number]
        return found[:, rows].astype(np.float64)

    def _shared(self, data: Arrays, name: str, number: int, rows: slice) -> NDArray[np.float64]:
        """A sequence's part of K or V, once for each head of Q."""
        if self._paged:
            found = self._paged_part(data, name, number, rows.stop - rows.start)
        else:
            found = self._part(data[name], number, rows)
        return np.repeat(found, self.problem.heads // self.problem.heads_k, axis=0)

    def _paged_part(self, data: Arrays, name: str, number: int, rows: int) -> NDArray[np.float64]:
        """A sequence's rows of K or V by head, from its pages."""
        table = data["pages"].astype(np.int64)
        if lists_rows(self.config):
            first = sum(self.problem.rows_of("k")[:number])
            pages = data[name][table[first : first + rows]]
        else:
            pages = data[name][table[number]]
        heads = pages.swapaxes(0, 1).reshape(pages.shape[1], -1, pages.shape[-1])
        return heads[:, :rows].astype(np.float64)

    def _place(self, number: int, rows: slice) -> tuple[Any, ...]:
        return (slice(None), rows) if self._grouped else (number, slice(None), rows)

    def _added(
        self, data: Arrays, number: int, at_q: slice, columns: int
    ) -> NDArray[np.float64] | float:
        """What is added to the scores of a sequence."""
        if "bias" in data:
            return self._part(data["bias"], number, at_q)[..., :columns]
        if "slopes" in data:
            slopes = data["slopes"][number].astype(np.float64)
            far = self._distances(at_q.stop - at_q.start, columns)
            added: NDArray[np.float64] = slopes[:, None, None] * far
            return added
        return 0.0

    def _sequences(self, data: Arrays) -> Iterator[tuple[Softmax, NDArray[np.float64], int, slice]]:
        """Softmax, V, number and rows of Q of each sequence."""
        for number, at_q, at_k in self._spans():
            k, v = (self._shared(data, n, number, at_k) for n in "kv")
            added = self._added(data, number, at_q, k.shape[1])
            found = self._softmax(self._part(data["q"], number, at_q), k, added)
            yield self._dropped(found, number), v, number, at_q

    def _scores(
        self, q: NDArray[np.float64], k: NDArray[np.float64], added: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The scores of a sequence, and how far each may be off in fp32."""
        scale = 1.0 / math.sqrt(self.problem.hdim)
        turned = k.transpose(0, 2, 1)
        scores = scale * np.matmul(q, turned)
        steps = self.problem.hdim + 8  # a rounding of fp32 each
        doubt = steps * 2.0**-24 * scale * np.matmul(abs(q), abs(turned)) + 2.0**-20
        if self.problem.logits == "yes":
            scores = SOFT_CAP * np.tanh(scores / SOFT_CAP)
            doubt += SOFT_CAP * 2.0**-21
        scores += added
        doubt += abs(scores) * 2.0**-22
        return scores, doubt

    def _softmax(self, q: NDArray[np.float64], k: NDArray[np.float64], added: Any) -> Softmax:
        scores, doubt = self._scores(q, k, added)
        shown = self.shown(*scores.shape[1:])
        scores = np.where(shown, scores, -np.inf)
        most = scores.max(axis=-1, initial=-np.inf, keepdims=True)
        weights = np.exp(scores - np.where(np.isfinite(most), most, 0.0))
        sums = weights.sum(axis=-1)
        with np.errstate(divide="ignore"):
            lse = np.log(sums) + np.where(sums > 0, most[..., 0], 0.0)
        return Softmax(weights, sums, lse, np.where(shown, doubt, 0.0))

    def _dropped(self, softmax: Softmax, number: int) -> Softmax:
        """The softmax of a sequence, some of whose weights are dropped; the sums have them all."""
        if self.problem.dropout != "yes":
            return softmax
        return softmax._replace(weights=softmax.weights * self._kept(number, softmax.weights.shape))

    def _kept(self, number: int, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """What dropout multiplies the weights of a sequence by."""
        if self.problem.dropout != "yes":
            return np.ones(shape)
        return (self._random(number, shape) <= int(255 * (1 - P_DROP))) / (1 - P_DROP)

    def _random(self, number: int, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        heads, rows, columns = shape
        return random_bytes(number, heads, rows, columns, SEED, OFFSET)

    def _distances(self, rows: int, columns: int) -> NDArray[np.float64]:
        """What alibi's slopes are multiplied by (block_position_encoding.hpp: Alibi).

        A causal mask hides what is right of the diagonal, and columns count from the first.
        """
        i, j = np.arange(rows)[:, None], np.arange(columns)[None, :]
        if self.problem.mask == "causal":
            return np.broadcast_to(j, (rows, columns)).astype(np.float64)
        return -abs((i + max(columns - rows, 0)) - (j + max(rows - columns, 0))).astype(np.float64)

    def shown(self, rows: int, columns: int) -> NDArray[np.bool_]:
        """Which scores count; the diagonal ends at the last row and column."""
        left, right = self.problem.window
        ahead = np.arange(columns)[None, :] - (np.arange(rows)[:, None] + columns - rows)
        found = np.ones((rows, columns), bool)
        if right >= 0:
            found &= ahead <= right
        if left >= 0:
            found &= -ahead <= left
        return found

    def reference(self, data: Arrays) -> dict[str, NDArray[Any]]:
        """O and LSE by their definitions; of rows that see nothing 0 and minus infinity."""
        shapes = {t.name: t.shape for t in self.all if t.direction == "out"}
        found = {name: np.zeros(shape, np.float64) for name, shape in shapes.items()}
        for softmax, v, number, rows in self._sequences(data):
            at = self._place(number, rows)
            found["o"][at] = np.matmul(softmax.weights, v) / _nonzero(softmax.sums)
            if "lse" in found:
                found["lse"][at] = softmax.lse
            if "random" in found:
                found["random"][at] = self._random(number, softmax.weights.shape)
        return found

    def error(self, name: str, data: Arrays) -> float:
        """How far an element may be off at most.

        P is rounded to the type of V, less the largest score so far; scores, sums and exponentials
        are fp32. With weights w, the error of O is at most the sum of w (relative error of w) |v|
        and of what rounding to nothing takes from each, over the sum of w; then O is rounded.
        """
        if name == "random":
            return 0.0
        small, wide = self._types
        step, least = ROUNDING[small]
        least /= P_SCALE if self.problem.squant == "yes" else 1.0
        off = 0.0
        for softmax, v, *_ in self._sequences(data):
            if name == "lse":
                off = max(off, float(softmax.doubt.max(initial=0.0)) + 2.0**-20)
                continue
            sums, size = _nonzero(softmax.sums), abs(v)
            relative = softmax.weights * (step + 2 * softmax.doubt) + least * (softmax.weights > 0)
            found = np.matmul(relative, size) / sums
            value = np.matmul(softmax.weights, size) / sums
            terms = softmax.weights.shape[-1]
            found += value * terms * 2.0**-24 + stored(value, wide)
            off = max(off, float(found.max(initial=0.0)))
        return off

    def depth(self, name: str) -> int:
        """Rows of K."""
        return self.problem.seqlen_k

    def parts(self, name: str) -> int:
        """One: nothing is added in memory."""
        return 1

    def axes(
        self, name: str, mask: NDArray[np.bool_]
    ) -> tuple[list[ResultAxis], NDArray[np.bool_]]:
        """Sequences, heads, rows and columns; rows as blocks and waves divide them."""
        numbers = iter(mask.shape)
        axes = []
        if not self._grouped:
            axes.append(_whole("batch", next(numbers), "sequence"))
        axes.append(_whole("head", next(numbers), "head"))
        side = self._side(name)
        axes.append(ResultAxis(side.upper(), next(numbers), self._divisions(side)))
        axes += [ResultAxis("column", size) for size in numbers]
        return axes, mask

    def _side(self, name: str) -> str:
        """Whose rows a result has: ``q`` or ``k``."""
        return "q"

    def _divisions(self, side: str) -> list[Division]:
        at = np.arange(self._rows(side))
        found = []
        if self._grouped:
            lengths = self.problem.rows_of(side)
            found.append(Division("group", np.repeat(np.arange(len(lengths)), lengths), "sequence"))
            at = np.concatenate([np.arange(n) for n in lengths])
        return [*found, *self._tiles(side, at)]

    def _tiles(self, side: str, at: NDArray[np.int_]) -> list[Division]:
        tile, waves = int(self.config["tile_m0"]), int(self.config["wave_m0"])
        deep = int(self.config["warp_tile_m0"])
        return [
            Division("tile", at // tile, "tile", " along Q"),
            Division("wave", at % tile // deep % waves, "wave", " along Q", ordered=False),
        ]


def _nonzero(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums to divide by: 1 where nothing is shown."""
    return np.where(sums > 0, sums, 1.0)[..., None]


def _whole(name: str, size: int, what: str) -> ResultAxis:
    return ResultAxis(name, size, [Division("group", np.arange(size), what)])
