"""Graphs of rule books are drawn as text."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from ckrules.constraints import book
from ckrules.engine.expr.variables import Int
from ckrules.engine.rules import Kind, Rule
from ckrules.engine.rules.book import RuleBook, Vocabulary
from ckrules.reasoning.drawing import dot, mermaid, svg
from ckrules.reasoning.graph import ConstraintGraph

WORDS = Vocabulary([Int(n, [1, 2]) for n in "abcd"])
RULES = [
    Rule("AA001", "a-b", Kind.COMPILE, WORDS.a < WORDS.b),
    Rule("AA002", "b-c", Kind.COMPILE, WORDS.b < WORDS.c),
]
GRAPH = ConstraintGraph(RuleBook("toy", WORDS, RULES, check=False))
NODES = {"a", "b", "c", "AA001", "AA002"}


def test_mermaid() -> None:
    """Fields are round, rules are boxes; a field without rules is left out."""
    assert mermaid(GRAPH).splitlines() == [
        "graph LR",
        *(f'  {n}(["{n}"])' for n in "abc"),
        *(f'  {r.code}["{r.code}<br/>{r.name}"]' for r in RULES),
        *("  AA001 --- a", "  AA001 --- b", "  AA002 --- b", "  AA002 --- c"),
    ]


def test_dot() -> None:
    """Every node and edge has a line."""
    lines = dot(GRAPH).splitlines()
    assert (lines[0], lines[-1]) == ("graph rules {", "}")
    assert sum(" -- " in line for line in lines) == len(GRAPH.edges)
    assert {line.split('"')[1] for line in lines if "shape=" in line} == NODES


def test_svg() -> None:
    """The picture is XML that names every node, and the same at every call."""
    text = svg(GRAPH)
    shown = {(e.text or "").strip() for e in ET.fromstring(text).iter()}
    assert shown >= NODES
    assert svg(GRAPH) == text


def test_no_label_lies_on_another() -> None:
    """The whole book fits its page: boxes apart, and inside the picture."""
    root = ET.fromstring(svg(ConstraintGraph(book("forward"))))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    boxes = [
        tuple(float(e.attrib[k]) for k in ("x", "y", "width", "height"))
        for e in root.iter()
        if e.tag.endswith("rect")
    ]
    assert len(boxes) > 60
    for x, y, w, h in boxes:
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
    for i, (x, y, w, h) in enumerate(boxes):
        for u, v, a, b in boxes[:i]:
            assert x + w <= u or u + a <= x or y + h <= v or v + b <= y
