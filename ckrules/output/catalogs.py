"""Catalogs as text."""

from __future__ import annotations

from ckrules.constraints.catalogs import Catalog


def catalog_page(catalog: Catalog) -> str:
    """What a catalog is, where it comes from, and the rules of its list."""
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
    lines += [f"note: {each}" for each in data.notes]
    lines.append("rules of the list:")
    lines += [f"  {r.code} {r.name}: {r.summary}" for r in catalog.book().rules]
    return "\n".join(lines) + "\n"
