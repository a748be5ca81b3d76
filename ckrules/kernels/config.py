"""Configurations: a full point made from a kernel's name or from a mapping of fields.

What a configuration may leave out is filled in; every error names the field it is about, so that
a reader of files can say where in the file that field is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ckrules.arch import CK_VERSIONS
from ckrules.engine.expr import ENUM, Value
from ckrules.kernels.families import family_of, plain_variant
from ckrules.kernels.family import Family
from ckrules.kernels.name_grammar import KernelNameError
from ckrules.kernels.names import format_name, naming_of, parse_name
from ckrules.kernels.parts import ParsedName
from ckrules.kernels.schema import LONG, FieldError, Schema, shorten
from ckrules.support.errors import CkrulesError, UsageError, nearest, unknown
from ckrules.support.plain_values import plain
from ckrules.support.tables import html_table

if TYPE_CHECKING:
    from ckrules.kernels.books import Books


@dataclass(frozen=True)
class Config:
    """One kernel configuration: a point with every field, and how it was spelt."""

    point: Mapping[str, Value]
    spelling: Mapping[str, str] = field(default_factory=dict)
    ck: str = ""
    """The CK version that it says it is for, if it does."""
    read_from: str | None = field(default=None, compare=False, repr=False)
    """The name that the point was read from, if that is how it is written."""

    @property
    def variant(self) -> str:
        """The variant, such as ``bwd_weight``."""
        return str(self.point["variant"])

    @property
    def family(self) -> Family:
        """The family of the variant."""
        return family_of(self.variant)

    @cached_property
    def name(self) -> str | None:
        """The kernel's name in the spelling it came with; None if no name can say the point."""
        if self.read_from is not None:
            return self.read_from
        try:
            return format_name(self.point, self.spelling)
        except CkrulesError:
            return None

    def _repr_html_(self) -> str:
        """The kernel as notebooks show it: its name and fields."""
        rows = [["field", "value"], *([n, str(v)] for n, v in self.point.items())]
        return html_table(rows, self.name or f"{self.variant}, which no name can say")


class ConfigError(UsageError):
    """A configuration that is not a point; ``faults`` has one entry for each thing wrong.

    Faults given as a function are looked for when they are asked for: most of a long file's are
    counted and never shown.
    """

    def __init__(self, faults: Iterable[FieldError] | Callable[[], Iterable[FieldError]]) -> None:
        super().__init__()
        self._given = faults

    @cached_property
    def faults(self) -> tuple[FieldError, ...]:
        """Everything that is wrong, at least one thing."""
        return tuple(self._given() if callable(self._given) else self._given)

    def __str__(self) -> str:
        return "; ".join(f.message for f in self.faults)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.faults,)


def config_from_mapping(
    given: Mapping[str, Any], books: Books, *, arch: str | None = None
) -> Config:
    """The configuration that a mapping of fields describes.

    The family fills in what may be left out and replaces aliases, as in names (`Family.complete`);
    ``arch`` is the GPU of a configuration that names none. A key ``ck`` says which CK version it
    is for, by whose books it is then read, where no version was asked for.

    Raises:
        ConfigError: With every fault and the key it is about.
    """
    ck = ""
    if "ck" in given:
        ck = _version(given["ck"], books)
        books = books.at(ck)
        given = {k: v for k, v in given.items() if k != "ck"}
    variant = given.get("variant")
    if isinstance(variant, str) and len(variant) < LONG and variant not in books.variants:
        variant = plain_variant(variant)
        given = {**given, "variant": variant}
    if variant not in books.variants:
        raise ConfigError([_variant_fault(given, books.variants)])
    schema = _schema(str(variant), books)
    full, spelling = {**schema.defaults, **given}, dict[str, str]()
    family_of(str(variant)).complete(full, spelling)
    if arch is not None:
        full.setdefault("arch", arch)
    point = schema.quick(full)
    if point is None:
        full.update({key: plain(value) for key, value in full.items()})
        _spell(full, spelling, schema, family_of(str(variant)), books)
        point = schema.quick(full)
    if point is None:
        raise ConfigError(lambda: schema.faults(given, full))
    return Config(point, spelling, ck)


