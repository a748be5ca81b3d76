"""The fields of a family, ready for reading many configurations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckrules.engine.expr import BOOL, ENUM, Value
from ckrules.engine.expr.variables import Domain, domain_of
from ckrules.support.errors import CkrulesError, UsageError, unknown

if TYPE_CHECKING:
    from ckrules.engine.rules.book import RuleBook

LONG = 80
"""Texts with more characters are cut in messages and not compared with anything."""
MOST = 20
"""Of so many unknown keys of one object the nearest known ones are named."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong with a configuration.

    ``key`` is the field that is at fault as it was written, empty where one is missing;
    ``at_key`` says that the key itself is wrong and not its value.
    """

    message: str
    key: str = ""
    at_key: bool = False


class Schema:
    """The fields of one family, ready for reading many configurations.

    Args:
        book: Whose fields they are.
        defaults: The values of fields that may be left out.
        follows: Further keys, which say what follows from the fields (`Family.follows`).
    """

    def __init__(
        self, book: RuleBook, defaults: Mapping[str, Value], follows: Sequence[str] = ()
    ) -> None:
        self.follows = frozenset(follows)
        self.domains: dict[str, Domain] = {k: domain_of(v) for k, v in book.fields.items()}
        self.defaults = defaults
        self._plain = _plain_test(list(self.domains.values()))

    def quick(self, full: Mapping[str, Any]) -> dict[str, Value] | None:
        """The point if ``full`` has exactly the fields with values they can take, else None."""
        if len(full) != len(self.domains):
            return None
        try:
            point = {k: full[k] for k in self.domains}
        except KeyError:
            return None
        return point if self._plain(point.values()) else None

    def faults(self, given: Mapping[str, Any], full: Mapping[str, Any]) -> list[FieldError]:
        """Everything that is wrong with ``full``, which was filled up from ``given``."""
        strange = [key for key in given if key not in self.domains and key not in self.follows]
        faults = [self._unknown(key) for key in strange[:MOST]]
        for key in sorted(self.follows & full.keys()):
            faults.append(FieldError(f"{key} = {_shown(full[key])} contradicts other fields", key))
        if len(strange) > MOST:
            left = f"{len(strange) - MOST:,} more unknown fields"
            faults.append(FieldError(left, str(strange[MOST]), at_key=True))
        for key, domain in self.domains.items():
            if key not in full:
                continue
            try:
                _accept(domain, full[key])
            except CkrulesError as error:
                faults.append(FieldError(str(error), key if key in given else ""))
        missing = [k for k in self.domains if k not in full]
        if missing and not faults:
            faults.append(FieldError(_missing(missing)))
        return faults

    def _unknown(self, key: object) -> FieldError:
        word = str(key)
        if len(word) > LONG:
            return FieldError(f"unknown field {shorten(word)}", word, at_key=True)
        return FieldError(str(unknown("field", word, self.domains)), word, at_key=True)


def _plain_test(domains: Sequence[Domain]) -> Callable[[Iterable[Any]], bool]:
    """Whether values, one a domain, are all plain values of their domains.

    One generated condition, since files have millions of values; it is made from numbers of
    columns and from bounds only.
    """
    scope: dict[str, Any] = {}
    tests = []
    for i, domain in enumerate(domains):
        if domain.sort == BOOL:
            tests.append(f"(v{i} is True or v{i} is False)")
        elif domain.sort == ENUM:
            scope[f"w{i}"] = frozenset(domain.values)
            tests.append(f"type(v{i}) is str and v{i} in w{i}")
        else:
            scope[f"l{i}"], scope[f"h{i}"] = domain.lo, domain.hi
            tests.append(f"type(v{i}) is int and l{i} <= v{i} <= h{i}")
    unpack = "".join(f"v{i}, " for i in range(len(tests)))
    condition = " and ".join(tests) or "True"
    text = f"def f(values):\n    {unpack or '()'} = values\n    return {condition}\n"
    exec(compile(text, "<ckrules fields>", "exec"), scope)
    found: Callable[[Iterable[Any]], bool] = scope["f"]
    return found


def _accept(domain: Domain, value: Any) -> None:
    if isinstance(value, str) and len(value) > LONG:
        raise UsageError(f"{domain.name} = {shorten(value)} is not a value of this field")
    domain.accept(value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONG // 2 else text[: LONG // 2 - 1] + "…"


def shorten(text: str) -> str:
    """The beginning of a long text, quoted, and its length."""
    return f"{text[:30]!r}… ({len(text)} characters)"


def _missing(fields: list[str]) -> str:
    if fields == ["arch"]:
        return "no GPU: the configuration has no field arch, so give --arch"
    shown = ", ".join(fields[:8]) + (f" and {len(fields) - 8} more" if len(fields) > 8 else "")
    return f"missing field{'s' * (len(fields) > 1)} {shown}"
