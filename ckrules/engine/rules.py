"""Rules: a condition with its code, kind, versions, sources and examples, declared once.

A rule is a function from a vocabulary (the object whose attributes are fields and derived
quantities) to the condition that legal points meet:

    @rule("GEMM001", "waves-do-not-cover-tile", kind="compile", source="my_gemm.hpp: Gemm",
          accepts=[{"tile_m": 128, "wave_m": 2}], rejects=[{"tile_m": 96, "wave_m": 4}])
    def waves_cover_tile(c):
        '''The waves of a block cover its M side exactly.'''
        return c.tile_m % (c.wave_m * 32) == 0
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckrules.engine.backends.pointwise import At
from ckrules.engine.errors import RuleBookError, unknown
from ckrules.engine.expr import TRUE, BoolExpr, Expr, Value, all_of, implies
from ckrules.engine.messages import fault
from ckrules.engine.traversal import walk

#: What breaks where a rule is violated.
KINDS = {
    "compile": "the C++ does not compile",
    "launch": "it compiles and cannot be launched",
    "wrong-result": "it compiles, runs and computes wrong numbers",
    "hardware": "the GPU lacks the instruction or the resource",
    "profile": "a tool refuses it although the C++ may accept it",
}
SEVERITIES = ("error", "warning")
_CODE = re.compile(r"[A-Z]{2,5}\d{3}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


def version_key(version: str) -> tuple[int, ...]:
    """A version such as ``2025.11`` in a form that orders.

    >>> version_key("2025.8") < version_key("2025.11")
    True
    """
    try:
        return tuple(int(p) for p in version.split("."))
    except ValueError:
        raise RuleBookError(f"version {version!r} is not of the form 2025.11") from None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule over the fields of a space: where its guard holds, its condition must be true."""

    code: str
    name: str
    kind: str
    expr: BoolExpr = field(repr=False)
    applies: BoolExpr = field(default=TRUE, repr=False)
    usual: BoolExpr | None = field(default=None, repr=False)
    """The guard without rare exceptions; None if it has none."""
    since: str = "0"
    until: str | None = None
    severity: str = "error"
    profiles: tuple[str, ...] = ("legal",)
    sources: tuple[str, ...] = field(default=(), repr=False)
    issue: str = field(default="", repr=False)
    doc: str = field(default="", repr=False)
    accepts: tuple[Mapping[str, Value], ...] = field(default=(), repr=False)
    rejects: tuple[Mapping[str, Value], ...] = field(default=(), repr=False)
    where: tuple[str, int] = field(default=("", 0), repr=False)

    @property
    def family(self) -> str:
        """The letters of the code, which name the topic."""
        return self.code.rstrip("0123456789")

    @property
    def condition(self) -> BoolExpr:
        """Guard implies expression: what a point must meet."""
        return self.expr if self.applies is TRUE else implies(self.applies, self.expr)

    @property
    def summary(self) -> str:
        """The first sentence of the documentation: the fact that legal points meet."""
        return self.doc.split("\n\n")[0].replace("\n", " ").strip()

    def valid_for(self, version: str) -> bool:
        """True if the rule holds for this version (``since`` counts, ``until`` does not)."""
        key = version_key(version)
        if key < version_key(self.since):
            return False
        return self.until is None or key < version_key(self.until)

    def fields(self) -> tuple[str, ...]:
        """The fields of the expression, then those that only the guard reads."""
        return _variables(self.expr, self.applies)

    def told_fields(self) -> tuple[str, ...]:
        """The fields that messages name: those of rare exceptions are not among them."""
        return _variables(self.expr, self.applies if self.usual is None else self.usual)


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a point breaks, with the values it read and a message made from them."""

    rule: Rule = field(repr=False)
    values: Mapping[str, Value]
    message: str

    @property
    def code(self) -> str:
        """The rule's code."""
        return self.rule.code

    @property
    def kind(self) -> str:
        """What breaks: see `KINDS`."""
        return self.rule.kind

    def to_dict(self) -> dict[str, Any]:
        """The form that JSON outputs use."""
        return {
            "code": self.rule.code,
            "name": self.rule.name,
            "kind": self.rule.kind,
            "severity": self.rule.severity,
            "message": self.message,
            "fields": dict(self.values),
        }


def violation(rule: Rule, at: At, point: Mapping[str, Value]) -> Violation | None:
    """How the point breaks the rule, or None if it does not."""
    if at.holds(rule.condition):
        return None
    values = {n: point[n] for n in rule.told_fields() if n in point}
    return Violation(rule, values, fault(rule.expr, at))


