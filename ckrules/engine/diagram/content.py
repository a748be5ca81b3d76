"""Content hashes: names for problems that do not depend on the process that made them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ckrules.engine.expr import BoolExpr, Expr
from ckrules.engine.expr.traversal import annotate

_NOTE = "digest"


def digest(
    domains: Mapping[str, Sequence[Any]], conditions: Iterable[BoolExpr], order: Sequence[str] = ()
) -> str:
    """The content hash of variables with their candidates, conditions and an imposed order.

    The engine's own source takes part, so that a changed engine finds nothing old.

    >>> from ckrules.engine.expr.variables import Int
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
    found: bytes | None = root.notes.get(_NOTE)
    if found is None:
        known: dict[int, bytes] = {}
        found = annotate(root, known, lambda node: _digest(node, known))
    return found


def _digest(node: Expr, known: Mapping[int, bytes]) -> bytes:
    if _NOTE not in node.notes:
        inner = [known[a.id] for a in node.args]
        text = f"{node.sort} {node.op} {_data(node)}".encode()
        whole = hashlib.sha256(text + b"".join(inner)).digest()
        node.notes[_NOTE] = inner[0] if node.op == "named" else whole
    digest: bytes = node.notes[_NOTE]
    return digest


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
    whole = hashlib.sha256()
    for path in sorted(engine.rglob("*.py")):
        whole.update(path.read_bytes())
    return whole.digest()
