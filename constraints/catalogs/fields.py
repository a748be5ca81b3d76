"""Fields of a family in catalog files: which exist, and how values and sizes are written."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from ckrules.arch import CK_VERSIONS, load_all
from ckrules.engine.expr import Value
from ckrules.engine.expr.variables import Domain, Role, domain_of
from ckrules.kernels.families import family_of, gpus_of, named
from ckrules.kernels.family import Family
from ckrules.support.document import Section
from ckrules.support.errors import CkrulesError

TILE, WAVES, WARP = (tuple(f"{stem}_{d}" for d in "mnk") for stem in ("tile", "wave", "warp_tile"))
#: The fields of block tile, waves and warp tile.
TRIPLES = (TILE, WAVES, WARP)
VECTOR = ("vector_a", "vector_b", "vector_c")

_SIZES = re.compile(r"([0-9]{1,5})x([0-9]{1,5})x([0-9]{1,5})", re.ASCII)
_PAIR = re.compile(r"([0-9]{1,5})x([0-9]{1,5})", re.ASCII)
_WIDTHS = re.compile(r"([0-9]{1,5})/([0-9]{1,5})/([0-9]{1,5})", re.ASCII)


class CatalogFields:
    """The fields of one family, for reading files; the GPU is always the caller's.

    >>> fields_of("depthwise").keys
    ('variant', 'arch', 'ndim', 'dtype')
    """

    def __init__(self, family: Family) -> None:
        self.family = family
        words = family.vocabulary(CK_VERSIONS[-1], gpus_of(family, load_all()[:1]))
        domains = {k: domain_of(v) for k, v in words.variables.items()}
        purposes = [k for k, d in domains.items() if d.role is Role.PURPOSE]
        #: What a list is asked for: the fields that say what is wanted, dtype last.
        self.keys = tuple(sorted(purposes, key=lambda k: k == "dtype"))
        self.domains: dict[str, Domain] = {k: d for k, d in domains.items() if k != "arch"}

    def values(self, name: str) -> tuple[Any, ...]:
        """The candidates of a field, none if the family lacks it."""
        return self.domains[name].values if name in self.domains else ()

    def parse(self, section: Section, key: str, value: Any, *at: int) -> Value:
        """The value of the field that is the key, or an error that names its place."""
        return self.accept(section, key, key, value, *at)

    def accept(self, section: Section, key: str, name: str, value: Any, *at: int) -> Value:
        """The value of a field that stands under a key, or an error that names its place."""
        if isinstance(value, str):
            value = self.family.aliases.get(name, {}).get(value, value)
        try:
            return self.domains[name].accept(value)
        except CkrulesError as error:
            raise section.error(key, str(error), *at) from None

    def words(self, section: Section, key: str, field: str, what: str) -> tuple[str, ...]:
        """An array of a field's words, aliases replaced."""
        aliases = self.family.aliases.get(field, {})
        found = section.words(key, (*self.values(field), *aliases), what)
        return tuple(aliases.get(w, w) for w in found)

    def sizes(
        self, section: Section, key: str, text: str, names: tuple[str, ...], *at: int
    ) -> tuple[int, int, int]:
        """``128x64x32`` as three numbers that the fields can take."""
        return self._three(section, key, text, _SIZES, names, "like 128x64x32", at)

    def widths(self, section: Section, key: str, text: str, *at: int) -> tuple[int, int, int]:
        """``8/8/4`` as three vector widths."""
        return self._three(section, key, text, _WIDTHS, VECTOR, "like 8/8/4", at)

    def pair(self, section: Section, key: str, text: str, *at: int) -> tuple[int, int]:
        """``32x32`` as the M and N of a warp tile."""
        match = _PAIR.fullmatch(text)
        if match is None:
            raise section.error(key, f"{text!r} is not a size, expected like 32x32", *at)
        m, n = int(match[1]), int(match[2])
        self.accept(section, key, WARP[0], m, *at)
        self.accept(section, key, WARP[1], n, *at)
        return m, n

    def _three(
        self,
        section: Section,
        key: str,
        text: str,
        pattern: re.Pattern[str],
        names: tuple[str, ...],
        like: str,
        at: tuple[int, ...],
    ) -> tuple[int, int, int]:
        match = pattern.fullmatch(text)
        if match is None:
            raise section.error(key, f"{text!r} is not a size, expected {like}", *at)
        values = (int(match[1]), int(match[2]), int(match[3]))
        for name, value in zip(names, values, strict=True):
            self.accept(section, key, name, value, *at)
        return values


@lru_cache(maxsize=32)
def fields_of(name: str | None = None) -> CatalogFields:
    """The fields of a family by its name (default: the first family)."""
    return CatalogFields(family_of(None) if name is None else named(name))