@dataclass(frozen=True, slots=True)
class RuleDef:
    """A declared rule that still needs a vocabulary to become an expression."""

    code: str
    make: Callable[[Any], BoolExpr]
    applies: Callable[[Any], BoolExpr] | None
    unless: Callable[[Any], BoolExpr] | None
    meta: Mapping[str, Any]

    def build(self, vocabulary: Any) -> Rule:
        """The rule over this vocabulary's fields.

        Raises:
            RuleBookError: If the function does not give a condition.
        """
        built = []
        for function in (self.make, self.applies, self.unless):
            node = TRUE if function is None else function(vocabulary)
            if not isinstance(node, BoolExpr):
                raise RuleBookError(
                    f"rule {self.code}: the function must return a condition, not {node!r}"
                )
            built.append(node)
        expr, guard, rare = built
        if self.unless is None:
            return Rule(code=self.code, expr=expr, applies=guard, **self.meta)
        applies = all_of(guard, ~rare)
        return Rule(code=self.code, expr=expr, applies=applies, usual=guard, **self.meta)


def rule(
    code: str,
    name: str,
    *,
    kind: str,
    source: str | Sequence[str],
    accepts: Sequence[Mapping[str, Value]],
    rejects: Sequence[Mapping[str, Value]],
    applies: Callable[[Any], BoolExpr] | None = None,
    unless: Callable[[Any], BoolExpr] | None = None,
    since: str = "0",
    until: str | None = None,
    severity: str = "error",
    profiles: Iterable[str] = ("legal",),
    issue: str = "",
) -> Callable[[Callable[[Any], BoolExpr]], RuleDef]:
    """Declares a rule; the decorated function's docstring states the fact and is its page.

    Args:
        code: Letters of the topic and three digits; never reused for another meaning.
        name: Names the fault, so that it reads well as "allow NAME".
        kind: What breaks (`KINDS`).
        source: Where the fact comes from: file and symbol, or a manual.
        accepts, rejects: Fields of example points that the rule applies to and accepts or
            rejects; what they leave out is taken from the vocabulary's baseline.
        applies: The guard, a function like the rule itself; without it the rule always applies.
        unless: Rare exceptions to it, whose fields no message names.
        since, until: Versions for which the rule holds, ``until`` excluded.
        severity: ``error`` or ``warning``.
        profiles: The rule sets that contain it.
        issue: Where upstream knows of it.

    Raises:
        RuleBookError: For a malformed code, name, kind or version, or a missing docstring,
            source or example.
    """
    sources = (source,) if isinstance(source, str) else tuple(source)
    _check_words(code, name, kind, severity, sources)
    for version in (since, *([until] if until else [])):
        version_key(version)
    if until and version_key(since) >= version_key(until):
        raise RuleBookError(f"rule {code}: holds for no version from {since} until {until}")
    if not accepts or not rejects:
        raise RuleBookError(f"rule {code}: needs at least one accepted and one rejected example")

    def declare(function: Callable[[Any], BoolExpr]) -> RuleDef:
        doc = inspect.getdoc(function) or ""
        if not doc.split("\n")[0].endswith("."):
            raise RuleBookError(
                f"rule {code}: the docstring must begin with a sentence that states the fact"
            )
        meta = {
            "name": name, "kind": kind, "since": since, "until": until, "severity": severity,
            "profiles": tuple(profiles), "sources": sources, "issue": issue, "doc": doc,
            "accepts": tuple(accepts), "rejects": tuple(rejects),
            "where": (function.__module__, function.__code__.co_firstlineno),
        }  # fmt: skip
        return RuleDef(code, function, applies, unless, meta)

    return declare


def _check_words(code: str, name: str, kind: str, severity: str, sources: tuple[str, ...]) -> None:
    if not _CODE.fullmatch(code):
        raise RuleBookError(f"rule code {code!r} is not letters and three digits, as in TILE001")
    if not _NAME.fullmatch(name):
        raise RuleBookError(f"rule {code}: the name {name!r} is not words joined by dashes")
    if kind not in KINDS:
        raise unknown(f"kind of rule {code}", kind, KINDS)
    if severity not in SEVERITIES:
        raise unknown(f"severity of rule {code}", severity, SEVERITIES)
    if not sources or not all(s.strip() for s in sources):
        raise RuleBookError(f"rule {code}: needs a source")


def _variables(*roots: Expr) -> tuple[str, ...]:
    names = [n.data.name for n in walk(*roots) if n.op == "var"]
    return tuple(dict.fromkeys(names))


def fields_read(roots: Iterable[Expr]) -> set[str]:
    """The names of all variables below the roots."""
    return {n for r in roots for n in r.support}
