"""The rules of CK Tile kernels: which configurations compile, launch and compute right.

A sub-package is a family of kernels; its module ``family`` has the object that registers it, and
its other modules declare rules. `book` gives the rules of a variant as a `RuleBook`.

>>> book("bwd_weight").name
'grouped_conv'
"""

if __name__ != "ckrules.constraints":
    raise ImportError(f"import ckrules.constraints, not {__name__}")

from ckrules.arch import CK_VERSIONS
from ckrules.kernels.library import DEFAULT_CK, book, defaults

__all__ = ["CK_VERSIONS", "DEFAULT_CK", "book", "defaults"]
