"""List the catalogs, show one, or write the page on upstream's rule sets."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import click

from ckrules.cli.output import text_output
from ckrules.cli.terminal import note
from ckrules.constraints.catalogs import Catalog, load, names
from ckrules.engine.errors import UsageError, unknown

_FORMATS = ("table", "json")

EPILOG = """\b
A catalog is a TOML file: tables of tiles, waves, vectors and pipelines, formulas
and conditions. NAME is one of the package's, which are upstream's rule sets, or
the path of a file of the same form.

\b
Examples:
  ckrules catalogs
  ckrules catalogs full
  ckrules enumerate --catalog full --stage generated --arch gfx942
  ckrules catalogs --report --check docs/upstream-differences.md
"""


@click.command(epilog=EPILOG)
@click.argument("name", metavar="[NAME|FILE]", required=False)
@click.option("--format", "form", metavar="|".join(_FORMATS), default="table", help="[table]")
@click.option("--report", is_flag=True, help="Write the page on upstream's rule sets.")
@click.option("--check", metavar="FILE", help="With --report: exit 1 unless FILE is that page.")
@click.option("-o", "--output", metavar="FILE", help="Write to a file, replaced when complete.")
def command(
    name: str | None, form: str, report: bool, check: str | None, output: str | None
) -> int:
    """List the catalogs, show one, or write the page on upstream's rule sets."""
    if form not in _FORMATS:
        raise unknown("format", form, _FORMATS)
    if check and not report:
        raise UsageError("--check needs --report")
    if report:
        if name is not None:
            raise UsageError("--report is about all of upstream's rule sets: leave out the name")
        return _report(check, output)
    if name is None:
        shown = [load(n) for n in names()]
        text = _list(shown) if form == "table" else _json([_summary(c) for c in shown])
    else:
        catalog = load(name)
        text = _page(catalog) if form == "table" else _json(_detail(catalog))
    with text_output(output) as stream:
        stream.write(text)
    return 0


def _report(check: str | None, output: str | None) -> int:
    from ckrules.reports.upstream import page

    text = page()
    if check is None:
        with text_output(output) as stream:
            stream.write(text)
        return 0
    try:
        fresh = Path(check).read_text(encoding="utf-8") == text
    except OSError as error:
        raise UsageError(f"{check}: {error.strerror or error}") from None
    if not fresh:
        note(f"{check} is stale: run ckrules catalogs --report -o {check}")
    return 0 if fresh else 1


def _summary(catalog: Catalog) -> dict[str, object]:
    data = catalog.data
    origin = data.select.origin if data.select else None
    return {"name": data.name, "title": data.title, "source": data.source, "from": origin}


def _detail(catalog: Catalog) -> dict[str, object]:
    rules = [
        {"code": r.code, "name": r.name, "summary": r.summary, "source": r.sources[0]}
        for r in catalog.book().rules
    ]
    return {**_summary(catalog), "rules": rules}


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _list(shown: Iterable[Catalog]) -> str:
    width = max(map(len, names()))
    return "".join(f"{c.name:<{width}}  {c.data.title}\n" for c in shown)


def _page(catalog: Catalog) -> str:
    data = catalog.data
    lines = [f"{data.name}: {data.title}", f"source: {data.source}"]
    if data.select is not None:
        cut = (
            f"every {data.select.every}th of each category"
            if data.select.every is not None
            else f"the categories in turn, up to {data.select.in_turn}"
        )
        lines.append(f"selected from {data.select.origin}: {cut}")
        lines += [f"  {c.name}: {c.text.text}" for c in data.select.categories]
    lines.append("rules of the list:")
    lines += [f"  {r.code} {r.name}: {r.summary}" for r in catalog.book().rules]
    return "\n".join(lines) + "\n"
