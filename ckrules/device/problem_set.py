"""What a listed kernel is asked to compute, whatever its manifest says that it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ckrules.kernels.families import problems_of
from ckrules.support.errors import CkrulesError, UsageError

if TYPE_CHECKING:
    from ckrules.compiling.manifest import ManifestEntry
    from ckrules.kernels.parts import Problem


def fits(kernel: ManifestEntry, problem: Problem) -> bool:
    """Whether the kernel computes problems like this one.

    Raises:
        UsageError: If the manifest's configuration is none of its variant.
    """
    with readable(kernel):
        return problems_of(str(kernel.config["variant"])).fits(kernel.config, problem)


def smoke(kernel: ManifestEntry) -> tuple[Problem, ...]:
    """The built-in problems of the kernel.

    Raises:
        UsageError: If the manifest's configuration is none of its variant.
    """
    with readable(kernel):
        return tuple(problems_of(str(kernel.config["variant"])).smoke(kernel.config))


@contextmanager
def readable(kernel: ManifestEntry) -> Iterator[None]:
    """Says so where the manifest's configuration turns out to be none of its variant.

    Raises:
        UsageError: In that case.
    """
    try:
        yield
    except CkrulesError:
        raise
    except (KeyError, ValueError, TypeError, ArithmeticError):
        what = f"its configuration is not one of {kernel.config['variant']}"
        raise UsageError(f"{kernel.folder}: {kernel.name}: {what}: generate it again") from None
