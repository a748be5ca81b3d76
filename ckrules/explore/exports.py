"""The current set for elsewhere: files of its kernels, and words that select it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, islice
from typing import Any

from ckrules.engine.expr.printer import to_text
from ckrules.engine.restrictions import held_condition
from ckrules.explore.choice import FieldChoice
from ckrules.explore.subject import Subject
from ckrules.output import points as forms
from ckrules.output.columns import NAME, Columns, first_rows, with_version
from ckrules.support.errors import UsageError, unknown
from ckrules.support.tables import word

FORMS = {"names": "txt", "jsonl": "jsonl", "parquet": "parquet"}
"""The forms and the suffixes of their files."""
USUAL, MOST = 10_000, 1_000_000
"""How many kernels a file has where no number is said, and at most."""

_CHUNK, _LINES = 1 << 13, 1 << 10
_LISTED = ("variant", "arch", "dtype", "ndim", "layout")


@dataclass(frozen=True)
class Export:
    """A file of kernels: its name, and its bytes as they are made."""

    filename: str
    pieces: Iterator[bytes]


def export(subject: Subject, choice: FieldChoice, form: str, n: int) -> Export:
    """The first ``n`` kernels under a choice.

    Raises:
        UnknownNameError: For a form that does not exist.
        UsageError: For more than `MOST`, or names of kernels that have none.
        ExpressionError: If the choice's condition is none.
    """
    if form not in FORMS:
        raise unknown("form", form[:40], FORMS)
    if not 1 <= n <= MOST:
        raise UsageError(f"n = {n}: a file has 1 to {MOST:,} kernels")
    if form not in forms_of(subject):
        raise UsageError("the points of this space have no names: choose another form")
    space = subject.space_of(choice)
    columns = Columns(subject.region.book, (NAME,) if form == "names" else None)
    tables = first_rows(space.columns(min(n, _CHUNK)), n)
    chunks: Iterator[Mapping[str, Any]] = columns.chunks(tables, space.domains)
    if form == "jsonl" and subject.kernels:  # as `ckrules enumerate` writes them
        chunks = (with_version(c, subject.books.ck) for c in chunks)
    kind = forms.point_format(form)
    if kind.BINARY:
        _needs_pyarrow()
    begun = [c for c in (next(chunks, None),) if c is not None]  # what is wrong is said at once
    pieces = kind.pieces(chain(begun, chunks), columns.fields)
    return Export(f"kernels.{FORMS[form]}", pieces if kind.BINARY else _encoded(pieces))


def _encoded(lines: Iterator[str]) -> Iterator[bytes]:
    while some := "".join(islice(lines, _LINES)):
        yield some.encode()


def _needs_pyarrow() -> None:
    if find_spec("pyarrow") is None:
        raise UsageError("Parquet needs pyarrow: pip install 'ckrules[parquet]', or choose jsonl")


def forms_of(subject: Subject) -> Mapping[str, str]:
    """The forms that points of a subject have."""
    return {k: v for k, v in FORMS.items() if subject.kernels or k != "names"}


def command(subject: Subject, choice: FieldChoice) -> str:
    """The command line that lists the current set.

    >>> from ckrules.kernels.books import Books
    >>> from ckrules.kernels.selection import select
    >>> given = {"variant": "forward_depthwise", "arch": "gfx942", "dtype": "fp16", "filter": 3}
    >>> options = {"--arch": ("gfx942",), "--set filter": ("3",)}
    >>> subject = Subject(select(Books(), given), Books(), "", options)
    >>> command(subject, FieldChoice({"filter": (3,), "stride_h": (1, 2)}, "tile_h < 8"))
    "ckrules enumerate --arch gfx942 --set filter=3 --set stride_h=1,2 --where 'tile_h < 8'"
    """
    if not subject.kernels:
        return _of_file(subject, choice)
    options = dict(subject.options)
    for name, values in choice.chosen.items():
        option = f"--{name}" if name in _LISTED else f"--set {name}"
        options[option] = (",".join(map(word, values)),)
    wheres = [*options.pop("--where", ()), *([choice.where] if choice.where else [])]
    words = ["ckrules", "enumerate"]
    for option, texts in options.items():
        flag, _, field = option.partition(" ")
        if not texts:
            words.append(flag)
        for text in texts:
            words += [flag, f"{field}={text}" if field else text]
    words += [w for where in wheres for w in ("--where", where)]
    return shlex.join(words)


def _of_file(subject: Subject, choice: FieldChoice) -> str:
    """The command line for a space that a file describes: choices are conditions there."""
    fields = subject.region.book.fields
    chosen = [to_text(held_condition(fields[n], values)) for n, values in choice.chosen.items()]
    wheres = [*subject.options.get("--where", ()), *chosen]
    wheres += [choice.where] if choice.where else []
    words = ["ckrules", "space", *subject.options["FILE"], "enumerate"]
    return shlex.join([*words, *(w for where in wheres for w in ("--where", where))])


def python(subject: Subject, choice: FieldChoice) -> str | None:
    """The Python that makes the current set a space; None for a catalog's, which has no words.

    >>> from ckrules.kernels.books import Books
    >>> from ckrules.kernels.selection import select
    >>> given = {"variant": "forward_depthwise", "arch": "gfx942", "dtype": "fp16"}
    >>> options = {"--where": ("tile_h < 8",)}
    >>> subject = Subject(select(Books(), given, options["--where"]), Books(), "", options)
    >>> print(python(subject, FieldChoice({"stride_h": (1,)})))
    import ckrules
    <BLANKLINE>
    space = ckrules.kernel_space(
        variant='forward_depthwise', arch='gfx942', dtype='fp16', stride_h=1
    ).where('tile_h < 8')
    """
    refused = {"--catalog", "--stage", "--distinct", "--arch-file"}
    if refused & subject.options.keys() or not subject.kernels:
        return None
    held = {**subject.region.fixed, **choice.chosen}
    named = {n: v[0] if len(v) == 1 else list(v) for n, v in held.items()}
    books = subject.books
    more: dict[str, Any] = {}
    variants: Sequence[Any] = held.get("variant", ())
    if len(variants) > 1 or (not variants and "--family" in subject.options):
        return None  # `kernel_space` takes one variant
    if books.ck_asked:
        more["ck"] = books.ck
    if books.profile != "legal":
        more["profile"] = books.profile
    text = ", ".join(f"{k}={v!r}" for k, v in {**named, **more}.items())
    wheres = [*subject.options.get("--where", ()), *([choice.where] if choice.where else [])]
    behind = f".where({', '.join(map(repr, wheres))})" if wheres else ""
    body = f"(\n    {text}\n)" if text else "()"
    return f"import ckrules\n\nspace = ckrules.kernel_space{body}{behind}"
