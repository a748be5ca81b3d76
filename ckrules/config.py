"""Configurations: a full point made from a kernel's name or from a mapping of fields.

What a configuration may leave out is filled in; every fault names the field it is about, so that
a reader of files can say where in the file that field stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from ckrules.engine.errors import CkrulesError, UsageError, nearest, unknown
from ckrules.engine.expr import BOOL, ENUM, Value
from ckrules.engine.variables import Domain, domain_of
from ckrules.name_grammar import (
    DEPTHWISE,
    DEPTHWISE_LAYOUTS,
    LAYOUTS,
    PIPELINE_ALIASES,
    KernelNameError,
    layout_words,
)
from ckrules.names import ParsedName, format_name, parse_name

if TYPE_CHECKING:
    from ckrules.engine.book import RuleBook
    from ckrules.selection import Books

_LONG = 80
_SPELT_DEFAULTS = re.compile(r"_(?:vec4_8_8|wg1|gm1|pad111)(?=_|$)")


@dataclass(frozen=True, slots=True)
class Config:
    """One kernel configuration: a point with every field, and how it was spelt."""

    point: Mapping[str, Value]
    spelling: Mapping[str, str] = field(default_factory=dict)

    @property
    def variant(self) -> str:
        """The operator's variant, such as ``bwd_weight``."""
        return str(self.point["variant"])

    @property
    def name(self) -> str | None:
        """The kernel's name in the spelling it came with; None if no name can say the point."""
        try:
            return format_name(cast("Mapping[str, int | str | bool]", self.point), self.spelling)
        except CkrulesError:
            return None


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a configuration.

    ``key`` is the field that is at fault as it was written, empty where one is missing;
    ``at_key`` says that the key itself is wrong and not its value.
    """

    message: str
    key: str = ""
    at_key: bool = False


class ConfigError(UsageError):
    """A configuration that is no point; ``faults`` has one entry for each thing wrong."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f.message for f in self.faults))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.faults,)


class Schema:
    """The fields of one operator, ready for reading many configurations."""

    def __init__(self, book: RuleBook, defaults: Mapping[str, Value]) -> None:
        self.domains: dict[str, Domain] = {k: domain_of(v) for k, v in book.fields.items()}
        self.defaults = defaults
        self._tests = {k: _quick_test(d) for k, d in self.domains.items()}

    def quick(self, full: Mapping[str, Any]) -> dict[str, Value] | None:
        """The point if ``full`` has exactly the fields with values they can take, else None."""
        if len(full) != len(self._tests):
            return None
        try:
            point = {k: full[k] for k in self._tests}
        except KeyError:
            return None
        for key, test in self._tests.items():
            if not test(point[key]):
                return None
        return point

    def faults(self, given: Mapping[str, Any], full: Mapping[str, Any]) -> list[Fault]:
        """Everything that is wrong with ``full``, which was filled up from ``given``."""
        found = [self._unknown(key) for key in given if key not in self.domains]
        for key, domain in self.domains.items():
            if key not in full:
                continue
            try:
                _accept(domain, full[key])
            except CkrulesError as error:
                found.append(Fault(str(error), key if key in given else ""))
        missing = [k for k in self.domains if k not in full]
        if missing and not found:
            found.append(Fault(_missing(missing)))
        return found

    def _unknown(self, key: object) -> Fault:
        word = str(key)
        if len(word) > _LONG:
            return Fault(f"unknown field {_short(word)}", word, at_key=True)
        return Fault(str(unknown("field", word, self.domains)), word, at_key=True)


def _quick_test(domain: Domain) -> Callable[[Any], bool]:
    if domain.sort == BOOL:
        return lambda v: v is True or v is False
    if domain.sort == ENUM:
        words = frozenset(domain.values)
        return lambda v: type(v) is str and v in words
    lo, hi = domain.lo, domain.hi
    return lambda v: type(v) is int and lo <= v <= hi


def _accept(domain: Domain, value: Any) -> None:
    if isinstance(value, str) and len(value) > _LONG:
        raise UsageError(f"{domain.name} = {_short(value)} is not a value of this field")
    domain.accept(value)


def _short(text: str) -> str:
    return f"{text[:30]!r}… ({len(text)} characters)"


def _missing(fields: list[str]) -> str:
    if fields == ["arch"]:
        return "no GPU: the configuration has no field arch, so give --arch"
    shown = ", ".join(fields[:8]) + (f" and {len(fields) - 8} more" if len(fields) > 8 else "")
    return f"missing field{'s' * (len(fields) > 1)} {shown}"


