"""An open text: its findings, and its configurations where they stand.

Places are as everywhere in ckrules: lines and columns from 1, in characters.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from ckrules.checking.checker import Checker
from ckrules.checking.diagnostics import Diagnostic
from ckrules.checking.verdict import ItemVerdict
from ckrules.readers import formats
from ckrules.readers.entries import Entry, Place
from ckrules.readers.inputs import InputFormat


@dataclass(frozen=True, slots=True)
class FieldSpot:
    """A field of a configuration where the text writes it."""

    entry: Entry
    field: str
    place: Place


class OpenDocument:
    """An open text.

    Args:
        name: The path of its file, which need not exist or hold this text.

    >>> from ckrules.checking.settings import SettingsResolver
    >>> document = OpenDocument("kernels.names")
    >>> name = "grouped_conv_fwd_fp16_nhwgc_2d_compv4_cshuffle_intrawave_64x64x32_1x1x1_16x16x32"
    >>> document.check(name, Checker(SettingsResolver({"arch": "gfx942"}, isolated=True)))
    >>> [d.code for d in document.diagnostics], document.spot(1, 35).field
    (['PIPE003'], 'pipeline')
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = ""
        self.verdicts: list[ItemVerdict] = []
        #: The text's format, where it has one.
        self.format: InputFormat | None = None
        #: Whether the configurations are those of the text as it is.
        self.fresh = False
        self._entries: list[Entry] = []
        self._lines: list[int] = []

    def check(self, text: str, checker: Checker) -> None:
        """Judges the text.

        The configurations of a text that could be read are remembered until the next one that
        can, so that there is something to say while a value is being typed.

        Raises:
            CkrulesError: For faulty settings.
        """
        self.text, self.verdicts = text, []
        check = checker.of_text(self.name, text.encode("utf-8", "surrogatepass"))
        self.verdicts = list(check.verdicts())
        name = check.reading.format
        self.format = formats()[name] if name else None
        entries = [v.item for v in self.verdicts if isinstance(v.item, Entry)]
        self.fresh = bool(entries)
        if entries:
            self._entries = sorted(entries, key=lambda e: e.place[1:3])
            self._lines = [e.place.line for e in self._entries]

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What to show: findings that nothing hides, and what cannot be read."""
        return [d for v in self.verdicts for d in (*v.shown, *v.problems())]

    def near(self, line: int, column: int) -> list[Entry]:
        """The configurations that may hold a place, the likeliest first.

        Those that begin on its line, then the last one that begins above it.
        """
        last = bisect_right(self._lines, line)
        first = last
        while first and self._lines[first - 1] == line:
            first -= 1
        here = self._entries[first:last]
        here.sort(key=lambda e: (e.place.column > column, -e.place.column))
        return [*here, *self._entries[max(0, first - 1) : first]]

    def spot(self, line: int, column: int) -> FieldSpot | None:
        """The field whose value is written at a place."""
        return self._first(line, column, lambda place: covers(place, line, column))

    def on_line(self, line: int, field: str) -> FieldSpot | None:
        """A field that is written somewhere on a line."""
        return self._first(line, 1, lambda place: place.line == line, field)

    def _first(
        self, line: int, column: int, fits: Callable[[Place], bool], only: str = ""
    ) -> FieldSpot | None:
        for entry in self.near(line, column):
            for field in entry.config.point if not only else [only]:
                place = entry.written(field)
                if place is not None and fits(place):
                    return FieldSpot(entry, field, place)
        return None


def covers(place: Place, line: int, column: int) -> bool:
    """Whether a place's span holds a position, the one behind its last character included.

    >>> covers(Place("a", 2, 3, 2, 5), 2, 5), covers(Place("a", 2, 3, 2, 5), 2, 6)
    (True, False)
    """
    start = (place.line, place.column)
    end = (place.end_line or place.line, place.end_column or place.column)
    return start <= (line, column) <= end
