"""Rule books by variant, CK version, profile and set of GPUs."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import ModuleType

from ckrules.arch import Gpu, load_all
from ckrules.engine.book import RuleBook, collect
from ckrules.engine.errors import UsageError, unknown
from ckrules.engine.expr import Value
from ckrules.engine.rules import version_key

#: The CK header versions that rules can hold for, oldest first.
CK_VERSIONS = ("2025.11", "2026.06")
DEFAULT_CK = "2026.06"

#: Rule sets; each rule says in which it is.
PROFILES = {
    "legal": "what compiles, launches and computes right",
    "dispatcher": "what upstream's dispatcher filter of June 2026 lets through to its generator",
    "builder": "what upstream's instance builder of June 2026 accepts",
}

#: Variants by operator; an operator is a sub-package of this one.
OPERATORS: Mapping[str, tuple[str, ...]] = {
    "conv": ("forward", "bwd_data", "bwd_weight"),
    "depthwise": ("forward_depthwise",),
}
VARIANTS = tuple(v for variants in OPERATORS.values() for v in variants)

#: What the letters of a rule's code stand for.
FAMILIES = {
    "OP": "operator features: layouts, padding, group merging, explicit GEMM, split image",
    "TILE": "block tiles are covered by waves and warp tiles",
    "WAVE": "waves of a block and their wave groups",
    "WARP": "warp tiles that exist in the headers and in the hardware",
    "PIPE": "pipelines, schedulers and double LDS buffers",
    "VEC": "vector widths and the distribution of a tile over threads",
    "EPI": "epilogues",
    "LDS": "LDS bytes and layouts",
    "SK": "stream-K",
    "DW": "depthwise convolution",
    "HW": "limits of the hardware and of the launch",
    "PROB": "problems that a kernel accepts (`ckrules check --problem`)",
    "DISP": "upstream's dispatcher filter (profile dispatcher)",
    "BLDR": "upstream's instance builder (profile builder)",
    "CAT": "membership of a catalog (`ckrules catalogs`)",
}


def operator_of(variant: str | None) -> str:
    """The operator of a variant; the GEMM-based convolutions where none is given.

    >>> operator_of("forward_depthwise")
    'depthwise'

    Raises:
        UnknownNameError: With near matches.
    """
    if variant is None:
        return "conv"
    for operator, variants in OPERATORS.items():
        if variant in variants:
            return operator
    raise unknown("variant", variant, VARIANTS)


def book(
    variant: str | None = None,
    *,
    ck: str = DEFAULT_CK,
    profile: str = "legal",
    gpus: Sequence[Gpu] | None = None,
) -> RuleBook:
    """The rules that hold for a variant's operator.

    Args:
        variant: One of `VARIANTS`; the book covers its whole operator.
        ck: The CK headers that the kernels are compiled against.
        profile: Which rule set (`PROFILES`).
        gpus: The GPUs that points may name (default: all of `ckrules.arch`).

    Raises:
        UnknownNameError: For an unknown variant, version or profile, with near matches.

    >>> "VEC001" in [r.code for r in book("forward").rules]
    True
    """
    operator = operator_of(variant)
    if ck not in CK_VERSIONS:
        raise unknown("CK version", ck, CK_VERSIONS)
    if profile not in PROFILES:
        raise unknown("profile", profile, PROFILES)
    return _book(operator, ck, profile, tuple(load_all() if gpus is None else gpus))


@lru_cache(maxsize=32)
def _book(operator: str, ck: str, profile: str, gpus: tuple[Gpu, ...]) -> RuleBook:
    package = _package(operator)
    module = importlib.import_module(f"{package.__name__}.vocabulary")
    if version_key(ck) < version_key(module.SINCE):
        raise UsageError(f"CK {ck} has no {operator} kernels: they exist since {module.SINCE}")
    vocabulary = module.vocabulary(ck, gpus)
    rules = [r.build(vocabulary) for r in collect(package)]
    kept = [r for r in rules if r.valid_for(ck) and profile in r.profiles]
    own = gpus == load_all()  # examples name GPUs of the package
    return RuleBook("grouped_conv" if operator == "conv" else operator, vocabulary, kept, check=own)


def _package(operator: str) -> ModuleType:
    return importlib.import_module(f"{__package__}.{operator}")


def defaults(variant: str, ndim: object = None) -> Mapping[str, Value]:
    """The values of the fields that a configuration may leave out.

    Args:
        variant: One of `VARIANTS`.
        ndim: The configuration's dimensions, which give the layout its default.

    >>> defaults("forward")["num_groups_to_merge"], defaults("forward", 3)["layout"]
    (1, 'ndhwgc')
    """
    module = importlib.import_module(f"{__package__}.{operator_of(variant)}.vocabulary")
    layout = module.LAYOUTS.get(ndim) if isinstance(ndim, int) else None
    return {**module.DEFAULTS, **({"layout": layout} if layout else {})}