def _version(ck: Any, books: Books) -> str:
    if not isinstance(ck, str):
        text = f"ck = {repr(ck)[:LONG]} is not a string such as {CK_VERSIONS[0]!r}"
        raise ConfigError([FieldError(text, "ck")])
    if ck not in CK_VERSIONS:
        word = str(ck)[:LONG]
        raise ConfigError([FieldError(str(unknown("CK version", word, CK_VERSIONS)), "ck")])
    if books.ck_asked and ck != books.ck:
        raise ConfigError([FieldError(f"for CK {ck}, and CK {books.ck} is asked for", "ck")])
    return ck


def _schema(variant: str, books: Books) -> Schema:
    try:
        return books.schema(variant)
    except UsageError as error:  # this CK version lacks the family
        raise ConfigError([FieldError(str(error), "variant")]) from None


def _spell(
    full: dict[str, Any], spelling: dict[str, str], schema: Schema, family: Family, books: Books
) -> None:
    """Replaces the words that people write for values, in place; unknown ones are left."""
    for name, domain in schema.domains.items():
        word = full.get(name)
        if not isinstance(word, str) or len(word) > LONG or domain.sort != ENUM:
            continue
        if name == "arch":
            full[name] = _plain_arch(word, books)
        elif word not in domain.values:
            full[name] = family.canonical(name, word, domain.values)
    family.complete(full, spelling)


def _plain_arch(value: Any, books: Books) -> Any:
    """A GPU's name without target features; an unknown one is left for the report."""
    try:
        return books.plain_arch(value)
    except (CkrulesError, AttributeError):
        return value


def _variant_fault(given: Mapping[str, Any], variants: Iterable[str]) -> FieldError:
    pool = tuple(variants)
    if "variant" not in given:
        near = [k for k in given if isinstance(k, str) and len(k) < LONG]
        hits = nearest("variant", near, n=1)
        if hits:
            what = f"unknown field {hits[0]!r}: did you mean 'variant'?"
            return FieldError(what, hits[0], at_key=True)
        return FieldError(f"no field variant: expected one of {', '.join(pool)}")
    value = given["variant"]
    if isinstance(value, str) and len(value) <= LONG:
        return FieldError(str(unknown("variant", value, pool)), "variant")
    shown = shorten(value) if isinstance(value, str) else repr(value)[:40]
    return FieldError(f"variant = {shown} is not one of {', '.join(pool)}", "variant")


def read_name(text: str) -> ParsedName:
    """`parse_name`, which also takes the defaults that names leave out.

    >>> head = "grouped_conv_fwd_fp16_nhwgc_2d_mem_default_intrawave_64x64x32_1x1x1_16x16x32"
    >>> read_name(head + "_vec4_8_8_wg1").point == read_name(head).point
    True
    """
    return read_exactly(text)[0]


def read_exactly(text: str) -> tuple[ParsedName, bool]:
    """`read_name`, and whether the text is how the name is written."""
    try:
        return parse_name(text), True
    except KernelNameError:
        naming = naming_of(text)
        if naming is None or len(text) > 1000:
            raise
        bare = naming.without_defaults(text)
        if bare == text:
            raise
        try:
            return parse_name(bare), False
        except KernelNameError:
            pass  # the fault is reported with the columns of the text as it was written
        raise


def config_from_name(text: str, books: Books, *, arch: str | None = None) -> Config:
    """The configuration that a kernel's name and a GPU describe.

    Raises:
        KernelNameError: With the column of what is not part of a name.
        ConfigError: If there is no GPU, or a value is outside the range of its field.
    """
    parsed = read_name(text)
    return config_from_parsed(parsed, books, arch=arch)


def config_from_parsed(
    parsed: ParsedName, books: Books, *, arch: str | None, name: str | None = None
) -> Config:
    """`config_from_name` for a name that has been read; ``name`` is how it is written."""
    schema = _schema(str(parsed.point["variant"]), books)
    full: dict[str, Any] = {**schema.defaults, **parsed.point}
    if arch is not None:
        full["arch"] = arch
    point = schema.quick(full)
    if point is None and arch is not None:
        full["arch"] = _plain_arch(plain(arch), books)
        point = schema.quick(full)
    if point is None:
        raise ConfigError(lambda: schema.faults(parsed.point, full))
    return Config(point, parsed.spelling, read_from=name)
