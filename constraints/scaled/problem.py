"""Products with scales: those of one pair of operands, and those of tokens with their experts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckrules.constraints.gemm import problem as gemm
from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.scaled.tuned import TUNED
from ckrules.engine.expr import Value
from ckrules.kernels.problem_text import size, sizes_of, values_by_name

_ALIASES = gemm.ALIASES | {"expert": "experts", "top_k": "topk", "tokens": "M", "token": "M"}
_OWN = ("experts", "topk")
#: Digits beyond which an exponent of split-K is not one.
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class ExpertProduct(MatrixProduct):
    """One of the two GEMMs of a mixture of experts: M tokens, each with the weights of topk experts.

    N are the columns of an expert's weights, which in the first GEMM hold gate and up halves.

    >>> str(ExpertProduct(64, 4096, 7168, experts=256, topk=8))
    'M=64,N=4096,K=7168,experts=256,topk=8'
    """

    experts: int = 1
    topk: int = 1

    @property
    def flops(self) -> int:
        """A multiplication and an addition for every product of a token with each of its experts."""
        return 2 * self.m * self.topk * self.n * self.k

    def sizes(self) -> dict[str, int]:
        """The sizes by name."""
        return {**MatrixProduct.sizes(self), "experts": self.experts, "topk": self.topk}

    def __str__(self) -> str:
        return f"{MatrixProduct.__str__(self)},experts={self.experts},topk={self.topk}"


def parse(text: str) -> MatrixProduct:
    """The product that a text says; with ``experts`` or ``topk`` it is one of tokens.

    >>> type(parse("M=8,N=9,K=10")).__name__
    'MatrixProduct'
    >>> parse("tokens=8,N=16,K=32,experts=4,topk=2").flops
    16384

    Raises:
        UsageError: For what is not a product, with the reason.
    """
    return from_mapping(sizes_of(text))


def from_mapping(given: Mapping[str, Any]) -> MatrixProduct:
    """`parse` for names and values that are already apart, such as a JSON object.

    Raises:
        UsageError: For what is not a product, with the reason.
    """
    values = values_by_name(given, _ALIASES)
    plain = gemm.from_mapping({k: v for k, v in values.items() if k not in _OWN})
    if not any(name in values for name in _OWN):
        return plain
    experts, topk = (size(name, values.get(name, 1)) for name in _OWN)
    p = plain
    return ExpertProduct(
        p.m, p.n, p.k, p.k_batch, p.batch, p.others, p.strides, experts=experts, topk=topk
    )


def from_row(cells: Mapping[str, str]) -> MatrixProduct:
    """The product of a table's row, whose other columns mean nothing.

    Rows of tuned tables say in how many parts a kernel of CK Tile splits sums; how those of other
    libraries do does not belong to the product.

    >>> str(from_row({"M": "16", "N": "8", "K": "4", "topk": "2", "experts": "8", "us": "12.5"}))
    'M=16,N=8,K=4,experts=8,topk=2'
    >>> str(from_row({"M": "16", "N": "8", "K": "64", "libtype": "cktile", "splitK": "2"}))
    'M=16,N=8,K=64,k_batch=4'

    Raises:
        UsageError: For what is not a product, with the reason.
    """
    known = {*gemm.NAMES, *_OWN, *_ALIASES}
    said = {k: v.strip() for k, v in cells.items() if k in known and v.strip()}
    given = values_by_name(said, _ALIASES)
    split = cells.get(TUNED.split, "").strip()
    ours = cells.get(TUNED.library, "").strip() == TUNED.mark
    if ours and "k_batch" not in given and split.isdecimal() and len(split) < _DIGITS:
        given["k_batch"] = str(1 << int(split))
    return from_mapping(given)


def values(problem: MatrixProduct) -> dict[str, Value]:
    """The values of a product's fields; 0 experts are none.

    >>> values(parse("M=8,N=16,K=32"))["experts"]
    0
    """
    from ckrules.constraints.gemm import problem_fields

    widths = len({n for _, n in problem.groups})
    return {"experts": 0, "topk": 0, "widths": widths, **problem_fields.values(problem)}


def row(problem: MatrixProduct, variant: str) -> dict[str, Value]:
    """The columns that a product fills in tables of results."""
    own = {name: v for name in _OWN if (v := getattr(problem, name, 0))}
    return {**own, **gemm.row(problem, variant)}
