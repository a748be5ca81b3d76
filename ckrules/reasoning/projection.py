"""Projections: the different values that some variables have among all points of a space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrules.engine.expr import BoolExpr, Expr, Value
from ckrules.engine.space import Space
from ckrules.support.errors import UsageError

Array = npt.NDArray[Any]
MOST = 2_000_000  # different values that are told apart


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
    groups = _groups(space, first)
    lists = [space.domains[n] for n in first]
    place = [first.index(n) for n in names]
    out: dict[tuple[Value, ...], int] = {}
    for code, number in groups.items():
        values = _decoded(code, lists)
        out[tuple(values[k] for k in place)] = number
    return out


def _groups(space: Space, first: Sequence[str]) -> dict[int, int]:
    """The number of points for each code of the variables that the space's order begins with.

    Points are sorted by these variables, so a run whose ends agree is all the same; other runs
    are halved.
    """
    compiled = space.compile()
    sizes = [len(space.domains[n]) for n in first]

    def codes(at: Array) -> Array:
        table = compiled.unrank_many(at.tolist())
        found = np.zeros(len(at), dtype=np.int64)
        for name, size in zip(first, sizes, strict=True):
            found = found * size + table[name].astype(np.int64)
        return found

    low, high = np.asarray([0]), np.asarray([compiled.count - 1])
    low_code, high_code = codes(low), codes(high)
    out: dict[int, int] = {}
    while len(low):
        same = low_code == high_code
        runs = zip(low_code[same], low[same], high[same], strict=True)
        for code, start, stop in runs:
            out[int(code)] = out.get(int(code), 0) + int(stop) - int(start) + 1
        low, high = low[~same], high[~same]
        if len(out) + len(low) > MOST:
            raise UsageError(f"more than {MOST:,} kinds of kernels: select fewer")
        if not len(low):
            break
        middle = (low + high) // 2
        ends, starts = codes(middle), codes(middle + 1)
        low, high = np.concatenate([low, middle + 1]), np.concatenate([middle, high])
        low_code = np.concatenate([low_code[~same], starts])
        high_code = np.concatenate([ends, high_code[~same]])
    return out


def _decoded(code: int, lists: Sequence[Sequence[Value]]) -> list[Value]:
    out: list[Value] = []
    for values in reversed(lists):
        code, digit = divmod(code, len(values))
        out.append(values[digit])
    return out[::-1]
