"""A kernel family: everything that one kind of kernel brings, in one object.

Generic code asks the family and knows no field but ``variant`` and ``arch``, which every family
has. What a field is for is in its `Domain.role`; what else differs is an attribute here. The parts
that cost an import (problems, generation) are named in `Family.parts` and imported when they are
asked for.

A family is a folder of `ckrules.constraints` with a module ``family`` whose ``FAMILY`` is the
object, or an entry point of the group ``ckrules.families`` (see `ckrules.kernels.families`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ckrules.support.errors import RuleBookError, raised
from ckrules.support.submodules import package_with

if TYPE_CHECKING:
    from ckrules.arch import Gpu, TargetGpu
    from ckrules.engine.expr import Value
    from ckrules.engine.rules import RuleDef
    from ckrules.engine.rules.book import Vocabulary
    from ckrules.kernels.block_map import BlockMap
    from ckrules.kernels.lds_map import LdsMap
    from ckrules.kernels.parts import (
        CatalogWalk,
        Generation,
        Library,
        Naming,
        Padding,
        Point,
        Problems,
        Style,
    )
    from ckrules.kernels.timing import Timing


T = TypeVar("T")


@cache
def _at(place: str) -> Any:
    """The object at ``module:NAME``, imported now; of a class, one, which is made once."""
    found = resolve_name(place)
    return found() if isinstance(found, type) else found


def plain_word(word: str) -> str:
    """A word as synonyms have it.

    >>> plain_word("Backward_Weight")
    'backwardweight'
    """
    return word.strip().lower().replace("_", "").replace("-", "")


class Family:
    """One kind of kernel. Subclasses set the attributes and override what differs.

    >>> from ckrules.kernels.families import families
    >>> conv = families()["conv"]
    >>> conv.variants, conv.defaults("forward")["num_groups_to_merge"]
    (('forward', 'bwd_data', 'bwd_weight'), 1)
    """

    name: ClassVar[str]
    """A short word, such as ``conv``."""
    title: ClassVar[str]
    """The name of its rule book, such as ``grouped_conv``."""
    variants: ClassVar[tuple[str, ...]]
    """The values of the field ``variant``; a word belongs to one family."""
    since: ClassVar[str] = "0"
    """The first CK headers with such kernels."""
    headers: ClassVar[str] = ""
    """What its kernels are compiled against where that is not CK, such as ``CUTLASS 4.2.0``."""
    rank: ClassVar[int] = 100
    """Its place among the families; the first is meant where nothing says another."""
    topics: ClassVar[Mapping[str, str]] = {}
    """What the letters of its rules' codes stand for."""
    profiles: ClassVar[Mapping[str, str]] = {
        "legal": "what compiles, launches and computes right",
        "fast": "what is legal and can be advised (`ckrules check` warns of the rest)",
    }
    """Its rule sets, with a line on each."""
    aliases: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """By field, other words for its values; names print them back as they came."""
    synonyms: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """By field, words that people write for its values, in lower case without ``_``.

    They are read wherever a value is; outputs have the value itself.
    """
    follows: ClassVar[tuple[str, ...]] = ()
    """Keys that a configuration may have beside its fields, from which they follow.

    `complete` takes out those that agree with the fields; what it leaves is a fault.
    """
    parts: ClassVar[Mapping[str, str]] = {}
    """Where its parts are, as ``module:NAME``: by the name of a property below, for those it has.

    They are imported when they are asked for. Families are below the rooms that generate and run
    kernels, so that parts there can only be named.
    """

    def __init_subclass__(cls) -> None:
        """Takes parts that a family can have only; a misspelt one would never be asked for."""
        super().__init_subclass__()
        for name in cls.parts:
            if not isinstance(vars(Family).get(name), property):
                raise TypeError(f"{cls.__name__}: a family has no part {name!r}")

    def certified(self) -> bool:
        """Whether `ckrules certify` asks about its rules: those of kernels with CK's headers."""
        return not self.headers

    def folder(self) -> Path:
        """Where its module is, and what is kept beside it."""
        return Path(inspect.getfile(type(self))).parent

    def _beside(self, name: str) -> Any:
        """A module of the folder of the family or of one that it derives from; a dot: the folder.

        Raises:
            NotImplementedError: Where there is no folder with a vocabulary.
        """
        package = package_with("vocabulary", type(self))
        if package is None:
            raise NotImplementedError(f"{self.name}: no module vocabulary beside the family's")
        return import_module(name, package)

    def _part(self, name: str, otherwise: T) -> T:
        place = self.parts.get(name)
        try:
            return otherwise if place is None else _at(place)
        except (ImportError, AttributeError, SyntaxError) as error:
            part = f"the part {name} of the family {self.name} ({place})"
            raise RuleBookError(f"{part} cannot be loaded: {raised(error)}") from error

    def vocabulary(self, ck: str, gpus: Sequence[Gpu]) -> Vocabulary:
        """The fields, facts and derived quantities for a CK version and a set of GPUs.

        They are those of the module ``vocabulary`` beside the family's, with what ``ALIKE`` of a
        module ``alike`` there says of values that make no difference.
        """
        module = self._beside(".vocabulary")
        words: Vocabulary = module.vocabulary(ck, gpus)
        if find_spec(f"{module.__package__}.alike"):
            from ckrules.engine.rules.alike import claims

            words.alike = claims(import_module(".alike", module.__package__).ALIKE, words, ck)
        return words

    def rules(self) -> list[RuleDef]:
        """Every rule of the family, of all versions and profiles: those of its folder's modules."""
        from ckrules.engine.rules.book import collect

        return collect(self._beside("."))

    def defaults(self, variant: str, ndim: object = None) -> Mapping[str, Value]:
        """The values of the fields that a configuration may leave out."""
        return {}

    def complete(self, full: dict[str, Any], spelling: dict[str, str]) -> None:
        """Replaces aliases in a configuration and fills in what follows from other fields.

        Args:
            full: The configuration, changed in place.
            spelling: Gets the words that were replaced, by field.
        """
        for name, words in self.aliases.items():
            word = full.get(name)
            if type(word) is str and word in words:
                full[name], spelling[name] = words[word], word

    def picture(
        self, point: Mapping[str, Value], known: Mapping[str, Any], gpu: Gpu
    ) -> list[str] | None:
        """Lines that draw a kernel, None if there is no picture of this family's.

        Args:
            known: Its derived quantities.
        """
        from ckrules.kernels.block_text import product_lines

        tiles = self.block_maps(point)
        return list(product_lines(tiles, known, gpu)) if tiles else None

    def block_maps(self, point: Mapping[str, Value]) -> tuple[BlockMap, ...]:
        """How the block tile of each of a kernel's matrix products is divided; empty: none has."""
        return ()

    def lds_map(self, point: Mapping[str, Value], words: Vocabulary, gpu: Gpu) -> LdsMap | str:
        """The way of a kernel's operands through LDS, or why there is none.

        Args:
            point: A legal configuration.
            words: The family's words, of the version of the headers.
        """
        return f"the way of {self.name} kernels through LDS is not modelled"

    def canonical(self, name: str, word: str, values: Iterable[str]) -> str:
        """The value of a field that a word means: case, ``-`` and ``_`` do not matter.

        Args:
            word: What was written; it is the answer where it means nothing.
            values: The field's values.

        >>> from ckrules.kernels.families import families
        >>> conv = families()["conv"]
        >>> conv.canonical("dtype", "half", ["fp16", "bf16"])
        'fp16'
        >>> conv.canonical("pipeline", "CompV3", ["mem", "compv3"])
        'compv3'
        """
        known = tuple(values)
        if word in known:
            return word
        if word in (aliases := self.aliases.get(name, {})):
            return aliases[word]
        key = plain_word(word)
        meant = {**{plain_word(v): v for v in (*aliases, *known)}, **self.synonyms.get(name, {})}
        found = meant.get(key, word)
        return aliases.get(found, found)

    def widen(self, bound: dict[str, tuple[Value, ...]]) -> None:
        """Adds to values asked for by field what is meant as well, in place."""

    def short_name(self, point: Point) -> str | None:
        """The name that upstream's Python objects give a point, which several may share."""
        return None

    @property
    def readers(self) -> Mapping[str, Any]:
        """What it adds to input formats, by format: a table of `ckrules.kernels.reader_tables`."""
        return self._part("readers", {})

    @property
    def targets(self) -> Sequence[TargetGpu]:
        """The GPUs of its kernels where `ckrules.arch` has none of them.

        `vocabulary` gets these, and no others, as its GPUs.
        """
        return self._part("targets", ())

    @property
    def naming(self) -> Naming | None:
        """How its kernels are called; None: they have no names."""
        return self._part("naming", None)

    @property
    def styles(self) -> Mapping[str, Style]:
        """Further ways in which tools call its kernels, by the word for them."""
        return self._part("styles", {})

    @property
    def problems(self) -> Problems | None:
        """Its problems; None: nothing is known of them."""
        return self._part("problems", None)

    @property
    def generation(self) -> Generation | None:
        """How its kernels become C++; None: they do not."""
        return self._part("generation", None)

    @property
    def walk(self) -> CatalogWalk | None:
        """What tables of catalogs mean; None: catalogs list its kernels one by one."""
        return self._part("walk", None)

    @property
    def timing(self) -> Timing | None:
        """How long its kernels take; None: nothing is known."""
        return self._part("timing", None)

    @property
    def padding(self) -> Padding | None:
        """How its problems are made larger; None: they are not."""
        return self._part("padding", None)

    @property
    def library(self) -> Library | None:
        """What the dispatcher library of C knows of its kernels; None: it leaves them out."""
        return self._part("library", None)

    def __repr__(self) -> str:
        return f"<family {self.name}>"
