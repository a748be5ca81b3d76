"""Pages about rules, fields and derived quantities, as Markdown made from the rule book."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ckrules.arch import CK_VERSIONS
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BOOL, ENUM, TRUE, Expr, Value
from ckrules.engine.expr.pretty import pretty
from ckrules.engine.expr.printer import literal, to_text
from ckrules.engine.expr.traversal import walk
from ckrules.engine.expr.variables import Domain, domain_of
from ckrules.engine.rules import KINDS, Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.rules.repairs import Repairs
from ckrules.engine.rules.violation import violation
from ckrules.kernels import evidence
from ckrules.kernels.families import declared, families
from ckrules.kernels.family import Family
from ckrules.kernels.readings import readings
from ckrules.kernels.standing import READ_ONLY, Scope, places, standing
from ckrules.output.field_docs import unit


def rule_page(book: RuleBook, rule: Rule) -> str:
    """The page of a rule, with fixed headings; its examples are judged by the engine."""
    parts = [
        f"# {rule.code}: {rule.name}",
        rule.summary,
        _facts(book, rule),
        *(_section(*part) for part in rule.sections[1:]),
        "## Condition",
        _code(rule.expr),
        *(["Applies where", _code(rule.applies)] if rule.applies is not TRUE else []),
        *_definitions(rule),
        "## Examples",
        _examples(book, rule),
        *(["## Evidence", _evidence(rule)] if book.name not in _elsewhere() else []),
        "## Source",
        "\n".join(f"- {s}" for s in rule.sources),
        *_read_again(rule),
        *([f"Known upstream as {rule.issue}."] if rule.issue else []),
    ]
    return "\n\n".join(parts) + "\n"


def _elsewhere() -> set[str]:
    """The books of families that `ckrules certify` does not ask about."""
    return {family.title for family in families().values() if not family.certified()}


def _evidence(rule: Rule) -> str:
    """How the rule stands for each family and CK release that has it, and the runs behind it."""
    found = evidence.of(rule.code)
    if not found:
        return f"{READ_ONLY.capitalize()}: neither compiler nor a run was asked about it."
    lines = ["| kernels | CK | the rule is |", "| --- | --- | --- |"]
    for family, ck, condition in _holding(rule.code):
        own = standing(rule.code, condition, Scope(family, ck))
        where = f": {places(own.tallies)}" if own.tallies else ""
        lines.append(f"| {family} | {ck} | {own.word}{where} |")
    lines += ["", "| checked against | kernels | GPU | CK | confirmed | of these alone | refuted |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    ordered = sorted(found.items(), key=lambda item: (item[0].method, item[0]))
    for g, t in ordered:
        lines.append(
            f"| {g.method} | {g.family} | {g.arch} | {g.ck} "
            f"| {t.confirmed} | {t.alone} | {t.refuted} |"
        )
    return "\n".join(lines)


def _read_again(rule: Rule) -> list[str]:
    found = readings().get(rule.code, ())
    return ["Read again:", "\n".join(f"- {each}" for each in found)] if found else []


def _holding(code: str) -> Iterator[tuple[str, str, str]]:
    """The families and CK releases that have a rule, with the fingerprint of its condition."""
    for family in families().values():
        if code in _codes(family):
            for ck in CK_VERSIONS:
                condition = evidence.conditions(family.name, ck).get(code)
                if condition is not None:
                    yield family.name, ck, condition


@lru_cache(maxsize=64)
def _codes(family: Family) -> frozenset[str]:
    return frozenset(d.code for d in declared(family))


def _section(heading: str, text: str) -> str:
    return f"## {heading}\n\n{text[:1].upper()}{text[1:]}" if heading else text


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


def _code(node: Expr, head: str = "") -> str:
    """An expression as a block of code; what is long has several lines."""
    first, *rest = pretty(node)
    if head and rest:
        return "\n".join([f"    {head}", *(f"        {line}" for line in (first, *rest))])
    return "\n".join(f"    {line}" for line in (f"{head} {first}".strip(), *rest))


def _definitions(rule: Rule) -> list[str]:
    named = [n for n in walk(rule.expr, rule.applies) if n.op == "named"]
    if not named:
        return []
    unique = {n.data.name: n for n in named}
    return ["where", *(definition(n) for n in unique.values())]


def definition(node: Expr) -> str:
    """A derived quantity: its meaning and unit, and its formula over as many lines as it needs."""
    unit = f" [{node.data.unit}]" if node.data.unit else ""
    meaning = node.data.doc[:1].upper() + node.data.doc[1:].removesuffix(".")
    said = f": {meaning}{unit}." if meaning else f"{unit}:"
    return f"`{node.data.name}`{said}\n\n{_code(node.args[0], f'{node.data.name} =')}"


def _examples(book: RuleBook, rule: Rule) -> str:
    lines = []
    for word, accepted in (("accepted", True), ("rejected", False)):
        for example in book.declared(rule, accepted=accepted):
            lines.append(f"- {word}: {fields_text(example.fields) or 'the baseline'}")
            point = book.example(example.fields)
            lines += [] if accepted else _told(book, rule, point)
    lines.append("")
    lines.append("Fields that an example leaves out: " + fields_text(book.vocabulary.baseline))
    return "\n".join(lines)


def _told(book: RuleBook, rule: Rule, point: Mapping[str, Value]) -> list[str]:
    """What `ckrules check` says about a rejected example, and the repair that it proposes."""
    found = violation(rule, At(point), point)
    lines = [] if found is None else [f"  - {found.message}"]
    repairs = _repairs(book)
    repair = repairs.nearest(point, rule, repairs.broken(point))
    return lines + ([f"  - {repair.applicability} fix: {repair}"] if repair else [])


@lru_cache(maxsize=16)
def _repairs(book: RuleBook) -> Repairs:
    """Those of a book: they compile its rules."""
    return Repairs(book)


def fields_text(fields: Mapping[str, Value]) -> str:
    """Fields and values in one line.

    >>> fields_text({"tile_m": 96, "pad_m": False})
    'tile_m = 96, pad_m = false'
    """
    return ", ".join(f"{k} = {literal(v)}" for k, v in fields.items())


def rule_dict(book: RuleBook, rule: Rule) -> dict[str, Any]:
    """A rule as JSON outputs have it."""
    module, line = rule.where
    return {
        "code": rule.code,
        "name": rule.name,
        "topic": rule.topic,
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
        readers = _readers(book).get(node.id, [])
        parts.append(f"## {book.name}")
        if node.op == "named":
            parts.append(definition(node))
        else:
            domain = domain_of(node)
            if domain.doc:
                parts.append(domain.doc[:1].upper() + domain.doc[1:] + ".")
            counted = unit(domain.sort, domain.doc)
            parts.append((f"- unit: {counted}\n" if counted else "") + _values(domain, defaults))
        if readers:
            parts.append("Rules that read it:")
            parts.append("\n".join(f"- {r.code} {r.name}: {r.summary}" for r in readers))
        else:
            parts.append("No rule reads it.")
    return "\n\n".join(parts) + "\n"


def value_page(value: str, books: Iterable[RuleBook], others: Sequence[str]) -> str:
    """The page of a word that fields take: which fields, other words for it, rules that name it."""
    parts = [f"# {value}"]
    if others:
        parts.append(f"Also written {', '.join(dict.fromkeys(others))}.")
    for book in books:
        for name, node in book.fields.items():
            domain = domain_of(node)
            if domain.sort != ENUM or value not in domain.values:
                continue
            parts += [f"## {book.name}", f"A value of `{name}`: {domain.doc}."]
            found = [r for r in book.rules if _names(r, node, value)]
            lines = [f"- {r.code} {r.name}: {r.summary}" for r in found]
            parts += ["Rules that name it:", "\n".join(lines)] if lines else ["No rule names it."]
    return "\n\n".join(parts) + "\n"


def _names(rule: Rule, field: Expr, value: str) -> bool:
    """Whether a rule treats the value of a field otherwise than others."""
    for node in walk(rule.expr, rule.applies):
        if node.op in ("eq", "ne") and node.args[0] is field:
            if node.args[1].op == "const" and node.args[1].data == value:
                return True
        elif node.op == "isin" and node.args[0] is field:
            if value in node.data:
                return True
        elif node.op in ("rel", "lookup") and any(a is field for a in node.args):
            place = next(i for i, a in enumerate(node.args) if a is field)
            told = [{k[:place] + k[place + 1 :] for k in node.data.rows if k[place] == v}
                    for v in domain_of(field).values]  # fmt: skip
            own = told[domain_of(field).values.index(value)]
            if any(other != own for other in told):
                return True
    return False


@lru_cache(maxsize=64)
def _readers(book: RuleBook) -> Mapping[int, list[Rule]]:
    """The rules that read each field and quantity, by the node's id."""
    found: dict[int, list[Rule]] = {}
    for rule in book.rules:
        for node in walk(rule.expr, rule.applies):
            found.setdefault(node.id, []).append(rule)
    return found


def _values(domain: Domain, defaults: Mapping[str, Value]) -> str:
    lines = [f"- candidates: {', '.join(literal(v) for v in domain.values)}"]
    if domain.sort not in (BOOL, ENUM) and (domain.lo, domain.hi) != _ends(domain.values):
        lines.append(f"- also accepted by check: {domain.lo} to {domain.hi}")
    if domain.name in defaults:
        lines.append(f"- default: {literal(defaults[domain.name])}")
    return "\n".join(lines)


def _ends(values: Sequence[Any]) -> tuple[Any, Any]:
    return min(values), max(values)
