"""The rules of CK Tile kernels: which configurations compile, launch and compute right.

One sub-package per operator, one module per family of rules; a new module or operator is found
by itself. `book` gives the rules of a variant as a `RuleBook`.

>>> book("bwd_weight").name
'grouped_conv'
"""

if __name__ != "ckrules.constraints":
    raise ImportError(f"import ckrules.constraints, not {__name__}")

from ckrules.constraints.library import (
    CK_VERSIONS,
    DEFAULT_CK,
    FAMILIES,
    PROFILES,
    VARIANTS,
    book,
    defaults,
    operator_of,
)

__all__ = [
    "CK_VERSIONS",
    "DEFAULT_CK",
    "FAMILIES",
    "PROFILES",
    "VARIANTS",
    "book",
    "defaults",
    "operator_of",
]
