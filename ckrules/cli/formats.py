"""``--format`` and ``-o``: which form an output has, told by the option or the file's suffix."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

from ckrules.cli.once import option
from ckrules.cli.options import F, OneOf
from ckrules.support.errors import UsageError, nearest

#: Forms and the suffixes of files that ask for them.
Forms = Mapping[str, tuple[str, ...]]

TEXT: Forms = {"text": (".txt",), "json": (".json",)}
TABLE: Forms = {"table": (".txt",), "json": (".json",)}

output_option = option(
    "-o", "--output", metavar="FILE", help="Write to a file, replaced when complete."
)


def by_suffix(output: str | None, forms: Forms) -> str | None:
    """The form that the suffix of a file asks for; None for standard output or no suffix.

    Raises:
        UsageError: For a suffix of no form, with the known ones.

    >>> by_suffix("a.JSON", TEXT), by_suffix("answer", TEXT)
    ('json', None)
    """
    suffix = os.path.splitext(output or "")[1].lower()
    if not suffix:
        return None
    found = next((name for name, suffixes in forms.items() if suffix in suffixes), None)
    if found is None:
        known = [s for suffixes in forms.values() for s in suffixes]
        hits = nearest(suffix, known, n=1)
        near = f"did you mean {hits[0]}? " if hits else ""
        text = f"-o {output}: {near}known suffixes are {', '.join(known)}"
        several = "; --format writes a file of any name" if len(forms) > 1 else ""
        raise UsageError(text + several)
    return found


def format_option(forms: Forms) -> Callable[[F], F]:
    """``--format`` alone, for commands whose default depends on more than the suffix."""
    return option(
        "--format",
        "form",
        type=OneOf(list(forms)),
        help="Form of the output [by the suffix of -o, else the first].",
    )


def output_options(forms: Forms) -> Callable[[F], F]:
    """``--format`` and ``-o``, given to the command as ``form`` and ``output``.

    Args:
        forms: The forms and their suffixes; the first is the default.
    """

    def decorate(function: F) -> F:
        @format_option(forms)
        @output_option
        @functools.wraps(function)
        def wrapped(*args: Any, form: str | None, output: str | None, **rest: Any) -> Any:
            form = form or by_suffix(output, forms) or next(iter(forms))
            return function(*args, form=form, output=output, **rest)

        return wrapped  # type: ignore[return-value]  # `wraps` keeps the signature

    return decorate
