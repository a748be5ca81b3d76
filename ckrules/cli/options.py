"""Types of options, and options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ckrules.cli.once import LIST, option
from ckrules.cli.terminal import note
from ckrules.kernels.books import Books
from ckrules.kernels.families import targets
from ckrules.kernels.library import topics
from ckrules.kernels.trees import CkTree, read_tree
from ckrules.support import tables
from ckrules.support.errors import UsageError, unknown

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # older versions of click cannot be subscripted
    ParamType = click.ParamType

F = TypeVar("F", bound=Callable[..., Any])
V = TypeVar("V")


class Words(ParamType):
    """A list of words separated by commas.

    Args:
        known: Makes the words that there are, for completion.
        what: What the words are; where it is given, others are errors with near matches.
    """

    name = LIST

    def __init__(self, known: Callable[[], Sequence[str]] = tuple, what: str = "") -> None:
        self._known, self._what = known, what

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """The words, without blanks around them; an empty one is an error."""
        if isinstance(value, tuple):
            return value
        words = tuple(w.strip() for w in str(value).split(","))
        if not all(words):
            self.fail(f"{value!r} has an empty word", param, ctx)
        for word in words if self._what else ():
            if word not in self._known():
                raise unknown(self._what, word, self._known())
        return words

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The known words that begin like the last one."""
        done, comma, word = incomplete.rpartition(",")
        return [CompletionItem(done + comma + w) for w in self._known() if w.startswith(word)]


class OneOf(ParamType):
    """One word out of a list; another one is an error with near matches.

    Args:
        known: The words, or what makes them when they are needed.
        what: What the words are, for the message.
    """

    name = "WORD"

    def __init__(
        self, known: Iterable[str] | Callable[[], Iterable[str]], what: str = "format"
    ) -> None:
        self._known, self._what = known, what

    def _words(self) -> tuple[str, ...]:
        return tuple(self._known() if callable(self._known) else self._known)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word itself."""
        if value not in self._words():
            raise unknown(self._what, value, self._words())
        return str(value)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str | None:
        """The words, where they need not be made."""
        return None if callable(self._known) else "|".join(self._known)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The words that begin like this."""
        return [CompletionItem(w) for w in self._words() if w.startswith(incomplete)]


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


def once_each(option: str, pairs: Iterable[tuple[str, V]]) -> dict[str, V]:
    """The values of a repeatable option by field.

    Raises:
        UsageError: For a field that is given twice.
    """
    out: dict[str, V] = {}
    for name, value in pairs:
        if name in out:
            raise UsageError(f"{option}: {name} is given twice")
        out[name] = value
    return out


def known_archs() -> Sequence[str]:
    """The GPUs of the package and of families from outside, for completion."""
    return [*Books().archs, *targets()]


def known_variants() -> Sequence[str]:
    """Every variant, for completion."""
    return Books().variants


def known_fields() -> Sequence[str]:
    """The fields of every family, for completion."""
    return list(dict.fromkeys(f for book in Books().every() for f in book.fields))


def known_columns() -> Sequence[str]:
    """The columns of every family's points, for completion."""
    names = (n for book in Books().every() for n in book.vocabulary.names())
    return ["name", *dict.fromkeys(names)]


def known_values(field: str) -> Sequence[str]:
    """The values of a field in every family, as words of a command line, for completion."""
    from ckrules.engine.expr.variables import domain_of

    having = [book.fields[field] for book in Books().every() if field in book.fields]
    values = dict.fromkeys(v for node in having for v in domain_of(node).values)
    return list(map(tables.word, values))


class Topics(Words):
    """Topics of rules separated by commas, in letters of either case."""

    def __init__(self) -> None:
        super().__init__(lambda: list(topics()), "topic")

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """The topics in capitals."""
        return super().convert(value.upper() if isinstance(value, str) else value, param, ctx)


#: ``--topic``, given to the command as ``chosen_topics``, empty where it is not said.
topic_option = option(
    "--topic",
    "chosen_topics",
    type=Topics(),
    default=(),
    help="Only rules of these topics: the letters of their codes, such as TILE,LDS.",
)


