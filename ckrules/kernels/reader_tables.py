"""What a family adds to input formats: the format is the syntax, the family the meaning.

`Family.readers` has one of these tables by the name of the format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ckrules.engine.expr import Value

Fields = dict[str, Any]


@dataclass(frozen=True)
class KeyTable:
    """The keys of a JSON format whose words are not those of the fields."""

    fields: Mapping[str, str]
    """Field by key, where they differ."""
    labels: tuple[str, ...] = ()
    """Keys that say nothing about a kernel's legality."""
    triples: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    """Keys that hold three fields."""
    mark: str = ""
    """A regular expression by which a text of the family is recognised; empty: by nothing."""
    outside: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """By field, values of real kernels that the rules do not describe."""
    joined: Mapping[str, str] = field(default_factory=dict)
    """Further keys, each with the field that `join` makes of it and others."""
    parts: tuple[str, ...] = ()
    """Keys of objects by which an entry of a registry is the family's."""
    gpu: str = "arch"
    """The key of the GPU beside these objects."""
    join: Callable[[Mapping[str, Any], Fields], None] | None = None
    """Makes the fields of `joined` from the object and the fields so far, in place."""

    def key(self, name: str) -> str:
        """The usual key of a field."""
        return next((k for k, f in self.fields.items() if f == name), name)


@dataclass(frozen=True)
class MacroTable:
    """A C++ macro that declares kernels with chains of setters."""

    macro: str
    setters: Mapping[str, tuple[str, ...]]
    """Fields by setter, in the order of its arguments."""
    readings: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Setters that tools read in several ways, by reading; an empty name is not a field."""
    others: tuple[str, ...]
    """Setters that say nothing about legality."""
    fill: Callable[[Mapping[str, Any]], Fields]
    """What upstream's tools take for the fields that a declaration leaves out."""
    short: tuple[str, ...]
    """The fields of the numbers in the short form, of which the first may be left out."""
    short_least: int = 3
    """The numbers that the short form has at least."""
    least: Mapping[str, int] = field(default_factory=dict)
    """By setter the arguments that it has at least, where it may have fewer than fields."""
    heads: tuple[str, str] = ("", "")
    """The C++ types that hold the setters: of what is computed, and of how."""
    alone: str = ""
    """The macro that declares one kernel; with ``_SIMPLE`` behind it, in the short form."""
    join: Callable[[Fields], None] = lambda fields: None
    """Makes fields of what setters say in several, in place, before the rest is filled in."""
    infer: Callable[[Fields], None] = lambda fields: None
    """Adds what the short form says without a number, in place."""
    words: Callable[[str, Any], Any] = lambda _, value: value
    """The value of a field for the word that a declaration writes."""
    outside: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """As in `KeyTable`."""


class LineError(Exception):
    """A line that cannot be read; ``span`` are the columns, None for the line as a whole."""

    def __init__(self, message: str, span: tuple[int, int] | None = None) -> None:
        super().__init__(message)
        self.message, self.span = message, span


@dataclass(frozen=True, slots=True)
class Instance:
    """One kind of instance: its variant, its numbers of arguments and where what is."""

    variant: str
    counts: tuple[int, ...]
    at: Mapping[str, int]
    native: bool = False
    """Whether a line says every field itself."""


_NUMBER = re.compile(r"\d{1,9}")
_ARGUMENT = re.compile(r"\s*+((?:[^,()]++|\([^()]*+\))*+)(?:,|\Z)")


@dataclass(slots=True)
class Arguments:
    """The arguments of a line with their columns, and the fields that they say."""

    instance: Instance
    texts: Sequence[str]
    spans: Sequence[tuple[int, int]]
    fields: Fields = field(default_factory=dict)
    home: dict[str, int] = field(default_factory=dict)
    """The argument of each field that one argument says as it is."""
    made_from: dict[str, int] = field(default_factory=dict)
    """The arguments that a derived field is made from, the first for its place."""

    def word(self, key: str) -> str | None:
        """The text of an argument, None if the instance has none such."""
        at = self.instance.at.get(key, -1)
        return self.texts[at] if 0 <= at < len(self.texts) else None

    def number(self, key: str) -> int:
        """An integer."""
        text = self.word(key)
        if text is None or not _NUMBER.fullmatch(text):
            raise self.fault(key, f"is {text!r}, expected an integer")
        return int(text)

    def flag(self, key: str) -> bool:
        """A truth value: ``true`` and ``false``, or 1 and 0."""
        text = self.word(key)
        if text is None or text.lower() not in ("0", "1", "true", "false"):
            raise self.fault(key, f"is {text!r}, expected true or false")
        return text.lower() in ("1", "true")

    def fault(self, key: str, what: str) -> LineError:
        """What is wrong with an argument."""
        at = self.instance.at.get(key, -1)
        return LineError(f"argument {at} {what}", self.span(key))

    def span(self, key: str) -> tuple[int, int] | None:
        """The columns of an argument."""
        at = self.instance.at.get(key, -1)
        return self.spans[at] if 0 <= at < len(self.spans) else None

    def put(self, name: str, key: str, value: Any) -> None:
        """A field that one argument says as it is."""
        self.fields[name] = value
        self.home[name] = self.instance.at[key]


