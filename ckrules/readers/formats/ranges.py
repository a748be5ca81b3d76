"""Files of ranges: JSON of tools that list what passes their own checks.

What is judged is what the tool would build, each kernel with the places of its values. Where a
file names no type, layout or variant, all that the tool makes are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import product
from typing import Any

from ckrules.constraints.catalogs.catalog import Catalog
from ckrules.engine.expr import Value
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.kernels.names import styled_name
from ckrules.readers.entries import Context, Entry, Place, Remark, UnreadableText
from ckrules.readers.json_text import span_place, value_end
from ckrules.readers.source import Head, LocatedText, SourceFile
from ckrules.readers.sweeps import SweepFile, sweep_file, tables
from ckrules.support.errors import CkrulesError
from ckrules.support.json_values import places

SUFFIXES: tuple[str, ...] = ()
ORDER = 0
COMMENT = ""
QUOTED, COMMENT_ALONE = False, False


def sniff(head: Head) -> bool:
    """Whether the text is JSON with the sections of some tool's ranges."""
    if not head or not head[0].startswith("{") or '"instances"' in head.text:
        return False
    return any(_looks(head.text, table.sections) for _, table in tables())


def _looks(text: str, sections: Mapping[str, Mapping[str, str]]) -> bool:
    first = next(iter(sections))
    if first:
        return f'"{first}"' in text
    keys = list(sections[first])[:9]
    return all(f'"{key}"' in text for key in keys) and '"wave_m"' not in text and _lists(text)


def _lists(text: str) -> bool:
    """Whether the values behind keys of a tile are lists."""
    at = text.find('"warp_tile_m"')
    return text[at + len('"warp_tile_m"') :].lstrip(" \t\r\n:")[:1] == "["


def read(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText | Remark]:
    """Every kernel that the tool lists."""
    text = source.text()
    file = sweep_file(source.name, text, context.books, context.only.get("variant", ""))
    yield from _Listing(file, text, source.name, context).items()


class _Listing:
    def __init__(self, file: SweepFile, text: LocatedText, source: str, context: Context) -> None:
        self._file, self._text, self._source, self._context = file, text, source, context
        self._several = False
        self._begin = Place(source, *text.place(len(text.text) - len(text.text.lstrip())))

    def items(self) -> Iterator[Entry | UnreadableText | Remark]:
        """Its remarks, then its kernels, then whether there are none."""
        file = self._file
        for remark in file.data.remarks:
            yield Remark(self._begin, "CFG004", remark)
        books = self._context.books
        listing = Books(file.table.ck, None, books.arch_files) if file.table.ck else books
        ck = file.table.ck if file.table.ck and not books.ck_asked else ""
        catalog = Catalog(file.data, ck=listing.ck, gpus=listing.gpus)
        try:
            archs = self._archs()
        except CkrulesError as error:
            yield UnreadableText(self._span("arch") or self._begin, str(error))
            return
        if not archs:
            yield UnreadableText(self._begin, "no field arch: expected a GPU (--arch)")
            return
        some, self._several = False, len(archs) > 1
        for variant, dtype, layout, arch in self._keys(archs):
            key = {"variant": variant, "arch": arch, "dtype": dtype, "layout": layout}
            for point in catalog.listed(*(key[k] for k in catalog.keys)):
                some = True
                yield self._entry({**point, **file.fixed}, ck)
        if not some:
            text = f"{file.table.tool} lists no kernel of this file on {', '.join(archs)}"
            yield Remark(self._begin, "CFG009", text)

    def _archs(self) -> list[str]:
        books, said = self._context.books, self._file.said.get("arch", ())
        if said:
            return [books.plain_arch(str(a)) for a in said]
        return [] if self._context.arch is None else [self._context.arch]

    def _keys(self, archs: list[str]) -> Iterator[tuple[str, Value, Value, str]]:
        said, purposes = self._file.said, self._file.table.purposes
        only = self._context.only
        for variant in said.get("variant", tuple(purposes)):
            if only.get("variant", variant) != variant:
                continue
            dtypes, layouts = purposes.get(str(variant), ((), ()))
            found: Any = (
                [d for d in said.get("dtype", dtypes) if only.get("dtype", d) == d],
                [x for x in said.get("layout", layouts) if only.get("layout", x) == x],
            )
            for dtype, layout, arch in product(*found, archs):
                yield str(variant), dtype, layout, arch

    def _entry(self, point: Mapping[str, Value], ck: str) -> Entry:
        try:
            label = styled_name(point, self._file.table.style)
            if self._several:
                label += f" on {point['arch']}"
        except CkrulesError:
            label = ""
        return Entry(
            Config(point, ck=ck), self._begin,
            lambda name: self._value(name, point.get(name)), label=label,
        )  # fmt: skip

    @cached_property
    def _places(self) -> dict[Any, int]:
        return places(self._text.text)

    def _value(self, name: str, value: Value | None) -> Place | None:
        """The place of one of the values of a field, or of its range."""
        path = self._file.where.get(name)
        if path is None:
            return None
        for inner in (path, (*path, "values")):
            for index in range(len(self._places)):
                at = self._places.get((*inner, index))
                if at is None:
                    break
                end = value_end(self._text, at)
                if self._text.text[at:end].strip('"').lower() == str(value).lower():
                    return span_place(self._text, self._source, at, end)
        return self._span(name)

    def _span(self, name: str) -> Place | None:
        path = self._file.where.get(name)
        at = None if path is None else self._places.get(path)
        if at is None:
            return None
        return span_place(self._text, self._source, at, value_end(self._text, at))
