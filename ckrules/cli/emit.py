"""Listing points: format, columns and place of the output, shared by the space commands."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ckrules.cli.formats import by_suffix, output_option
from ckrules.cli.group import session
from ckrules.cli.once import option
from ckrules.cli.options import OneOf, Words, gathered, known_columns
from ckrules.cli.output import binary_output, text_output
from ckrules.cli.terminal import colored, is_terminal, note, progress
from ckrules.kernels import names
from ckrules.kernels.families import family_of
from ckrules.output import points as forms
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.cli.request import Request

NO_COLUMNS = "--fields needs a format with columns: table, json, jsonl, csv or parquet"
#: Rows of the table that a terminal gets.
TABLE_ROWS = 20


@dataclass(frozen=True)
class ListingOptions:
    """What the output options ask for."""

    form: str | None
    fields: tuple[str, ...] | None
    output: str | None
    wide: bool = False
    style: str | None = None

    @property
    def to_terminal(self) -> bool:
        """Whether a table for a terminal is wanted, which shows the first points only."""
        plain = self.output is None and is_terminal(sys.stdout)
        return plain and self.form in (None, "table")

    @property
    def kept(self) -> bool:
        """Whether the points go to a file or a pipe, which a bar does not disturb."""
        return self.output is not None or not is_terminal(sys.stdout)

    @property
    def name(self) -> str:
        """The format: as asked for, by the file's suffix, or names where nothing says more."""
        asked = self.form or by_suffix(self.output, forms.suffixes())
        return asked or ("table" if self.to_terminal else "names")

    def of(self, request: Request) -> ListingOptions:
        """The same; csv where names are not asked for by name and the kernels have none.

        The points of a space that a file describes are not kernels: they are JSON Lines unless
        something else is asked.

        Raises:
            UsageError: For names of what has none.
        """
        if request.by_catalog:  # catalogs are of families with names
            return self
        variant = request.variant
        asked = self.form or by_suffix(self.output, forms.suffixes()) or self.style
        if variant is None:
            if self.style or self.form == "names":
                raise UsageError("a space of a file has no kernel names: choose another --format")
            return self if asked or self.to_terminal else replace(self, form="jsonl")
        if asked or self.to_terminal or family_of(variant).naming is not None:
            return self
        return replace(self, form="csv")


#: The options of a list of points, given to the command as one `ListingOptions`.
listing_options = gathered(
    "listing",
    ListingOptions,
    option(
        "--format",
        "form",
        type=OneOf(forms.available()),
        help="Form of the output [by the suffix of -o, else a table on a terminal, else names; csv "
        "of kernels that have none].",
    ),
    option("--fields", type=Words(known_columns), help="Columns: fields, quantities, name."),
    option(
        "--names",
        "style",
        type=OneOf(names.styles, "names"),
        metavar="TOOL",
        help="Whose names to write, where a tool of upstream has its own [usual ones].",
    ),
    option("--wide", is_flag=True, help="A table as wide as it needs to be."),
    output_option,
)


def several_gpus(listing: ListingOptions, archs: Iterable[Any]) -> None:
    """Says that names do not tell GPUs apart, if that is about to matter."""
    if listing.name == "names" and len(tuple(archs)) != 1:
        note("note: names do not say the GPU, and several are listed: --format jsonl shows them")


def wanted_fields(listing: ListingOptions) -> tuple[str, ...] | None:
    """The columns to make: those asked for; the name alone for a list of names."""
    from ckrules.output.columns import NAME

    if listing.name == "names":
        if listing.fields not in (None, (NAME,)):
            raise UsageError(NO_COLUMNS)
        return (NAME,)
    return listing.fields


def emit(
    chunks: Iterable[Mapping[str, Any]],
    fields: Mapping[str, str],
    listing: ListingOptions,
    total: int | None,
    ck: str = "",
) -> int:
    """Writes the chunks and returns the number of points.

    JSON of all fields gets the CK version, which other commands then take, unless it is empty.
    """
    from ckrules.output.columns import rows_of, with_version

    versioned = ck and listing.name in ("json", "jsonl") and listing.fields is None
    written = 0
    with progress("points", total, beside=not listing.kept) as bar:

        def counted() -> Iterator[Mapping[str, Any]]:
            nonlocal written
            for chunk in chunks:
                rows = rows_of(chunk)
                written += rows
                yield with_version(chunk, ck) if versioned else chunk
                bar.advance(rows)

        form = forms.point_format(listing.name)
        output = binary_output if form.BINARY else text_output
        with output(listing.output) as stream:
            stream.writelines(form.pieces(counted(), fields))
            stream.flush()
    return written


def show_table(
    chunk: Mapping[str, Any], listing: ListingOptions, title: str, variant: str | None
) -> None:
    """Shows one chunk on the terminal, shortened if a variant's fields are shown unasked."""
    from ckrules.output.brief import brief_of
    from ckrules.output.terminal_table import show

    brief = brief_of(variant) if variant is not None and listing.fields is None else None
    color = colored(session().color, sys.stdout)
    show(chunk, title, color=color, brief=brief, wide=listing.wide)
