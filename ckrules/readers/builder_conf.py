"""Instances of CK Builder's ``.conf`` files as configurations; `builder_lines` reads a line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from ckrules.engine.errors import nearest
from ckrules.engine.expr import Value
from ckrules.readers import builder_lines as lines
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
from ckrules.readers.source import Line, Source

_STEM = re.compile(r"(nwgc|nhwgc|ndhwgc|ngchw|ngcdhw)_(fp16|bf16|fp32|int8|fp8|bf8)(?:_|\.|$)")
_NDIM = {"nwgc": 1, "nhwgc": 2, "ndhwgc": 3}
_DTYPES = ("fp16", "bf16", "fp32")


def instances(source: Source, context: Context) -> Iterator[Entry | Problem | Remark]:
    """Every instance of the file."""
    waves = _wave_size(context)
    for line in source.lines():
        body = line.text.strip()
        if line.fault:
            yield Problem(Place(source.name, line.number, line.column), line.fault)
        elif body and not body.startswith(("#", ";")):
            hidden = min((i for i in map(line.text.find, "#;") if i >= 0), default=-1)
            if hidden < 0:
                yield from _line(line, source.name, context, waves)
                continue
            place = Place(source.name, line.number, hidden + 1, line.number, hidden + 2)
            sign = line.text[hidden]
            yield Remark(
                place,
                "CFG005",
                f"{sign!r} hides the whole line from the generator, not only what follows",
            )


def _wave_size(context: Context) -> int | None:
    if context.arch is None:
        return None
    from ckrules import arch

    return next(
        (g.wave_size for g in arch.load_all(context.books.arch_files) if g.name == context.arch),
        None,
    )


def _line(
    line: Line, source: str, context: Context, wave_size: int | None
) -> Iterator[Entry | Problem | Remark]:
    indent = len(line.text) - len(line.text.lstrip())
    whole = Place(source, line.number, indent + 1, line.number, len(line.text.rstrip()) + 1)
    found: lines.Arguments | None = None
    try:
        if "<" not in line.text:
            found = _depthwise(line.text)
        else:
            found = lines.instance(line.text)
            name = line.text[: line.text.index("<")].strip()
            if found.family.native:
                lines.read_native(found)
            elif wave_size is None:
                raise lines.LineError("no GPU: waves depend on its wave size, so give --arch")
            else:
                lines.read_xdl(found, name, wave_size)
    except lines.LineError as error:
        place = whole
        if found is not None and error.argument >= 0:
            place = _place(source, line, found.spans[error.argument])
        yield Problem(place, error.message)
        return
    except KeyError as error:
        name = str(error.args[0])
        if name in lines.FAMILIES:
            said = f"the short form of {name} says too little of the kernel"
        else:
            hits = nearest(name[:80], lines.FAMILIES, n=1)
            near = f": did you mean {hits[0]!r}?" if hits else ""
            said = f"no rules for instances of {name[:80]!r}{near}"
        yield Remark(whole, "CFG006", said)
        return
    yield _entry(found, line, source, context, whole)


def _depthwise(text: str) -> lines.Arguments:
    words, spans = lines.split(text, 0)
    if len(words) != len(lines.DEPTHWISE):
        raise lines.LineError(
            f"{len(words)} numbers, expected {len(lines.DEPTHWISE)} for a depthwise instance:"
            f" {', '.join(lines.DEPTHWISE)}"
        )
    family = lines.Family("forward_depthwise", (12,), {k: i for i, k in enumerate(lines.DEPTHWISE)})
    found = lines.Arguments(family, words, spans)
    for key in lines.DEPTHWISE:
        found.put(key, key, found.number(key))
    found.fields |= {"ndim": 2, "layout": "ngchw"}
    return found


def _place(source: str, line: Line, span: tuple[int, int]) -> Place:
    return Place(source, line.number, span[0] + 1, line.number, span[1] + 1)


def _entry(
    found: lines.Arguments, line: Line, source: str, context: Context, whole: Place
) -> Entry | Problem | Remark:
    fields: dict[str, Any] = {"variant": found.family.variant, **found.fields}
    named = _STEM.search(os.path.basename(source))
    if "dtype" not in fields and found.family.variant == "forward_depthwise":
        fields["dtype"] = named[2] if named else "fp16"
    elif "dtype" not in fields:
        if named is None:
            return Problem(
                whole, "the short form names neither type nor layout: expected a file name such as"
                " nhwgc_fp16.conf")  # fmt: skip
        fields |= {"dtype": named[2], "layout": named[1], "ndim": _NDIM.get(named[1], 2)}
        if fields["dtype"] == "fp32":
            fields["warp_tile_k"] = 8
    for key, covered in (("layout", None), ("dtype", _DTYPES)):
        value = fields.get(key)
        outside = value in OTHER_LAYOUTS if covered is None else value not in covered
        if outside and found.family.variant != "forward_depthwise":
            at = _place(source, line, found.spans[found.home[key]]) if key in found.home else whole
            return Remark(at, "CFG006", f"{key} {value} is not covered by the rules")

    def locate(field: str, at_key: bool) -> Place | None:
        index = found.home.get(field, found.made_from.get(field, -1))
        return _place(source, line, found.spans[index]) if index >= 0 else None

    def rewrite(field: str, value: Value) -> Edit | None:
        place = locate(field, False) if field in found.home else None
        words = isinstance(value, str)
        if place is None or words or (field in ("wave_k", "tile_k") and not found.family.native):
            return None
        old = found.texts[found.home[field]]
        if isinstance(value, bool):
            new = str(value).lower() if old.isalpha() else str(int(value))
        else:
            new = str(value)
        return Edit(place, new)

    return entry_from_mapping(fields, context, whole, locate, rewrite)
