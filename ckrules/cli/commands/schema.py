"""Print the JSON Schema of configurations, settings or spaces."""

from __future__ import annotations

import click

from ckrules.checking.json_schemas import WHAT, schema_of
from ckrules.cli.formats import output_options
from ckrules.cli.options import rule_options
from ckrules.cli.output import text_output
from ckrules.kernels.books import Books
from ckrules.support.visible import json_text

GROUP = "maintain"


@click.command()
@click.argument("what", type=click.Choice(WHAT))
@output_options({"json": (".json",)})
@rule_options
def command(books: Books, what: str, form: str, output: str | None) -> int:
    """Print a JSON Schema, for editors and other tools."""
    with text_output(output) as stream:
        stream.write(json_text(schema_of(what, books), indent=1) + "\n")
    return 0
