"""Matrix products: their sizes, and the one line of text that says them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckrules.engine.expr import Value
from ckrules.support.errors import UsageError, unknown

_NAMES = ("M", "N", "K", "k_batch")
_ALIASES = {
    "m": "M", "n": "N", "k": "K", "split_k": "k_batch", "kbatch": "k_batch", "splitk": "k_batch",
}  # fmt: skip
_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Product:
    """C = A B: C has M rows and N columns, a sum has K products and is split into k_batch parts.

    >>> str(Product(64, 128, 32)), str(Product(64, 128, 32, 2))
    ('M=64,N=128,K=32', 'M=64,N=128,K=32,k_batch=2')
    """

    m: int
    n: int
    k: int
    k_batch: int = 1

    @property
    def flops(self) -> int:
        """A multiplication and an addition for every product."""
        return 2 * self.m * self.n * self.k

    def whole(self) -> Product:
        """The same product with its sums in one part."""
        return Product(self.m, self.n, self.k)

    def __str__(self) -> str:
        text = f"M={self.m},N={self.n},K={self.k}"
        return text if self.k_batch == 1 else f"{text},k_batch={self.k_batch}"


def parse(text: str) -> Product:
    """The product that a text says, such as ``M=512,N=256,K=1024``; ``k_batch`` is 1.

    >>> parse("m=8, n=9, k=10").flops
    1440

    Raises:
        UsageError: For what is not a product, with the reason.
    """
    given: dict[str, str] = {}
    for part in text.split(","):
        key, sign, value = part.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise UsageError(f"{part[:40]!r} is not of the form NAME=NUMBER")
        name = _ALIASES.get(key.strip(), key.strip())
        if name in given:
            raise UsageError(f"{key.strip()} is given twice")
        given[name] = value.strip()
    return from_mapping(given)


def from_mapping(given: Mapping[str, Any]) -> Product:
    """`parse` for names and values that are already apart, such as a JSON object.

    Raises:
        UsageError: For what is not a product, with the reason.
    """
    values: dict[str, Any] = {}
    for key, value in given.items():
        name = _ALIASES.get(key, key)
        if name not in _NAMES:
            raise unknown("size of a matrix product", str(key), _NAMES)
        values[name] = value
    for name in _NAMES[:3]:
        if name not in values:
            raise UsageError(f"the problem has no {name}")
    m, n, k, split = (_integer(name, values.get(name, 1)) for name in _NAMES)
    return Product(m, n, k, split)


def from_row(cells: Mapping[str, str]) -> Product:
    """The product of a table's row, whose other columns mean nothing.

    >>> from_row({"M": "16", "N": "8", "K": "4", "us": "12.5"}).n
    8

    Raises:
        UsageError: For what is not a product, with the reason.
    """
    known = {*_NAMES, *_ALIASES}
    return from_mapping({k: v.strip() for k, v in cells.items() if k in known and v.strip()})


def _integer(name: str, value: Any) -> int:
    try:
        number = int(str(value).strip())
    except ValueError:
        raise UsageError(f"{name} = {str(value)[:40]!r} is not an integer") from None
    if not 1 <= number <= _MAX:
        raise UsageError(f"{name} = {number} is not between 1 and {_MAX}")
    return number


def pack(problem: Product) -> bytes:
    """A problem as ``ckrules_gemm`` of ``runtime/ckrules_gemm.h`` lays it out.

    >>> len(pack(Product(1, 2, 3)))
    32
    """
    return struct.pack("=4q", problem.m, problem.n, problem.k, problem.k_batch)


def row(problem: Product, variant: str) -> dict[str, Value]:
    """The columns that a product fills in tables of results."""
    sizes = dict(zip(_NAMES, (problem.m, problem.n, problem.k, problem.k_batch), strict=True))
    return {**sizes, "flops": problem.flops}
