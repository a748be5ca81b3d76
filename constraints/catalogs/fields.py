"""Fields of catalog files: which exist, and how their values and sizes are written."""

from __future__ import annotations

import re
from typing import Any

from ckrules.arch.document import Section
from ckrules.constraints.conv import vocabulary
from ckrules.engine.errors import CkrulesError
from ckrules.engine.expr import Value
from ckrules.engine.variables import Domain, domain_of
from ckrules.name_grammar import PIPELINE_ALIASES

#: The fields that a catalog may speak of; the GPU is always the caller's.
DOMAINS: dict[str, Domain] = {
    domain_of(f).name: domain_of(f)
    for f in vocabulary.fields(("gpu",))
    if domain_of(f).name != "arch"
}
TILE, WAVES, WARP = (tuple(f"{stem}_{d}" for d in "mnk") for stem in ("tile", "wave", "warp_tile"))
#: The fields of block tile, waves and warp tile.
TRIPLES = (TILE, WAVES, WARP)
VECTOR = ("vector_a", "vector_b", "vector_c")

_SIZES = re.compile(r"([0-9]{1,5})x([0-9]{1,5})x([0-9]{1,5})", re.ASCII)
_PAIR = re.compile(r"([0-9]{1,5})x([0-9]{1,5})", re.ASCII)
_WIDTHS = re.compile(r"([0-9]{1,5})/([0-9]{1,5})/([0-9]{1,5})", re.ASCII)


def parse_field(section: Section, key: str, value: Any, *at: int) -> Value:
    """The value of a field, or an error that names its place."""
    if key == "pipeline" and isinstance(value, str):
        value = PIPELINE_ALIASES.get(value, value)
    try:
        return DOMAINS[key].accept(value)
    except CkrulesError as error:
        raise section.error(key, str(error), *at) from None


def parse_sizes(
    section: Section, key: str, text: str, fields: tuple[str, ...], *at: int
) -> tuple[int, int, int]:
    """``128x64x32`` as three numbers that the fields can take."""
    return _three(section, key, text, _SIZES, fields, "like 128x64x32", at)


def parse_widths(section: Section, key: str, text: str, *at: int) -> tuple[int, int, int]:
    """``8/8/4`` as three vector widths."""
    return _three(section, key, text, _WIDTHS, VECTOR, "like 8/8/4", at)


def parse_pair(section: Section, key: str, text: str, *at: int) -> tuple[int, int]:
    """``32x32`` as the M and N of a warp tile."""
    found = _PAIR.fullmatch(text)
    if found is None:
        raise section.error(key, f"{text!r} is no size, expected like 32x32", *at)
    m, n = int(found[1]), int(found[2])
    _accept(section, key, WARP[:2], (m, n), at)
    return m, n


def _three(
    section: Section,
    key: str,
    text: str,
    pattern: re.Pattern[str],
    fields: tuple[str, ...],
    like: str,
    at: tuple[int, ...],
) -> tuple[int, int, int]:
    found = pattern.fullmatch(text)
    if found is None:
        raise section.error(key, f"{text!r} is no size, expected {like}", *at)
    values = (int(found[1]), int(found[2]), int(found[3]))
    _accept(section, key, fields, values, at)
    return values


def _accept(
    section: Section,
    key: str,
    fields: tuple[str, ...],
    values: tuple[int, ...],
    at: tuple[int, ...],
) -> None:
    for field, value in zip(fields, values, strict=True):
        try:
            DOMAINS[field].accept(value)
        except CkrulesError as error:
            raise section.error(key, str(error), *at) from None
