"""Pages about rules, fields and derived quantities, as Markdown made from the rule book."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ckrules.engine.book import RuleBook
from ckrules.engine.expr import BOOL, ENUM, TRUE, Expr, Value
from ckrules.engine.rules import KINDS, Rule
from ckrules.engine.text import literal, to_text
from ckrules.engine.traversal import walk
from ckrules.engine.variables import Domain, domain_of


def rule_page(book: RuleBook, rule: Rule) -> str:
    """The page of a rule, with fixed headings; its examples are judged by the engine."""
    head, *rest = rule.doc.split("\n\n")
    parts = [
        f"# {rule.code}: {rule.name}",
        " ".join(head.split()),
        _facts(book, rule),
        *(_section(part) for part in rest),
        "## Condition",
        _code(to_text(rule.expr)),
        *(["Applies where", _code(to_text(rule.applies))] if rule.applies is not TRUE else []),
        *_definitions(rule),
        "## Examples",
        _examples(book, rule),
        "## Source",
        "\n".join(f"- {s}" for s in rule.sources),
        *([f"Known upstream as {rule.issue}."] if rule.issue else []),
    ]
    return "\n\n".join(parts) + "\n"


def _section(paragraph: str) -> str:
    """A paragraph that begins with ``Why:`` or ``Fix:`` under that heading."""
    word, colon, body = paragraph.partition(":")
    if colon and word in ("Why", "Fix"):
        return f"## {word}\n\n{body.strip()[:1].upper()}{body.strip()[1:]}"
    return paragraph


def _facts(book: RuleBook, rule: Rule) -> str:
    until = f", until {rule.until}" if rule.until else ""
    since = "all versions" if rule.since == "0" else f"since {rule.since}"
    rows = {
        "operator": book.name,
        "kind": f"{rule.kind}: {KINDS[rule.kind]}",
        "severity": rule.severity,
        "CK": since + until,
        "profiles": ", ".join(rule.profiles),
        "fields": ", ".join(rule.fields()),
    }
    return "\n".join(f"- {key}: {value}" for key, value in rows.items())


def _code(text: str) -> str:
    return f"    {text}"


def _definitions(rule: Rule) -> list[str]:
    named = [n for n in walk(rule.expr, rule.applies) if n.op == "named"]
    if not named:
        return []
    unique = {n.data.name: n for n in named}
    return ["where", "\n".join(f"- {definition(n)}" for n in unique.values())]


def definition(node: Expr) -> str:
    """A derived quantity with its formula and meaning, in one line."""
    unit = f" [{node.data.unit}]" if node.data.unit else ""
    meaning = f": {node.data.doc}" if node.data.doc else ""
    return f"`{node.data.name} = {to_text(node.args[0])}`{unit}{meaning}"


def _examples(book: RuleBook, rule: Rule) -> str:
    lines = []
    for word, accepted in (("accepted", True), ("rejected", False)):
        declared = rule.accepts if accepted else rule.rejects
        mine = [e for e in declared if e.get("@ck") in (None, book.vocabulary.ck)]
        points = book.examples(rule, accepted=accepted)
        for changes, point in zip(mine, points, strict=True):
            lines.append(f"- {word}: {fields_text(changes) or 'the baseline'}")
            lines += [f"  - {m}" for m in _messages(book, rule, point)]
    lines.append("")
    lines.append("Fields that an example leaves out: " + fields_text(book.vocabulary.baseline))
    return "\n".join(lines)


def _messages(book: RuleBook, rule: Rule, point: Mapping[str, Value]) -> list[str]:
    return [v.message for v in book.violations(point) if v.code == rule.code]


def fields_text(fields: Mapping[str, Value]) -> str:
    """Fields and values in one line.

    >>> fields_text({"tile_m": 96, "pad_m": False})
    'tile_m = 96, pad_m = false'
    """
    return ", ".join(f"{k} = {literal(v)}" for k, v in fields.items() if not k.startswith("@"))


def rule_dict(book: RuleBook, rule: Rule) -> dict[str, Any]:
    """A rule as JSON outputs have it."""
    module, line = rule.where
    return {
        "code": rule.code,
        "name": rule.name,
        "family": rule.family,
        "operator": book.name,
        "kind": rule.kind,
        "severity": rule.severity,
        "since": rule.since,
        "until": rule.until,
        "profiles": list(rule.profiles),
        "summary": rule.summary,
        "doc": rule.doc,
        "applies": None if rule.applies is TRUE else to_text(rule.applies),
        "condition": to_text(rule.expr),
        "fields": list(rule.fields()),
        "sources": list(rule.sources),
        "issue": rule.issue or None,
        "defined": f"{module}:{line}",
    }


def field_page(name: str, books: Iterable[tuple[RuleBook, Mapping[str, Value]]]) -> str:
    """The page of a field or derived quantity, for every operator that has it."""
    parts = [f"# {name}"]
    for book, defaults in books:
        node = book.vocabulary.names()[name]
        readers = [r for r in book.rules if _reads(r, node)]
        parts.append(f"## {book.name}")
        if node.op == "named":
            parts.append(definition(node))
        else:
            domain = domain_of(node)
            if domain.doc:
                parts.append(domain.doc[:1].upper() + domain.doc[1:] + ".")
            parts.append(_values(domain, defaults))
        if readers:
            parts.append("Rules that read it:")
            parts.append("\n".join(f"- {r.code} {r.name}: {r.summary}" for r in readers))
        else:
            parts.append("No rule reads it.")
    return "\n\n".join(parts) + "\n"


def _reads(rule: Rule, node: Expr) -> bool:
    return any(n is node for n in walk(rule.expr, rule.applies))


def _values(domain: Domain, defaults: Mapping[str, Value]) -> str:
    lines = [f"- candidates: {', '.join(literal(v) for v in domain.values)}"]
    if domain.sort not in (BOOL, ENUM) and (domain.lo, domain.hi) != _ends(domain.values):
        lines.append(f"- also accepted by check: {domain.lo} to {domain.hi}")
    if domain.name in defaults:
        lines.append(f"- default: {literal(defaults[domain.name])}")
    return "\n".join(lines)


def _ends(values: Sequence[Any]) -> tuple[Any, Any]:
    return min(values), max(values)
