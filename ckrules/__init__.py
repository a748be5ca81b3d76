"""The rules of AMD's CK Tile kernels as one rule book: enumerate, count, check, explain.

The engine works for any finite space of configurations, not only for convolutions:

>>> import ckrules
>>> m, k = ckrules.Int("tile_m", [16, 32, 64]), ckrules.Int("tile_k", [8, 16, 32])
>>> space = ckrules.Space([m, k], [m * k <= 512, m % k == 0])
>>> space.count()
5

Attributes are imported at first use, so that ``import ckrules`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckrules.engine.expr import (
        ceil_div,
        divides,
        implies,
        is_pow2,
        isin,
        ite,
        lookup,
        maximum,
        minimum,
        rel,
        round_up,
    )
    from ckrules.engine.expr.relation import Table
    from ckrules.engine.expr.variables import Bool, Enum, Int, Real, variable
    from ckrules.engine.lang.where import parse
    from ckrules.engine.rules import Violation, rule
    from ckrules.engine.rules.book import RuleBook, Vocabulary, quantity
    from ckrules.engine.rules.region import Region
    from ckrules.engine.space import Space
    from ckrules.reasoning.cover import Kernels
    from ckrules.reasoning.difference import diff, portable
    from ckrules.reasoning.graph import ConstraintGraph
    from ckrules.reasoning.lint import lint
    from ckrules.reasoning.nearest import fix
    from ckrules.reasoning.why import why, why_region
    from ckrules.support.errors import (
        CkrulesError,
        RuleBookError,
        UndecidedError,
        UnknownNameError,
        UsageError,
    )

_HOME = {
    "rules.book": ("RuleBook", "Vocabulary", "quantity"),
    "expr": (
        *("ceil_div", "divides", "implies", "is_pow2", "isin", "ite", "lookup", "maximum"),
        *("minimum", "rel", "round_up"),
    ),
    "lang.where": ("parse",),
    "rules": ("Violation", "rule"),
    "rules.region": ("Region",),
    "space": ("Space",),
    "expr.relation": ("Table",),
    "expr.variables": ("Bool", "Enum", "Int", "Real", "variable"),
}
_SUPPORT = {
    "errors": ("CkrulesError", "RuleBookError", "UndecidedError", "UnknownNameError", "UsageError"),
}
_REASONING = {
    "cover": ("Kernels",),
    "difference": ("diff", "portable"),
    "graph": ("ConstraintGraph",),
    "lint": ("lint",),
    "nearest": ("fix",),
    "why": ("why", "why_region"),
}
_WHERE = {
    name: f"ckrules.{package}.{home}"
    for package, homes in (("engine", _HOME), ("reasoning", _REASONING), ("support", _SUPPORT))
    for home, names in homes.items()
    for name in names
}

__all__ = [
    "Bool",
    "CkrulesError",
    "ConstraintGraph",
    "Enum",
    "Int",
    "Kernels",
    "Real",
    "Region",
    "RuleBook",
    "RuleBookError",
    "Space",
    "Table",
    "UndecidedError",
    "UnknownNameError",
    "UsageError",
    "Violation",
    "Vocabulary",
    "__version__",
    "ceil_div",
    "check",
    "diff",
    "divides",
    "fix",
    "implies",
    "is_pow2",
    "isin",
    "ite",
    "kernel_space",
    "lint",
    "lookup",
    "maximum",
    "minimum",
    "parse",
    "portable",
    "quantity",
    "rel",
    "round_up",
    "rule",
    "variable",
    "why",
    "why_region",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'ckrules' has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})


def kernel_space(
    variant: str | None = None, arch: str | Sequence[str] | None = None, **bindings: Any
) -> Space:
    """The space of legal kernels of one family, with some fields bound.

    Args:
        variant: ``forward``, ``bwd_data``, ``bwd_weight``, ``forward_depthwise`` or a plug-in's;
            without it the three directions of grouped convolution together.
        arch: One GPU or several; without it all.
        bindings: Values of other fields (a list allows several); ``ck`` and ``profile``, which
            select the rules; ``family``, where no variant says it.

    Raises:
        UnknownNameError: For a variant, GPU, field or word that does not exist.

    >>> space = kernel_space("bwd_weight", "gfx1201", dtype="fp16", ndim=2)
    >>> space[0]["warp_tile_m"]
    16
    """
    from ckrules.kernels.books import Books
    from ckrules.kernels.selection import select

    books = Books(bindings.pop("ck", None), bindings.pop("profile", None))
    family = bindings.pop("family", None)
    wanted = {"variant": variant, "arch": arch, **bindings}
    given = {k: v for k, v in wanted.items() if v is not None}
    return select(books, given, family=family).space


def check(
    config: str | Mapping[str, Any],
    *,
    arch: str | None = None,
    ck: str | None = None,
    profile: str | None = None,
) -> list[Violation]:
    """Every rule that a configuration breaks; an empty list means that it is legal.

    Args:
        config: A kernel's name or a mapping of fields; features left out have their defaults.
        arch: The GPU, where the configuration names none.
        ck, profile: Which rules hold.

    Raises:
        UsageError: If the configuration lacks a field or a value cannot be read.

    >>> name = ("grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave"
    ...         "_96x64x64_2x2x1_32x32x8_vec4_8_8")
    >>> any("tile_m = 96" in v.message for v in check(name, arch="gfx942"))
    True
    """
    from ckrules.kernels.books import Books
    from ckrules.kernels.config import config_from_mapping, config_from_name

    books = Books(ck, profile)
    if isinstance(config, str):
        found = config_from_name(config, books, arch=arch)
    else:
        found = config_from_mapping(config, books, arch=arch)
    return books.of(found.variant).violations(found.point)
