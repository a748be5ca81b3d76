"""The page of every field and derived quantity, with units, made from the rule books."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ckrules.engine.expr import BOOL, ENUM, REAL, Expr
from ckrules.engine.expr.variables import Domain, domain_of
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.families import family_of

PAGE = "fields.md"
#: What numbers count, by what their description says; the first that fits.
_UNITS = {
    r"^threads|groups that share the loading|^lanes|^waves|^images|^output tiles": "",
    r"\bbytes\b|^size of an element|^lds (?!tile)": "bytes",
    r"registers": "registers of a lane",
    r"^(block tile|mfma or wmma tile) along|elements|stride|padding": "elements",
    r"^warp tiles|^block tiles|^rows of tiles": "tiles",
    r"(^|: )(input |output |filter )?(rows|columns)": "elements",
    r"passes": "passes",
    r"launch bound|blocks": "blocks",
    r"dimensions": "dimensions",
}
_COUNTED = ("threads", "lanes", "waves", "images", "groups", "output tiles", "tensors")
_MANY = 14


def fields_page(books: Iterable[RuleBook]) -> str:
    """The page: for each family a table of its fields and one of its derived quantities."""
    out = [
        "# Fields and quantities", "",
        "`ckrules explain NAME` says more of each, without a network.", "",
        ("Fields are what a configuration says, quantities follow from them; conditions "
        "(`--where`), counts (`--by`) and columns (`--fields`) take both."),
        ("*Values* are the candidates of enumeration; `check` accepts integers in the range behind "
        "them."), "",
    ]  # fmt: skip
    for book in books:
        variants = domain_of(book.fields["variant"]).values
        family = family_of(str(variants[0]))
        out += [f"## {family.title}", "", f"Variants: {', '.join(map(str, variants))}.", ""]
        out += ["| field | unit | values | meaning |", "| --- | --- | --- | --- |"]
        out += [_field(domain_of(v)) for v in book.fields.values()]
        if quantities := book.vocabulary.quantities:
            out += ["", "| quantity | unit | meaning |", "| --- | --- | --- |"]
            out += [_quantity(name, node) for name, node in quantities.items()]
        out.append("")
    return "\n".join(out)


def unit(sort: str, doc: str) -> str:
    """What a number counts, from what its description says; empty for words and truths.

    >>> unit("int", "LDS of a workgroup."), unit("int", "block tile along M"), unit("bool", "")
    ('bytes', 'elements', '')
    """
    if sort in (BOOL, ENUM):
        return ""
    said = doc.lower()
    for pattern, name in _UNITS.items():
        if re.search(pattern, said):
            return name or next(w for w in _COUNTED if w in said)
    return next((w for w in _COUNTED if w in said), "number")


def _field(domain: Domain) -> str:
    found = _words(domain)
    return _row(f"`{domain.name}`", unit(domain.sort, domain.doc), found, _sentence(domain.doc))


def _words(domain: Domain) -> str:
    """The candidates of a field, the first of very many, and the range of others."""
    if domain.name == "arch":
        return "the GPUs of `ckrules archs`"
    if domain.sort == BOOL:
        return "true, false"
    shown = ", ".join(str(v) for v in domain.values[:_MANY])
    text = shown + (", …" if len(domain.values) > _MANY else "")
    numbers = domain.sort not in (ENUM, REAL)
    return f"{text} ({domain.lo} to {domain.hi})" if numbers else text


def _quantity(name: str, node: Expr) -> str:
    doc = str(node.data.doc)
    return _row(f"`{name}`", node.data.unit or unit(node.sort, doc), _sentence(doc))


def _sentence(doc: str) -> str:
    text = " ".join(doc.split()).removesuffix(".")
    return text[:1].upper() + text[1:]


def _row(*cells: str) -> str:
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"
