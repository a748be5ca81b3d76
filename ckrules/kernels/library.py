"""Rule books by variant, CK version, profile and set of GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ckrules.arch import CK_VERSIONS, Gpu, load_all
from ckrules.engine.expr import Value
from ckrules.engine.rules import version_key
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.families import families, family_of, named
from ckrules.kernels.family import Family
from ckrules.support.errors import UsageError, unknown

DEFAULT_CK = CK_VERSIONS[-1]
#: Rule sets that hold another one's rules beside their own.
WIDER = {"fast": "legal"}
#: By rule set, the one whose further rules `ckrules check` reports as warnings.
ADVISED = {"legal": "fast"}


def profiles() -> dict[str, str]:
    """Every rule set of every family, with a line on each.

    >>> list(profiles())
    ['legal', 'fast', 'dispatcher', 'builder', 'tile_engine', 'aiter']
    """
    return {k: v for family in families().values() for k, v in family.profiles.items()}


def topics() -> dict[str, str]:
    """What the letters of rules' codes stand for.

    >>> topics()["DW"]
    'depthwise convolution'
    """
    return {k: v for family in families().values() for k, v in family.topics.items()}


def available(family: Family, ck: str) -> bool:
    """Whether a CK version has such kernels.

    >>> available(named("depthwise"), "2025.11")
    False
    """
    return version_key(ck) >= version_key(family.since)


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
        UsageError: If the CK version does not have the family.

    >>> "VEC001" in [r.code for r in book("forward").rules]
    True
    """
    family = family_of(variant)
    if ck not in CK_VERSIONS:
        raise unknown("CK version", ck, CK_VERSIONS)
    if profile not in profiles():
        raise unknown("profile", profile, profiles())
    return _book(family.name, ck, profile, tuple(load_all() if gpus is None else gpus))


@lru_cache(maxsize=32)
def _book(name: str, ck: str, profile: str, gpus: tuple[Gpu, ...]) -> RuleBook:
    family = named(name)
    if not available(family, ck):
        raise UsageError(f"CK {ck} has no {name} kernels: they exist since {family.since}")
    vocabulary = family.vocabulary(ck, gpus)
    rules = [r.build(vocabulary) for r in family.rules()]
    meant = {profile, WIDER.get(profile, profile)}
    kept = [r for r in rules if r.valid_for(ck) and meant & set(r.profiles)]
    own = gpus == load_all()  # examples name GPUs of the package
    return RuleBook(family.title, vocabulary, kept, check=own)


def defaults(variant: str, ndim: object = None) -> Mapping[str, Value]:
    """The values of the fields that a configuration may leave out.

    Args:
        variant: One of `ckrules.kernels.families.variants`.
        ndim: The configuration's dimensions, which give the layout its default.

    >>> defaults("forward")["num_groups_to_merge"], defaults("forward", 3)["layout"]
    (1, 'ndhwgc')
    """
    return family_of(variant).defaults(variant, ndim)
