"""Kernels in addresses: a name and a GPU where they say everything, else the fields as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ckrules.engine.expr import Value
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config, config_from_mapping, config_from_name
from ckrules.kernels.names import format_name
from ckrules.support.errors import CkrulesError, UsageError

_LONGEST = 4000


def address(point: Mapping[str, Value], books: Books) -> str:
    """What an address says of a kernel of some rule books.

    >>> from ckrules.kernels.books import Books
    >>> name = "grouped_conv_fwd_fp16_nhwgc_2d_mem_default_intrawave_64x64x32_1x1x1_16x16x32"
    >>> address(read(f"{name}@gfx942", Books()).point, Books()) == f"{name}@gfx942"
    True
    """
    try:
        name = format_name(dict(point))
        if config_from_name(name, books, arch=str(point["arch"])).point == dict(point):
            return f"{name}@{point['arch']}"
    except (CkrulesError, KeyError):
        pass  # no name says it
    return json.dumps(dict(point), separators=(",", ":"))


def read(text: str, books: Books, arch: str | None = None) -> Config:
    """The kernel that an address, or a name that was typed, says.

    Args:
        text: ``NAME@GPU``, a name, or a JSON object.
        arch: The GPU where the text names none.

    Raises:
        UsageError: For anything else, with what is wrong.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST:
        raise UsageError("give a kernel: its name, NAME@GPU or a JSON object of its fields")
    if text.startswith("{"):
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            raise UsageError("that is not a JSON object") from None
        if not isinstance(given, dict):
            raise UsageError("that is not a JSON object")
        return config_from_mapping(given, books, arch=arch)
    name, _, gpu = text.partition("@")
    return config_from_name(name, books, arch=books.plain_arch(gpu) if gpu else arch)