def config_from_mapping(
    given: Mapping[str, Any], books: Books, *, arch: str | None = None
) -> Config:
    """The configuration that a mapping of fields describes.

    ``layout`` follows from ``ndim`` where it is left out, features have upstream's defaults, and
    ``arch`` is the GPU of a configuration that names none. The aliases of names are understood:
    pipelines ``compv1`` and ``compv2``, layout ``nhwgc`` for any number of dimensions.

    Raises:
        ConfigError: With every fault and the key it is about.
    """
    variant = given.get("variant")
    if variant not in books.variants:
        raise ConfigError([_variant_fault(given, books.variants)])
    schema = _schema(str(variant), books)
    full, spelling = {**schema.defaults, **given}, {}
    pipeline = full.get("pipeline")
    if type(pipeline) is str and pipeline in PIPELINE_ALIASES:
        full["pipeline"], spelling["pipeline"] = PIPELINE_ALIASES[pipeline], pipeline
    _fill_layout(full, spelling)
    if arch is not None:
        full.setdefault("arch", arch)
    point = schema.quick(full)
    if point is None and ":" in str(full.get("arch"))[:_LONG]:
        full["arch"] = _plain_arch(full["arch"], books)
        point = schema.quick(full)
    if point is None:
        raise ConfigError(schema.faults(given, full))
    return Config(point, spelling)


def _schema(variant: str, books: Books) -> Schema:
    try:
        return books.schema(variant)
    except UsageError as error:  # this CK version lacks the operator
        raise ConfigError([Fault(str(error), "variant")]) from None


def _plain_arch(value: Any, books: Books) -> Any:
    """A GPU's name without target features; an unknown one is left for the report."""
    try:
        return books.plain_arch(value)
    except (CkrulesError, AttributeError):
        return value


def _variant_fault(given: Mapping[str, Any], variants: Iterable[str]) -> Fault:
    pool = tuple(variants)
    if "variant" not in given:
        near = [k for k in given if isinstance(k, str) and len(k) < _LONG]
        hits = nearest("variant", near, n=1)
        if hits:
            what = f"unknown field {hits[0]!r}: did you mean 'variant'?"
            return Fault(what, hits[0], at_key=True)
        return Fault(f"no field variant: expected one of {', '.join(pool)}")
    value = given["variant"]
    if isinstance(value, str) and len(value) <= _LONG:
        return Fault(str(unknown("variant", value, pool)), "variant")
    shown = _short(value) if isinstance(value, str) else repr(value)[:40]
    return Fault(f"variant = {shown} is not one of {', '.join(pool)}", "variant")


def _fill_layout(full: dict[str, Any], spelling: dict[str, str]) -> None:
    """Puts the point's own word for the layout, and keeps the other spelling."""
    layouts = DEPTHWISE_LAYOUTS if full["variant"] == DEPTHWISE else LAYOUTS
    ndim, layout = full.get("ndim"), full.get("layout")
    if type(ndim) is not int or ndim not in layouts:
        return
    own = layouts[ndim]
    if layout is None:
        full.setdefault("layout", own)
    elif layout in layout_words(layouts, ndim) and (layout != own or ndim != 2):
        full["layout"], spelling["layout"] = own, layout


def read_name(text: str) -> ParsedName:
    """`parse_name`, which also takes the defaults that upstream's names leave out.

    >>> head = "grouped_conv_fwd_fp16_nhwgc_2d_mem_default_intrawave_64x64x32_1x1x1_16x16x32"
    >>> read_name(head + "_vec4_8_8_wg1").point == read_name(head).point
    True
    """
    try:
        return parse_name(text)
    except KernelNameError:
        if len(text) > 1000:
            raise
        bare = _SPELT_DEFAULTS.sub("", text)
        if bare == text:
            raise
        try:
            return parse_name(bare)
        except KernelNameError:
            pass  # the fault is reported with the columns of the text as it was written
        raise


def config_from_name(text: str, books: Books, *, arch: str | None = None) -> Config:
    """The configuration that a kernel's name and a GPU describe.

    Raises:
        KernelNameError: With the column of what is no part of a name.
        ConfigError: If there is no GPU, or a value is outside the range of its field.
    """
    parsed = read_name(text)
    return config_from_parsed(parsed, books, arch=arch)


def config_from_parsed(parsed: ParsedName, books: Books, *, arch: str | None) -> Config:
    """`config_from_name` for a name that has been read."""
    schema = _schema(str(parsed.point["variant"]), books)
    full: dict[str, Any] = dict(parsed.point)
    if arch is not None:
        full["arch"] = arch
    point = schema.quick(full)
    if point is None:
        raise ConfigError(schema.faults(parsed.point, full))
    return Config(point, parsed.spelling)
