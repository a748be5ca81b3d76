"""The C of numpy's functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ckrules.emulator.native.values import UntraceableError, ctype

_BINARY = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.bitwise_and: "&", np.bitwise_or: "|",
    np.bitwise_xor: "^", np.less: "<", np.less_equal: "<=", np.greater: ">",
    np.greater_equal: ">=", np.equal: "==", np.not_equal: "!=", np.logical_and: "&&",
    np.logical_or: "||",
}  # fmt: skip
_CALLS: dict[Any, str] = {
    **{ufunc: ufunc.__name__ for ufunc in (np.rint, np.trunc, np.floor, np.ceil, np.sqrt, np.fabs)},
    np.absolute: "fabs",
}
_TESTS = {
    np.isnan: "({0} != {0})",
    np.isfinite: "(({0}) - ({0}) == 0)",
    np.isinf: "({0} == {0} && !(({0}) - ({0}) == 0))",
}


def expression(ufunc: Any, args: list[str], kind: np.dtype[Any]) -> str:
    """What a function of numpy gives for arguments of one type.

    >>> expression(np.add, ["a", "b"], np.dtype(np.uint32))
    'a + b'

    Raises:
        UntraceableError: If it has no C form.
    """
    small = kind.itemsize < 4 and kind.kind in "iu"
    if ufunc in _BINARY:
        if kind.kind == "b" and ufunc in (np.add, np.subtract, np.multiply):
            raise UntraceableError("sums of bits")
        if small and ufunc is np.multiply:
            args = [f"(u32){a}" for a in args]
        return f"{args[0]} {_BINARY[ufunc]} {args[1]}"
    if ufunc is np.divide and kind.kind == "f":
        return f"{args[0]} / {args[1]}"
    if ufunc is np.invert:
        return f"!{args[0]}" if kind.kind == "b" else f"~{args[0]}"
    if ufunc is np.negative:
        return f"-{args[0]}"
    if ufunc in (np.left_shift, np.right_shift):
        word = "left" if ufunc is np.left_shift else "right"
        return f"shift_{word}_{ctype(kind)}({args[0]}, {args[1]})"
    if ufunc in (np.minimum, np.maximum):
        sign = "<" if ufunc is np.minimum else ">"
        nan = f"{args[0]} != {args[0]} || " if kind.kind == "f" else ""
        return f"({nan}{args[0]} {sign} {args[1]}) ? {args[0]} : {args[1]}"
    if ufunc is np.bitwise_count and kind.kind == "u":
        return f"__builtin_popcountll({args[0]})"
    if kind.kind == "f":
        if ufunc in _TESTS:
            return _TESTS[ufunc].format(args[0])
        if ufunc is np.signbit:
            return f"{ctype(kind)}_as_u{8 * kind.itemsize}({args[0]}) >> {8 * kind.itemsize - 1}"
        if ufunc in _CALLS:  # of fp16 in fp32, whose results are exact or rounded alike
            end = "" if kind.itemsize == 8 else "f"
            return f"__builtin_{_CALLS[ufunc]}{end}({args[0]})"
    elif ufunc is np.absolute:
        return f"{args[0]} < 0 ? -{args[0]} : {args[0]}"
    raise UntraceableError(ufunc.__name__)
