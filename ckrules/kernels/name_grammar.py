"""Grammars of kernel names: one table reads, writes, and explains where a text leaves it.

A `Grammar` is a row of pieces that every name has, and optional suffixes in a fixed order. A
suffix is written only where one of its fields is not at the value that its absence means, so a
point has one name. `Grammar.parse` accepts exactly what `Grammar.format` writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any, NoReturn

from ckrules.support.errors import CkrulesError, UsageError, nearest, unknown

MAX_NUMBER = 1_000_000
"""The largest number that a name may hold."""

Value = int | str | bool
Point = Mapping[str, Any]


class KernelNameError(UsageError):
    """A text is not a kernel name; ``column`` (from 1) is where ``expected`` should be."""

    def __init__(self, text: str, column: int, expected: str, hint: str = "") -> None:
        self.text, self.column, self.expected, self.hint = text, column, expected, hint
        rest = text[column - 1 : column + 23]
        found = repr(rest + ("…" if len(text) > column + 23 else "")) if rest else "the end"
        shown = text if len(text) <= 200 else text[:200] + "…"
        super().__init__(
            f"kernel name, column {column}: expected {expected}, found {found}"
            f"{'; ' + hint if hint else ''} (in {shown!r})"
        )

    def __reduce__(self) -> tuple[type[KernelNameError], tuple[str, int, str, str]]:
        return type(self), (self.text, self.column, self.expected, self.hint)


@dataclass(frozen=True, slots=True)
class Piece:
    """One token of a name: a literal, one of several words, or a number."""

    what: str
    words: Mapping[str, Value] = field(default_factory=dict)
    """The words with the values that they mean; none: a number."""
    _fit: dict[tuple[type, Hashable], list[str]] = field(init=False, repr=False, compare=False)
    field: str = ""
    """The field that the token says; empty: nothing to remember."""
    low: int = 1

    def __post_init__(self) -> None:
        fit: dict[tuple[type, Hashable], list[str]] = {}
        for word, value in self.words.items():
            fit.setdefault((type(value), value), []).append(word)
        object.__setattr__(self, "_fit", fit)

    @property
    def pattern(self) -> str:
        """The regular expression of the token."""
        if self.words:
            found = "|".join(re.escape(w) for w in sorted(self.words, key=len, reverse=True))
        else:
            found = rf"{'0|' if not self.low else ''}{MAX_NUMBER}|[1-9][0-9]{{0,5}}"
        return f"(?P<{self.field}>{found})" if self.field else f"(?:{found})"

    def word(self, point: Point, spelt: str | None = None, absent: Value | None = None) -> str:
        """How the token says the point's value.

        Args:
            point: The values by field.
            spelt: The word to write, where there are several.
            absent: A further value of the field, for messages.

        Raises:
            UsageError: If the point lacks the field, or a number does not fit.
        UnknownNameError: If no word says its value.
        """
        if not self.field:
            return next(iter(self.words))
        try:
            value = point[self.field]
        except KeyError:
            raise UsageError(f"a configuration without {self.field!r} has no name") from None
        if not self.words:
            if type(value) is int and self.low <= value <= MAX_NUMBER:
                return str(value)
            span = f"an integer from {self.low} to {MAX_NUMBER}"
            raise UsageError(f"{self.field} must be {span}, not {value!r}")
        fit = self._fit.get((type(value), value)) if isinstance(value, Hashable) else None
        if not fit:
            self._refuse(value, absent)
        if spelt is not None and spelt not in fit:
            raise UsageError(f"{self.field} {value!r} is not spelt {spelt!r}")
        return spelt or fit[0]

    def _refuse(self, value: Any, absent: Value | None) -> NoReturn:
        known = [v for v in (absent, *self.words.values()) if v is not None]
        if all(isinstance(v, bool) for v in known):
            raise UsageError(f"{self.field} must be true or false, not {value!r}")
        if all(isinstance(v, str) for v in known):
            raise unknown(self.field, str(value), tuple(dict.fromkeys(map(str, known))))
        shown = " or ".join(map(str, dict.fromkeys(known)))
        raise UsageError(f"{self.field} must be {shown}, not {value!r}")


@dataclass(frozen=True, slots=True)
class Suffix:
    """One optional part of a name."""

    head: str
    """Its first letters."""
    shown: str
    """How messages show it."""
    pieces: tuple[Piece, ...]
    absent: Mapping[str, Value]
    """The values of its fields where it is left out."""
    needs: str = ""
    """A field of the suffix before it, without which it has no meaning."""

    @property
    def default(self) -> str:
        """The text that says what its absence says, which nobody writes; empty: there is none."""
        try:
            return "".join(p.word(self.absent) for p in self.pieces)
        except CkrulesError:
            return ""

    @property
    def pattern(self) -> str:
        """The regular expression of the suffix, which may be left out."""
        guard = rf"(?!{self.default}(?![0-9]))" if self.default else ""
        if self.needs:
            guard = f"(?({self.needs})|(?!))"
        return f"(?:{guard}{''.join(p.pattern for p in self.pieces)})?"

    def text(self, point: Point) -> str:
        """The suffix of a point; empty where nothing differs from the values of its absence."""
        for name in self.absent:
            if name not in point:
                raise UsageError(f"a configuration without {name!r} has no name")
        if all(type(point[k]) is type(v) and point[k] == v for k, v in self.absent.items()):
            return ""
        parts = [p.word(point, absent=self.absent.get(p.field)) for p in self.pieces]
        return "".join(parts)


def literal(text: str, name: str = "") -> Piece:
    """Fixed text; with a field it makes it true."""
    return Piece(repr(text), {text: True}, name)


def one_of(name: str, words: Iterable[str] | Mapping[str, Value]) -> Piece:
    """One of several words, each standing for a value (itself, unless a mapping says else)."""
    pool = dict(words) if isinstance(words, Mapping) else {w: w for w in words}
    return Piece(f"{name} ({', '.join(pool)})", pool, name)


def number(name: str, low: int = 1) -> Piece:
    """A number without leading zeros."""
    return Piece(f"{name} (a number from {low} to {MAX_NUMBER})", {}, name, low)


def numbers(names: Iterable[str], separator: str, low: int = 1) -> list[Piece]:
    """Numbers with something between them."""
    out: list[Piece] = []
    for name in names:
        out += [*([literal(separator)] if out else []), number(name, low)]
    return out


def flag(text: str, name: str, needs: str = "") -> Suffix:
    """A suffix that makes a field true."""
    return Suffix(text, text, (literal(text, name),), {name: False}, needs)


Disagree = Callable[[str, Mapping[str, int]], tuple[int, str] | None]


class Grammar:
    """The grammar of a family's names; its pattern is compiled at first use.

    Args:
        pieces: What every name has.
        suffixes: What may follow, in this order.
        ahead: Texts with which a name goes on from a field, where fields must agree.
        disagree: Where a text breaks that, given the offsets of the fields: offset and what is
            expected there.
        refuse: Raises for texts of known other forms.

    >>> tile = [literal("gemm_"), *numbers(("tile_m", "tile_n"), "x")]
    >>> grammar = Grammar(tile, [flag("_dsb", "double_buffer")])
    >>> grammar.parse("gemm_64x32_dsb")[0]
    {'tile_m': 64, 'tile_n': 32, 'double_buffer': True}
    >>> grammar.format({"tile_m": 64, "tile_n": 32, "double_buffer": False})
    'gemm_64x32'
    """

    def __init__(
        self,
        pieces: Iterable[Piece],
        suffixes: Iterable[Suffix] = (),
        *,
        ahead: Mapping[str, Iterable[str]] | None = None,
        disagree: Disagree | None = None,
        refuse: Callable[[str], None] | None = None,
    ) -> None:
        self.pieces, self.suffixes = tuple(pieces), tuple(suffixes)
        self._ahead = {k: tuple(v) for k, v in (ahead or {}).items()}
        self._disagree, self._refuse = disagree, refuse
        self._last: tuple[str, re.Match[str] | None] = "", None
        self._fields = {p.field: p for p in self.pieces if p.field}
        for suffix in self.suffixes:
            self._fields |= {p.field: p for p in suffix.pieces if p.field}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        body = ""
        for piece in self.pieces:
            if piece.field in self._ahead:
                body += f"(?={'|'.join(self._ahead[piece.field])})"
            body += piece.pattern
        return re.compile(body + "".join(s.pattern for s in self.suffixes))

    def _match(self, text: str) -> re.Match[str] | None:
        """The match of a text; that of the last one is kept, since all its fields are asked for."""
        last = self._last
        if last[0] != text:
            last = self._last = text, self._pattern.fullmatch(text)
        return last[1]

    def matches(self, text: str) -> bool:
        """Whether the text is a name."""
        return self._match(text) is not None

    def parse(self, text: str) -> tuple[dict[str, Any], re.Match[str]]:
        """The values that a name says, and the match with the words for them.

        Raises:
            KernelNameError: With the column of the first fault.
        """
        match = self._match(text)
        if match is None:
            self.explain(text)
        return self._values(match.groups()), match

    @cached_property
    def _values(self) -> Callable[[tuple[str | None, ...]], dict[str, Any]]:
        """From the words of all fields to their values, one generated expression.

        It is made from the grammar only; what a name holds is never part of it.
        """
        absent = {name: v for s in self.suffixes for name, v in s.absent.items()}
        scope: dict[str, Any] = {"absent": absent}
        items = []
        for i, (name, piece) in enumerate(self._fields.items()):
            scope[f"m{i}"] = piece.words
            value = f"m{i}[w{i}]" if piece.words else f"int(w{i})"
            if name in absent:
                value = f"absent[{name!r}] if w{i} is None else {value}"
            items.append(f"{name!r}: {value}")
        unpack = "".join(f"w{i}, " for i in range(len(items)))
        text = f"def f(words):\n    {unpack or '()'} = words\n    return {{{', '.join(items)}}}\n"
        exec(compile(text, "<ckrules names>", "exec"), scope)
        found: Callable[[tuple[str | None, ...]], dict[str, Any]] = scope["f"]
        return found

    def format(self, point: Point, spelling: Mapping[str, str] | None = None) -> str:
        """The name of a point; fields that the grammar lacks are ignored.

        Raises:
            UsageError: If the point lacks a field, or no name says one of its values.
        """
        spelt = spelling or {}
        out = [p.word(point, spelt.get(p.field)) for p in self.pieces]
        for suffix in self.suffixes:
            text = suffix.text(point)
            if text and suffix.needs and not self._says(suffix.needs, point):
                (name, *_) = suffix.absent
                raise UsageError(f"{name} without {suffix.needs} has no name")
            out.append(text)
        return "".join(out)

    def _says(self, name: str, point: Point) -> bool:
        return any(name in s.absent and s.text(point) for s in self.suffixes)

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        """Where a name writes the field; None if it does not, or the text is not a name."""
        match = self._match(text)
        if match is None or name not in self._fields or match[name] is None:
            return None
        return match.span(name)

    def without_defaults(self, text: str) -> str:
        """The text without suffixes that say what their absence says."""
        return text if self._defaults is None else self._defaults.sub("", text)

    @cached_property
    def _defaults(self) -> re.Pattern[str] | None:
        defaults = "|".join(re.escape(s.default) for s in self.suffixes if s.default)
        return re.compile(rf"(?:{defaults})(?=_|$)") if defaults else None

    # -- where a text leaves the grammar -------------------------------------------------------

    def explain(self, text: str) -> NoReturn:
        """Walks a text that is not a name token by token and raises where it leaves the grammar."""
        if self._refuse is not None:
            self._refuse(text)
        at, begins = 0, {"": 0}
        for piece in self.pieces:
            begins[piece.field] = at
            at = _step(text, at, piece)
        fault = self._disagree(text, begins) if self._disagree is not None else None
        if fault is not None:
            fail(text, *fault)
        last = -1
        while at < len(text):
            last, at = self._suffix(text, at, last)
        fail(text, 0, "a kernel name")  # never reached while pattern and walk agree

    def _suffix(self, text: str, at: int, last: int) -> tuple[int, int]:
        """The number of the suffix at an offset, and the offset behind it."""
        left = "the end" + "".join(f", {s.shown}" for s in self.suffixes[last + 1 :])
        heads = [s.head for s in self.suffixes]
        index = next((i for i, h in enumerate(heads) if text.startswith(h, at)), None)
        if index is None:
            fail(text, at, left, _near(text, at, heads))
        suffix = self.suffixes[index]
        if index <= last:
            why = "appears twice" if index == last else f"goes before {heads[last]!r}"
            fail(text, at, left, f"{suffix.head!r} {why}")
        end = at
        for piece in suffix.pieces:
            end = _step(text, end, piece)
        if text[at:end] == suffix.default:
            fail(text, at, left, f"{suffix.default!r} is the default and is not written")
        if suffix.needs and (last < 0 or suffix.needs not in self.suffixes[last].absent):
            before = next(s.head for s in self.suffixes if suffix.needs in s.absent)
            fail(text, at, left, f"{suffix.head!r} only follows '{before}_…'")
        return index, end


def _step(text: str, at: int, piece: Piece) -> int:
    """The offset behind ``piece``, which must be at offset ``at``."""
    if not piece.words:
        end = at
        while end < len(text) and text[end] in "0123456789":
            end += 1
        value = int(text[at:end]) if 0 < end - at <= len(str(MAX_NUMBER)) else -1
        if end - at > 1 and text[at] == "0":
            fail(text, at, piece.what, "numbers have no leading zeros")
        if not piece.low <= value <= MAX_NUMBER:
            fail(text, at, piece.what)
        return end
    hits = [w for w in piece.words if text.startswith(w, at)]
    if not piece.field:  # a literal: point at the first letter that differs
        word = next(iter(piece.words))
        if hits:
            return at + len(word)
        same = 0
        while at + same < len(text) and text[at + same] == word[same]:
            same += 1
        fail(text, at + same, repr(word[same:]))
    end = at + len(max(hits, key=len, default=""))
    whole = len(piece.words) == 1 or set(piece.words) == {"0", "1"}
    if not hits or (not whole and text[end : end + 1].isalnum()):
        fail(text, at, piece.what, _near(text, at, piece.words))
    return end


def _near(text: str, at: int, words: Iterable[str]) -> str:
    """The hint naming the ``words`` closest to the letters at offset ``at``, or nothing."""
    parts = text[at : at + 40].split("_")
    tries = ["_".join(parts[:i]) for i in range(1, min(len(parts), 4) + 1)]
    pool = tuple(words)
    pairs = [(t, w) for t in tries if t for w in nearest(t, pool, n=1)]
    best = [max(pairs, key=_likeness)[1]] if pairs else []
    begun = [w for w in pool if parts[0] and w.startswith(parts[0] + "_")]
    if begun and not set(best) & set(begun):
        best = begun
    return f"did you mean {' or '.join(map(repr, best))}?" if best else ""


def _likeness(pair: tuple[str, str]) -> float:
    return SequenceMatcher(None, pair[0].lower(), pair[1]).ratio()


def fail(text: str, at: int, expected: str, hint: str = "") -> NoReturn:
    """Raises `KernelNameError` for an offset of a text."""
    raise KernelNameError(text, at + 1, expected, hint)
