"""What a table holds beside the row that a point asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BOOL, Expr
from ckrules.engine.expr.variables import Role, domain_of
from ckrules.engine.rules.derivation import listed, shown, worked

_SHOWN = 8  # rows that a message lists


def held(node: Expr, at: At) -> str:
    """The rows that a table has for the point's purpose: ``only 16x16x16``, or ``none at all``.

    Given are the keys that no repair changes (`Role.PURPOSE`), switches and constants; where that
    is none of them or all, the last key is asked for.

    >>> from ckrules.engine.expr import rel
    >>> from ckrules.engine.expr.relation import Table
    >>> from ckrules.engine.expr.variables import Enum, Int
    >>> gpu, m = Enum("arch", ["gfx942", "gfx1201"], role=Role.PURPOSE), Int("m", [16, 32])
    >>> pairs = [("gfx942", 16), ("gfx942", 32), ("gfx1201", 16)]
    >>> tiles = Table.relation("tiles", ("arch", "m"), pairs)
    >>> held(rel(tiles, gpu, m), At({"arch": "gfx1201", "m": 32}))
    'only 16'
    """
    asked = _asked(node)
    given = {i: at.value(a) for i, a in enumerate(node.args) if i not in asked}
    rows = [k for k in node.data.rows if all(k[i] == v for i, v in given.items())]
    found = list(dict.fromkeys("x".join(shown(row[i]) for i in asked) for row in rows))
    if not found:
        return "none at all"
    more = len(found) - _SHOWN
    if more > 1:
        return f"only {', '.join(found[:_SHOWN])} and {more} more"
    return f"only {listed(found)}"


def here(node: Expr, at: At) -> str:
    """The keys that are asked for, with their values: ``m = 32``."""
    return _named(node, _asked(node), at)


def given(node: Expr, at: At) -> str:
    """The keys that are given, empty if there are none: ``arch = gfx1201``."""
    asked = _asked(node)
    return _named(node, [i for i in range(len(node.args)) if i not in asked], at)


def _named(node: Expr, places: Sequence[int], at: At) -> str:
    parts = [(node.data.keys[i], node.args[i]) for i in places]
    said = [worked(a, at) if a.op == "var" else f"{key} = {worked(a, at)}" for key, a in parts]
    return ", ".join(said)


def _asked(node: Expr) -> list[int]:
    """The places of the keys that are listed."""
    free = [i for i, a in enumerate(node.args) if a.op != "const"]
    open_ = [i for i in free if not _purpose(node.args[i])]
    return open_ if 0 < len(open_) < len(free) else free[-1:]


def _purpose(node: Any) -> bool:
    return node.op == "var" and (node.sort == BOOL or domain_of(node).role is Role.PURPOSE)
