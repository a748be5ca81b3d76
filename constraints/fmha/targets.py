"""The targets of upstream's attention generator: which of its factories a GPU's name selects.

Facts: ``get_factory`` of example/ck_tile/01_fmha/codegen/ops/*.py, CK 2025.11.
"""

from __future__ import annotations

from collections.abc import Iterable

from ckrules.engine.expr.relation import Table

NONE = "none"
"""Where the generator raises "Unsupported device target"."""


def target(gpu: str, *, apart: bool) -> str:
    """The target of a GPU's name, by what it begins with.

    Args:
        apart: Whether the direction tells gfx950 from gfx9, as fwd and bwd do.

    >>> target("gfx90a", apart=True), target("gfx950", apart=True), target("gfx950", apart=False)
    ('gfx9', 'gfx950', 'gfx9')
    >>> target("gfx1100", apart=True)
    'none'
    """
    known = ("gfx950", "gfx9", "gfx12") if apart else ("gfx9", "gfx12")
    return next((t for t in known if gpu.startswith(t)), NONE)


def table(name: str, gpus: Iterable[str], *, apart: bool) -> Table:
    """`target` by GPU."""
    return Table(name, ("arch",), {gpu: target(gpu, apart=apart) for gpu in gpus})
