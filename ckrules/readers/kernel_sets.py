"""Kernels that C++ macros declare, as configurations; what is left out is filled in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ckrules.engine.errors import nearest
from ckrules.engine.expr import Value
from ckrules.readers.builder_lines import SPECIALIZATIONS
from ckrules.readers.cpp_calls import Argument, Call, blank, calls, chain
from ckrules.readers.entries import (
    Context,
    Edit,
    Entry,
    Place,
    Problem,
    Remark,
    entry_from_mapping,
)
from ckrules.readers.formats.dispatcher import OTHER_LAYOUTS
from ckrules.readers.formats.jsonl import span_place
from ckrules.readers.formats.macros import READINGS
from ckrules.readers.source import Source, Text

_CONV = "DECL_GROUPED_CONV_KERNEL_SET"
_MACRO = re.compile(
    r"\b(DECL_GROUPED_CONV_KERNEL_SET|DECL_KERNEL_SET|DECL_KERNEL(?:_SIMPLE|_ALL)?"
    r"|DECL_FMHA_KERNEL_SET)\s*\("
)

#: Fields by setter, in the order of its arguments.
SETTERS = {
    "dtype": ("dtype",), "layout": ("layout",), "conv_type": ("variant",), "dims": ("ndim",),
    "spec": ("specialization",),
    "wave": ("wave_m", "wave_n", "wave_k"),
    "warp": ("warp_tile_m", "warp_tile_n", "warp_tile_k"),
    "vector_sizes": ("vector_a", "vector_b", "vector_c"),
    "pipeline": ("pipeline",), "scheduler": ("scheduler",), "epilogue": ("epilogue",),
    "double_smem_buffer": ("double_smem_buffer",), "num_wave_groups": ("num_wave_groups",),
    "num_groups_to_merge": ("num_groups_to_merge",), "two_stage": ("two_stage",),
    "split_image": ("split_image",), "explicit_gemm": ("explicit_gemm",),
    "pad": ("pad_m", "pad_n", "pad_k"), "padding": ("pad_m", "pad_n", "pad_k"),
}  # fmt: skip
#: Setters that say nothing about legality.
OTHERS = ("groups", "tile_output", "memory_op", "block_per_cu", "elementwise", "preshuffle")
FILLED: dict[str, Any] = {
    "variant": "forward", "dtype": "fp16", "ndim": 2, "tile_m": 16, "tile_n": 64,
    "wave_m": 1, "wave_n": 4, "wave_k": 1, "warp_tile_m": 16, "warp_tile_n": 16,
    "warp_tile_k": 32, "pipeline": "compv3", "scheduler": "intrawave", "epilogue": "cshuffle",
    "vector_a": 4, "vector_b": 8, "vector_c": 8,
}  # fmt: skip
#: Older examples leave the groups out of the layout.
_OLD_LAYOUTS = {"nwc": "nwgc", "nhwc": "nhwgc", "ndhwc": "ndhwgc"}
_NDIM = {"nwgc": 1, "nhwgc": 2, "ndhwgc": 3}
_VARIANTS = {"fwd": "forward", "backward_data": "bwd_data", "backward_weight": "bwd_weight"}


def kernels(source: Source, context: Context) -> Iterator[Entry | Problem | Remark]:
    """Every declared kernel of the file."""
    text = source.text()
    code = blank(text.text)
    told = False
    for found in calls(code, _MACRO):
        if isinstance(found, tuple):
            yield Problem(Place(source.name, *text.place(found[0])), found[1])
        elif found.name != _CONV:
            what = "attention" if "FMHA" in found.name else "GEMM"
            place = span_place(text, source.name, found.start, found.start + len(found.name))
            said = f"{what} configurations are not covered by the convolution rules"
            yield Remark(place, "CFG006", said)
        else:
            for item in _set(found, code, text, source.name, context):
                if isinstance(item, Remark) and item.code == "CFG007":
                    if told:
                        continue
                    told = True
                yield item


def _set(
    macro: Call, code: str, text: Text, source: str, context: Context
) -> Iterator[Entry | Problem | Remark]:
    if len(macro.arguments) < 2:
        place = span_place(text, source, macro.start, macro.end)
        yield Problem(place, "expected a name and .add(…) calls")
        return
    adds = chain(code, macro.arguments[1].start, macro.arguments[-1].end, headed=False)
    if adds is None:
        first = macro.arguments[1]
        yield Problem(span_place(text, source, first.start, first.end), "expected .add(…) calls")
        return
    for add in adds:
        place = span_place(text, source, add.start, add.end)
        if add.name == "add" and add.arguments and isinstance(add.arguments[0].value(), str):
            yield _Declared(text, source, "mnk").short(place, add.arguments, context)
            continue
        chains = [chain(code, a.start, a.end, headed=True) for a in add.arguments[:2]]
        if add.name != "add" or len(chains) < 2 or None in chains:
            what = "expected .add(GroupedConvSig()…, GroupedConvAlgo()…[, arch])"
            yield Problem(place, what)
            continue
        setters = [s for c in chains if c is not None for s in c]
        yield from _Declared(text, source, context.tile_reading).entry(
            place, setters, add.arguments[2:3], context
        )


@dataclass
class _Declared:
    """One kernel being read: its fields and the arguments that say them."""

    text: Text
    source: str
    reading: str
    fields: dict[str, Any] = field(default_factory=dict)
    at: dict[str, Argument] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)

    def place(self, part: Argument | Call) -> Place:
        """Where an argument or the name of a call stands."""
        end = part.end if isinstance(part, Argument) else part.start + len(part.name)
        return span_place(self.text, self.source, part.start, end)

    def entry(
        self, place: Place, setters: list[Call], arch: tuple[Argument, ...], context: Context
    ) -> Iterator[Entry | Problem | Remark]:
        """The kernel, after the remark that says how its tile was read."""
        for setter in setters:
            fault = self._setter(setter)
            if fault is not None:
                yield fault
                return
            if setter.name == "tile":
                said = f".tile(a, b, c) is read as {READINGS[self.reading]}"
                yield Remark(self.place(setter), "CFG007", said)
        for argument in arch:
            if (name := argument.value()) not in ("*", None):
                self.fields["arch"], self.at["arch"] = name, argument
        layout = self.fields.get("layout")
        if layout in OTHER_LAYOUTS:
            where = self.place(self.at["layout"])
            yield Remark(where, "CFG006", f"layout {layout} is not covered by the rules")
            return
        self._fill(place)
        yield entry_from_mapping(
            self.fields, context, place, self._locate, self._rewrite, remarks=tuple(self.remarks)
        )

    def short(
        self, place: Place, given: tuple[Argument, ...], context: Context
    ) -> Entry | Problem | Remark:
        """``.add("fp16", "nhwgc", "forward", 128, 128, 32)``: words, then the tile."""
        numbers = [a for a in given if type(a.value()) is int]
        words = [a for a in given if isinstance(a.value(), str)]
        names = ("ndim", "tile_m", "tile_n", "tile_k")[4 - len(numbers) :]
        if len(numbers) not in (3, 4) or len(numbers) + len(words) != len(given):
            return Problem(place, 'expected .add("fp16", "nhwgc", "forward", M, N, K)')
        for argument in words:
            word = argument.value()
            name = "dtype" if argument is words[0] else "layout"
            if _VARIANTS.get(str(word), word) in context.books.variants:
                name = "variant"
            elif str(word).startswith("gfx"):
                name = "arch"
            self.fields[name], self.at[name] = _meant(name, word), argument
        for name, argument in zip(names, numbers, strict=True):
            self.fields[name], self.at[name] = argument.value(), argument
        layout = self.fields.get("layout")
        if layout in OTHER_LAYOUTS:
            where = self.place(self.at["layout"])
            return Remark(where, "CFG006", f"layout {layout} is not covered by the rules")
        self.fields.setdefault("ndim", _NDIM.get(str(layout), 2))
        self._fill(place)
        return entry_from_mapping(
            self.fields, context, place, self._locate, self._rewrite, remarks=tuple(self.remarks)
        )

    def _setter(self, setter: Call) -> Problem | None:
        names: tuple[str, ...]
        if setter.name == "tile":
            as_written = ("tile_m", "tile_n", "tile_k")
            names = as_written if self.reading == "mnk" else ("", *as_written[:2])
        elif setter.name in SETTERS:
            names = SETTERS[setter.name]
        else:
            if setter.name not in OTHERS:
                hits = nearest(setter.name[:80], [*SETTERS, "tile", *OTHERS], n=1)
                near = f": did you mean .{hits[0]}()?" if hits else ""
                self.remarks.append(
                    Remark(self.place(setter), "CFG004", f"no setter .{setter.name[:80]}(){near}")
                )
            return None
        if len(setter.arguments) < len(names) or not setter.arguments:
            count = len(names)
            what = f".{setter.name}() takes {count} argument{'s' * (count > 1)}"
            return Problem(self.place(setter), f"{what}, found {len(setter.arguments)}")
        for name, argument in zip(names, setter.arguments, strict=False):
            value = argument.value()
            if value is None:
                what = f"{argument.text[:40]!r} is not a number, text or truth value"
                return Problem(self.place(argument), f"{what}: its value is not known here")
            if name and value not in ("*", -1):
                self.fields[name], self.at[name] = _meant(name, value), argument
        return None

    def _fill(self, place: Place) -> None:
        filled = {k: v for k, v in FILLED.items() if k not in self.fields}
        self.fields |= filled
        compv4 = self.fields["pipeline"] == "compv4"
        for name, value in (("tile_k", 128 if compv4 else 64), ("double_smem_buffer", compv4)):
            if name not in self.fields:
                self.fields[name] = filled[name] = value
        if filled:
            said = ", ".join(f"{k} = {str(v).lower()}" for k, v in filled.items())
            self.remarks.append(Remark(place, "CFG008", f"filled in: {said}"))

    def _locate(self, name: str, at_key: bool) -> Place | None:
        return self.place(self.at[name]) if name in self.at else None

    def _rewrite(self, name: str, value: Value) -> Edit | None:
        place = self._locate(name, False)
        if place is None:
            return None
        spell: Callable[[Value], str] = str
        if isinstance(value, bool):
            return Edit(place, str(value).lower())
        return Edit(place, f'"{value}"' if isinstance(value, str) else spell(value))


def _meant(name: str, value: Any) -> Any:
    if name == "variant":
        return _VARIANTS.get(value, value)
    if name == "layout":
        return _OLD_LAYOUTS.get(value, value)
    if name == "specialization" and isinstance(value, str):
        return SPECIALIZATIONS.get(value.lower().replace("_", ""), value)
    return value
