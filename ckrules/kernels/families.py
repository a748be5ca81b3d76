"""The families that there are: folders of `ckrules.constraints`, and plug-ins.

A plug-in is an entry point of the group ``ckrules.families`` that names a `Family` object or class.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast

from ckrules.arch import Gpu, TargetGpu, known
from ckrules.engine.rules.book import Vocabulary
from ckrules.engine.rules.rule import RuleDef
from ckrules.kernels.family import Family
from ckrules.kernels.parts import Problems
from ckrules.support.errors import CkrulesError, RuleBookError, UsageError, raised, unknown
from ckrules.support.plugged import made
from ckrules.support.submodules import package_with

GROUP = "ckrules.families"
"""The entry-point group of plug-ins."""
_HOME = "ckrules.constraints"


@cache
def families() -> Mapping[str, Family]:
    """Every family by name, in the order of their ranks.

    Raises:
        RuleBookError: If two families share a name or a variant, or a plug-in is not a family.

    >>> list(families())[:2]
    ['conv', 'depthwise']
    """
    out: dict[str, Family] = {}
    owner: dict[str, str] = {}
    for place, family in [*(("", f) for f in _own()), *_plugins()]:
        said = f"{place}: the family {family.name}"
        if family.name in out:
            raise RuleBookError(f"{said} is called as another one")
        out[family.name] = family
        for variant in family.variants:
            if variant in owner:
                raise RuleBookError(f"{said} has the variant {variant!r} of {owner[variant]}")
            owner[variant] = family.name
    return {f.name: f for f in sorted(out.values(), key=lambda f: (f.rank, f.name))}


def _own() -> list[Family]:
    home = importlib.import_module(_HOME)
    # By the files: importing the other sub-packages to look into them would cost every start.
    found = sorted(f.parent.name for p in home.__path__ for f in Path(p).glob("*/family.py"))
    return [importlib.import_module(f"{_HOME}.{name}.family").FAMILY for name in found]


def _plugins() -> list[tuple[str, Family]]:
    """The families of plug-ins, each with what to call the plug-in."""
    if not _mentioned():
        return []
    from importlib.metadata import entry_points

    out = []
    for entry in entry_points(group=GROUP):
        place = f"the plug-in {entry.value} ({GROUP})"
        try:
            found = made(entry)
        except (Exception, SystemExit) as error:  # whatever the plug-in's own code raises
            raise UsageError(f"{place} cannot be loaded: {raised(error)}") from error
        if not isinstance(found, Family):
            raise RuleBookError(f"{place} is not a Family")
        if fault := _fault(found):
            raise RuleBookError(f"{place}: {fault}")
        out.append((place, found))
    return out


def _fault(family: Family) -> str:
    """What a plug-in's family lacks that every family has; empty: nothing."""
    for name in ("name", "title"):
        if not _is_word(found := getattr(family, name, None)):
            return f"{name} is {found!r}, expected a word"
    variants = getattr(family, "variants", None)
    if not isinstance(variants, tuple) or not variants or not all(map(_is_word, variants)):
        return f"variants is {variants!r}, expected a tuple of words"
    if type(family.rank) is not int:
        return f"rank is {family.rank!r}, expected a number"
    kind = type(family)
    beside = kind.vocabulary is Family.vocabulary or kind.rules is Family.rules
    if beside and package_with("vocabulary", kind) is None:
        return f"the family {family.name} has no module vocabulary beside its own"
    return ""


def _is_word(found: object) -> bool:
    return isinstance(found, str) and found != ""


def _mentioned() -> bool:
    """Whether some distribution has entry points of the group.

    Most installations have none, and importing importlib.metadata takes longer than looking.
    """
    for folder in sys.path:
        for path in Path(folder or ".").glob("*.*-info/entry_points.txt"):
            try:
                if GROUP.encode() in path.read_bytes():
                    return True
            except OSError:
                return True  # importlib.metadata says what is the matter
    return False


def targets() -> dict[str, TargetGpu]:
    """The GPUs that families bring themselves, by name.

    Raises:
        RuleBookError: If two that differ share a name, or one has the name of a GPU of the package.

    >>> targets()
    {}
    """
    out: dict[str, TargetGpu] = {}
    for family in families().values():
        for target in family.targets:
            if target.name in known() or out.setdefault(target.name, target) != target:
                raise RuleBookError(f"two GPUs are called {target.name!r}")
    return out


