"""Draw the graph of fields and rules, its communities and its width."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from ckrules.cli.options import Words, rule_options
from ckrules.cli.output import text_output
from ckrules.engine.errors import unknown
from ckrules.selection import Books

if TYPE_CHECKING:
    from ckrules.reasoning.graph import ConstraintGraph

_FORMATS = ("text", "mermaid", "dot", "svg", "json")
_SUFFIXES = {".mmd": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg", ".json": "json"}

EPILOG = """\b
Examples:
  ckrules graph
  ckrules graph --family WAVE,TILE --format mermaid
  ckrules graph -o rules.svg
"""


@click.command(epilog=EPILOG)
@click.option("--variant", metavar="NAME", help="A variant of the operator [forward].")
@click.option("--family", type=Words(), help="Only rules whose codes have these letters.")
@click.option("--format", "form", metavar="|".join(_FORMATS), help="By the suffix of -o, or text.")
@click.option("-o", "--output", metavar="FILE", help="Write to a file.")
@rule_options
def command(
    books: Books,
    variant: str | None,
    family: tuple[str, ...] | None,
    form: str | None,
    output: str | None,
) -> int:
    """Draw the graph of fields and rules, its communities and its width."""
    from ckrules.reasoning import drawing
    from ckrules.reasoning.graph import ConstraintGraph

    suffix = "." + (output or "").rpartition(".")[2].lower()
    form = form or _SUFFIXES.get(suffix, "text")
    if form not in _FORMATS:
        raise unknown("format", form, _FORMATS)
    book = books.of(variant)
    known = {r.family for r in book.rules}
    for word in family or ():
        if word not in known:
            raise unknown("family", word, sorted(known))
    graph = ConstraintGraph(book, [r for r in book.rules if not family or r.family in family])
    with text_output(output) as stream:
        if form == "json":
            stream.write(json.dumps(graph.to_dict(), indent=2) + "\n")
        elif form == "text":
            stream.write(_text(graph))
        else:
            draw = {"mermaid": drawing.mermaid, "dot": drawing.dot, "svg": drawing.svg}[form]
            stream.write(draw(graph))
    return 0


def _text(graph: ConstraintGraph) -> str:
    lines = [f"{len(graph.fields)} fields, {len(graph.rules)} rules, {len(graph.edges)} edges"]
    lines.append("most entangled fields (rules, fields tied to):")
    for d in graph.entangled[:10]:
        lines.append(f"  {d.field:<22} {len(d.rules):>3} {len(d.neighbours):>3}")
    lines.append("communities:")
    lines += [f"  {' '.join(c)}" for c in graph.communities if len(c) > 1]
    lines.append(f"elimination order, width {graph.width}:")
    lines.append(f"  {' '.join(graph.elimination)}")
    return "\n".join(lines) + "\n"
