"""Names of GEMMs: the usual ones, from one grammar, and those of tools, which are read as well."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from ckrules.kernels.name_grammar import Grammar, Piece, literal, numbers, one_of
from ckrules.kernels.parts import ParsedName, Point, Style
from ckrules.support.errors import UsageError, unknown

TRUTH: Mapping[str, bool] = {"True": True, "False": False}
BITS: Mapping[str, bool] = {"1": True, "0": False}
TILES = tuple(tuple(f"{g}_{x}" for x in "mnk") for g in ("tile", "wave", "warp_tile"))


def shapes(heads: Sequence[str] = ("_", "_", "_")) -> list[Piece]:
    """Block tile, waves and warp tile as ``MxNxK``, each behind its head."""
    pieces = ((literal(h), *numbers(t, "x")) for h, t in zip(heads, TILES, strict=True))
    return [piece for triple in pieces for piece in triple]


def switches(names: Iterable[str]) -> list[Piece]:
    """``_True`` or ``_False`` for each field."""
    return [piece for name in names for piece in (literal("_"), one_of(name, TRUTH))]


class Read(Protocol):
    """What reads the names of a tool."""

    def parse(self, text: str) -> ParsedName:
        """The kernel of a name, with what was taken for what it leaves out."""

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        """Where a name writes the field."""


class Form(ABC):
    """One of a tool's forms of names: those of the kernels of a variant."""

    style = ""
    tool = ""
    variant = ""
    begins = ""
    grammar: Grammar
    taken: Mapping[str, Any] = {}

    @abstractmethod
    def parse(self, text: str) -> ParsedName:
        """The kernel of a name, with what was taken for what it leaves out."""

    def makes(self, point: Point) -> bool:
        """Whether kernels of the point's kind have such names."""
        return bool(point["variant"] == self.variant)

    def said(self, point: Point) -> Mapping[str, Any]:
        """What the grammar writes of a point."""
        return point

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        """Where a name writes the field."""
        return self.grammar.span(text, name)

    def format(self, point: Point) -> str:
        """The name; raises `UsageError` for a kernel that the form cannot say."""
        name = self.grammar.format(self.said(point))
        parsed = self.parse(name)
        for key, value in parsed.point.items():
            if key in point and point[key] != value and key not in parsed.taken:
                raise UsageError(
                    f"{self.tool} has no kernel of {self.variant} with {key} = {point[key]}"
                )
        return name


class ToolNames:
    """The names of one tool, a form a variant."""

    def __init__(self, forms: Sequence[Form]) -> None:
        self.forms = tuple(forms)

    def format(self, point: Point) -> str:
        """The name; raises `UsageError` for a kernel that the tool does not make."""
        form = next((f for f in self.forms if f.makes(point)), None)
        if form is None:
            raise UsageError(f"{self.forms[0].tool} has no name for kernels of {point['variant']}")
        return form.format(point)


class Names(ABC):
    """The usual names, which say every field but the GPU, and the reading of those of tools."""

    prefix = ""
    #: What names of tools begin with that do not begin as the usual ones.
    beginnings: tuple[str, ...] = ()
    grammar: Grammar
    #: What a spelling may say beside the tool.
    spellings: tuple[str, ...] = ()

    @property
    @abstractmethod
    def styles(self) -> Mapping[str, Style]:
        """The names of tools, by the word for them."""

    @abstractmethod
    def other(self, text: str) -> Read | None:
        """What reads a name of a tool; None: it is a usual one."""

    def read(self, text: str) -> ParsedName:
        """The kernel of a usual name."""
        return ParsedName(self.grammar.parse(text)[0])

    def write(self, point: Point) -> str:
        """The usual name of a point."""
        return self.grammar.format(point)

    def parse(self, text: str) -> ParsedName:
        """See `ckrules.kernels.names.parse_name`; names of tools are read as well."""
        other = self.other(text)
        return self.read(text) if other is None else other.parse(text)

    def format(self, point: Point, spelling: Mapping[str, str] | None = None) -> str:
        """See `ckrules.kernels.names.format_name`."""
        spelt = dict(spelling or {})
        if style := spelt.pop("style", None):
            return self.styles[style].format(point)
        for key in spelt.keys() - {*self.spellings}:
            raise unknown("spelling", key, (*self.spellings, "style"))
        return self.write(point)

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        """Where a name writes the field."""
        return (self.other(text) or self.grammar).span(text, name)

    def without_defaults(self, text: str) -> str:
        """The text without suffixes that say a default."""
        return self.grammar.without_defaults(text) if self.other(text) is None else text

    def rule_set_spelling(self, point: Point) -> dict[str, str]:
        """Nothing: upstream's lists spell values as everybody does."""
        return {}
