"""List the catalogs, or show one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from ckrules.cli.formats import TABLE, output_options
from ckrules.cli.options import arch_file_option, arch_option
from ckrules.cli.output import text_output
from ckrules.constraints.catalogs import Catalog, load, names
from ckrules.kernels.books import Books
from ckrules.output.catalogs import catalog_page
from ckrules.readers.catalogs import load_catalog
from ckrules.support.tables import aligned
from ckrules.support.visible import json_text, visible_lines

GROUP = "explore"


@click.command()
@click.argument("name", metavar="[NAME|FILE]", required=False)
@arch_option
@arch_file_option
@output_options(TABLE)
def command(
    name: str | None,
    archs: tuple[str, ...],
    arch_files: tuple[str, ...],
    form: str,
    output: str | None,
) -> int:
    """List the catalogs, or show one."""
    books = Books(arch_files=[Path(p) for p in arch_files])
    if name is None:
        shown = [load(n, gpus=books.gpus) for n in names()]
        text = _list(shown) if form == "table" else _json([_summary(c) for c in shown])
    else:
        catalog = load_catalog(name, books, archs)
        text = catalog_page(catalog) if form == "table" else _json(_detail(catalog))
    with text_output(output) as stream:
        stream.write(visible_lines(text))
    return 0


def _summary(catalog: Catalog) -> dict[str, object]:
    data = catalog.data
    origin = data.select.origin if data.select else None
    return {"name": data.name, "title": data.title, "source": data.source, "from": origin}


def _detail(catalog: Catalog) -> dict[str, object]:
    rules = [
        {"code": r.code, "name": r.name, "summary": r.summary, "source": r.sources[0]}
        for r in catalog.book().rules
    ]
    return {**_summary(catalog), "notes": catalog.data.notes, "rules": rules}


def _json(value: object) -> str:
    return json_text(value, indent=1) + "\n"


def _list(shown: Iterable[Catalog]) -> str:
    return aligned([[c.name, c.data.title] for c in shown])
