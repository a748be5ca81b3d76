"""Drawings of a constraint graph: Mermaid, DOT and SVG text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from ckrules.reasoning.graph import ConstraintGraph

_ROW = 28
_WIDTH = 1000
"""The height of a label and the gap below it."""
_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999999", "#664400")


def mermaid(graph: ConstraintGraph) -> str:
    """The graph as a Mermaid flowchart; fields are round, rules are boxes."""
    lines = ["graph LR"]
    lines += [f'  {n}(["{n}"])' for n in _used(graph)]
    lines += [f'  {r.code}["{r.code}<br/>{r.name}"]' for r in graph.rules]
    lines += [f"  {rule} --- {field}" for rule, field in graph.edges]
    return "\n".join(lines) + "\n"


def dot(graph: ConstraintGraph) -> str:
    """The graph for Graphviz."""
    lines = ["graph rules {", "  layout=neato; overlap=false; node [fontname=sans];"]
    lines += [f'  "{n}" [shape=ellipse];' for n in _used(graph)]
    lines += [f'  "{r.code}" [shape=box, tooltip="{r.name}"];' for r in graph.rules]
    lines += [f'  "{rule}" -- "{field}";' for rule, field in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


def svg(graph: ConstraintGraph) -> str:
    """The graph as a picture: fields in the middle, rules by topic on both sides.

    No two labels share a place. Fields stand near the rules that read them, and have the colour
    of their community.
    """
    left, right = _halves([r.code for r in graph.rules])
    fields = _used(graph)
    rows = max(len(left), len(right), len(fields), 1)
    height = _ROW * (rows + 1)
    place = {n: (130.0, y) for n, y in _column(left, height)}
    place |= {n: (_WIDTH - 130.0, y) for n, y in _column(right, height)}
    read: dict[str, list[float]] = {n: [] for n in fields}
    for rule, name in graph.edges:
        read[name].append(place[rule][1])
    near = sorted(fields, key=lambda n: sum(read[n]) / len(read[n]))
    place |= {n: (_WIDTH / 2, y) for n, y in _column(near, height)}
    colour = {
        n: _COLOURS[k % len(_COLOURS)] for k, group in enumerate(graph.communities) for n in group
    }
    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            'font-family="sans-serif" font-size="12">'
        )
    ]
    for rule, name in graph.edges:
        (x1, y1), (x2, y2) = place[rule], place[name]
        out.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour[name]}" stroke-opacity="0.35"/>'
        )
    titles = {r.code: f"{r.code} {r.name}" for r in graph.rules}
    for node, (x, y) in place.items():
        out.append(_node(node, x, y, colour[node], titles.get(node)))
    return "\n".join([*out, "</svg>"]) + "\n"


def _halves(codes: Sequence[str]) -> tuple[list[str], list[str]]:
    """The codes in order, a topic whole on one side where both sides stay nearly as long."""
    ordered = sorted(codes)
    topics = [c.rstrip("0123456789") for c in ordered]
    middle = len(ordered) // 2
    cuts = [i for i in range(1, len(ordered)) if topics[i] != topics[i - 1]]
    cut = min(cuts, key=lambda i: abs(i - middle), default=middle)
    return ordered[:cut], ordered[cut:]


def _column(names: Sequence[str], height: float) -> Iterator[tuple[str, float]]:
    """The names with their places from top to bottom, at equal distances."""
    step = height / (len(names) + 1)
    return ((n, step * (i + 1)) for i, n in enumerate(names))


def _node(name: str, x: float, y: float, colour: str, title: str | None) -> str:
    half = 4 + 3.6 * len(name)
    corner = 3 if title else 11
    shape = (
        f'<rect x="{x - half:.1f}" y="{y - 11:.1f}" width="{2 * half:.1f}" height="22" '
        f'rx="{corner}" fill="{"#fff" if title else colour}" stroke="{colour}"/>'
    )
    ink = "#000" if title else "#fff"
    text = (
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" fill="{ink}">{escape(name)}</text>'
    )
    return f"<g><title>{escape(title or name)}</title>{shape}{text}</g>"


def _used(graph: ConstraintGraph) -> list[str]:
    """The fields that some rule reads, in their order."""
    read = {n for _, n in graph.edges}
    return [n for n in graph.fields if n in read]
