"""Drawings of a constraint graph: Mermaid, DOT and SVG text."""

from __future__ import annotations

from html import escape

from ckrules.reasoning.graph import ConstraintGraph

_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999999", "#664400")


def mermaid(graph: ConstraintGraph) -> str:
    """The graph as a Mermaid flowchart; fields are round, rules are boxes.

    >>> from ckrules.reasoning.graph import example
    >>> print(mermaid(example()).splitlines()[1])
      a(["a"])
    """
    lines = ["graph LR"]
    lines += [f'  {n}(["{n}"])' for n in _used(graph)]
    lines += [f'  {r.code}["{r.code}<br/>{r.name}"]' for r in graph.rules]
    lines += [f"  {rule} --- {field}" for rule, field in graph.edges]
    return "\n".join(lines) + "\n"


def dot(graph: ConstraintGraph) -> str:
    """The graph for Graphviz.

    >>> from ckrules.reasoning.graph import example
    >>> print(dot(example()).splitlines()[0])
    graph rules {
    """
    lines = ["graph rules {", "  layout=neato; overlap=false; node [fontname=sans];"]
    lines += [f'  "{n}" [shape=ellipse];' for n in _used(graph)]
    lines += [f'  "{r.code}" [shape=box, tooltip="{r.name}"];' for r in graph.rules]
    lines += [f'  "{rule}" -- "{field}";' for rule, field in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


def svg(graph: ConstraintGraph, *, width: int = 1200, height: int = 900) -> str:
    """The graph as a picture: a spring layout with a fixed seed, coloured by community.

    >>> from ckrules.reasoning.graph import example
    >>> svg(example()).startswith("<svg ")
    True
    """
    import networkx as nx

    drawn = graph.bipartite.subgraph([*_used(graph), *(r.code for r in graph.rules)])
    ordered = nx.Graph()  # node order decides the layout, so it is fixed here
    ordered.add_nodes_from([*_used(graph), *(r.code for r in graph.rules)])
    ordered.add_edges_from(graph.edges)
    spots = nx.spring_layout(ordered, seed=7, k=2.0 / max(1, len(drawn)) ** 0.5, iterations=100)
    margin = 60
    place = {
        n: (
            margin + (float(x) + 1) / 2 * (width - 2 * margin),
            margin + (float(y) + 1) / 2 * (height - 2 * margin),
        )
        for n, (x, y) in spots.items()
    }
    colour = {
        n: _COLOURS[k % len(_COLOURS)] for k, group in enumerate(graph.communities) for n in group
    }
    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="12">'
        )
    ]
    for rule, name in graph.edges:
        (x1, y1), (x2, y2) = place[rule], place[name]
        out.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ccc"/>')
    titles = {r.code: f"{r.code} {r.name}" for r in graph.rules}
    for node, (x, y) in place.items():
        out.append(_node(node, x, y, colour[node], titles.get(node)))
    return "\n".join([*out, "</svg>"]) + "\n"


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
