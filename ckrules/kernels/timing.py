"""What a family says of the time of its kernels: work, bounds and where the time goes.

Arrays have an element for each kernel. Nothing here is a measurement; `ckrules.ranking` holds
estimates against measurements and corrects them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ckrules.arch import Gpu
    from ckrules.arch.performance import GpuProduct

    Floats = NDArray[np.float64]


CAUTION = 1.25
"""So much faster an unmeasured kind of kernel must be estimated to come before a measured one."""

PRINTED_RANGE = 1.3
"""Between an estimate divided by this and multiplied by it two of three measured times lie, of
families that times were measured of; others say their own (`Timing.printed_range`)."""


T = TypeVar("T")


class KernelColumns(dict[str, Any]):
    """Columns of kernels, which do not change: what follows from them alone is computed `once`."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        super().__init__(columns)
        self.known: dict[str, Any] = {}


def once(columns: Mapping[str, Any], what: str, make: Callable[[], T]) -> T:
    """What follows from columns alone: made now, if not before.

    >>> columns = KernelColumns({})
    >>> once(columns, "size", lambda: 1), once(columns, "size", lambda: 2)
    (1, 1)
    """
    known = columns.known if isinstance(columns, KernelColumns) else {}
    if what not in known:
        known[what] = make()
    found: T = known[what]
    return found


class Explained(Protocol):
    """What the times of an estimate are made of, computed when it is asked for."""

    def bounds(self) -> Mapping[str, Floats]:
        """By what could limit a kernel, the microseconds that it would take if nothing else did."""

    def figures(self) -> Mapping[str, Floats]:
        """Blocks, blocks of a compute unit at once, useful shares: what `rank --explain` prints."""

    def features(self) -> Mapping[str, Floats]:
        """Numbers without a unit that say how kernel and problem fit: what models learn from."""

    def situation(self) -> Mapping[str, float]:
        """The same of the problem alone."""

    def assumed(self) -> Mapping[str, str]:
        """Values of fields whose effect was never measured, by ``field = value``, with what was
        assumed of them."""


@dataclass(frozen=True)
class Estimate:
    """The estimated times of kernels on one problem, and what they are made of.

    What it has beside the times is as in `Explained`, and takes longer to compute than these.

    Args:
        microseconds: The whole time of a launch, for each kernel.
        explained: What says the rest.
    """

    microseconds: Floats
    explained: Explained

    @cached_property
    def bounds(self) -> Mapping[str, Floats]:
        """See `Explained.bounds`."""
        return self.explained.bounds()

    @cached_property
    def figures(self) -> Mapping[str, Floats]:
        """See `Explained.figures`."""
        return self.explained.figures()

    @cached_property
    def features(self) -> Mapping[str, Floats]:
        """See `Explained.features`."""
        return self.explained.features()

    @cached_property
    def situation(self) -> Mapping[str, float]:
        """See `Explained.situation`."""
        return self.explained.situation()

    @cached_property
    def assumed(self) -> Mapping[str, str]:
        """See `Explained.assumed`."""
        return self.explained.assumed()

    def limits(self) -> list[str]:
        """What limits each kernel: the bound that takes longest."""
        import numpy as np

        names = list(self.bounds)
        longest = np.argmax(np.stack([self.bounds[n] for n in names]), axis=0)
        return [names[i] for i in longest]


class Timing(Protocol):
    """How long the kernels of a family take."""

    @property
    def quantities(self) -> Sequence[str]:
        """The fields and derived quantities that `estimate` reads of each kernel."""

    @property
    def features(self) -> Sequence[str]:
        """The names that `Estimate.features` may have, in order."""

    @property
    def situation(self) -> Sequence[str]:
        """The names of `Estimate.situation`, in order."""

    @property
    def printed_range(self) -> float:
        """The factor below and above an estimate between which times are said to lie."""

    def estimate(
        self, kernels: Mapping[str, Any], problem: Any, gpu: Gpu, product: GpuProduct
    ) -> Estimate:
        """The times of kernels on a problem.

        Args:
            kernels: A `ckrules.output.columns.Column` for each of `quantities`.
            problem: A problem of the family that all kernels fit.

        Raises:
            UsageError: If nothing is known of the GPU's speeds.
        """

    def compiled(
        self, kernels: Mapping[str, Any], gpu: Gpu, product: GpuProduct
    ) -> Mapping[str, Floats]:
        """What times follow from before there is a problem, for libraries without Python.

        The names are the members of ``ckrules_speed`` in ``ckrules_timing.hpp``, each with a
        number for each kernel.

        Raises:
            UsageError: If nothing is known of the GPU's speeds.
        """

    @property
    def apart(self) -> Sequence[str]:
        """The fields of which kernels that are compared have one value."""

    def usual(self, values: Mapping[str, Sequence[Any]]) -> Sequence[Any]:
        """The problems by which kernels are compared where nobody names one.

        Args:
            values: The values that the kernels have of each field.
        """

    @property
    def columns(self) -> Sequence[str]:
        """The columns by which upstream's measurements say a kernel, beside its name."""

    def measured(self, row: Mapping[str, str], gpu: str) -> Mapping[str, Any] | None:
        """The configuration that a row of upstream's measurements means; None: it says none.

        Raises:
            UsageError: If the row names a kernel that does not exist.
        """
