"""Files of models: written as they are read, and checked before anything is predicted.

A file is gzipped JSON: a card, the reference kernels, the names of the numbers that the trees
look at, and the trees in LightGBM's own text. Strangers write files: what is unpacked has a limit,
and every part is checked against what `ckrules train` can write.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_mapping
from ckrules.kernels.families import family_of, gpus_of
from ckrules.ranking.fingerprints import ROWS, hashes
from ckrules.ranking.kernels import timing
from ckrules.ranking.learned import AGAINST, COMMON, MOST_KERNELS, TimeModel
from ckrules.ranking.trees import Ensemble, TreeError, read
from ckrules.support import opening
from ckrules.support.errors import CkrulesError, UsageError
from ckrules.support.files import replace

FORMAT = 3
UNPACKED = 16 << 20
"""Bytes that a model may have when it is unpacked: the package's own has four million."""
MOST_MEMBERS = 16
"""Ensembles of a part."""
MOST_ERROR = 16.0
"""What times may be off by, as a logarithm to base 2."""

_PARTS = ("relative", "carried", "level")
_KEYS = ("card", "kernels", "reference", "features", "situation", *_PARTS)
_ERRORS = (*_PARTS, "outside")
_SHARES = ("mean", "p10", "median", "min", "top1", "top5")


class _FaultError(ValueError):
    """What is wrong with a content, and where."""


def save(model: TimeModel, path: Path) -> None:
    """Writes a model.

    Raises:
        UsageError: If the file cannot be written.
    """
    try:
        replace(path, packed(model))
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror or error}") from None


def packed(model: TimeModel) -> bytes:
    """What the file of a model holds; the same model gives the same bytes."""
    content = {
        "format": FORMAT,
        "card": model.card,
        "kernels": [dict(p) for p in model.kernels],
        "reference": model.reference,
        "features": list(model.features),
        "situation": list(model.situation),
    } | {part: [e.text for e in getattr(model, part)] for part in _PARTS}
    text = json.dumps(content, indent=0, sort_keys=True).encode()
    return gzip.compress(text, 9, mtime=0)


