"""Listing points: format, columns and place of the output, shared by the space commands."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from ckrules import constraints
from ckrules.cli.group import session
from ckrules.cli.options import Words
from ckrules.cli.output import binary_output, text_output
from ckrules.cli.terminal import colored, is_terminal, note, progress
from ckrules.engine.errors import UsageError, unknown
from ckrules.reports import points as forms

F = TypeVar("F", bound=Callable[..., Any])

#: Rows of the table that a terminal gets.
TABLE_ROWS = 20


@dataclass(frozen=True)
class Listing:
    """What the output options ask for."""

    form: str | None
    fields: tuple[str, ...] | None
    output: str | None

    def __post_init__(self) -> None:
        if self.form is not None and self.form not in forms.available():
            raise unknown("format", self.form, forms.available())

    @property
    def to_terminal(self) -> bool:
        """Whether a table for a terminal is wanted, which shows the first points only."""
        plain = self.output is None and is_terminal(sys.stdout)
        return plain and self.form in (None, "table")

    @property
    def name(self) -> str:
        """The format: as asked for, by the file's suffix, or names where nothing says more."""
        by_suffix = forms.by_suffix(self.output) if self.output else None
        return self.form or by_suffix or ("table" if self.to_terminal else "names")


def listing_options(function: F) -> F:
    """``--format``, ``--fields`` and ``-o``, given to the command as one `Listing`."""

    @click.option(
        "--format",
        "form",
        metavar="|".join(forms.available()),
        help="Form of the points: a table on a terminal, by the suffix of -o, else names.",
    )
    @click.option("--fields", type=Words(), help="Columns: fields, derived quantities, or name.")
    @click.option("-o", "--output", metavar="FILE", help="Write to a file, replaced when complete.")
    @functools.wraps(function)
    def wrapped(
        *args: Any,
        form: str | None,
        fields: tuple[str, ...] | None,
        output: str | None,
        **rest: Any,
    ) -> Any:
        return function(*args, listing=Listing(form, fields, output), **rest)

    return wrapped  # type: ignore[return-value]


def several_gpus(listing: Listing, archs: Iterable[Any]) -> None:
    """Says that names do not tell GPUs apart, if that is about to matter."""
    if listing.name == "names" and len(tuple(archs)) != 1:
        note("note: names say no GPU, and several are listed: --format jsonl shows them")


def wanted_fields(listing: Listing) -> tuple[str, ...] | None:
    """The columns to make: those asked for; the name alone for a list of names."""
    from ckrules.reports.columns import NAME

    if listing.name == "names":
        if listing.fields not in (None, (NAME,)):
            raise UsageError("--fields needs a format with columns: table, jsonl, csv or parquet")
        return (NAME,)
    return listing.fields


def emit(
    chunks: Iterable[Mapping[str, Any]],
    fields: Mapping[str, str],
    listing: Listing,
    total: int | None,
) -> int:
    """Writes the chunks and returns the number of points."""
    written = 0
    with progress("points", total if listing.output else None) as bar:

        def counted() -> Iterator[Mapping[str, Any]]:
            nonlocal written
            for chunk in chunks:
                rows = len(next(iter(chunk.values())))
                written += rows
                yield chunk
                bar.advance(rows)

        form = forms.point_format(listing.name)
        output = binary_output if form.BINARY else text_output
        with output(listing.output) as stream:
            form.write(counted(), fields, stream)
            stream.flush()
    return written


def show_table(chunk: Mapping[str, Any], listing: Listing, title: str, variant: str | None) -> None:
    """Shows one chunk on the terminal, shortened if a variant's fields are shown unasked."""
    from ckrules.reports.terminal_table import show

    shorten = variant is not None and listing.fields is None
    defaults = constraints.defaults(str(variant)) if shorten else None
    show(chunk, title, color=colored(session().color, sys.stdout), defaults=defaults)
