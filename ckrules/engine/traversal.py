"""Walks over expressions: every node once, nodes exchanged, nested nodes opened up."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator

from ckrules.engine.expr import Expr, make


def walk(*roots: Expr, known: Container[int] = ()) -> list[Expr]:
    """Every node below ``roots`` once, operands before the nodes that use them.

    Nodes whose ids are ``known`` are left out, with what only they use.
    """
    done: set[int] = set()
    order: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(r, False) for r in reversed(roots)]
    while stack:
        node, expanded = stack.pop()
        if node.id in done or node.id in known:
            continue
        if expanded or not node.args:
            done.add(node.id)
            order.append(node)
        else:
            stack.append((node, True))
            stack.extend((a, False) for a in reversed(node.args) if a.id not in done)
    return order


def substitute(root: Expr, replace: Callable[[Expr], Expr | None]) -> Expr:
    """``root`` with every node that ``replace`` answers for exchanged, rebuilt bottom up."""
    new: dict[int, Expr] = {}
    for node in walk(root):
        other = replace(node)
        if other is None:
            args = tuple(new[a.id] for a in node.args)
            same = all(x is y for x, y in zip(args, node.args, strict=True))
            other = node if same else make(type(node), node.op, args, node.data)
        new[node.id] = other
    return new[root.id]


def children(parts: Iterable[Expr], op: str) -> Iterator[Expr]:
    """The parts with nested nodes of kind ``op`` opened up."""
    for part in parts:
        if part.op == op:
            yield from children(part.args, op)
        else:
            yield part
