"""JSON Schemas of configurations and settings, made from the rule books, and of spaces.

They say which fields and values there are. Which of them go together the rules say, and those no
schema can.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from ckrules.arch import CK_VERSIONS
from ckrules.checking.findings import SEVERITIES
from ckrules.checking.settings import KEYS
from ckrules.engine.expr import BOOL, ENUM, REAL
from ckrules.engine.expr.variables import Domain, domain_of
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.books import Books
from ckrules.kernels.families import family_of, gpus_of
from ckrules.readers.json_text import LISTS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
JsonSchema = dict[str, Any]


def configurations(books: Books) -> JsonSchema:
    """The schema of JSON and TOML files of configurations.

    A file is a configuration, a list, or an object with a list and fields that hold for each of
    its elements. Words that people write for values are allowed where the schema knows them all:
    aliases of pipelines, products for GPUs.

    Args:
        books: The rule books whose fields are meant.

    >>> from jsonschema import Draft202012Validator as Validator
    >>> schema = configurations(Books())
    >>> [e.message for e in Validator(schema).iter_errors([{"variant": "forward"}])]
    []
    """
    found = [_family(book, books) for book in books.every()]
    names = [f"family{i}" for i in range(len(found))]
    either = {"anyOf": [{"$ref": f"#/$defs/{n}"} for n in names]}
    wrapped = {
        "type": "object",
        "required": ["config"],
        "properties": {"config": {"$ref": "#/$defs/configuration"}},
    }
    element = {
        "anyOf": [{"$ref": "#/$defs/configuration"}, wrapped, {"type": "string"}],
    }
    several = {"type": "array", "items": {"$ref": "#/$defs/element"}}
    lists = [
        {"type": "object", "required": [name], "properties": {name: several}} for name in LISTS
    ]
    return {
        "$schema": DIALECT,
        "title": f"Kernel configurations for CK {books.ck}",
        "anyOf": [{"$ref": "#/$defs/configuration"}, several, *lists],
        "$defs": {
            "configuration": either,
            "element": element,
            **dict(zip(names, found, strict=True)),
        },
    }


def _family(book: RuleBook, books: Books) -> JsonSchema:
    domains = {n: domain_of(v) for n, v in book.fields.items()}
    family = family_of(str(domains["variant"].values[0]))
    schema = books.schema(family.variants[0])
    fields = {n: _field(d, family.aliases.get(n, {})) for n, d in domains.items()}
    products = [p.split()[-1] for g in gpus_of(family, books.gpus) for p in g.products]
    fields["arch"] = {
        "type": "string",
        "description": domains["arch"].doc,
        "examples": [*domains["arch"].values, *dict.fromkeys(products)],
    }
    for name, value in schema.defaults.items():
        fields[name]["default"] = value
    return {
        "type": "object",
        "title": f"{family.name} kernel",
        "properties": {
            **fields,
            "ck": {"enum": list(CK_VERSIONS), "description": "the CK version that it is for"},
            "name": {"type": "string", "description": "the kernel's name, instead of fields"},
            **{key: {} for key in sorted(schema.follows)},
        },
        "additionalProperties": False,
    }


def _field(domain: Domain, aliases: Mapping[str, str]) -> JsonSchema:
    made: JsonSchema = {"description": domain.doc}
    if domain.sort == BOOL:
        return made | {"type": "boolean"}
    if domain.sort == ENUM:
        return made | {"enum": [*domain.values, *(a for a in aliases if a not in domain.values)]}
    kind = "number" if domain.sort == REAL else "integer"
    return made | {"type": kind, "minimum": domain.lo, "maximum": domain.hi}


_TEXT: JsonSchema = {"type": "string"}
_TEXTS: JsonSchema = {"type": "array", "items": _TEXT}
_TYPES: Mapping[str, JsonSchema] = {
    "text": _TEXT,
    "path": _TEXT,
    "list": _TEXTS,
    "paths": _TEXTS,
    "lists": {"type": "object", "additionalProperties": _TEXTS},
    "texts": {"type": "object", "additionalProperties": _TEXT},
}


def settings() -> JsonSchema:
    """The schema of ``ckrules.toml``, and of the table ``tool.ckrules`` of a pyproject.toml.

    >>> settings()["properties"]["arch"]["type"]
    'string'
    """
    keys = {n: {**_TYPES[k.type], "description": k.doc} for n, k in KEYS.items()}
    keys["severity"]["additionalProperties"] = {"enum": list(SEVERITIES)}
    keys["ck"] |= {"enum": list(CK_VERSIONS)}
    return {
        "$schema": DIALECT,
        "title": "Settings of ckrules",
        "type": "object",
        "properties": keys,
        "additionalProperties": False,
    }


def spaces() -> JsonSchema:
    """The schema of files that describe a space, which ``ckrules count FILE`` reads.

    It says the forms and the kinds of values. Whether restrictions can be read, names are declared
    once, and a cache's configurations have declared values, `ckrules.readers.space_file` says.

    >>> from jsonschema import Draft202012Validator as Validator
    >>> schema = Validator(spaces())
    >>> schema.is_valid({"tile_m": [16, 32]}), schema.is_valid({"tile_m": 16})
    (True, False)
    """
    text = files("ckrules.readers").joinpath("space_schema.json").read_text(encoding="utf-8")
    found: JsonSchema = json.loads(text)
    return found


FIXED: Mapping[str, Callable[[], JsonSchema]] = {"settings": settings, "spaces": spaces}
"""What has the same schema under all rules, by the word for it."""
WHAT = ("configurations", *FIXED)
"""What has a schema."""


def schema_of(what: str, books: Books) -> JsonSchema:
    """The schema of a thing in `WHAT`.

    >>> schema_of("spaces", Books())["title"]
    'Space of ckrules'
    """
    return configurations(books) if what == "configurations" else FIXED[what]()