def load(path: Path | str) -> TimeModel:
    """The model of a file.

    Raises:
        UsageError: If it is none that this program could have written, with where and what.
    """
    try:
        raw = opening.read(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    try:
        return _model(_unpacked(raw))
    except (_FaultError, CkrulesError) as error:
        raise UsageError(f"{path}: not a model that `ckrules train` wrote: {error}") from None


def _unpacked(raw: bytes) -> Mapping[str, Any]:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
            text = stream.read(UNPACKED + 1)
    except (OSError, EOFError, zlib.error):
        raise _FaultError("not packed by gzip, or damaged") from None
    if len(text) > UNPACKED:
        raise _FaultError(f"more than {UNPACKED >> 20} MB when it is unpacked")
    try:
        return _object(json.loads(text, parse_constant=_odd), "it")
    except RecursionError:
        raise _FaultError("JSON that is nested too deep") from None
    except UnicodeDecodeError:
        raise _FaultError("not text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise _FaultError(
            f"JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except _FaultError:
        raise
    except ValueError:  # a number with more than 4,300 digits
        raise _FaultError("a number that is too long") from None


def _model(content: Mapping[str, Any]) -> TimeModel:
    if content.get("format") != FORMAT:
        raise _FaultError(f"format is {_said(content.get('format'))}, expected {FORMAT}")
    card, kernels, reference, features, situation, *parts = (_of(content, key, "") for key in _KEYS)
    about = _object(_of(_object(card, "card"), "about", "card"), "card.about")
    for name in (*COMMON, "product"):
        _text(_of(about, name, "card.about"), f"card.about.{name}")
    known = timing(about["variant"])
    _check_card(card, about)
    columns = _names(features, "features", (AGAINST, *known.features))
    alone = _names(situation, "situation", known.situation)
    found = _kernels(kernels, about, card.get("ck"))
    _count(reference, "reference")
    if not 1 <= reference <= len(found):
        raise _FaultError(f"reference is {reference}, expected 1 to {len(found)}")
    relative, carried, level = (
        _ensembles(given, part, len(alone) + (0 if part == "level" else len(columns)))
        for part, given in zip(_PARTS, parts, strict=True)
    )
    return TimeModel(card, found, reference, columns, alone, relative, carried, level)


def _check_card(card: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    for name, where in (("note", card), ("ck", card)):
        if name in where:
            _text(where[name], f"card.{name}")
    for name in ("problems", "measurements"):
        _count(_of(about, name, "card.about"), f"card.about.{name}")
    errors = _object(_of(card, "errors", "card"), "card.errors")
    for name in _ERRORS:
        place = f"card.errors.{name}"
        if not 0 < _number(_of(errors, name, "card.errors"), place) <= MOST_ERROR:
            expected = f"expected a number above 0, up to {MOST_ERROR:g}"
            raise _FaultError(f"{place} is {_said(errors[name])}, {expected}")
    if ROWS in card:
        try:
            hashes(_text(card[ROWS], f"card.{ROWS}"))
        except _FaultError:
            raise
        except ValueError as error:
            raise _FaultError(f"card.{ROWS} is not a fingerprint: {error}") from None
    if "figures" in card:
        _check_figures(_object(card["figures"], "card.figures"))


def _check_figures(figures: Mapping[str, Any]) -> None:
    for name in ("folds", "problems"):
        _count(_of(figures, name, "card.figures"), f"card.figures.{name}")
    for name in _SHARES:
        value = _number(_of(figures, name, "card.figures"), f"card.figures.{name}")
        if not 0 <= value <= 100:
            raise _FaultError(f"card.figures.{name} is {_said(value)}, expected 0 to 100")


def _kernels(given: Any, about: Mapping[str, Any], ck: str | None) -> Sequence[Mapping[str, Any]]:
    """The kernels that were measured: configurations of what the card is about."""
    books = Books(ck)
    archs = [g.name for g in gpus_of(family_of(str(about["variant"])), books.gpus)]
    found = []
    for i, each in enumerate(_list(given, "kernels", MOST_KERNELS)):
        point = _object(each, f"kernels[{i}]")
        for name in COMMON:
            if point.get(name) != about[name]:
                value = _said(point.get(name))
                raise _FaultError(f"kernels[{i}].{name} is {value}, expected {about[name]!r}")
        # A GPU may be of a file that this call knows nothing of; what fields may be is the same.
        arch = about["arch"] if about["arch"] in archs else archs[0]
        try:
            read_as = config_from_mapping({**point, "arch": arch}, books).point
        except CkrulesError as error:
            raise _FaultError(f"kernels[{i}]: {error}") from None
        found.append({**read_as, "arch": about["arch"]})
    return found


def _ensembles(given: Any, where: str, features: int) -> list[Ensemble]:
    ensembles = []
    for i, text in enumerate(_list(given, where, MOST_MEMBERS)):
        try:
            ensembles.append(read(_text(text, f"{where}[{i}]"), features))
        except TreeError as error:
            raise _FaultError(f"{where}[{i}]: {error}") from None
    return ensembles


def _names(given: Any, where: str, known: Sequence[str]) -> list[str]:
    names = [_text(v, where) for v in _list(given, where, len(known))]
    for name in names:
        if name not in known:
            raise _FaultError(f"{where} has {_said(name)}, a number that is not known here")
        if names.count(name) > 1:
            raise _FaultError(f"{where} has {_said(name)} twice")
    return names


# -- the parts of a document ---------------------------------------------------------------------


def _of(given: Mapping[str, Any], key: str, where: str) -> Any:
    if key not in given:
        raise _FaultError(f"{where}{'.' if where else ''}{key} is missing")
    return given[key]


def _kind(kinds: type | tuple[type, ...], what: str) -> Callable[[Any, str], Any]:
    def checked(value: Any, where: str) -> Any:
        wanted = kinds if isinstance(kinds, tuple) else (kinds,)
        if type(value) not in wanted:
            raise _FaultError(f"{where} is {_said(value)}, expected {what}")
        return value

    return checked


def _object(value: Any, where: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise _FaultError(f"{where} is {_said(value)}, expected an object")
    return value


_text = _kind(str, "a text")
_scalar = _kind((str, int, bool), "texts and whole numbers")


def _list(value: Any, where: str, most: int) -> Iterator[Any]:
    if type(value) is not list or not 1 <= len(value) <= most:
        raise _FaultError(f"{where} is {_said(value)}, expected a list of 1 to {most}")
    return iter(value)


def _number(value: Any, where: str) -> float:
    try:
        if type(value) in (int, float) and isfinite(value):
            return float(value)
    except OverflowError:  # beyond the largest float
        pass
    raise _FaultError(f"{where} is {_said(value)}, expected a finite number")


def _count(value: Any, where: str) -> None:
    if type(value) is not int or value < 0:
        raise _FaultError(f"{where} is {_said(value)}, expected a whole number")


def _odd(word: str) -> Any:
    raise _FaultError(f"{word}, which is not a JSON number")


def _said(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    try:
        text = repr(value)
    except ValueError:  # thousands of digits
        return "a huge number"
    return text if len(text) <= 40 else text[:37] + "..."
