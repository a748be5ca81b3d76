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
    from ckrules.kernels.books import Books
    from ckrules.kernels.config import Config
    from ckrules.ranking.ranker import Ranking
    from ckrules.reasoning.cover import Kernels
    from ckrules.reasoning.difference import diff, portable
    from ckrules.reasoning.graph import ConstraintGraph
    from ckrules.reasoning.lint import lint
    from ckrules.reasoning.nearest import Fixes
    from ckrules.reasoning.why import WhyPoint, why_region
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
    "why": ("why_region",),
}
_WHERE = {
    name: f"ckrules.{package}.{home}"
    for package, homes in (("engine", _HOME), ("reasoning", _REASONING), ("support", _SUPPORT))
    for home, names in homes.items()
    for name in names
}

__all__ = [
    "Bool", "CkrulesError", "ConstraintGraph", "Enum", "Int", "Kernels", "Real", "Region",
    "RuleBook", "RuleBookError", "Space", "Table", "UndecidedError", "UnknownNameError",
    "UsageError", "Violation", "Vocabulary", "__version__", "ceil_div", "check", "diff",
    "divides", "fix", "implies", "is_pow2", "isin", "ite", "kernel_space", "lint", "lookup",
    "maximum", "minimum", "parse", "portable", "quantity", "rank", "rel", "round_up", "rule",
    "variable", "why", "why_region",
]  # fmt: skip


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
    """Every rule that a configuration breaks; it is legal if none has severity error.

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
    from collections.abc import Mapping

    from ckrules.support.errors import UsageError

    if not isinstance(config, (str, Mapping)):
        raise UsageError(f"a configuration is a kernel's name or a mapping, not {config!r}")
    book, point = _judged(config, None, arch, ck, profile)
    return book.violations(point)


def why(
    config: str | Mapping[str, Any] | RuleBook | Space,
    point: Mapping[str, Any] | None = None,
    *,
    arch: str | None = None,
    ck: str | None = None,
    profile: str | None = None,
    **options: Any,
) -> WhyPoint:
    """Every rule that a configuration breaks, and which of its values conflict.

    Args:
        config: As for `check`, or a rule book or space.
        point: The full point, beside a rule book or space.
        arch, ck, profile: As for `check`.
        options: Those of `ckrules.reasoning.why.why`: ``deep``, ``timeout``.

    Raises:
        UsageError: If the configuration lacks a field or a value cannot be read.
        UndecidedError: When the solver does not decide in time.

    >>> name = ("grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave"
    ...         "_96x64x64_2x2x1_32x32x8_vec4_8_8")
    >>> why(name, arch="gfx942").legal
    False
    """
    from ckrules.reasoning.why import why

    return why(*_judged(config, point, arch, ck, profile), **options)


def fix(
    config: str | Mapping[str, Any] | RuleBook | Space,
    point: Mapping[str, Any] | None = None,
    *,
    arch: str | None = None,
    ck: str | None = None,
    profile: str | None = None,
    **options: Any,
) -> Fixes:
    """The nearest legal configurations.

    Args:
        config: As for `check`, or a rule book or space.
        point: The full point, beside a rule book or space.
        arch, ck, profile: As for `check`.
        options: Those of `ckrules.reasoning.nearest.fix`, such as ``n`` and ``keep``.

    Raises:
        UsageError: If the configuration lacks a field or a value cannot be read.
        UndecidedError: When the solver does not decide in time.

    >>> name = ("grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave"
    ...         "_96x64x64_2x2x1_32x32x16_vec4_8_8")
    >>> [(c.field, c.after) for c in fix(name, arch="gfx942", n=1).fixes[0].changes]
    [('tile_m', 64)]
    """
    from ckrules.reasoning.nearest import fix

    return fix(*_judged(config, point, arch, ck, profile), **options)


def rank(
    configs: Sequence[str | Mapping[str, Any]],
    problem: str,
    *,
    arch: str | None = None,
    ck: str | None = None,
    profile: str | None = None,
    limit: int = 10,
) -> Ranking:
    """The kernels that accept a problem by their predicted times, fastest first.

    Args:
        configs: Kernels of one variant and GPU, each as for `check`; whether they are legal is
            not asked.
        problem: The problem, such as ``N=1,C=64,K=64,H=56,W=56,Y=3,X=3,pad=1``.
        arch, ck, profile: As for `check`.
        limit: How many kernels are returned.

    Raises:
        UsageError: For what cannot be read, several CK versions, kernels without known times, or
            a limit below 1.

    >>> head = "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave"
    >>> names = [f"{head}_{tile}_2x2x1_32x32x16_vec8_8_8" for tile in ("64x64x64", "128x128x64")]
    >>> found = rank(names, "N=8,C=64,K=64,H=56,W=56,Y=3,X=3,pad=1", arch="gfx942")
    >>> found.looked_at, found.kernels[0].microseconds > 0
    (2, True)
    """
    from collections.abc import Iterable, Mapping

    from ckrules.kernels.applicability import Applicability
    from ckrules.kernels.problem_files import kinds, parse
    from ckrules.ranking.kernels import KernelTable
    from ckrules.ranking.ranker import Ranker
    from ckrules.support.errors import UsageError
    from ckrules.support.plain_values import whole

    if not isinstance(problem, str):
        raise UsageError(f"problem = {problem!r}: expected a text such as 'N=1,C=64,K=64'")
    limit = whole("limit", limit, 1)
    if isinstance(configs, (str, Mapping)) or not isinstance(configs, Iterable):
        raise UsageError("kernels are a list of names and mappings")
    read = [_read(each, arch, ck, profile) for each in configs]
    if len(versions := {books.ck for _, books in read}) != 1:
        known = ", ".join(sorted(versions)) or "none"
        raise UsageError(f"kernels of one CK version can be ranked together, got {known}")
    books = read[0][1]
    asked = parse(problem, kinds([each.variant for each, _ in read]))[0]
    accepts = Applicability(str(asked), books)
    points = [each.point for each, _ in read if accepts(each.point) == []]
    tables = [(KernelTable.of_points(points, books), points)] if points else []
    return Ranker().rank(tables, asked, limit)


def _read(
    config: str | Mapping[str, Any], arch: str | None, ck: str | None, profile: str | None
) -> tuple[Config, Books]:
    """A configuration, and the books of the CK version that it is for."""
    from collections.abc import Mapping

    from ckrules.kernels.books import Books
    from ckrules.kernels.config import config_from_mapping, config_from_name
    from ckrules.support.errors import UsageError

    books = Books(ck, profile)
    if isinstance(config, str):
        return config_from_name(config, books, arch=arch), books
    if not isinstance(config, Mapping):
        raise UsageError(f"a configuration is a kernel's name or a mapping, not {config!r}")
    found = config_from_mapping(config, books, arch=arch)
    return found, books.at(found.ck)


def _judged(
    config: str | Mapping[str, Any] | RuleBook | Space,
    point: Mapping[str, Any] | None,
    arch: str | None,
    ck: str | None,
    profile: str | None,
) -> tuple[RuleBook, Mapping[str, Any]]:
    """The rules, and the point that they are asked about."""
    from collections.abc import Mapping

    from ckrules.engine.restrictions import book_of
    from ckrules.support.errors import UsageError

    if not isinstance(config, (str, Mapping)):
        book = book_of(config)
    if isinstance(config, (str, Mapping)):
        if point is not None:
            raise UsageError("a point goes with a rule book or space, not with a configuration")
        found, books = _read(config, arch, ck, profile)
        return books.of(found.variant), found.point
    if point is None:
        raise UsageError("a rule book or space needs a point")
    if (arch, ck, profile) != (None, None, None):
        raise UsageError("arch, ck and profile go with a configuration, not with a rule book")
    return book, point
