"""Problems as people give them: a line, or a file of lines, of CSV rows or of JSON objects.

What the names mean, the families of the kernels say (`Problems`). Where these compute several kinds
of problem, a text is every kind's that understands it.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import methodcaller
from typing import Any

from ckrules.kernels.families import problems_of
from ckrules.kernels.parts import Problems
from ckrules.support import opening
from ckrules.support.errors import CkrulesError, UnknownNameError, UsageError

_LARGEST = 1 << 30
Reading = Callable[[Problems], Any]


def kinds(variants: Iterable[str]) -> list[Problems]:
    """The kinds of problem that kernels of these variants compute, each once.

    Raises:
        UsageError: If nothing is known of those of a variant.

    >>> [kind.name for kind in kinds(["forward", "bwd_data", "forward_depthwise"])]
    ['convolution']
    """
    found: dict[str, Problems] = {}
    for problems in map(problems_of, dict.fromkeys(variants)):
        found.setdefault(problems.name, problems)
    return list(found.values())


def by_kind(text: str, known: Iterable[Problems]) -> dict[str, Any]:
    """The problems that one line says, by the kind that understands it.

    Raises:
        UsageError: If none does, with what each kind says.

    >>> str(by_kind("N=1,C=8,K=8,W=9,X=3", kinds(["forward"]))["convolution"])
    'N=1,G=1,C=8,K=8,W=9,X=3'
    """
    return _understood(known, methodcaller("parse", text))


def parse(text: str, known: Iterable[Problems]) -> list[Any]:
    """`by_kind` without the kinds."""
    return list(by_kind(text, known).values())


def read(path: str, known: Iterable[Problems]) -> list[Any]:
    """The problems of a file, ``-`` for standard input.

    Lines begin with ``{`` in JSON Lines and have a ``=`` in a list of texts; anything else is CSV.
    What follows a ``#`` at the beginning of a line, or in a list of texts anywhere, is a comment.

    Raises:
        UsageError: With file and line of the first fault.
    """
    known = list(known)
    found: list[Any] = []
    for line, reading in _readings(path, _text(path)):
        try:
            found += _understood(known, reading).values()
        except CkrulesError as error:
            raise UsageError(f"{path}:{line}: {error}") from None
    return found


def _understood(known: Iterable[Problems], reading: Reading) -> dict[str, Any]:
    """What a text says to each kind of problem that understands it."""
    found: dict[str, Any] = {}
    faults: list[tuple[str, CkrulesError]] = []
    for kind in known:
        try:
            found[kind.name] = reading(kind)
        except CkrulesError as error:
            faults.append((kind.name, error))
    if not found:
        raise _fault(faults)
    return found


def _fault(faults: Sequence[tuple[str, CkrulesError]]) -> CkrulesError:
    """What is wrong with a text: what the kinds say that know its names, each sentence once."""
    near = [(name, e) for name, e in faults if not isinstance(e, UnknownNameError)] or faults
    said: dict[str, list[str]] = {}
    for name, error in near:
        said.setdefault(str(error), []).append(name)
    if len(said) == 1:
        return near[0][1]
    return UsageError("; ".join(f"as {' or '.join(names)}: {e}" for e, names in said.items()))


def _text(path: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if path == "-" else opening.read(path, _LARGEST)
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not a text file in UTF-8") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _readings(path: str, text: str) -> Iterator[tuple[int, Reading]]:
    """Line number of every problem of a file, and how a kind of problem reads it."""
    rows = ["" if row.startswith("#") else row for row in text.splitlines()]
    first = next((row.strip() for row in rows if row.strip()), "")
    if first.startswith("["):
        raise UsageError(f"{path}: a JSON list, expected JSON Lines: an object a line")
    if not first.startswith("{") and "=" not in first:
        yield from _cells(path, rows)
        return
    for number, row in enumerate(rows, 1):
        if first.startswith("{"):
            if row.strip():
                given = _object(f"{path}:{number}", row)
                yield number, methodcaller("from_mapping", given)
        elif said := row.partition("#")[0].strip():
            yield number, methodcaller("parse", said)


def _cells(path: str, rows: list[str]) -> Iterator[tuple[int, Reading]]:
    reader = csv.reader(io.StringIO("\n".join(rows)))
    header: list[str] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = [cell.strip() for cell in cells]
                continue
            place = f"{path}:{reader.line_num}"
            if len(cells) != len(header):
                raise UsageError(f"{place}: {len(cells)} cells below a header of {len(header)}")
            given = _once(place, list(zip(header, cells, strict=True)))
            yield reader.line_num, methodcaller("from_row", given)
    except csv.Error as error:
        raise UsageError(f"{path}: {error}") from None


def _object(place: str, text: str) -> dict[str, Any]:
    try:
        given = json.loads(text, object_pairs_hook=lambda pairs: _once(place, pairs))
    except UsageError:
        raise
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise UsageError(f"{place}: not a JSON object")
    return given


def _once(place: str, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The values by key; the last of two would be taken silently."""
    for key, n in Counter(key for key, _ in pairs).items():
        if n > 1:
            raise UsageError(f"{place}: {key} is given twice")
    return dict(pairs)
