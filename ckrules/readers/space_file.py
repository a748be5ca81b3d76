"""Files that describe a space: JSON of this project's own form, and of tuners.

| keys | form |
| --- | --- |
| ``variables``, ``constraints`` | lists of ``{"name": ..., "values": [...]}`` and of expressions |
| ``ConfigurationSpace`` | T1 of the tuners' benchmark suites (Kernel Tuner's ``tune_kernel_T1``) |
| ``tune_params``, ``cache`` | a cache file of Kernel Tuner: the configurations that were measured |
| ``tune_params``, ``restrictions`` | what Kernel Tuner's ``tune_kernel`` takes |
| any, each with a list | values by name, no restrictions |

Restrictions are read with Python's precedence, and nothing of a file is ever executed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ckrules.engine.expr import rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import variable
from ckrules.engine.lang.python import parse_restriction
from ckrules.engine.rules.restriction import restriction
from ckrules.engine.rules.rule import Rule
from ckrules.readers.json_text import LISTS, DocumentError, items, path_place, refuse_repeats
from ckrules.readers.source import LocatedText, SourceError, SourceFile, read_file
from ckrules.readers.value_list import value_list
from ckrules.support import opening
from ckrules.support.errors import CkrulesError, UsageError, nearest
from ckrules.support.json_values import Odd, Path, with_repeats

if TYPE_CHECKING:
    from ckrules.engine.space import Space

_OWN = ("variables", "constraints")
_T1 = "ConfigurationSpace"
_FORMS = (*_OWN, _T1, "tune_params")


@dataclass
class _Found:
    """What a file says: values by name and texts of restrictions, with the paths of both."""

    values: dict[str, list[Any]] = field(default_factory=dict)
    where: dict[str, Path] = field(default_factory=dict)
    texts: list[tuple[str, Path]] = field(default_factory=list)
    rows: list[tuple[Any, ...]] | None = None
    """The configurations that a cache lists; None for a file that is none."""

    def add(self, name: Any, values: Any, path: Path) -> None:
        if not isinstance(name, str):
            raise DocumentError(path, f"a variable needs a name and values, not {str(name)[:60]}")
        if not isinstance(values, list):
            raise DocumentError(path, f"variable {name[:60]} has no list of values")
        if name in self.values:
            raise DocumentError(path, f"variable {name[:60]} is declared twice")
        for value in values:
            if fault := _unfit(value):
                raise DocumentError(path, f"variable {name[:60]}: {fault}")
        self.values[name], self.where[name] = values, path

    def restrict(self, text: Any, path: Path) -> None:
        if not isinstance(text, str):
            raise DocumentError(path, f"constraint {text!r} is not a string")
        self.texts.append((text, path))


def _unfit(value: Any) -> str:
    """Why a value of a file is none of a variable; empty if it is one."""
    if not isinstance(value, (bool, int, float, str)) or isinstance(value, Odd):
        return "values are numbers, words or Booleans"
    if isinstance(value, float) and not math.isfinite(value):
        return "a number is too large"
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        return f"{value!r:.60} is half a character"
    return ""


def read_space(path: str) -> Space:
    """The space that a file describes.

    Raises:
        UsageError: For a file that cannot be read or describes no space, with line and column.
    """
    return read_file(path, lambda text: _space(path, text))


def is_space(path: str) -> bool:
    """Whether a file has the keys of one of the forms, and not those of configurations."""
    try:
        with opening.binary(path) as stream:
            value, _ = _decoded(SourceFile(path, stream).text())
    except (OSError, ValueError):
        return False
    if any(key in value for key in _FORMS):
        return True
    lists = not set(LISTS) & value.keys() and all(isinstance(v, list) for v in value.values())
    return lists and not any(
        isinstance(v, (dict, list)) for values in value.values() for v in values
    )


def _space(path: str, text: LocatedText) -> Space:
    value, raw = _decoded(text)
    try:
        return _made(
            _read(value), lambda of: ":".join(map(str, (path, *path_place(text, of, raw))))
        )
    except DocumentError as fault:
        raise SourceError(str(fault), *path_place(text, fault.path, raw)) from None


def _decoded(text: LocatedText) -> tuple[dict[str, Any], str]:
    """The file's object, and the text that it was decoded from.

    A run of Kernel Tuner that was stopped leaves its cache open at the end, as if it went on.
    """
    for raw in (text.text, text.text.rstrip().rstrip(",") + "}\n}"):
        try:
            value = json.loads(raw, object_pairs_hook=with_repeats, parse_constant=Odd)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and (raw is text.text or "cache" in value):
            return value, raw
        if raw is text.text:
            raise SourceError("expected an object that describes a space", 1, 1)
    list(items(text))  # says what is wrong, and where
    raise SourceError("not JSON that describes a space", 1, 1)


def _read(value: dict[str, Any]) -> _Found:
    form = next((key for key in _FORMS if key in value), None)
    refuse_repeats(value, ())
    if form == _T1:
        return _of_t1(_inside(value, _T1, dict, ()))
    if form == "tune_params":
        return _of_kernel_tuner(value)
    if form is None and value and all(isinstance(v, list) for v in value.values()):
        found = _Found()
        for name, values in value.items():
            found.add(name, values, (name,))
        return found
    return _of_own(value)


def _inside(value: Mapping[str, Any], key: str, kind: type, path: Path) -> Any:
    said = "list" if kind is list else "object"
    if isinstance(value.get(key), kind):
        refuse_repeats(value[key], (*path, key))
        return value[key]
    known = [*_FORMS, "TuningParameters", "Conditions", "restrictions", "cache"]
    near = nearest(key, [k for k in value if k not in known], n=1)
    hint = f": is {near[0]!r} meant to be it?" if near else ""
    raise DocumentError((*path, near[0] if near else key), f"no {said} {key!r}{hint}")


def _of_own(value: Mapping[str, Any]) -> _Found:
    found = _Found()
    variables, constraints = (_inside(value, key, list, ()) for key in _OWN)
    for k, entry in enumerate(variables):
        if not isinstance(entry, dict):
            message = f"a variable needs a name and values, not {str(entry)[:60]}"
            raise DocumentError(("variables", k), message)
        found.add(entry.get("name"), entry.get("values"), ("variables", k))
    for k, text in enumerate(constraints):
        found.restrict(text, ("constraints", k))
    return found


def _of_t1(value: Mapping[str, Any]) -> _Found:
    found = _Found()
    for k, entry in enumerate(_inside(value, "TuningParameters", list, (_T1,))):
        path: Path = (_T1, "TuningParameters", k)
        if not isinstance(entry, dict):
            raise DocumentError(path, f"a tuning parameter is an object, not {str(entry)[:60]}")
        values = entry.get("Values")
        if isinstance(values, str):
            try:
                values = value_list(values)
            except UsageError as error:
                raise DocumentError((*path, "Values"), str(error)) from None
        found.add(entry.get("Name"), values, path)
    conditions = _inside(value, "Conditions", list, (_T1,)) if "Conditions" in value else []
    for k, entry in enumerate(conditions):
        text = entry.get("Expression") if isinstance(entry, dict) else entry
        found.restrict(text, (_T1, "Conditions", k, "Expression"))
    return found


def _of_kernel_tuner(value: Mapping[str, Any]) -> _Found:
    found = _Found()
    for name, values in _inside(value, "tune_params", dict, ()).items():
        found.add(name, values, ("tune_params", name))
    if "restrictions" in value:
        for k, text in enumerate(_inside(value, "restrictions", list, ())):
            found.restrict(text, ("restrictions", k))
    if "cache" in value:
        entries = _inside(value, "cache", dict, ())
        measured = str(value.get("objective", "time"))
        rows = (_measured(found, k, e, measured) for k, e in entries.items())
        found.rows = [row for row in rows if row is not None]
    return found


def _measured(found: _Found, key: str, entry: Any, objective: str) -> tuple[Any, ...] | None:
    """The configuration of a cache's entry; None if it failed, which a word says."""
    path: Path = ("cache", key)
    if not isinstance(entry, dict):
        raise DocumentError(path, f"a measured configuration is an object, not {str(entry)[:60]}")
    for name, values in found.values.items():
        if name not in entry:
            raise DocumentError(path, f"the configuration has no {name}")
        if entry[name] not in values:
            raise DocumentError((*path, name), f"{name} = {entry[name]!r} is not among its values")
    failed = isinstance(entry.get(objective, entry.get("time")), str)
    return None if failed else tuple(entry[name] for name in found.values)


def _made(found: _Found, said: Callable[[Path], str]) -> Space:
    from ckrules.engine.space import Space

    if not found.values:
        raise DocumentError((), "the space has no variables")
    nodes: dict[str, Any] = {}
    for name, values in found.values.items():
        try:
            nodes[name] = variable(name, values)
        except CkrulesError as error:
            raise DocumentError(found.where[name], str(error)) from None
    rules: list[Rule] = []
    for text, path in found.texts:
        try:
            condition = parse_restriction(text, nodes)
        except CkrulesError as error:
            raise DocumentError(path, f"constraint {error}") from None
        rules.append(restriction(len(rules) + 1, condition, text, said(path)))
    if found.rows is not None:
        table = Table.relation("measured", list(nodes), found.rows)
        listed = rel(table, *nodes.values())
        rules.append(restriction(len(rules) + 1, listed, "measured", said(("cache",))))
    return Space(nodes.values(), rules)
