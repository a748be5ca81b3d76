"""Matrix products: their sizes, and the one line of text that says them."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ckrules.engine.expr import Value
from ckrules.kernels.problem_text import size, sizes_of, values_by_name
from ckrules.support.errors import UsageError, unknown

_STRIDES = ("stride_a", "stride_b", "stride_c")
NAMES = ("M", "N", "K", "k_batch", "batch", *_STRIDES)
ALIASES = {
    "m": "M", "n": "N", "k": "K", "split_k": "k_batch", "kbatch": "k_batch", "splitk": "k_batch",
    "batch_count": "batch", "lda": "stride_a", "ldb": "stride_b", "ldc": "stride_c",
}  # fmt: skip
_GROUPS = 4096


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """C = A B: C has M rows and N columns, a sum has K products and is split into k_batch parts.

    >>> str(MatrixProduct(64, 128, 32)), str(MatrixProduct(64, 128, 32, 2))
    ('M=64,N=128,K=32', 'M=64,N=128,K=32,k_batch=2')
    >>> str(MatrixProduct(64, 128, 32, others=((16, 128), (1, 128))))
    'M=64+16+1,N=128,K=32'
    >>> str(MatrixProduct(64, 128, 32, strides=(40, 0, 0)))
    'M=64,N=128,K=32,stride_a=40'
    """

    m: int
    n: int
    k: int
    k_batch: int = 1
    batch: int = 1
    """So many products of these sizes, one behind the other."""
    others: tuple[tuple[int, int], ...] = ()
    """M and N of the further groups of a grouped product; K is that of the first."""
    strides: tuple[int, int, int] = (0, 0, 0)
    """Elements from a row of A, B and C to the next, or from a column where columns are contiguous;
    0: they lie one behind the other."""

    @property
    def groups(self) -> tuple[tuple[int, int], ...]:
        """M and N of every group; most products are one."""
        return ((self.m, self.n), *self.others)

    @property
    def flops(self) -> int:
        """A multiplication and an addition for every product."""
        return 2 * self.batch * sum(m * n for m, n in self.groups) * self.k

    def whole(self) -> MatrixProduct:
        """The same product with its sums in one part."""
        return replace(self, k_batch=1)

    def sizes(self) -> dict[str, int]:
        """The sizes by name; of several groups what divides all of them."""
        m, n = (math.gcd(*found) for found in zip(*self.groups, strict=True))
        return {"M": m, "N": n, "K": self.k, "k_batch": self.k_batch, "batch": self.batch}

    def __str__(self) -> str:
        m, n = (
            str(found[0]) if len(set(found)) == 1 and at else "+".join(map(str, found))
            for at, found in enumerate(zip(*self.groups, strict=True))
        )
        text = f"M={m},N={n},K={self.k}"
        text += "" if self.k_batch == 1 else f",k_batch={self.k_batch}"
        text += "" if self.batch == 1 else f",batch={self.batch}"
        said = zip(_STRIDES, self.strides, strict=True)
        return text + "".join(f",{name}={value}" for name, value in said if value)


def parse(text: str) -> MatrixProduct:
    """The product that a text says, such as ``M=512,N=256,K=1024``; ``k_batch`` is 1.

    The sizes of groups stand side by side: ``M=512+100,N=256,K=1024`` has two groups.

    >>> parse("m=8, n=9, k=10").flops
    1440
    >>> parse("M=8+4,N=16,K=2").groups
    ((8, 16), (4, 16))

    Raises:
        UsageError: For what is not a product, with the reason.
    """
    return from_mapping(sizes_of(text))


def from_mapping(given: Mapping[str, Any]) -> MatrixProduct:
    """`parse` for names and values that are already apart, such as a JSON object.

    Raises:
        UsageError: For what is not a product, with the reason.
    """
    values = values_by_name(given, ALIASES)
    for name in values:
        if name not in NAMES:
            raise unknown("size of a matrix product", str(name), NAMES)
    for name in NAMES[:3]:
        if name not in values:
            raise UsageError(f"the problem has no {name}")
    m, n = (_side(name, values[name]) for name in "MN")
    k, split, batch = (size(name, values.get(name, 1)) for name in NAMES[2:5])
    count = max(len(m), len(n))
    if count > _GROUPS:
        raise UsageError(f"{count} groups, expected at most {_GROUPS}")
    for name, found in (("M", m), ("N", n)):
        if len(found) not in (1, count):
            raise UsageError(f"{name} has {len(found)} groups, expected 1 or {count}")
    groups = tuple(zip(m * (count // len(m)), n * (count // len(n)), strict=True))
    strides = [size(name, values[name]) if name in values else 0 for name in _STRIDES]
    return MatrixProduct(
        *groups[0], k, split, batch, groups[1:], (strides[0], strides[1], strides[2])
    )


def from_row(cells: Mapping[str, str]) -> MatrixProduct:
    """The product of a table's row, whose other columns mean nothing.

    >>> from_row({"M": "16", "N": "8", "K": "4", "us": "12.5"}).n
    8

    Raises:
        UsageError: For what is not a product, with the reason.
    """
    known = {*NAMES, *ALIASES}
    return from_mapping({k: v.strip() for k, v in cells.items() if k in known and v.strip()})


def _side(name: str, value: Any) -> tuple[int, ...]:
    """The sizes of the groups, of which most products have one."""
    return tuple(size(name, part) for part in str(value).split("+"))


def pack(problem: MatrixProduct) -> bytes:
    """A problem as ``ckrules_gemm`` of ``runtime/ckrules_gemm.h`` lays it out.

    >>> len(pack(MatrixProduct(1, 2, 3)))
    72
    """
    p = problem
    numbers = [p.m, p.n, p.k, p.k_batch, p.batch, len(p.groups), *p.strides]
    for group in p.others:
        numbers += group
    return struct.pack(f"={len(numbers)}q", *numbers)


def row(problem: MatrixProduct, variant: str) -> dict[str, Value]:
    """The columns that a product fills in tables of results."""
    first = {"M": problem.m, "N": problem.n, "K": problem.k, "k_batch": problem.k_batch}
    more = {"batch": problem.batch, "groups": len(problem.groups)}
    apart = {k: v for k, v in zip(_STRIDES, problem.strides, strict=True) if v}
    return {
        **first, **{k: v for k, v in more.items() if v > 1}, **apart, "flops": problem.flops,
    }  # fmt: skip
