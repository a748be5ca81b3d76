"""Functions that restrictions may call, as Python evaluates them, with bounded numbers.

Numbers are bounded before they are made: one ``b ** 3000000000`` would run for ever, and not even
an interrupt ends it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ckrules.engine.expr.operators import ARITH, OF_PYTHON

#: Bits of the largest integer that a restriction may reach on its way.
BITS = 4096
_DIGITS = 400  # places that `round` is asked for
_LENGTH = 10_000  # elements of a sequence that is made
_SIZED = (str, tuple, list, range, set, frozenset)


class TooLargeError(Exception):
    """A number or sequence beyond what a restriction may reach; the text says which limit."""


class EvaluationMeter:
    """The work that one text may still take, counted in small operations.

    Args:
        left: Operations after which it is given up.
    """

    def __init__(self, left: int) -> None:
        self.most = self.left = left

    def charge(self, work: int) -> None:
        """Take work off.

        Raises:
            TooLargeError: Where nothing is left.
        """
        self.left -= work
        if self.left < 0:
            raise TooLargeError(f"takes more than {self.most:,} operations")

    def weighed(self, value: Any) -> Any:
        """A value within the limits (`checked`), whose size is taken off."""
        checked(value)
        if isinstance(value, int):
            if value.bit_length() > 64:
                self.charge(value.bit_length() >> 6)
        elif isinstance(value, _SIZED):
            self.charge(len(value))
        return value

    def call(self, function: Callable[..., Any], args: list[Any]) -> Any:
        """What a function makes of arguments; the sizes of all are taken off."""
        for value in args:
            self.weighed(value)
        if function is _pow and len(args) == 3 and all(isinstance(a, int) for a in args):
            _, power, modulus = (a.bit_length() for a in args)
            self.charge(power * ((modulus >> 6) + 1) ** 2 >> 2)
        return self.weighed(function(*args))


def _bounded(bits: int) -> None:
    if bits > BITS:
        raise TooLargeError(f"reaches a number of more than {BITS:,} bits")


def checked(value: Any) -> Any:
    """The value, if it is within the limits.

    Raises:
        TooLargeError: If it is not.
    """
    if isinstance(value, int):
        _bounded(value.bit_length())
    elif isinstance(value, (str, tuple, list)) and len(value) > _LENGTH:
        raise TooLargeError(f"makes a sequence of more than {_LENGTH:,} elements")
    return value


def _times(a: Any, b: Any) -> Any:
    if not isinstance(a, (int, float, complex)) or not isinstance(b, (int, float, complex)):
        raise TooLargeError("repeats a sequence")
    if isinstance(a, int) and isinstance(b, int):
        _bounded(a.bit_length() + b.bit_length() - 1)
    return a * b


def _power(a: Any, b: Any) -> Any:
    """``a ** b``; where both are integers, its size is known before.

    >>> _power(-8, 0.5).real > 0, _power(2, -1)
    (True, 0.5)
    """
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and b > 1:
        _bounded((abs(a).bit_length() - 1) * b)
    return checked(a**b)


def _shift(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and a and b > 0:
        _bounded(a.bit_length() + b)
    return a << b


def _mod(a: Any, b: Any) -> Any:
    if isinstance(a, (str, bytes)):
        raise TooLargeError("formats a text")
    return a % b


def _round(a: Any, places: Any = None) -> Any:
    if isinstance(places, int) and abs(places) > _DIGITS:
        raise TooLargeError(f"rounds to more than {_DIGITS} places")
    return round(a, places)


def _pow(a: Any, b: Any, modulus: Any = None) -> Any:
    return _power(a, b) if modulus is None else pow(a, b, modulus)


def _range(*ends: int) -> range:
    made = range(*ends)
    if len(made) > _LENGTH:
        raise TooLargeError(f"makes a sequence of more than {_LENGTH:,} elements")
    return made


def _product(values: Any, start: Any = 1) -> Any:
    out = start
    for value in values:
        out = _times(out, value)
    return out


#: The operators of two numbers, by the name of their node in Python's syntax trees.
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{name: ARITH[op] for name, op in OF_PYTHON.items() if op in ARITH},
    "Mult": _times, "Mod": _mod, "Pow": _power, "LShift": _shift, "RShift": operator.rshift,
    "BitAnd": operator.and_, "BitOr": operator.or_, "BitXor": operator.xor,
}  # fmt: skip

_BUILTINS: dict[str, Callable[..., Any]] = {
    "abs": abs, "min": min, "max": max, "sum": sum, "all": all, "any": any, "bool": bool,
    "float": float, "int": int, "round": _round, "pow": _pow, "len": len, "divmod": divmod,
    "tuple": tuple, "list": list, "sorted": sorted, "str": str, "range": _range,
}  # fmt: skip
_MATH: dict[str, Callable[..., Any]] = {
    **{
        n: getattr(math, n)
        for n in (
            "ceil", "cos", "exp", "fabs", "floor", "fmod", "gcd", "hypot", "isfinite", "isinf",
            "isnan", "isqrt", "lcm", "log", "log10", "log1p", "log2", "pow", "sin", "sqrt", "tan",
            "trunc",
        )
    },
    "prod": _product,
}  # fmt: skip


def _numpy(function: Callable[[float], float], pole: bool) -> Callable[[Any], float]:
    """A function of numpy's: NaN and infinity where `math` raises an error."""

    def call(a: Any) -> float:
        x = float(a)
        if x < 0 or (pole and x == 0):
            return -math.inf if x == 0 else math.nan
        return function(x)

    return call


def _kept(function: Callable[[float], int]) -> Callable[[Any], Any]:
    """A rounding of numpy's, which leaves floats floats."""

    def call(a: Any) -> Any:
        return float(function(a)) if isinstance(a, float) and math.isfinite(a) else a

    return call


_NUMPY: dict[str, Callable[..., Any]] = {
    "floor": _kept(math.floor), "ceil": _kept(math.ceil), "trunc": _kept(math.trunc),
    "sqrt": _numpy(math.sqrt, False), "log2": _numpy(math.log2, True),
    "log": _numpy(math.log, True), "log10": _numpy(math.log10, True), "abs": abs,
    "gcd": math.gcd, "lcm": math.lcm, "prod": _product,
    "minimum": lambda a, b: min(a, b), "maximum": lambda a, b: max(a, b),
}  # fmt: skip

#: Functions by the name that a text calls them by: bare, or with the module they are taken from.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_MATH, **_BUILTINS,
    **{f"math.{n}": f for n, f in _MATH.items()},
    **{f"{m}.{n}": f for m in ("np", "numpy") for n, f in _NUMPY.items()},
}  # fmt: skip
CONSTANTS = {
    f"{m}.{n}": getattr(math, n) for m in ("math", "np", "numpy") for n in ("pi", "e", "inf")
}