def split_arguments(text: str, start: int) -> tuple[list[str], list[tuple[int, int]]]:
    """Arguments and their columns (from 0), ``Seq(…)`` as one.

    Raises:
        LineError: If parentheses do not close.

    >>> split_arguments("1,Seq(2,3), 4", 0)
    (['1', 'Seq(2,3)', '4'], [(0, 1), (2, 10), (12, 13)])
    """
    texts, spans = [], []
    pos = 0
    while pos <= len(text):
        match = _ARGUMENT.match(text, pos)
        if match is None:
            raise LineError("parentheses do not close")
        word = match[1].rstrip()
        texts.append(word)
        spans.append((start + match.start(1), start + match.start(1) + len(word)))
        if match.end() == len(text) and not text.endswith(",", pos, match.end()):
            break
        pos = match.end()
    return texts, spans


@dataclass(frozen=True)
class LineTable:
    """Instances that a line declares with arguments by position."""

    names: tuple[str, ...]
    """The names before ``<``; those of other lines are nobody's."""
    bare: re.Pattern[str] | None
    """Lines without a name that are the family's."""
    read: Callable[[str, str, int | None], Arguments]
    """Arguments and fields of a line, given the file's name, which may say type and layout, and the
    GPU's wave size. Raises `LineError`, and KeyError for a form that says too little."""
    outside: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    """By field, whether a value of real kernels is one that the rules do not describe."""
    fixed: frozenset[str] = frozenset()
    """Fields that no edit can change where the line does not say every field itself."""


@dataclass(frozen=True)
class RecordTable:
    """Records that Python code makes: calls of a dataclass of the same file, in lists by name."""

    needed: tuple[str, ...]
    """Fields of the dataclass by which it is recognised."""
    fields: Mapping[str, str]
    """Fields by those of the dataclass."""
    fixed: Mapping[str, Any]
    """What all of these kernels have."""
    labels: tuple[str, ...] = ()
    """Fields of the dataclass that say nothing about a kernel's legality."""
    outside: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """By field of the dataclass, values of kernels that the rules do not describe."""
    of_list: Callable[[str], Fields] = lambda name: {}
    """What the name of a list says of its kernels."""
    word: Callable[[str, Any], Any] = lambda _, value: value
    """The value of a field for what the code writes."""
    finish: Callable[[Fields], None] = lambda fields: None
    """Makes good what the code says otherwise, in place."""
    gpus: tuple[str, ...] = ()
    """The GPUs that a list is for whose name says none."""
    text: str = ""
    """What names begin with that the dataclass makes, where its fields are another one's too."""


@dataclass(frozen=True)
class OtherLibrary:
    """A library whose kernels stand in the same files, and that no rules are known of."""

    title: str
    """What messages call it."""
    reason: str
    """Why its kernels are counted and not judged."""
    words: tuple[str, ...] = ()
    """What the column of libraries says."""
    names: str = ""
    """A regular expression that its names match from their beginning."""
    records: tuple[tuple[str, ...], ...] = ()
    """Fields by which the dataclasses of its lists in Python are recognised."""


@dataclass(frozen=True)
class TunedTable:
    """Tables of measured kernels, one row a problem, with the names of the best."""

    columns: tuple[str, ...]
    """The columns of names."""
    gpu: str
    """The column of the GPU."""
    mark: str
    """What the names of the family's library have in them; other names are skipped."""
    library: str = ""
    """The column of libraries, of tables that have one."""
    others: tuple[OtherLibrary, ...] = ()
    """Other libraries, in the order in which they are tried; the last takes what is left."""
    units: str = ""
    """The column of the number of compute units."""
    sizes: tuple[str, ...] = ()
    """The columns of the sizes of a problem, which are whole numbers."""
    product: tuple[str, str, str] = ("", "", "")
    """Those of M, N and K."""
    results: tuple[str, ...] = ()
    """Further columns that tuning wrote: all that are left say which problem a row is about."""
    split: str = ""
    """The column of the exponent of split-K: K is split into 2 to that power parts."""
    time: str = ""
    """The column of the time in microseconds."""
    tflops: str = ""
    """The column of 10**12 operations in a second."""
    bandwidth: str = ""
    """The column of 10**9 bytes in a second."""
    errors: tuple[str, ...] = ()
    """The columns of the share of wrong elements, as a number or in percent."""
    most_wrong: float = 1.0
    """The share of wrong elements up to which the tuner takes a kernel."""
    operations: Callable[[Mapping[str, int]], int] = lambda _: 0
    """The operations of a problem by its sizes, 0 where they do not say it."""
    traffic: Callable[[Mapping[str, int], int], int] = lambda _, __: 0
    """The bytes of a problem by its sizes and the bits of an element, 0 where they do not say."""
    operands: tuple[str, ...] = ()
    """The columns of the types of A, of B, and of both where the first two are absent."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Types by the words of these columns."""
    type_marks: Mapping[str, str] = field(default_factory=dict)
    """The type of A and B by what names of kernels or files have in them, where no column does."""
    mixed: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The word of the field ``dtype`` for types of A and B that differ."""
    formats: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By word of a type column the GPUs that compute in that format."""
    form: Callable[[Mapping[str, Value], str], Mapping[str, Value]] = lambda _, __: {}
    """The fields that the name of a table says of its kernels, given as points."""
    launched: Callable[[Mapping[str, Value], Mapping[str, int]], Mapping[str, Value]] = (
        lambda _, __: {}
    )
    """The fields that host code sets of a kernel, given as its point, for the sizes of a row."""
    looked_up: Callable[[Mapping[str, int]], Iterable[tuple[int, int, int]]] = lambda _: ()
    """The sizes M, N and K of the rows that serve a problem, in the order of the look-up."""
    tried: Mapping[str, str] = field(default_factory=dict)
    """The catalogs of the kernels that the tuner chooses from, by the family of these."""
    merged: str = ""
    """A regular expression for names of files; those with the same first group are one table."""

    @cached_property
    def written(self) -> frozenset[str]:
        """Every column that tuning wrote, which says nothing of the problem."""
        own = (self.split, self.time, self.tflops, self.bandwidth)
        return frozenset((*self.columns, *self.errors, *self.results, *own))

    def has(self, header: Collection[str]) -> bool:
        """Whether a header is such a table's: a column of names, and the GPU or its units."""
        about = self.gpu in header or (bool(self.units) and self.units in header)
        return about and any(c in header for c in self.columns)


