"""Rule books: fields, derived quantities and rules of one operator, checked when they are built."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from operator import not_
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ckrules.engine.codec import completed, judged
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.evaluate.pointwise import At, MissingFieldError
from ckrules.engine.expr import BoolExpr, Expr, Value, named
from ckrules.engine.expr.variables import COSTS, domain_of
from ckrules.engine.rules.rule import Example, Examples, Rule, RuleDef, version_key
from ckrules.engine.rules.violation import Violation, violation
from ckrules.support.errors import CkrulesError, RuleBookError, unknown
from ckrules.support.plain_values import mapping, several

if TYPE_CHECKING:
    from ckrules.engine.expr.relation import Table
    from ckrules.engine.rules.alike import Alike
    from ckrules.engine.space import Space

N = TypeVar("N", bound=Expr)

_FEW = 8  # points that are judged without compiling the rules first


class quantity(Generic[N]):  # noqa: N801 - used as a decorator, like property
    """Makes a method of a vocabulary a named derived quantity, built once.

    The method's docstring is the quantity's one-line meaning; messages and outputs show the name.
    """

    def __init__(self, function: Callable[[Any], N], unit: str = "") -> None:
        self.function, self.unit = function, unit
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> quantity[N]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> N: ...
    def __get__(self, instance: object | None, owner: type) -> quantity[N] | N:
        if instance is None:
            return self
        doc = (self.__doc__ or "").split("\n")[0]
        node: N = named(self.name, self._made(instance), unit=self.unit, doc=doc)
        instance.__dict__[self.name] = node
        return node

    def _made(self, instance: object) -> N:
        """What the method returns; an `AttributeError` would look like a field that is unknown."""
        try:
            found = self.function(instance)
        except AttributeError as error:
            raise RuleBookError(f"quantity {self.name}: {error}") from error
        except RecursionError:
            text = f"quantity {self.name} is derived from itself, or nested too deeply"
            raise RuleBookError(text) from None
        if not isinstance(found, Expr):
            text = f"quantity {self.name}: the method must return an expression, not {found!r}"
            raise RuleBookError(text)
        return found


def quantity_in(unit: str) -> Callable[[Callable[[Any], N]], quantity[N]]:
    """`quantity` with a unit: ``@quantity_in("bytes")``."""
    return lambda function: quantity(function, unit)


class Vocabulary:
    """The fields and derived quantities that rules read, as attributes.

    Args:
        variables: The fields, in the order in which points show them.
        facts: Tables that rules and quantities look up, by name.
        ck: The version that the rules are for.

    >>> from ckrules.engine.expr.variables import Int
    >>> class Gemm(Vocabulary):
    ...     @quantity
    ...     def waves(self):
    ...         "Waves of a block."
    ...         return self.wave_m * self.wave_n
    >>> c = Gemm([Int("wave_m", [1, 2]), Int("wave_n", [1, 2])])
    >>> c.waves <= 4
    waves <= 4
    """

    #: A full point on which the examples of rules are built.
    baseline: Mapping[str, Value] = {}
    #: An order of the fields in which the space compiles well (see `Space`).
    order: Sequence[str] = ()
    #: What changing a field costs in a repair, by the field's name or group.
    costs: Mapping[str, int] = {}
    #: The version that the rules are for; an example for another is left out.
    ck: str = ""
    #: Values of fields that make no difference.
    alike: Sequence[Alike] = ()

    def __init__(
        self, variables: Iterable[Expr], facts: Mapping[str, Table] | None = None, ck: str = ""
    ) -> None:
        self.facts: Mapping[str, Table] = {} if facts is None else facts
        if ck:
            self.ck = ck
        self.variables: dict[str, Expr] = {}
        for node in several("variables", variables):
            name = domain_of(node).name
            if name in self.variables:
                raise RuleBookError(f"field {name} is declared twice")
            self.variables[name] = node
            if not self._hidden(name):
                setattr(self, name, node)
        if self.quantity_names():
            self.refuse_hidden()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise unknown("field", name, [*self.__dict__.get("variables", {}), *self.quantity_names()])

    def refuse_hidden(self) -> None:
        """Refuse fields that are called like something else of a vocabulary, such as ``order``.

        Rules and quantities read fields as attributes and would not get them; nodes do.

        Raises:
            RuleBookError: Names the first of them.
        """
        for name in self.variables:
            if self._hidden(name):
                text = f"field {name} is called like another part of {type(self).__name__}"
                raise RuleBookError(f"{text}: declared rules could not read it")

    def _hidden(self, name: str) -> bool:
        return name in ("variables", "facts") or hasattr(type(self), name)

    def since(self, version: str) -> bool:
        """True if the rules are for this version or a newer one."""
        return version_key(self.ck) >= version_key(version)

    def cost(self, name: str) -> int:
        """What changing a field costs in a repair: its own, its group's or its role's cost.

        >>> from ckrules.constraints import book
        >>> words = book("forward").vocabulary
        >>> words.cost("double_smem_buffer"), words.cost("pipeline") > words.cost("wave_m")
        (1, True)
        """
        domain = domain_of(self.variables[name])
        costs = self.costs
        return costs.get(name) or costs.get(domain.group) or COSTS[domain.role]

    @classmethod
    def quantity_names(cls) -> list[str]:
        """The derived quantities' names, base classes first."""
        found = [
            k
            for base in reversed(cls.__mro__)
            for k, v in vars(base).items()
            if isinstance(v, quantity)
        ]
        return list(dict.fromkeys(found))

    @property
    def quantities(self) -> dict[str, Expr]:
        """Every derived quantity by name."""
        return {name: getattr(self, name) for name in self.quantity_names()}

    def names(self) -> dict[str, Expr]:
        """Fields and derived quantities by name: what ``--where`` may use."""
        return {**self.variables, **self.quantities}