def elsewhere(chosen: Sequence[str]) -> str:
    """Where the rules of topics are that a rule book has none of."""
    words = " or ".join(chosen)
    asked = " and ".join(f"ckrules explain {word}" for word in chosen)
    return f"no {words} rules in this rule book; {asked} lists those of all profiles and families"


def _formats() -> Sequence[str]:
    from ckrules.readers import formats

    return list(formats())


#: The name of a format that files are read in.
input_format = OneOf(_formats, "input format")


#: ``-n``, given to the command as ``limit``.
limit_option = option(
    "-n", "--limit", type=click.IntRange(min=0), help="Maximum number of configurations or rows."
)

#: ``-q``, given to the command as ``quiet``.
quiet_option = option("-q", "--quiet", is_flag=True, help="Suppress the summary on standard error.")

#: Random problems (`ckrules.device.varied`), given to the command as ``vary``.
vary_option = option(
    "--vary",
    default=0,
    type=click.IntRange(min=0),
    metavar="N",
    help="Random problems per kernel beside the built-in set. [0]",
)

#: The GPUs of configurations that name none, given to the command as ``archs``.
arch_option = option(
    "--arch",
    "archs",
    type=Words(known_archs),
    default=(),
    help="GPUs of configurations that name none: each is made for all of them.",
)

#: GPU files of the user's own, given to the command as ``arch_files``.
arch_file_option = option(
    "--arch-file",
    "arch_files",
    multiple=True,
    metavar="PATH",
    help="A GPU file, or a folder of them, that adds to the known GPUs. Repeatable.",
)


def gathered(name: str, make: Callable[..., Any], *options: Callable[[F], F]) -> Callable[[F], F]:
    """Options that a command gets as one argument.

    Args:
        name: The command's argument.
        make: Makes it of the options' values, which have the names of its parameters.
        options: The options, in the order of the help.
    """
    names = list(inspect.signature(make).parameters)

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **rest: Any) -> Any:
            made = make(**{n: rest.pop(n) for n in names})
            return function(*args, **{name: made}, **rest)

        out: Any = wrapped
        for each in reversed(options):
            out = each(out)
        return out  # type: ignore[no-any-return]  # what click hands on

    return decorate


def books_of(
    ck: str | None,
    profile: str | None = None,
    arch_files: Sequence[Path] = (),
    include: str | None = None,
) -> Books:
    """The books that options ask for, and where they are silent environment and settings.

    Args:
        ck: What ``--ck`` says.
        profile: What ``--profile`` says.
        arch_files: What ``--arch-file`` says.
        include: The include folder that an option names.

    Raises:
        UsageError: For faulty settings, or a folder that is not CK's include folder.
        UnknownNameError: For an unknown version or profile, with near matches.
    """
    from ckrules.checking.settings import SettingsResolver

    given = {"ck": ck, "ck-include": Path(include) if include else None}
    settings = SettingsResolver(given).of(Path())
    version, folder = settings.release()
    with settings.blamed("ck-include"):
        tree = read_tree(folder) if folder is not None else None
    with settings.blamed("ck"):
        Books(version)
    books = Books(version, profile, arch_files, tree)
    books.ck_asked = ck is not None
    tell_tree(books, tree)
    return books


def tell_tree(books: Books, tree: CkTree | None) -> None:
    """Says where a tree lies between versions, or that it is judged by another one than its own."""
    if tree is None:
        return
    if books.tree is None:
        note(f"note: {tree.include}: headers of CK {tree.ck}, judged as {books.ck}")
    elif tree.note:
        note(f"note: {tree.note}")


def _books(ck: str | None, profile: str | None, arch_files: Sequence[str]) -> Books:
    return books_of(ck, profile, [Path(p) for p in arch_files])


#: ``--ck``, ``--profile`` and ``--arch-file``, given to the command as one `Books`. Where ``--ck``
#: is not said, the environment and the project's settings say which version, or which tree.
rule_options = gathered(
    "books",
    _books,
    option("--ck", metavar="VERSION", help="CK headers: 2025.11, 2026.06 or 2026.09 (default)."),
    option("--profile", metavar="NAME", help="Rule set (default: legal)."),
    arch_file_option,
)
