"""The kernels that are compared: configurations as columns, of one family, GPU and version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from ckrules.kernels.families import family_of
from ckrules.kernels.timing import KernelColumns
from ckrules.output.columns import Column, Columns
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.arch.performance import GpuProduct
    from ckrules.kernels.books import Books
    from ckrules.kernels.family import Family
    from ckrules.kernels.parts import Point
    from ckrules.kernels.timing import Estimate, Timing


@dataclass(frozen=True)
class KernelTable:
    """Kernels of one variant and GPU, with what estimates of their times read.

    Args:
        books: The rule books of the kernels' version.
        columns: A column for each quantity of the family's `Timing`.
    """

    books: Books
    family: Family
    columns: Mapping[str, Column]
    gpu: Gpu
    product: GpuProduct

    @classmethod
    def of_points(
        cls, points: Sequence[Point], books: Books, product: str | None = None
    ) -> KernelTable:
        """The table of configurations that are whole.

        Raises:
            UsageError: If they are not all of one variant and GPU, or nothing is known of the
                times of such kernels.
        """
        for name in ("variant", "arch"):
            if len(found := {str(p[name]) for p in points}) != 1:
                what = ", ".join(sorted(found)) or "none"
                raise UsageError(f"kernels of one {name} can be ranked together, got {what}")
        variant, arch = str(points[0]["variant"]), str(points[0]["arch"])
        columns = Columns(books.of(variant), timing(variant).quantities).of_points(points)
        return cls.of_columns(columns, books, variant, arch, product)

    @classmethod
    def of_columns(
        cls,
        columns: Mapping[str, Column],
        books: Books,
        variant: str,
        arch: str,
        product: str | None = None,
    ) -> KernelTable:
        """The table of columns that a space was streamed into."""
        gpu = cast("Gpu", books.gpu(arch))
        if gpu.performance is None:
            raise UsageError(f"nothing is known of the speeds of {arch}: no time can be estimated")
        chosen = gpu.performance.product(product)
        return cls(books, family_of(variant), KernelColumns(columns), gpu, chosen)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @cached_property
    def timing(self) -> Timing:
        """The family's estimates."""
        found = self.family.timing
        assert found is not None
        return found

    def estimate(self, problem: Any) -> Estimate:
        """The estimated times on a problem."""
        return self.timing.estimate(self.columns, problem, self.gpu, self.product)


def timing(variant: str) -> Timing:
    """The estimates of the variant's family.

    Raises:
        UsageError: If it has none.
    """
    found = family_of(variant).timing
    if found is None:
        raise UsageError(f"nothing is known of the times of {variant} kernels")
    return found
