"""Kernel Tuner's ``Searchspace`` of a space's legal points, for its strategies.

Its own construction solves the restrictions again; this one is filled from the compiled space.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.engine.space import Space

#: Points up to which a list of them is made: Kernel Tuner holds each as a tuple and in indices.
MOST = 5_000_000


def searchspace_of(space: Space, *, neighbor_method: str | None = None) -> Any:
    """A ``kernel_tuner.searchspace.Searchspace`` that holds exactly the points of a space.

    Args:
        space: The space; its variables are the tunable parameters.
        neighbor_method: The ``Searchspace``'s own option: which neighbours it prepares.

    Raises:
        UsageError: Without Kernel Tuner, for a space of more than `MOST` points, or of none.
    """
    try:
        from kernel_tuner.searchspace import Searchspace
    except ImportError:
        raise UsageError("this needs Kernel Tuner: pip install kernel-tuner") from None
    count = space.count()
    if not 0 < count <= MOST:
        raise UsageError(
            f"Kernel Tuner lists every point, and {count:,} are not 1 to {MOST:,}: "
            "bind variables or add conditions"
        )
    listed = {
        "tune_params": {name: list(values) for name, values in space.domains.items()},
        "cache": {str(k): point for k, point in enumerate(space)},
    }
    return Searchspace(None, None, None, neighbor_method=neighbor_method, from_cache=listed)
