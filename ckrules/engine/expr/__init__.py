"""Expressions over fields: nodes, variables, relations and how they are printed."""

from ckrules.engine.expr.functions import (
    Quantity,
    ceil_div,
    divides,
    is_pow2,
    ite,
    lookup,
    maximum,
    minimum,
    named,
    rel,
    round_up,
    undef,
)
from ckrules.engine.expr.nodes import (
    BOOL,
    ENUM,
    FALSE,
    INT,
    OPS,
    REAL,
    TRUE,
    BoolExpr,
    EnumExpr,
    Expr,
    IntExpr,
    RealExpr,
    Value,
    all_of,
    any_of,
    const,
    implies,
    isin,
    make,
)
from ckrules.engine.expr.printer import to_text

__all__ = [
    "BOOL", "ENUM", "FALSE", "INT", "OPS", "REAL", "TRUE", "BoolExpr", "EnumExpr", "Expr",
    "IntExpr", "Quantity", "RealExpr", "Value", "all_of", "any_of", "ceil_div", "const",
    "divides", "implies", "is_pow2", "isin", "ite", "lookup", "make", "maximum", "minimum",
    "named", "rel", "round_up", "to_text", "undef",
]  # fmt: skip
