"""The options that select a part of a space, and what they are made into."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from ckrules.cli.once import option
from ckrules.cli.options import (
    F,
    OneOf,
    ParamType,
    Words,
    gathered,
    known_archs,
    known_fields,
    known_values,
    known_variants,
    rule_options,
)
from ckrules.cli.request import LISTED, Request
from ckrules.cli.terminal import note
from ckrules.kernels.families import families
from ckrules.kernels.selection import spelled
from ckrules.support.errors import UsageError


def _stages() -> Sequence[str]:
    from ckrules.constraints.catalogs import STAGES

    return tuple(STAGES)


def _catalogs() -> Sequence[str]:
    from ckrules.constraints.catalogs import names

    return names()


def _families() -> Sequence[str]:
    return list(families())


class Setting(ParamType):
    """``FIELD=V[,V…]``: a field and the values that it is held to."""

    name = "FIELD=V[,V…]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[str, ...]]:
        """The field and its values."""
        if isinstance(value, tuple):
            return value
        name, sign, values = str(value).partition("=")
        if not sign or not name.strip() or not values:
            raise UsageError(f"--set {value!r} is not of the form FIELD=VALUE")
        words = Words().convert(values, param, ctx)
        second = next((w for w in words if "=" in w), None)
        if second is not None:
            raise UsageError(
                f"--set {value!r} sets two fields: repeat --set, as in "
                f"--set {name}={words[0]} --set {second}"
            )
        return name.strip(), words

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The fields of every family."""
        name, sign, values = incomplete.partition("=")
        if sign:
            done, comma, last = values.rpartition(",")
            return [
                CompletionItem(f"{name}={done}{comma}{v}")
                for v in known_values(name)
                if v.startswith(last)
            ]
        return [CompletionItem(f"{f}=") for f in known_fields() if f.startswith(name)]


class Catalogs(ParamType):
    """A catalog of the package, or the path of a file."""

    name = "NAME|FILE"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The package's catalogs; else the shell completes a path."""
        found = [CompletionItem(n) for n in _catalogs() if n.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


where_option = option(
    "--where",
    multiple=True,
    metavar="EXPR",
    help="A condition over fields and derived quantities, as in"
    " \"pipeline == 'mem' & lds_bytes <= 32768\". Repeatable: all must hold.",
)


def space_options(function: F) -> F:
    """The options that select a part of a space, given to the command as one `Request`."""

    @option(
        "--family",
        type=OneOf(_families, "family"),
        metavar="NAME",
        help="Kind of kernel, where no variant says it [conv].",
    )
    @option("--variant", type=Words(known_variants), help="Operator variants.")
    @option("--arch", type=Words(known_archs), help="GPUs, such as gfx942 or gfx942:xnack-.")
    @option("--dtype", type=Words(), help="Data types.")
    @option("--ndim", type=Words(), help="Numbers of spatial dimensions.")
    @option("--layout", type=Words(), help="Layouts.")
    @option(
        "--set",
        "settings",
        type=Setting(),
        multiple=True,
        help="Hold any field to one value or several. Repeatable.",
    )
    @where_option
    @option(
        "--catalog",
        type=Catalogs(),
        default="",
        metavar="NAME|FILE",
        help="Only what a catalog or a file of kernels lists: see `ckrules catalogs`.",
    )
    @option(
        "--stage",
        type=OneOf(_stages, "stage"),
        metavar="STAGE",
        help="Of the catalog: listed (default), generated (survives upstream's dispatcher filter),"
        " builder (survives its instance builder) or legal.",
    )
    @rule_options
    @functools.wraps(function)
    def wrapped(*args: Any, **rest: Any) -> Any:
        return function(*args, request=_request(rest), **rest)

    return wrapped  # type: ignore[return-value]  # `wraps` keeps the signature


def _of_file(request: Request, file: str | None) -> Request:
    return request if file is None else request.of_file(file)


#: ``[FILE]`` of a command with `space_options`, which come before it: a space of a file.
file_argument = gathered(
    "request", _of_file, click.argument("file", metavar="[FILE]", required=False)
)


def _of_each_code(request: Request, distinct: bool) -> Request:
    return request.distinct() if distinct else request


#: ``--distinct`` of a command with `space_options`, which come before it.
distinct_option = gathered(
    "request",
    _of_each_code,
    option(
        "--distinct",
        is_flag=True,
        help="Of configurations that make the same device code, only one.",
    ),
)


def _request(options: dict[str, Any]) -> Request:
    where, catalog = options.pop("where"), options.pop("catalog")
    stage = options.pop("stage") or ""
    if stage and not catalog:
        raise UsageError("--stage needs --catalog")
    given = {k: words for k in LISTED if (words := options.pop(k)) is not None}
    for name, values in options.pop("settings"):
        if name in given:
            raise UsageError(f"{name} is given twice")
        given[name] = values
    books, family = options.pop("books"), options.pop("family")
    asked = spelled(given, books, family)
    for gpu in books.gpus:
        if gpu.name in asked.get("arch", ()) and (lacking := gpu.lacking(books.ck)):
            note(f"note: {lacking}")
    return Request(books, asked, where, catalog, stage, family)
