"""Errors of ckrules: one small class a cause, each a subclass of the built-in that fits."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from typing import Any


class CkrulesError(Exception):
    """Base of every error that ckrules raises on purpose; pools of processes return them."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[CkrulesError], args: tuple[Any, ...], state: dict[str, Any]) -> Any:
    """An error from another process, whose class may be made from other arguments."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class UsageError(CkrulesError, ValueError):
    """A value, option or expression that ckrules cannot accept as given."""


class UnknownNameError(CkrulesError, LookupError):
    """A name that is not in the list of known ones; the message offers the nearest."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UndecidedError(CkrulesError, RuntimeError):
    """A solver answered "unknown" or ran out of time, or a space is too hard to go through.

    Neither yes nor no is implied.
    """


class RuleBookError(CkrulesError, ValueError):
    """A rule, a table or a field is declared wrongly; raised when the book is built."""


class HardSpaceWarning(UserWarning):
    """A space is too hard to compile as a whole and is gone through in parts."""


class NeverTrueWarning(UserWarning):
    """A condition compares a field with a value that the field never has."""


def raised(error: BaseException) -> str:
    """What somebody else's code raised, in a few words.

    >>> raised(ValueError("odd")), raised(SystemExit(3)), raised(KeyError())
    ('odd', 'SystemExit: 3', 'KeyError')
    """
    said = str(error)
    if isinstance(error, SystemExit) or not said:
        return ": ".join(filter(None, (type(error).__name__, said)))
    return said


def nearest(word: str, known: Iterable[str], n: int = 3) -> list[str]:
    """The known words closest to ``word``, best first.

    >>> nearest("gfx1202", ["gfx1200", "gfx1201", "gfx942"], n=2)
    ['gfx1201', 'gfx1200']
    """
    return list(_nearest(word.lower(), tuple(known), n))


@lru_cache(maxsize=256)  # one slip repeated on every line of a file is looked up once
def _nearest(word: str, known: tuple[str, ...], n: int) -> tuple[str, ...]:
    folded = {k.lower(): k for k in reversed(known)}
    return tuple(folded[h] for h in get_close_matches(word, list(folded), n=n, cutoff=0.6))


def unknown(what: str, word: str, known: Iterable[str]) -> UnknownNameError:
    """The error for ``word`` that is not a known ``what``, with near matches or the whole list.

    Of a number, which callers of the library may write, it says the text that is alike.

    >>> str(unknown("arch", "gfx1202", ["gfx1201", "native"]))
    "unknown arch 'gfx1202': did you mean 'gfx1201'?"
    >>> str(unknown("kernel", "x", ["gemm_1", "gemm_1"]))
    "unknown kernel 'x': known are gemm_1"
    """
    pool = list(dict.fromkeys(known))
    hits = nearest(str(word), pool)
    if hits:
        tail = "did you mean " + " or ".join(repr(h) for h in hits) + "?"
    elif pool:
        shown = ", ".join(pool[:12]) + (", …" if len(pool) > 12 else "")
        tail = f"known are {shown}"
    else:
        tail = "none are known here"
    return UnknownNameError(f"unknown {what} {word!r}: {tail}")
