"""Violations: what is said about a point that breaks a rule.

A rule without sentences (`ckrules.engine.rules.message_templates`) is described by its
documentation's first sentence and what is wrong with its condition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import Value
from ckrules.engine.expr.traversal import walk
from ckrules.engine.rules.derivation import shown
from ckrules.engine.rules.messages import conjuncts, fault
from ckrules.engine.rules.rule import Kind, Rule

_WORDS = re.compile(r"\w+")


class Violation:
    """A rule that a point breaks, with the values it read and a message made from them.

    ``named`` are the fields that the message names, by themselves or by their value.
    """

    __slots__ = ("_fields", "_point", "message", "named", "rule")

    def __init__(
        self,
        rule: Rule,
        point: Mapping[str, Value],
        fields: tuple[str, ...],
        message: str,
        named: tuple[str, ...] = (),
    ) -> None:
        self.rule, self.message, self.named = rule, message, named
        self._point, self._fields = point, fields

    @property
    def values(self) -> Mapping[str, Value]:
        """The values of the fields that the message may name."""
        point = self._point
        return {n: point[n] for n in self._fields if n in point}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Violation):
            return NotImplemented
        return self.rule is other.rule and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # its values are a mapping

    def __repr__(self) -> str:
        return f"Violation({self.code} {self.kind}: {self.message})"

    @property
    def code(self) -> str:
        """The rule's code."""
        return self.rule.code

    @property
    def kind(self) -> Kind:
        """What breaks."""
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
    values = {n: point[n] for n in rule.message_fields() if n in point}
    text = message(rule, at)
    return Violation(rule, values, tuple(values), text, named(rule, values, text))


def message(rule: Rule, at: At) -> str:
    """What a rule says about a point that breaks it.

    It depends on the values of `Rule.message_fields` only, so equal faults have equal messages.
    """
    if rule.sentences is not None:
        said = rule.sentences.say(at)
    else:
        found, summary = fault(rule.expr, at), rule.summary.removesuffix(".")
        said = f"{summary}, but {found}" if summary else found
    where = _scope(rule, at, said)
    return f"{said} ({where})" if where else said


def _scope(rule: Rule, at: At, said: str) -> str:
    """Where the rule applies: the facts of its guard about single fields that are not said yet."""
    guard = rule.applies if rule.message_guard is None else rule.message_guard
    words = set(_WORDS.findall(said))
    facts: dict[str, None] = {}
    for part in conjuncts(guard):
        name = next(iter(part.support), "")
        if len(part.support) != 1 or name in words:
            continue
        value = next(at.value(n) for n in walk(part) if n.op == "var")
        if str(value) not in words:
            facts[f"{name} = {shown(value)}"] = None
    return ", ".join(facts)


def named(rule: Rule, values: Mapping[str, Any], text: str) -> tuple[str, ...]:
    """The fields that a message names: by name, by a word that is their value, or in a group."""
    words = set(_WORDS.findall(text))
    groups: dict[str, list[str]] = {}
    for node in walk(rule.condition):
        if node.op == "var" and node.data.group and node.data.name in values:
            groups.setdefault(node.data.group, []).append(node.data.name)
    joined: set[str] = set()
    for names in groups.values():
        if "x".join(shown(values[n]) for n in sorted(names, key=list(values).index)) in words:
            joined.update(names if len(names) > 1 else ())
    return tuple(
        n
        for n, v in values.items()
        if n in words or n in joined or (isinstance(v, str) and v in words)
    )
