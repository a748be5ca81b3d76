"""Walks over expressions: every node once, nodes exchanged, nested nodes opened up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ckrules.engine.expr.nodes import Expr, make

T = TypeVar("T")


def annotate(root: Expr, known: dict[int, T], step: Callable[[Expr], T]) -> T:
    """What ``step`` makes of ``root``, kept in ``known`` by id, operands before their nodes.

    Nodes that are known already are not looked at again, nor what lies below them.

    >>> from ckrules.engine.expr.variables import Int
    >>> a, depths = Int("a", [1, 2]), {}
    >>> annotate(a * a + 1, depths, lambda n: 1 + max((depths[x.id] for x in n.args), default=0))
    3
    """
    if root.id in known:
        return known[root.id]
    stack = [(root, iter(root.args))]
    while stack:
        node, operands = stack[-1]
        for a in operands:
            if a.id not in known:
                stack.append((a, iter(a.args)))
                break
        else:
            known[node.id] = step(node)
            stack.pop()
    return known[root.id]


def walk(*roots: Expr) -> list[Expr]:
    """Every node below ``roots`` once, operands before the nodes that use them."""
    done: set[int] = set()
    order: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(r, False) for r in reversed(roots)]
    while stack:
        node, expanded = stack.pop()
        if node.id in done:
            continue
        if expanded or not node.args:
            done.add(node.id)
            order.append(node)
        else:
            stack.append((node, True))
            stack.extend((a, False) for a in reversed(node.args) if a.id not in done)
    return order


def substitute(root: Expr, replace: Callable[[Expr], Expr | None]) -> Expr:
    """``root`` with every node that ``replace`` answers for exchanged.

    Nodes are asked for before those below them; what is below an exchanged node is not.
    """
    new: dict[int, Expr] = {}
    opened: set[int] = set()
    stack = [root]
    while stack:
        node = stack[-1]
        if node.id not in opened:
            opened.add(node.id)
            other = replace(node)
            if other is not None:
                new[node.id] = other
            else:
                stack.extend(a for a in reversed(node.args) if a.id not in opened)
                continue
        stack.pop()
        if node.id not in new:
            args = tuple(new[a.id] for a in node.args)
            same = all(x is y for x, y in zip(args, node.args, strict=True))
            new[node.id] = node if same else make(type(node), node.op, args, node.data)
    return new[root.id]


def children(parts: Iterable[Expr], op: str) -> Iterator[Expr]:
    """The parts with nested nodes of kind ``op`` opened up."""
    for part in parts:
        if part.op == op:
            yield from children(part.args, op)
        else:
            yield part
