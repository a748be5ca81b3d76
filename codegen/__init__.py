"""Templates of the C++ that is generated from configurations, and what renders them."""

from __future__ import annotations

if __name__ != "ckrules.codegen":
    raise ImportError(f"import ckrules.codegen, not {__name__}")
