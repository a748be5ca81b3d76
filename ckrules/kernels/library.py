"""Rule books by variant, CK version, profile and set of GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ckrules.arch import CK_VERSIONS, Gpu, load_all
from ckrules.engine.expr import Value
from ckrules.engine.rules import version_key
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.families import families, family_of, named, rules_of, words_of
from ckrules.kernels.family import Family
from ckrules.support.errors import UsageError, unknown

DEFAULT_CK = "2026.09"
#: Rule sets that hold another one's rules beside their own.
WIDER = {"fast": "legal"}
#: Rule sets that may add nothing to what a family's fields say.
_PLAIN = ("legal", *WIDER)
#: By rule set, the one whose further rules `ckrules check` reports as warnings.
ADVISED = {"legal": "fast"}


def profiles() -> dict[str, str]:
    """Every rule set of every family, with a line on each.

    >>> list(profiles())[:4]
    ['legal', 'fast', 'dispatcher', 'builder']
    """
    return {k: v for family in families().values() for k, v in family.profiles.items()}


def topics() -> dict[str, str]:
    """What the letters of rules' codes stand for.

    >>> topics()["DW"]
    'depthwise convolution'
    """
    return {k: v for family in families().values() for k, v in family.topics.items()}


def available(family: Family, ck: str, profile: str = "legal") -> bool:
    """Whether a CK version has such kernels, and the family has such rules for it.

    >>> available(named("depthwise"), "2025.11"), available(named("gemm"), "2026.06", "builder")
    (False, False)
    """
    return version_key(ck) >= version_key(family.since) and ck in _versions(family.name, profile)


@lru_cache(maxsize=64)
def _versions(name: str, profile: str) -> tuple[str, ...]:
    """The CK versions for which a family has rules of a profile."""
    family = named(name)
    if profile not in family.profiles:
        return ()
    own = [r.template for r in rules_of(family) if profile in r.template.profiles]
    return tuple(ck for ck in CK_VERSIONS if profile in _PLAIN or any(r.valid_for(ck) for r in own))


def book(
    variant: str | None = None,
    *,
    ck: str = DEFAULT_CK,
    profile: str = "legal",
    gpus: Sequence[Gpu] | None = None,
) -> RuleBook:
    """The rules that hold for the family of a variant.

    Args:
        variant: One of `ckrules.kernels.families.variants`; the book covers its whole family.
        ck: The CK headers that the kernels are compiled against.
        profile: Which rule set (`profiles`).
        gpus: The GPUs that points may name (default: all of `ckrules.arch`).

    Raises:
        UnknownNameError: For an unknown variant, version or profile, with near matches.
        UsageError: If the CK version does not have the family, or the family no such rules.

    >>> "VEC001" in [r.code for r in book("forward").rules]
    True
    """
    family = family_of(variant)
    if ck not in CK_VERSIONS:
        raise unknown("CK version", ck, CK_VERSIONS)
    if profile not in profiles():
        raise unknown("profile", profile, profiles())
    return _book(family.name, ck, profile, tuple(load_all() if gpus is None else gpus))


@lru_cache(maxsize=256)  # every family, CK version and profile of one set of GPUs
def _book(name: str, ck: str, profile: str, gpus: tuple[Gpu, ...]) -> RuleBook:
    family = named(name)
    if not available(family, ck, profile):
        if version_key(ck) < version_key(family.since):
            raise UsageError(f"CK {ck} has no {name} kernels: they exist since {family.since}")
        raise UsageError(_no_rules(family, ck, profile))
    vocabulary = words_of(family, ck, gpus)
    rules = [r.build(vocabulary) for r in rules_of(family)]
    meant = {profile, WIDER.get(profile, profile)}
    kept = [r for r in rules if r.valid_for(ck) and meant & set(r.profiles)]
    own = bool(family.targets) or gpus == load_all()  # whose names examples have
    return RuleBook(family.title, vocabulary, kept, check=own, sentences=False)


def _no_rules(family: Family, ck: str, profile: str) -> str:
    held = _versions(family.name, profile)
    if held:
        return f"profile {profile} has no {family.name} rules for CK {ck}, only for {held[-1]}"
    known = [p for p in family.profiles if _versions(family.name, p)]
    return f"{family.name} has no profile {profile}: known are {', '.join(known)}"


def defaults(variant: str, ndim: object = None) -> Mapping[str, Value]:
    """The values of the fields that a configuration may leave out.

    Args:
        variant: One of `ckrules.kernels.families.variants`.
        ndim: The configuration's dimensions, which give the layout its default.

    >>> defaults("forward")["num_groups_to_merge"], defaults("forward", 3)["layout"]
    (1, 'ndhwgc')
    """
    return family_of(variant).defaults(variant, ndim)
