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
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from ckrules.engine.expr import TRUE, BoolExpr, Expr, Value, all_of, implies
from ckrules.engine.expr.traversal import walk
from ckrules.engine.rules.message_templates import Sentences
from ckrules.support.errors import CkrulesError, RuleBookError, unknown


class Kind(StrEnum):
    """What breaks where a rule is violated; `KINDS` says it in words."""

    COMPILE = "compile"
    LAUNCH = "launch"
    WRONG_RESULT = "wrong-result"
    HARDWARE = "hardware"
    PERFORMANCE = "performance"
    NO_EFFECT = "no-effect"
    PROFILE = "profile"


class Severity(StrEnum):
    """Whether a violated rule makes a point illegal."""

    ERROR = "error"
    WARNING = "warning"


KINDS: Mapping[str, str] = {
    Kind.COMPILE.value: "the C++ does not compile",
    Kind.LAUNCH.value: "it compiles and cannot be launched",
    Kind.WRONG_RESULT.value: "it compiles, runs and computes wrong numbers",
    Kind.HARDWARE.value: "the GPU lacks the instruction or the resource",
    Kind.PERFORMANCE.value: "it computes right and wastes the GPU",
    Kind.NO_EFFECT.value: "a field changes nothing: another configuration is the same kernel",
    Kind.PROFILE.value: "a tool refuses it although the C++ may accept it",
}
#: The last paragraph of a rule of that kind that has none.
_NOTHING_TO_DO = "Fix: none; another generator or receipt has to make the kernel."
_CODE = re.compile(r"[A-Z]{2,5}\d{3}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


def version_key(version: str) -> tuple[int, ...]:
    """A version such as ``2025.11`` in a form that orders.

    >>> version_key("2025.8") < version_key("2025.11")
    True
    """
    try:
        return tuple(int(p) for p in version.split("."))
    except (AttributeError, ValueError):
        raise RuleBookError(f"version {version!r} is not of the form 2025.11") from None


@dataclass(frozen=True, slots=True)
class Example:
    """A point that a rule accepts or rejects, as far as it differs from the baseline.

    >>> Example.of({"tile_m": 96, "@ck": "2025.11"})
    Example(fields={'tile_m': 96}, ck='2025.11')
    """

    fields: Mapping[str, Value]
    ck: str | None = None
    """The version that it is an example for, and those after it up to the next that an example of
    the rule names; None: every version."""

    @classmethod
    def of(cls, declared: Mapping[str, Value]) -> Example:
        """The example of a declaration, in which ``"@ck"`` names the version."""
        ck = declared.get("@ck")
        fields = {k: v for k, v in declared.items() if k != "@ck"}
        return cls(fields, None if ck is None else str(ck))


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule over the fields of a space: where its guard holds, its condition must be true."""

    code: str
    name: str
    kind: Kind
    expr: BoolExpr = field(repr=False)
    applies: BoolExpr = field(default=TRUE, repr=False)
    message_guard: BoolExpr | None = field(default=None, repr=False)
    """The guard without rare exceptions, whose fields messages name; None if it has none."""
    since: str = "0"
    until: str | None = None
    severity: Severity = Severity.ERROR
    profiles: tuple[str, ...] = ("legal",)
    sources: tuple[str, ...] = field(default=(), repr=False)
    issue: str = field(default="", repr=False)
    doc: str = field(default="", repr=False)
    accepts: tuple[Example, ...] = field(default=(), repr=False)
    rejects: tuple[Example, ...] = field(default=(), repr=False)
    inherited: bool = field(default=False, repr=False)
    """Whether another family declares it: its examples are not points of this one."""
    where: tuple[str, int] = field(default=("", 0), repr=False)
    sentences: Sentences | None = field(default=None, repr=False, compare=False)
    """What it says about a point that breaks it; None: what its documentation and condition say."""
    condition: BoolExpr = field(init=False, repr=False, compare=False)
    """Guard implies expression: what a point must meet."""

    sections: tuple[tuple[str, str], ...] = field(init=False, repr=False, compare=False)
    """The documentation by paragraph, with ``Why`` or ``Fix`` where it begins with that."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "kind", Kind(self.kind))
        put(self, "severity", Severity(self.severity))
        whole = self.expr if self.applies is TRUE else implies(self.applies, self.expr)
        put(self, "condition", whole)
        put(self, "sections", tuple(map(_section, self.doc.split("\n\n"))))

    @property
    def topic(self) -> str:
        """The letters of the code, which name the topic."""
        return self.code.rstrip("0123456789")

    @property
    def summary(self) -> str:
        """The first sentence of the documentation: the fact that legal points meet."""
        return " ".join(self.sections[0][1].split())

    @property
    def why(self) -> str:
        """The reason, as the documentation gives it."""
        return dict(reversed(self.sections)).get("Why", "")

    @property
    def fix(self) -> str:
        """What to do about a violation, as the documentation says it."""
        return dict(reversed(self.sections)).get("Fix", "")

    @property
    def description(self) -> str:
        """The documentation up to what it says about fixing a violation."""
        return self.doc.split("\n\nFix:")[0]

    def valid_for(self, version: str) -> bool:
        """True if the rule holds for this version (``since`` counts, ``until`` does not)."""
        key = version_key(version)
        if key < version_key(self.since):
            return False
        return self.until is None or key < version_key(self.until)

    def fields(self) -> tuple[str, ...]:
        """The fields of the expression, then those that only the guard reads."""
        return _variables(self.expr, self.applies)

    def message_fields(self) -> tuple[str, ...]:
        """The fields that messages name: those of rare exceptions are not among them."""
        guard = self.applies if self.message_guard is None else self.message_guard
        return _variables(self.expr, guard)


@dataclass(frozen=True, slots=True)
class Examples:
    """Examples that a book adds to a rule declared for several vocabularies."""

    accepts: Sequence[Mapping[str, Value]] = ()
    rejects: Sequence[Mapping[str, Value]] = ()
    instead: bool = False
    """Whether they replace the declared ones, which may name fields that the book lacks."""


@dataclass(frozen=True, slots=True)
class RuleDef:
    """A declared rule that still needs a vocabulary to become an expression.

    ``template`` is the rule without its expressions, ``says`` its sentences (`Sentences`).
    """

    template: Rule
    make: Callable[[Any], BoolExpr]
    applies: Callable[[Any], BoolExpr] | None = None
    unless: Callable[[Any], BoolExpr] | None = None
    says: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """The rule's code."""
        return self.template.code

    def with_examples(self, more: Examples) -> RuleDef:
        """The same rule with more examples, or with others."""
        accepts, rejects = (tuple(map(Example.of, e)) for e in (more.accepts, more.rejects))
        if not more.instead:
            accepts = self.template.accepts + accepts
            rejects = self.template.rejects + rejects
        return replace(self, template=replace(self.template, accepts=accepts, rejects=rejects))

    def inherited(self) -> RuleDef:
        """The same rule in another family, without examples, which may not be points of it."""
        return replace(
            self, template=replace(self.template, inherited=True, accepts=(), rejects=())
        )

    def under(
        self,
        code: str,
        name: str,
        *,
        accepts: Sequence[Mapping[str, Value]],
        rejects: Sequence[Mapping[str, Value]],
        source: str | Sequence[str] = (),
        applies: Callable[[Any], BoolExpr] | None = None,
        fact: str = "",
        why: str = "",
        fix: str = "",
    ) -> RuleDef:
        """The same rule under a code and a name of its own, in another family.

        Kind, versions, profiles, sentences and condition stay.

        Args:
            code, name, accepts, rejects: As of `rule`.
            source, applies: The same, where they are not those of this rule.
            fact, why, fix: Paragraphs of its documentation that differ.

        Raises:
            RuleBookError: For a malformed code or name.
        """
        known, caller = self.template, sys._getframe(1)
        sources = (source,) if isinstance(source, str) else tuple(source) or known.sources
        _check_words(code, name, known.kind, known.severity, sources)
        own = {"": fact, "Why": why and f"Why: {why}", "Fix": fix and f"Fix: {fix}"}
        paragraphs = zip(known.sections, known.doc.split("\n\n"), strict=True)
        template = replace(
            known, code=code, name=name, sources=sources,
            doc="\n\n".join(own.pop(word, "") or text for (word, _), text in paragraphs),
            accepts=tuple(map(Example.of, accepts)), rejects=tuple(map(Example.of, rejects)),
            where=(caller.f_globals["__name__"], caller.f_lineno),
        )  # fmt: skip
        return replace(self, template=template, applies=applies or self.applies)

    def before(self, version: str) -> RuleDef:
        """The same rule for versions before one, where a family that inherits it meets it since."""
        return replace(self, template=replace(self.template, until=version))

    def starting(self, version: str) -> RuleDef:
        """The same rule from a version on, where a family that inherits it meets it since."""
        return replace(self, template=replace(self.template, since=version))

    def except_where(self, other: Callable[[Any], BoolExpr]) -> RuleDef:
        """The same rule, which says nothing where a family that inherits it has its own."""
        known = self.unless

        def either(vocabulary: Any) -> BoolExpr:
            more = other(vocabulary)
            return more if known is None else known(vocabulary) | more

        return replace(self, unless=either)

    def build(self, vocabulary: Any) -> Rule:
        """The rule over this vocabulary's fields.

        Raises:
            RuleBookError: If the function does not give a condition, or is at fault.
        """
        built = []
        for function in (self.make, self.applies, self.unless):
            try:
                node = TRUE if function is None else function(vocabulary)
            except CkrulesError as error:
                raise RuleBookError(f"rule {self.code}: {error}") from error
            if not isinstance(node, BoolExpr):
                raise RuleBookError(
                    f"rule {self.code}: the function must return a condition, not {node!r}"
                )
            built.append(node)
        expr, guard, rare = built
        sentences = None
        if self.says:
            sentences = Sentences(self.code, self.says, vocabulary, (expr, guard))
        made = replace(self.template, expr=expr, applies=guard, sentences=sentences)
        if self.unless is None:
            return made
        return replace(made, applies=all_of(guard, ~rare), message_guard=guard)


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
    says: str | Sequence[str] = (),
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
        kind: What breaks (a `Kind`). A rule of kind ``profile`` may leave out the paragraph Fix.
        source: Where the fact comes from: file and symbol, or a manual.
        accepts, rejects: Fields of example points that the rule applies to and accepts or
            rejects; what they leave out is taken from the vocabulary's baseline. An example with
            ``"@ck"`` is one for that version, and for newer ones up to the next that an example
            of the rule names. A book wants one of each, which the book of a
            rule for several vocabularies may add (`Examples`), but of `RuleDef.inherited` rules.
        applies: The guard, a function like the rule itself; without it the rule always applies.
        unless: Rare exceptions to it, whose fields no message names.
        says: What to say about a point that breaks the rule, with places for its numbers
            (`ckrules.engine.rules.message_templates`): one sentence, or one for each condition
            that the rule joins with and. Without it the docstring's first sentence and the numbers
            are said.
        since, until: Versions for which the rule holds, ``until`` excluded.
        severity: ``error`` or ``warning``.
        profiles: The rule sets that contain it.
        issue: Where upstream knows of it.

    Raises:
        RuleBookError: For a malformed code, name, kind or version, or a missing docstring or
            source.
    """
    sources = _texts(code, "source", source)
    _check_words(code, name, kind, severity, sources)
    kept = _texts(code, "profiles", profiles)
    texts = tuple(text for text in _texts(code, "says", says) if text or says != "")
    accepted, rejected = (_examples(code, said, given) for said, given in (
        ("accepts", accepts), ("rejects", rejects),
    ))  # fmt: skip
    for part, given in (("applies", applies), ("unless", unless)):
        if given is not None and not callable(given):
            raise RuleBookError(f"rule {code}: {part} = {given!r} is not a function of the fields")
    for version in (since, *([] if until is None else [until])):
        version_key(version)
    if until is not None and version_key(since) >= version_key(until):
        raise RuleBookError(f"rule {code}: holds for no version from {since} until {until}")

    def declare(function: Callable[[Any], BoolExpr]) -> RuleDef:
        if not inspect.isroutine(function) or not hasattr(function, "__code__"):
            raise RuleBookError(f"rule {code}: `{function!r}` is not a function of the fields")
        doc = inspect.getdoc(function) or ""
        if not doc.split("\n")[0].endswith("."):
            raise RuleBookError(
                f"rule {code}: the docstring must begin with a sentence that states the fact"
            )
        if kind == Kind.PROFILE and "\n\nFix:" not in doc:
            doc = f"{doc}\n\n{_NOTHING_TO_DO}"
        template = Rule(
            code, name, Kind(kind), TRUE, since=since, until=until, severity=Severity(severity),
            profiles=kept, sources=sources, issue=issue, doc=doc,
            accepts=accepted, rejects=rejected,
            where=(function.__module__, function.__code__.co_firstlineno),
        )  # fmt: skip
        return RuleDef(template, function, applies, unless, texts)

    return declare


def _texts(code: str, part: str, given: Any) -> tuple[str, ...]:
    listed = (given,) if isinstance(given, str) else given
    try:
        texts = tuple(listed)
    except TypeError:
        texts = (listed,)
    for text in texts:
        if not isinstance(text, str):
            raise RuleBookError(f"rule {code}: {part} = {text!r} is not a string")
    return texts


def _examples(code: str, part: str, given: Any) -> tuple[Example, ...]:
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise RuleBookError(f"rule {code}: {part} = {given!r}: expected a list of examples")
    examples = tuple(given)
    for example in examples:
        if not isinstance(example, Mapping):
            raise RuleBookError(f"rule {code}: {part}: {example!r} is not a mapping of fields")
    return tuple(map(Example.of, examples))


def _check_words(code: str, name: str, kind: str, severity: str, sources: tuple[str, ...]) -> None:
    for part, word in (("code", code), ("name", name), ("kind", kind), ("severity", severity)):
        if not isinstance(word, str):
            raise RuleBookError(f"rule {code}: {part} = {word!r} is not a string")
    if not _CODE.fullmatch(code):
        raise RuleBookError(
            f"rule code {code!r} is not two to five capital letters and three digits, as in TILE001"
        )
    if not _NAME.fullmatch(name):
        raise RuleBookError(f"rule {code}: the name {name!r} is not words joined by dashes")
    if kind not in KINDS:
        raise unknown(f"kind of rule {code}", kind, KINDS)
    severities = [s.value for s in Severity]
    if severity not in severities:
        raise unknown(f"severity of rule {code}", severity, severities)
    if not sources or not all(s.strip() for s in sources):
        raise RuleBookError(f"rule {code}: needs a source")


def _section(paragraph: str) -> tuple[str, str]:
    word, colon, body = paragraph.partition(":")
    return (word, body.strip()) if colon and word in ("Why", "Fix") else ("", paragraph)


def _variables(*roots: Expr) -> tuple[str, ...]:
    """The names of the variables below some expressions, remembered with the first of them."""
    notes, key = roots[0].notes, f"variables {[r.id for r in roots[1:]]}"
    if key not in notes:
        notes[key] = tuple(dict.fromkeys(n.data.name for n in walk(*roots) if n.op == "var"))
    variables: tuple[str, ...] = notes[key]
    return variables