class SaidError(Exception):
    """What a file says of its kernels cannot be read; ``key`` is where."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


Said = Mapping[str, tuple[str, tuple[Any, ...]]]
"""By field the key that says it and the values."""

Axes = Mapping[str, tuple[Any, ...]]
"""Values by field, the outermost loop first."""


def _as_they_are(variant: str, axes: Axes) -> Axes:
    return axes


@dataclass(frozen=True)
class SweepTable:
    """Files of ranges, of which a tool lists what passes its own checks.

    A family may have several, in the order in which they are tried (`applies`).
    """

    tool: str
    """What messages call the tool."""
    profile: str
    """The rule set of its checks; empty: it checks nothing."""
    sections: Mapping[str, Mapping[str, str]]
    """Fields by key, in sections; the first key is the outermost loop."""
    ranges: tuple[str, ...] = ()
    """Keys that may be ranges instead of lists."""
    scalars: Mapping[str, str] = field(default_factory=dict)
    """Fields by key beside the sections."""
    beside: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By variant the fields that the tool says for every kernel."""
    derive: Callable[[Fields], None] = lambda fields: None
    """Adds what the tool makes of the other fields, in place.

    It is asked twice: with what kernels are for, and with all fields.
    """
    ck: str = ""
    """The CK version whose tool it is; empty: of every version."""
    plain: bool = False
    """Whether values are bare lists, and not objects with ``values``."""
    marks: tuple[str, ...] = ()
    """Keys of which a file has at least one, ``section.key`` inside a section; none: any file with
    the sections."""
    folders: tuple[str, ...] = ()
    """Folders whose files are the tool's, where their keys do not tell; none: of any folder."""
    absent: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """By key the values that the tool takes where a file lacks it."""
    step: int | None = None
    """The step of a range without one; None: ranges say it."""
    optional: tuple[str, ...] = ()
    """Sections that a file may lack."""
    labels: tuple[str, ...] = ()
    """Keys beside the sections that say nothing about a kernel."""
    purposes: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)
    """By variant the types and layouts of which the tool makes kernels."""
    said: Callable[[Mapping[str, Any]], Said] = lambda value: {}
    """What a file itself says of its kernels: by field the key and the values.

    Raises `SaidError`.
    """
    shape: Callable[[str, Axes], Axes] = _as_they_are
    """The loops for a variant, where they are not those of the file."""
    style: str = ""
    """The tool's names (`ckrules.kernels.names.styles`)."""

    def chosen(self, path: str = "", variant: str = "") -> bool:
        """Whether a file is the tool's by what is asked for, or else by its folder."""
        if variant:
            return variant in self.purposes
        return not set(self.folders).isdisjoint(PurePath(path).parts)

    def applies(self, value: Mapping[str, Any], path: str = "", variant: str = "") -> bool:
        """Whether an object has the sections, in the form of the tool.

        Args:
            value: What the file holds.
            path: Where the file is.
            variant: The variant whose kernels are asked for; empty: every.
        """
        needed = [s for s in self.sections if s not in self.optional and s]
        if any(not isinstance(value.get(s), dict) for s in needed):
            return False
        named = bool(self.folders) and self.chosen(path, variant)
        asked = not named and bool(self.marks or self.folders)
        if asked and not any(_has(value, mark) for mark in self.marks):
            return False
        inside = value if "" in self.sections else value[needed[0]]
        found = [inside[k] for k in self.sections["" if "" in self.sections else needed[0]]
                 if k in inside]  # fmt: skip
        return not found or any(isinstance(v, list) == self.plain for v in found)


def _has(value: Mapping[str, Any], mark: str) -> bool:
    section, dot, key = mark.partition(".")
    return key in value.get(section, {}) if dot else section in value