def gpus_of(family: Family, gpus: Sequence[Gpu]) -> tuple[Gpu, ...]:
    """The GPUs that points of a family may name: its own, or else the given ones."""
    return tuple(cast("Sequence[Gpu]", family.targets)) or tuple(gpus)


def words_of(family: Family, ck: str, gpus: Sequence[Gpu]) -> Vocabulary:
    """The vocabulary of a family for some GPUs.

    Raises:
        RuleBookError: If a plug-in's family does not say it.
    """
    with _answering(family):
        return family.vocabulary(ck, gpus_of(family, gpus))


def rules_of(family: Family) -> list[RuleDef]:
    """The rules that a family declares for any release and profile.

    Raises:
        RuleBookError: If a plug-in's family does not say them.
    """
    with _answering(family):
        found = list(family.rules())
        for rule in found:
            if not isinstance(rule, RuleDef):
                raise TypeError(f"{rule!r} is not a rule")
        return found


@contextmanager
def _answering(family: Family) -> Iterator[None]:
    """Names a plug-in whose own code raises while it is asked."""
    try:
        yield
    except CkrulesError:
        raise
    except Exception as error:  # whatever the plug-in's own code raises
        kind = type(family)
        if kind.__module__.startswith(f"{_HOME}."):
            raise
        place = f"the plug-in {kind.__module__}:{kind.__qualname__} ({GROUP})"
        raise RuleBookError(f"{place}: the family {family.name}: {raised(error)}") from error


def declared(family: Family) -> list[RuleDef]:
    """The rules that a family declares for any release and profile, those on problems, too."""
    problems = family.problems
    return [*rules_of(family), *(problems.rules() if problems is not None else ())]


def variants() -> tuple[str, ...]:
    """Every variant of every family.

    >>> variants()[:4]
    ('forward', 'bwd_data', 'bwd_weight', 'forward_depthwise')
    """
    return tuple(v for family in families().values() for v in family.variants)


def family_of(variant: str | None) -> Family:
    """The family of a variant; the first one where none is given.

    Raises:
        UnknownNameError: With near matches.

    >>> family_of("forward_depthwise")
    <family depthwise>
    """
    if variant is None:
        return next(iter(families().values()))
    for family in families().values():
        if variant in family.variants:
            return family
    raise unknown("variant", variant, variants())


def plain_variant(word: str) -> str:
    """The variant that a word means in some family; the word itself where it means none.

    >>> plain_variant("fwd"), plain_variant("BwdWeight")
    ('forward', 'bwd_weight')
    """
    for family in families().values():
        found = family.canonical("variant", word, family.variants)
        if found in family.variants:
            return found
    return word


def named(name: str) -> Family:
    """The family of a name.

    Raises:
        UnknownNameError: With near matches.
    """
    found = families().get(name)
    if found is None:
        raise unknown("family", name, families())
    return found


def problems_of(variant: str | None) -> Problems:
    """The problems that kernels of a variant compute; those of the first family for None.

    Raises:
        UnknownNameError: With near matches.
        UsageError: If nothing is known of them.

    >>> problems_of("forward_depthwise").name
    'convolution'
    """
    family = family_of(variant)
    found = family.problems
    if found is None:
        raise UsageError(f"ckrules knows nothing of the problems of {family.name} kernels")
    return found


def reader_tables(form: str) -> Mapping[str, Any]:
    """The tables that families add to an input format, by family.

    >>> list(reader_tables("macros"))
    ['conv', 'gemm']
    """
    found = ((f.name, f.readers.get(form)) for f in families().values())
    return {name: table for name, table in found if table is not None}


def record_tables() -> list[Any]:
    """The tables of records that Python code makes, those first that a text tells apart."""
    tables = [t for found in reader_tables("python").values() for t in found]
    return sorted(tables, key=lambda t: not t.text)


def table_for(form: str, variant: object) -> Any:
    """The table of a variant's family; that of the first family with one for an unknown variant."""
    tables = reader_tables(form)
    family = family_of(variant) if isinstance(variant, str) and variant in variants() else None
    own = None if family is None else tables.get(family.name)
    return next(iter(tables.values())) if own is None else own
