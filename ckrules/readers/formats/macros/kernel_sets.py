"""Kernels that C++ macros declare, as configurations; what is left out is filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ckrules.engine.expr import Value
from ckrules.kernels.families import reader_tables
from ckrules.kernels.reader_tables import MacroTable
from ckrules.readers.entries import (
    Context,
    Edit,
    Entry,
    Place,
    Remark,
    UnreadableText,
    entry_from_mapping,
)
from ckrules.readers.formats.macros.cpp_calls import CallArgument, Code, CppCall
from ckrules.readers.formats.macros.readings import READINGS
from ckrules.readers.json_text import span_place
from ckrules.readers.source import LocatedText, SourceFile
from ckrules.support.errors import nearest

_MACRO = re.compile(r"DECL_(?:[A-Z]++_)*KERNEL(?:_SET|_SIMPLE|_ALL)?")
#: What declares kernels of which there are no rules, by a word of the macro's name.
_OTHERS = {
    "FMHA": "declarations of attention kernels are not read: name the kernels instead",
    "": "other configurations are not covered by the rules",
}


def kernels(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText | Remark]:
    """Every declared kernel of the file."""
    text = source.text()
    code = Code(text.text)
    every: list[MacroTable] = list(reader_tables("macros").values())
    tables = {t.macro: t for t in every}
    alone = {name: t for t in every if t.alone for name in (t.alone, f"{t.alone}_SIMPLE")}
    read_as = False
    for found in code.calls(_MACRO):
        if isinstance(found, tuple):
            yield UnreadableText(Place(source.name, *text.place(found[0])), found[1])
        elif found.name in alone:
            yield from _single(found, code, text, source.name, context, alone[found.name])
        elif found.name not in tables:
            message = next(said for word, said in _OTHERS.items() if word in found.name)
            place = span_place(text, source.name, found.start, found.start + len(found.name))
            if any(t.alone and found.name == f"{t.alone}_ALL" for t in every):
                message = "a wildcard: upstream's lists say the kernels, and not this declaration"
            yield Remark(place, "CFG006", message)
        else:
            for item in _set(found, code, text, source.name, context, tables[found.name]):
                if isinstance(item, Remark) and item.code == "CFG007":
                    if read_as:
                        continue
                    read_as = True
                yield item


def _single(
    macro: CppCall, code: Code, text: LocatedText, source: str, context: Context, table: MacroTable
) -> Iterator[Entry | UnreadableText | Remark]:
    place = span_place(text, source, macro.start, macro.end)
    if macro.name != table.alone:
        yield _Declared(text, source, table, "mnk").short(
            place, macro.arguments, context, bare=True
        )
        return
    yield from _chained(macro, place, code, text, source, context, table)


def _chained(
    call: CppCall, place: Place, code: Code, text: LocatedText, source: str, context: Context,
    table: MacroTable,
) -> Iterator[Entry | UnreadableText | Remark]:  # fmt: skip
    """A kernel of two chains of setters, and perhaps a GPU."""
    chains = [code.chain(a.start, a.end, headed=True) for a in call.arguments[:2]]
    if len(chains) < 2 or None in chains:
        what, how = table.heads
        yield UnreadableText(place, f"expected {call.name}({what}()…, {how}()…[, arch])")
        return
    setters = [s for c in chains if c is not None for s in c]
    yield from _Declared(text, source, table, context.tile_reading).entry(
        place, setters, call.arguments[2:3], context
    )


def _set(
    macro: CppCall, code: Code, text: LocatedText, source: str, context: Context, table: MacroTable
) -> Iterator[Entry | UnreadableText | Remark]:
    if len(macro.arguments) < 2:
        place = span_place(text, source, macro.start, macro.end)
        yield UnreadableText(place, "expected a name and .add(…) calls")
        return
    adds = code.chain(macro.arguments[1].start, macro.arguments[-1].end, headed=False)
    if adds is None:
        first = macro.arguments[1]
        yield UnreadableText(
            span_place(text, source, first.start, first.end), "expected .add(…) calls"
        )
        return
    for add in adds:
        place = span_place(text, source, add.start, add.end)
        if add.name == "add" and add.arguments and isinstance(add.arguments[0].value(), str):
            yield _Declared(text, source, table, "mnk").short(place, add.arguments, context)
            continue
        if add.name != "add":
            what, how = table.heads
            yield UnreadableText(place, f"expected .add({what}()…, {how}()…[, arch])")
            continue
        add = replace(add, name=".add")
        yield from _chained(add, place, code, text, source, context, table)


def _said(argument: CallArgument, bare: bool) -> int | bool | str | None:
    """The value of an argument; bare words count as texts where macros take them so."""
    value = argument.value()
    word = argument.text
    return word if bare and value is None and word.isidentifier() and word.isascii() else value


@dataclass
class _Declared:
    text: LocatedText
    source: str
    table: MacroTable
    reading: str
    fields: dict[str, Any] = field(default_factory=dict)
    at: dict[str, CallArgument] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    said: dict[str, Any] = field(default_factory=dict)
    """The fields before others were filled in."""

    def place(self, part: CallArgument | CppCall) -> Place:
        end = part.end if isinstance(part, CallArgument) else part.start + len(part.name)
        return span_place(self.text, self.source, part.start, end)

    def entry(
        self, place: Place, setters: list[CppCall], arch: tuple[CallArgument, ...], context: Context
    ) -> Iterator[Entry | UnreadableText | Remark]:
        """The kernel, after the remark that says how its tile was read."""
        for setter in setters:
            fault = self._setter(setter)
            if fault is not None:
                yield fault
                return
            if setter.name in self.table.readings:
                text = f".{setter.name}(a, b, c) is read as {READINGS[self.reading]}"
                yield Remark(self.place(setter), "CFG007", text)
        for argument in arch:
            if (name := argument.value()) not in ("*", None):
                self.fields["arch"], self.at["arch"] = name, argument
        outside = self._outside()
        if outside is not None:
            yield outside
            return
        self._fill(place)
        yield entry_from_mapping(
            self.fields, context, place, self._locate, self._rewrite, remarks=tuple(self.remarks)
        )

    def short(
        self, place: Place, given: tuple[CallArgument, ...], context: Context, *, bare: bool = False
    ) -> Entry | UnreadableText | Remark:
        """``.add("fp16", "nhwgc", "forward", 128, 128, 32)``: words, then the tile.

        Macros take the words ``bare``, without quotes.
        """
        numbers = [a for a in given if type(a.value()) is int]
        words = [a for a in given if isinstance(_said(a, bare), str)]
        most, least = len(self.table.short), self.table.short_least
        names = self.table.short[most - len(numbers) :]
        if not least <= len(numbers) <= most or len(numbers) + len(words) != len(given):
            like = "fp16, rcr" if bare else '"fp16", "rcr"' if least == most else (
                '"fp16", "nhwgc", "forward"'
            )  # fmt: skip
            return UnreadableText(place, f"expected {'' if bare else '.add'}({like}, M, N, K)")
        for argument in words:
            word = _said(argument, bare)
            name = "dtype" if argument is words[0] else "layout"
            if self.table.words("variant", word) in context.books.variants:
                name = "variant"
            elif str(word).startswith("gfx"):
                name = "arch"
            self.fields[name], self.at[name] = self.table.words(name, word), argument
        for name, argument in zip(names, numbers, strict=True):
            self.fields[name], self.at[name] = argument.value(), argument
        outside = self._outside()
        if outside is not None:
            return outside
        self.table.infer(self.fields)
        self._fill(place)
        return entry_from_mapping(
            self.fields, context, place, self._locate, self._rewrite, remarks=tuple(self.remarks)
        )

    def _setter(self, setter: CppCall) -> UnreadableText | None:
        names: tuple[str, ...]
        known = {
            **self.table.setters,
            **{k: v[self.reading] for k, v in self.table.readings.items()},
        }
        if setter.name in known:
            names = known[setter.name]
        else:
            if setter.name not in self.table.others:
                hits = nearest(setter.name[:80], [*known, *self.table.others], n=1)
                near = f": did you mean .{hits[0]}()?" if hits else ""
                self.remarks.append(
                    Remark(self.place(setter), "CFG004", f"no setter .{setter.name[:80]}(){near}")
                )
            return None
        count = self.table.least.get(setter.name, len(names))
        if len(setter.arguments) < count or not setter.arguments:
            what = f".{setter.name}() takes {count} argument{'s' * (count > 1)}"
            return UnreadableText(self.place(setter), f"{what}, found {len(setter.arguments)}")
        if len(setter.arguments) > len(names):
            what = f".{setter.name}() takes {len(names)} at most"
            return UnreadableText(self.place(setter), f"{what}, found {len(setter.arguments)}")
        for name, argument in zip(names, setter.arguments, strict=False):
            value = argument.value()
            if value is None:
                what = f"{argument.text[:40]!r} is not a number, text or truth value"
                return UnreadableText(self.place(argument), f"{what}: its value is not known here")
            if name and value not in ("*", -1):
                self.fields[name], self.at[name] = self.table.words(name, value), argument
        return None

    def _outside(self) -> Remark | None:
        for name, values in self.table.outside.items():
            value = self.fields.get(name)
            if value in values:
                where = self.place(self.at[name])
                return Remark(where, "CFG006", f"{name} {value} is not covered by the rules")
        return None

    def _fill(self, place: Place) -> None:
        self.said = dict(self.fields)
        self.table.join(self.fields)
        filled = self.table.fill(self.fields)
        self.fields |= filled
        if filled:
            text = ", ".join(f"{k} = {str(v).lower()}" for k, v in filled.items())
            self.remarks.append(Remark(place, "CFG008", f"filled in: {text}"))

    def _locate(self, name: str, at_key: bool) -> Place | None:
        return self.place(self.at[name]) if name in self.at else None

    def _rewrite(self, name: str, value: Value) -> Edit | None:
        place = self._locate(name, False)
        again = {**self.said, name: value}
        self.table.join(again)
        if place is None or {**again, **self.table.fill(again)} != {**self.fields, name: value}:
            return None  # or what is filled in would change as well
        return Edit(place, json.dumps(value))
