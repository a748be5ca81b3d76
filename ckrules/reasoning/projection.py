"""Projections: the different values that some variables have among all points of a space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.diagram.block import Block
from ckrules.engine.diagram.compiled import Compiled
from ckrules.engine.diagram.dense import DenseBlock
from ckrules.engine.diagram.numbering import spread
from ckrules.engine.diagram.split_block import pieces
from ckrules.engine.expr import BoolExpr, Expr, Value
from ckrules.engine.space import Space
from ckrules.support.errors import UsageError

Array = npt.NDArray[Any]
MOST = 2_000_000  # different values that are told apart
_BIG = 1 << 62


def projected(
    variables: Sequence[Expr],
    conditions: Sequence[BoolExpr],
    names: Sequence[str],
    *,
    fixed: Mapping[str, Sequence[Any]] | None = None,
    order: Sequence[str] = (),
) -> dict[tuple[Value, ...], int]:
    """The values of some variables that points have, with the number of points of each.

    Args:
        variables: All variables.
        conditions: What points meet.
        names: The variables that matter; there is at least one.
        fixed: Values to which variables are restricted.
        order: An order of the variables that compiles well.

    Raises:
        UsageError: For more than `MOST` different values.

    >>> from ckrules.engine.expr.variables import Int
    >>> m, w = Int("m", [16, 32, 64]), Int("w", [1, 2, 4])
    >>> projected([m, w], [m % (w * 16) == 0], ["w"])
    {(1,): 3, (2,): 2, (4,): 1}
    """
    wanted = set(names)
    first = [*(n for n in order if n in wanted), *(n for n in names if n not in set(order))]
    space = Space(variables, conditions, fixed=fixed, order=[*first, *order])
    if not space.count():
        return {}
    lists = [space.domains[n] for n in first]
    place = [first.index(n) for n in names]
    out: dict[tuple[Value, ...], int] = {}
    for piece in pieces(space.compile().blocks, space.compile().sizes):
        if piece.count:
            columns, numbers = _prefixes(piece, len(first))
            words = [[lists[k][code] for code in columns[k].tolist()] for k in place]
            for values, number in zip(zip(*words, strict=True), numbers.tolist(), strict=True):
                out[values] = out.get(values, 0) + number
            _refuse_beyond(len(out))
    return out


def _prefixes(compiled: Compiled, length: int) -> tuple[list[Array], Array]:
    """The different codes of the first variables, a column each, and the points of each row."""
    kind: Any = object if compiled.count >= _BIG else np.int64
    columns: list[Array] = []
    numbers = np.ones(1, dtype=kind)
    for block in compiled.blocks:
        part = block.layered if isinstance(block, DenseBlock) else block
        assert isinstance(part, Block)
        states = np.zeros(len(numbers), dtype=np.int64)
        read = part.layers[: length - len(columns)]
        for layer in read:
            first = layer.starts[states]
            lengths = layer.starts[states + 1] - first
            _refuse_beyond(int(lengths.sum()))
            edges = spread(first, lengths)
            numbers, states = np.repeat(numbers, lengths), layer.targets[edges]
            columns = [*(np.repeat(c, lengths) for c in columns), layer.positions[edges]]
        numbers = numbers * part.counts[len(read)].astype(kind)[states]
    return columns, numbers


def _refuse_beyond(kinds: int) -> None:
    if kinds > MOST:
        raise UsageError(f"more than {MOST:,} kinds of kernels: select fewer")
