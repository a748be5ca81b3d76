"""Kernels of earlier runs, whose pairs of features need not occur again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ckrules.kernels.config import config_from_mapping
from ckrules.support import opening
from ckrules.support.errors import CkrulesError, UsageError
from ckrules.support.json_values import decoded

if TYPE_CHECKING:
    from ckrules.kernels.books import Books
    from ckrules.kernels.parts import Point

_EXPECTED = "expected results of ckrules certify numerics --format json"
_MOST = 1 << 28


def read_seen(paths: Iterable[str], books: Books, arch: str) -> tuple[Point, ...]:
    """The legal kernels of a GPU that gave a verdict, in results of ``certify numerics``.

    Args:
        paths: Files that ``certify numerics --format json -o`` wrote.

    Raises:
        UsageError: With the file, for what is no such result.
    """
    found: list[Point] = []
    for path in paths:
        for case in _cases(path):
            if not (case.get("predicted") and case.get("right") is not None):
                continue
            try:
                point = config_from_mapping(case["config"], books).point
            except CkrulesError as error:
                raise UsageError(f"{path}: {error}") from None
            if point["arch"] == arch:
                found.append(point)
    return tuple(found)


def _cases(path: str) -> list[dict[str, Any]]:
    try:
        value = decoded(opening.read(path, _MOST).decode())
    except CkrulesError:
        raise
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: not JSON, {_EXPECTED}") from None
    cases = value.get("cases") if isinstance(value, dict) else None
    if not isinstance(cases, list) or not all(_is_case(c) for c in cases):
        raise UsageError(f"{path}: has no list of cases, {_EXPECTED}")
    return cases


def _is_case(case: object) -> bool:
    return isinstance(case, dict) and isinstance(case.get("config"), dict)