class RuleBook:
    """The rules of one operator over one vocabulary.

    Args:
        name: The operator.
        vocabulary: Its fields and derived quantities.
        rules: Built rules or declared ones (`RuleDef`).
        check: Whether the examples of the rules are tried.
        sentences: Whether what the rules say is read, too, and not only when one is broken.

    Raises:
        RuleBookError: For a code or name used twice, an example that a rule does not decide as
            declared, a sentence that cannot be said, a field name that does not exist, or one
            that declared rules cannot read.
    """

    def __init__(
        self,
        name: str,
        vocabulary: Vocabulary,
        rules: Iterable[Rule | RuleDef],
        *,
        check: bool = True,
        sentences: bool = True,
    ) -> None:
        self.name = name
        self.vocabulary = vocabulary
        self._judged = 0
        if not isinstance(vocabulary, Vocabulary):
            raise RuleBookError(f"{vocabulary!r} is not a vocabulary, made from fields")
        rules = _rules(rules)
        if any(isinstance(r, RuleDef) for r in rules):
            vocabulary.refuse_hidden()
        built = [r.build(vocabulary) if isinstance(r, RuleDef) else r for r in rules]
        self.rules: tuple[Rule, ...] = tuple(sorted(built, key=lambda r: r.code))
        self._check_unique()
        for r in self.rules if check else ():
            self.check_examples(r)
            if sentences and r.sentences is not None:
                r.sentences.check(r.message_fields())

    def __repr__(self) -> str:
        return f"RuleBook({self.name!r}: {len(self.fields)} fields, {len(self.rules)} rules)"

    @property
    def fields(self) -> dict[str, Expr]:
        """The variables by name."""
        return self.vocabulary.variables

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __getitem__(self, code: str) -> Rule:
        for r in self.rules:
            if code in (r.code, r.name):
                return r
        raise unknown("rule", code, [r.code for r in self.rules])

    def select(self, keep: Callable[[Rule], bool]) -> RuleBook:
        """The book with only the rules that ``keep`` answers true for."""
        return RuleBook(self.name, self.vocabulary, [r for r in self.rules if keep(r)], check=False)

    def space(self, **bindings: Any) -> Space:
        """The space of the points that meet every rule, with some fields bound."""
        return self.space_of(self.rules, bindings)

    def space_of(self, rules: Iterable[Rule | BoolExpr], fixed: Mapping[str, Any]) -> Space:
        """The space of the book's fields under some rules or conditions, with some fields bound."""
        from ckrules.engine.space import Space

        return Space(
            self.fields.values(),
            rules,
            names=self.vocabulary.names(),
            fixed=fixed,
            order=self.vocabulary.order,
        )

    def point(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """``given`` checked field by field, in the order of the fields.

        Raises:
            UnknownNameError: For a field or word that does not exist, with near matches.
            UsageError: For a missing field or a value of the wrong sort or out of range.
        """
        given = completed(given, self.fields)
        return {k: domain_of(v).accept(given[k]) for k, v in self.fields.items()}

    def violations(self, point: Mapping[str, Value]) -> list[Violation]:
        """Every rule that the point breaks, in the order of the codes.

        Raises:
            UnknownNameError: For a field that does not exist, with near matches.
            UsageError: For fields that are missing, and values of another sort.
        """
        return self.broken(judged(point, self.fields))

    def broken(self, point: Mapping[str, Value]) -> list[Violation]:
        """The same of a point of which all fields are known to be there."""
        at = At(point)
        return [v for r in self._doubted(point) if (v := violation(r, at, point))]

    def _doubted(self, point: Mapping[str, Value]) -> Iterable[Rule]:
        """The rules that the point may break; of a compiled book those that it does."""
        verdicts = self.verdicts
        self._judged += 1
        return self.rules if verdicts is None else compress(self.rules, map(not_, verdicts(point)))

    @property
    def verdicts(self) -> Callable[[Mapping[str, Value]], tuple[bool, ...]] | None:
        """A function from a point to the truth of every rule, or None while few points were judged.

        It answers as fast as rules can be evaluated, but making it takes as long as judging ten
        points without it.
        """
        if self._judged < _FEW:
            return None
        return compile_function([r.condition for r in self.rules])

    def resources(self, point: Mapping[str, Value], names: Sequence[str] = ()) -> dict[str, Any]:
        """The values of derived quantities at a point (None where one is undefined).

        Raises:
            UnknownNameError: For a field or quantity that does not exist, with near matches.
            UsageError: For fields that are missing, and values of another sort.
        """
        at = At(judged(point, self.fields))
        quantities, names = self.vocabulary.quantities, several("names", names)
        for n in names:
            if n not in quantities:
                raise unknown("quantity", n, quantities)
        return {n: at.value(quantities[n]) for n in names or quantities}

    def example(self, overrides: Mapping[str, Value]) -> dict[str, Value]:
        """The baseline point with some fields changed."""
        for key in mapping("the fields of an example", overrides):
            if key not in self.fields:
                raise unknown("field", key, self.fields)
        return {**self.vocabulary.baseline, **overrides}

    def declared(self, r: Rule, *, accepted: bool) -> list[Example]:
        """What the rule declares as accepted or rejected for this version.

        That is what it declares for every version, and for the newest that is not newer.
        """
        own = self.vocabulary.ck  # empty in books that know no versions
        named = {e.ck for e in (*r.accepts, *r.rejects) if e.ck is not None and own}
        older = [ck for ck in named if version_key(ck) <= version_key(own)]
        last = max(older, key=version_key, default=None)
        examples = r.accepts if accepted else r.rejects
        return [e for e in examples if e.ck in (None, last)]

    def examples(self, r: Rule, *, accepted: bool) -> list[dict[str, Value]]:
        """The full points that the rule declares as accepted or rejected, for this version."""
        return [self.example(e.fields) for e in self.declared(r, accepted=accepted)]

    def check_examples(self, r: Rule) -> None:
        """Evaluates a rule's examples; each must be decided as declared, with the guard true.

        Raises:
            RuleBookError: If one is not.
        """
        for verdict, said in ((True, "accepted"), (False, "rejected")):
            try:
                points = self.examples(r, accepted=verdict)
                for name, value in ((n, v) for p in points for n, v in p.items()):
                    if name not in self.fields:  # those of the example itself are known
                        raise unknown("field of the baseline", name, self.fields)
                    domain_of(self.fields[name]).accept(value)
                decided = [(at.holds(r.applies), at.holds(r.expr)) for at in map(At, points)]
            except MissingFieldError as error:
                raise RuleBookError(
                    f"rule {r.code}: {said} example: lacks the field {error.args[0]}"
                ) from None
            except CkrulesError as error:
                raise RuleBookError(f"rule {r.code}: {said} example: {error}") from None
            if not points and not r.inherited:
                version = f" for {self.vocabulary.ck}" * bool(self.vocabulary.ck)
                raise RuleBookError(f"rule {r.code}: no {said} example{version}")
            for n, (guard, holds) in enumerate(decided, 1):
                if not guard:
                    raise RuleBookError(f"rule {r.code}: does not apply to {said} example {n}")
                if holds is not verdict:
                    raise RuleBookError(f"rule {r.code}: example {n} is not {said}")

    def _check_unique(self) -> None:
        for what in ("code", "name"):
            seen: dict[str, Rule] = {}
            for r in self.rules:
                word = getattr(r, what)
                if word in seen:
                    raise RuleBookError(f"duplicate rule {what} {word!r}")
                seen[word] = r


def _rules(given: Any) -> list[Rule | RuleDef]:
    if isinstance(given, (Rule, RuleDef)) or not isinstance(given, Iterable):
        raise RuleBookError(f"{given!r} is not a list of rules")
    rules = list(given)
    for each in rules:
        if not isinstance(each, (Rule, RuleDef)):
            text = "the rules of a book have codes and names, as `rule` declares them"
            raise RuleBookError(f"`{each!r}` is not a rule: {text}")
    return rules


def collect(
    *packages: ModuleType, examples: Mapping[str, Examples] = MappingProxyType({})
) -> list[RuleDef]:
    """Every rule declared in the modules of the packages; a new module is found by itself.

    Args:
        packages: Those that are inherited first.
        examples: More examples by code.

    Raises:
        RuleBookError: For examples of a rule that the packages do not declare.
    """
    found: list[RuleDef] = []
    for package in packages:
        for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            found.extend(v for v in vars(module).values() if isinstance(v, RuleDef))
    for code in examples.keys() - {r.code for r in found}:
        raise RuleBookError(f"examples of rule {code}, which is not declared")
    return [r.with_examples(examples[r.code]) if r.code in examples else r for r in found]
