"""A kernel's name says everything about a point but its GPU: it is read and written here.

Each family has its own names (`Family.naming`); the longest prefix that a text begins with says
whose it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from ckrules.kernels.families import families, family_of
from ckrules.kernels.family import Family
from ckrules.kernels.name_grammar import KernelNameError
from ckrules.kernels.parts import Naming, ParsedName
from ckrules.support.errors import UsageError, unknown

__all__ = [
    "LONGEST", "RULE_SET", "KernelNameError", "ParsedName", "beginnings", "format_name", "is_plain",
    "naming_of", "parse_name", "plain", "prefixes", "rule_set_spelling",
    "strip_file_decoration", "styled_name", "styles",
]  # fmt: skip

LONGEST = 200
"""Characters that a kernel's name may have: the names of all its files have to fit a folder."""

RULE_SET = "rule_set"
"""The style of names in which upstream's own lists spell kernels: compv1 for basic_v1."""

_PLAIN = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{LONGEST - 1}}}")


def is_plain(name: object) -> bool:
    r"""Whether a value can be a kernel's name: what can be a C++ identifier and a file's name.

    Every name is, of whatever family: it becomes the name of functions and files and a word of
    command lines.

    >>> is_plain("grouped_conv_fwd_fp16"), is_plain("-o"), is_plain("../x"), is_plain("a\n")
    (True, False, False, False)
    """
    return isinstance(name, str) and _PLAIN.fullmatch(name) is not None


def plain(name: str) -> str:
    """The name itself, if it `is_plain`.

    Raises:
        UsageError: If it is not.
    """
    if not is_plain(name):
        raise UsageError(f"{name[:60]!r} is not a kernel name: expected letters, digits and _")
    return name


def prefixes() -> tuple[str, ...]:
    """What names begin with; one that begins with another is left out.

    >>> {"gemm_", "grouped_conv_"} <= set(prefixes())
    True
    """
    every = {n.prefix for n in _namings()}
    short = (p for p in every if not any(p != q and p.startswith(q) for q in every))
    return tuple(sorted(short))


def _namings() -> list[Naming]:
    return [n for f in families().values() if (n := f.naming) is not None]


def beginnings() -> tuple[str, ...]:
    """What texts begin with that are read as names: `prefixes`, and those of tools' own names.

    >>> "fp16_rcr_mem_default".startswith(beginnings())
    True
    """
    return tuple(prefix for prefix, _ in _by_prefix(tuple(families().values())))


@cache
def _by_prefix(of: tuple[Family, ...]) -> list[tuple[str, Naming]]:
    """The namings of families, those with the longest prefixes first."""
    found = [
        (prefix, n)
        for f in of
        if (n := f.naming) is not None
        for prefix in (n.prefix, *getattr(n, "beginnings", ()))
    ]
    return sorted(found, key=lambda pair: -len(pair[0]))


def naming_of(text: str) -> Naming | None:
    """The naming whose prefix a text begins with, the longest of several; None: nobody's."""
    for prefix, naming in _by_prefix(tuple(families().values())):
        if text.startswith(prefix):
            return naming
    return None


def parse_name(text: str) -> ParsedName:
    """Exactly the names that print back unchanged are read; anything else is an error.

    >>> p = parse_name("grouped_conv_fwd_fp16_nhwgc_3d_compv1_cshuffle_intrawave"
    ...                "_128x64x32_2x2x1_32x32x16_vec8_8_4_pad110")
    >>> p.point["pipeline"], p.point["layout"], p.point["vector_c"], p.point["pad_k"]
    ('basic_v1', 'ndhwgc', 4, False)
    >>> dict(p.spelling)
    {'pipeline': 'compv1', 'layout': 'nhwgc'}

    Raises:
        KernelNameError: With the column of what is not part of a name.
    """
    naming = naming_of(text)
    if naming is None:
        naming = _namings()[0]  # says what a name begins with
    return naming.parse(text)


def format_name(point: Mapping[str, Any], spelling: Mapping[str, str] | None = None) -> str:
    """The name of ``point``; ``arch`` and other keys that names lack are ignored.

    >>> p = parse_name("grouped_conv_bwd_data_bf16_ndhwgc_3d_mem_default_intrawave"
    ...                "_64x64x32_1x1x1_16x16x32")
    >>> format_name(p.point)
    'grouped_conv_bwd_data_bf16_nhwgc_3d_mem_default_intrawave_64x64x32_1x1x1_16x16x32'

    Raises:
        UsageError: If no name can say the point.
    """
    if "variant" not in point:
        raise UsageError("a configuration without 'variant' has no name")
    naming = family_of(str(point["variant"])).naming
    if naming is None:
        raise UsageError(f"kernels of {point['variant']} have no names")
    return naming.format(point, spelling)


def styles() -> tuple[str, ...]:
    """The words for ways in which tools call kernels, of all families.

    >>> "tile_engine" in styles()
    True
    """
    return (RULE_SET, *dict.fromkeys(s for f in families().values() for s in f.styles))


def styled_name(point: Mapping[str, Any], style: str | None) -> str:
    """The name that a tool gives ``point``; the usual one without a style.

    Raises:
        UnknownNameError: For a style that the family lacks, with near matches.
        UsageError: If the tool has no such kernel.
    """
    if not style:
        return format_name(point)
    if style == RULE_SET:
        return format_name(point, rule_set_spelling(point))
    family = family_of(str(point.get("variant")))
    if style not in family.styles:
        raise unknown(f"names of {family.name} kernels", style, (RULE_SET, *family.styles))
    return family.styles[style].format(point)


def rule_set_spelling(point: Mapping[str, Any]) -> dict[str, str]:
    """How upstream's own lists spell ``point``.

    >>> rule_set_spelling({"variant": "forward", "ndim": 3, "pipeline": "basic_v1"})
    {'pipeline': 'compv1', 'layout': 'nhwgc'}
    """
    naming = family_of(str(point["variant"])).naming
    return {} if naming is None else naming.rule_set_spelling(point)


def strip_file_decoration(text: str) -> str:
    """The kernel name inside a generated file's or namespace's name; other texts stay.

    >>> strip_file_decoration("out/dispatcher_wrappers/dispatcher_wrapper_grouped_conv_x.hpp")
    'grouped_conv_x'
    >>> strip_file_decoration("ns_grouped_conv_x")
    'grouped_conv_x'
    """
    name = text[max(text.rfind("/"), text.rfind("\\")) + 1 :]
    name = name.removesuffix(".hpp").removesuffix(".cpp")
    return name.removeprefix("dispatcher_wrapper_").removeprefix("ns_")
