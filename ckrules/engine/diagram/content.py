"""Content hashes: names for problems that do not depend on the process that made them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ckrules.engine.expr import BoolExpr, Expr
from ckrules.engine.traversal import walk

_known: dict[int, bytes] = {}


def digest(
    domains: Mapping[str, Sequence[Any]], conditions: Iterable[BoolExpr], order: Sequence[str] = ()
) -> str:
    """The content hash of variables with their candidates, conditions and an imposed order.

    The engine's own source takes part, so that a changed engine finds nothing old.

    >>> from ckrules.engine.variables import Int
    >>> m = Int("m", [16, 32])
    >>> digest({"m": (16, 32)}, [m > 16]) == digest({"m": (16, 32)}, [m > 16])
    True
    >>> digest({"m": (16, 32)}, [m > 16]) == digest({"m": (16, 32)}, [m >= 16])
    False
    """
    whole = hashlib.sha256(_engine())
    for name, values in domains.items():
        whole.update(f"{name}={_values(values)};".encode())
    whole.update(repr(tuple(order)).encode())
    for condition in conditions:
        whole.update(node_digest(condition))
    return whole.hexdigest()


def node_digest(root: Expr) -> bytes:
    """The content hash of an expression; variables count by name, derived names not at all."""
    for node in walk(root):
        if node.id not in _known:
            if node.op == "named":
                _known[node.id] = _known[node.args[0].id]
                continue
            text = f"{node.sort} {node.op} {_data(node)}".encode()
            _known[node.id] = hashlib.sha256(
                text + b"".join(_known[a.id] for a in node.args)
            ).digest()
    return _known[root.id]


def _data(node: Expr) -> str:
    if node.op == "var":
        return str(node.data.name)
    if node.op in ("rel", "lookup"):
        return str(node.data.digest)
    if node.op == "isin":
        return _values(node.data)
    return _values((node.data,)) if node.op == "const" else ""


def _values(values: Iterable[Any]) -> str:
    return ",".join(f"{type(v).__name__} {v!r}" for v in values)


@lru_cache(maxsize=1)
def _engine() -> bytes:
    engine = Path(__file__).parent.parent
    files = sorted(engine.glob("*.py")) + sorted(engine.glob("diagram/*.py"))
    files += sorted(engine.glob("backends/*.py"))
    whole = hashlib.sha256()
    for path in files:
        whole.update(path.read_bytes())
    return whole.digest()
