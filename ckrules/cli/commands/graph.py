"""Draw the graph of fields and rules, its communities and its width."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from ckrules.cli.formats import output_options
from ckrules.cli.once import option
from ckrules.cli.options import elsewhere, rule_options, topic_option
from ckrules.cli.output import text_output
from ckrules.cli.request import Request
from ckrules.cli.terminal import note
from ckrules.kernels.books import Books
from ckrules.support.errors import UsageError
from ckrules.support.tables import aligned

if TYPE_CHECKING:
    from ckrules.reasoning.graph import ConstraintGraph

_FORMATS = {
    "text": (".txt",),
    "mermaid": (".mmd",),
    "dot": (".dot", ".gv"),
    "svg": (".svg",),
    "json": (".json",),
}

GROUP = "check"


@click.command()
@click.argument("file", metavar="[FILE]", required=False)
@option("--variant", metavar="NAME", help="A variant of the operator [forward].")
@topic_option
@output_options(_FORMATS)
@rule_options
def command(
    books: Books,
    file: str | None,
    variant: str | None,
    chosen_topics: tuple[str, ...],
    form: str,
    output: str | None,
) -> int:
    """Draw the graph of fields and rules, its communities and its width."""
    from ckrules.reasoning import drawing
    from ckrules.reasoning.graph import ConstraintGraph

    if variant is not None and file is not None:
        raise UsageError("--variant does not go with a file that describes a space")
    book = books.of(variant) if file is None else Request(books).of_file(file).region.book
    chosen = [r for r in book.rules if not chosen_topics or r.topic in chosen_topics]
    if chosen_topics and not chosen:
        note(elsewhere(chosen_topics))
    graph = ConstraintGraph(book, chosen)
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
    tied = [[d.field, str(len(d.rules)), str(len(d.neighbours))] for d in graph.entangled[:10]]
    lines += aligned(tied, right={1, 2}, indent="  ").splitlines()
    lines.append("communities:")
    lines += [f"  {' '.join(c)}" for c in graph.communities if len(c) > 1]
    lines.append(f"elimination order, width {graph.width}:")
    lines.append(f"  {' '.join(graph.elimination)}")
    return "\n".join(lines) + "\n"
