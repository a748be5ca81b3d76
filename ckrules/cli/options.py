"""Options that several commands share, and what they select."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ckrules.engine.errors import UsageError
from ckrules.selection import Books, Selection, select

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # older versions of click cannot be subscripted
    ParamType = click.ParamType

F = TypeVar("F", bound=Callable[..., Any])


class Words(ParamType):
    """A list of words separated by commas."""

    name = "LIST"

    def __init__(self, complete: Callable[[], Sequence[str]] = tuple) -> None:
        self._complete = complete

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """The words, without blanks around them; an empty one is an error."""
        words = tuple(w.strip() for w in str(value).split(","))
        if not all(words):
            self.fail(f"{value!r} has an empty word", param, ctx)
        return words

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The known words that begin like the last one."""
        done, comma, word = incomplete.rpartition(",")
        return [CompletionItem(done + comma + w) for w in self._complete() if w.startswith(word)]


class Seconds(ParamType):
    """A time limit: more than 0, and a number."""

    name = "SECONDS"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The seconds."""
        try:
            found = float(value)
        except ValueError:
            found = 0.0
        if not 0 < found < 1e9:
            self.fail(f"{value!r} is not a number of seconds above 0", param, ctx)
        return found


class Shard(ParamType):
    """``I/N``: part I of N, counted from 1."""

    name = "I/N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """The two numbers."""
        if isinstance(value, tuple):
            return value
        part, slash, whole = str(value).partition("/")
        digits = part.isascii() and part.isdigit() and whole.isascii() and whole.isdigit()
        if not (slash and digits and len(value) < 40):
            self.fail(f"{value!r} is not of the form I/N, as in 3/64", param, ctx)
        i, n = int(part), int(whole)
        if not 1 <= i <= n:
            self.fail(f"{value!r}: parts are numbered from 1 to N", param, ctx)
        return i, n


def _variants() -> Sequence[str]:
    return Books().variants


def _archs() -> Sequence[str]:
    return Books().archs


_LISTED = ("variant", "arch", "dtype", "ndim", "layout")


#: GPU files of the user's own, given to the command as ``arch_files``.
arch_file_option = click.option(
    "--arch-file",
    "arch_files",
    multiple=True,
    metavar="PATH",
    help="A GPU file, or a folder of them, that adds to the known GPUs. Repeatable.",
)


def rule_options(function: F) -> F:
    """``--ck``, ``--profile`` and ``--arch-file``, given to the command as one `Books`."""

    @click.option("--ck", metavar="VERSION", help="CK headers: 2025.11 or 2026.06 (default).")
    @click.option("--profile", metavar="NAME", help="Rule set (default: legal).")
    @arch_file_option
    @functools.wraps(function)
    def wrapped(
        *args: Any, ck: str | None, profile: str | None, arch_files: tuple[str, ...], **rest: Any
    ) -> Any:
        books = Books(ck, profile, [Path(p) for p in arch_files])
        return function(*args, books=books, **rest)

    return wrapped  # type: ignore[return-value]


def space_options(function: F) -> F:
    """The options that select a part of a space, given to the command as one `Request`."""

    @click.option("--variant", type=Words(_variants), help="Operator variants.")
    @click.option("--arch", type=Words(_archs), help="GPUs, such as gfx942 or gfx942:xnack-.")
    @click.option("--dtype", type=Words(), help="Data types.")
    @click.option("--ndim", type=Words(), help="Numbers of spatial dimensions.")
    @click.option("--layout", type=Words(), help="Layouts.")
    @click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="FIELD=V[,V…]",
        help="Hold any field to one value or several. Repeatable.",
    )
    @click.option(
        "--where",
        multiple=True,
        metavar="EXPR",
        help="A condition over fields and derived quantities, as in"
        " \"pipeline == 'mem' & lds_bytes <= 32768\". Repeatable: all must hold.",
    )
    @click.option(
        "--catalog",
        default="",
        metavar="NAME|FILE",
        help="Only what a catalog lists: see `ckrules catalogs`, or a TOML file.",
    )
    @click.option(
        "--stage",
        default="",
        metavar="STAGE",
        help="Of the catalog: listed (default), generated (survives upstream's filter) or legal.",
    )
    @rule_options
    @functools.wraps(function)
    def wrapped(*args: Any, settings: Sequence[str], where: Sequence[str], **rest: Any) -> Any:
        books: Books = rest.pop("books")
        catalog, stage = rest.pop("catalog"), rest.pop("stage")
        if stage and not catalog:
            raise UsageError("--stage needs --catalog")
        given = {k: words for k in _LISTED if (words := rest.pop(k)) is not None}
        for setting in settings:
            key, sign, values = setting.partition("=")
            if not sign or not key.strip() or not values:
                raise UsageError(f"--set {setting!r} is not of the form FIELD=VALUE")
            if key.strip() in given:
                raise UsageError(f"{key.strip()} is given twice")
            given[key.strip()] = Words().convert(values, None, None)
        return function(*args, request=Request(books, given, tuple(where), catalog, stage), **rest)

    return wrapped  # type: ignore[return-value]


@dataclass(frozen=True)
class Request:
    """What the options of a space command ask for."""

    books: Books
    given: dict[str, tuple[str, ...]]
    where: tuple[str, ...]
    catalog: str = ""
    stage: str = ""

    @functools.cached_property
    def selection(self) -> Selection:
        """The part of the space."""
        return select(self.books, self.given, self.where)

    def title(self) -> str:
        """The part in words, for summaries: ``bwd_weight on gfx1201, fp16``."""
        words = {k: "|".join(v) for k, v in self.given.items()}
        text = words.pop("variant", "all directions")
        if "arch" in words:
            text += f" on {words.pop('arch')}"
        rest = [v if k == "dtype" else f"{k} {v}" for k, v in words.items()]
        return ", ".join([text, *rest, *self.where])

    def to_dict(self) -> dict[str, Any]:
        """The request by option; one value stands alone, several are a list."""
        if self.catalog:
            words = {k: v[0] if len(v) == 1 else list(v) for k, v in self.given.items()}
            asked: dict[str, Any] = {"catalog": self.catalog, "stage": self.stage or "listed"}
            return {"ck": self.books.ck, **asked, **words, "where": list(self.where)}
        given = {k: v[0] if len(v) == 1 else list(v) for k, v in self.selection.bound.items()}
        out: dict[str, Any] = {"ck": self.books.ck, "profile": self.books.profile, **given}
        return {**out, "where": list(self.where)} if self.where else out
