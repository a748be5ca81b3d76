"""Values of a traced instruction: they stand for arrays, and every operation on one is noted as C.

An instruction's meaning is a function on numpy arrays. Called with these values in place of
arrays, the same function writes its own C: there is one meaning, and nothing to drift apart.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

import numpy as np

CTYPES: Mapping[Any, str] = {
    np.dtype(name): name[0].replace("b", "u") + str(8 * np.dtype(name).itemsize)
    for name in ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
                 "float16", "float32", "float64")
}  # fmt: skip
"""C's types by numpy's: those that instructions compute with."""


class UntraceableError(Exception):
    """A meaning that has no C form: numpy computes it."""


def ctype(dtype: Any) -> str:
    """The name of a type in C."""
    found = CTYPES.get(np.dtype(dtype))
    if found is None:
        raise UntraceableError(f"type {dtype}")
    return found


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """One value a lane, or one a block."""

    __slots__ = ("dtype", "home", "lane", "text", "trace")

    def __init__(self, trace: Any, dtype: Any, text: str, *, lane: bool) -> None:
        self.trace: Any = trace
        self.dtype, self.text, self.lane = np.dtype(dtype), text, lane
        self.home: str | None = None
        """The register that this is, if it is one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """As of one block."""
        return (1, self.trace.lanes) if self.lane else (1,)

    @property
    def itemsize(self) -> int:
        """Bytes."""
        return int(self.dtype.itemsize)

    def __array__(self, *_: object) -> Any:
        raise UntraceableError("an array is asked for")

    def __bool__(self) -> bool:
        raise UntraceableError("a decision by data")

    def __getitem__(self, key: object) -> Traced:
        if isinstance(key, tuple) and self.lane and isinstance(key[-1], (np.ndarray, Traced)):
            return cast(Traced, self.trace.gathered(self, key[-1]))
        if key in ((slice(None), None), (None, slice(None)), (slice(None),), (None,), None):
            return self
        raise UntraceableError("a part of an array")

    def astype(self, dtype: Any) -> Traced:
        """As numpy's."""
        return cast(Traced, self.trace.cast(self, np.dtype(dtype)))

    def view(self, dtype: Any) -> Traced:
        """As numpy's, of the same size."""
        wanted = np.dtype(dtype)
        if wanted == self.dtype:
            return self
        if wanted.itemsize != self.dtype.itemsize or "b" in (wanted.kind, self.dtype.kind):
            raise UntraceableError("a view of another size")
        text = f"{ctype(self.dtype)}_as_{ctype(wanted)}({self.text})"
        return cast(Traced, self.trace.new(wanted, text, lane=self.lane))

    def copy(self) -> Traced:
        """Itself: values do not change."""
        return self

    def any(self, axis: int | None = None) -> Any:
        """Over the lanes of a block; over all of them it is a guard."""
        if axis == 1 and self.lane:
            raise UntraceableError("lanes taken together")
        return LaneGuard(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **more: Any) -> Any:
        if method != "__call__" or more:
            raise UntraceableError(ufunc.__name__)
        return self.trace.apply(ufunc, args)

    def __array_function__(self, fn: Any, types: Any, args: Any, more: Any) -> Any:
        maker = FUNCTIONS.get(fn)
        if maker is None:
            raise UntraceableError(fn.__name__)
        return maker(self.trace, *args, **more)


class LaneGuard:
    """Whether a condition holds in any lane: native code goes on only where it does not."""

    def __init__(self, value: Traced) -> None:
        self.value = value

    def __bool__(self) -> bool:
        self.value.trace.guard(self.value)
        return False


class Parts:
    """Several values in place of an array's last axis."""

    def __init__(self, each: list[Traced]) -> None:
        self.each = each

    @property
    def shape(self) -> tuple[int, int, int]:
        """As of one block."""
        return (1, self.each[0].trace.lanes, len(self.each))

    def __getitem__(self, key: Any) -> Traced:
        if isinstance(key, tuple) and key[0] is Ellipsis and isinstance(key[1], int):
            return self.each[key[1]]
        raise UntraceableError("a part of an array")

    def __rshift__(self, count: Any) -> Parts:
        return Parts([e >> count for e in self.each])

    def __array__(self, *_: object) -> Any:
        raise UntraceableError("an array is asked for")

    def __array_function__(self, fn: Any, types: Any, args: Any, more: Any) -> Any:
        if fn is np.moveaxis and args[1:] == (0, -1):
            return self
        raise UntraceableError(fn.__name__)


_Fn = TypeVar("_Fn", bound=Callable[..., Any])


def primitive(name: str, dtype: Any = None) -> Callable[[_Fn], _Fn]:
    """A function whose C form stands in ``runtime.h`` under a name, with its type behind."""

    def wrap(fn: _Fn) -> _Fn:
        @wraps(fn)
        def call(*args: Any) -> Any:
            for each in args:
                if isinstance(each, Traced):
                    return each.trace.call(name, args, dtype)
            return fn(*args)

        return cast(_Fn, call)

    return wrap


def looked_up(table: Any, index: Any) -> Any:
    """Elements of a table by number."""
    if isinstance(index, Traced):
        return index.trace.element(table, index)
    return table[index]


@lru_cache(maxsize=4096)
def result_type(ufunc: Any, types: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """Which types a ufunc gives for types, or weak numbers of Python."""
    given = [t(1) if isinstance(t, type) else np.ones(1, t) for t in types]
    with np.errstate(all="ignore"):
        found = ufunc(*given)
    each = found if isinstance(found, tuple) else (found,)
    return tuple(np.asarray(f).dtype for f in each)


def kind_of(value: Any) -> Any:
    """A value's type, as `result_type` takes it."""
    if isinstance(value, (bool, int, float)):
        return type(value)
    return value.dtype


def common_type(*values: Any) -> np.dtype[Any]:
    """The type that numpy computes in."""
    given = [v if isinstance(v, (bool, int, float)) else v.dtype for v in values]
    return np.dtype(np.result_type(*given))


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """A number in C, bit for bit."""
    data = np.asarray(value).astype(dtype)
    if dtype.kind == "f":
        bits = int(data.view(f"u{dtype.itemsize}"))
        return f"u{8 * dtype.itemsize}_as_{ctype(dtype)}((u{8 * dtype.itemsize})0x{bits:x}ull)"
    if dtype.kind == "b":
        return str(int(data))
    (bits,) = struct.unpack("<Q", struct.pack("<q", int(data))) if data < 0 else (int(data),)
    return f"({ctype(dtype)})0x{bits:x}ull"


def _where(trace: Any, chosen: Any, a: Any, b: Any) -> Traced:
    dtype = common_type(a, b)
    x, y = trace.value(a, dtype), trace.value(b, dtype)
    bit = trace.value(chosen, np.dtype(bool))
    text = f"({bit.text} ? {x.text} : {y.text})"
    return cast(Traced, trace.new(dtype, text, lane=bit.lane or x.lane or y.lane))


def _clip(trace: Any, a: Any, low: Any, high: Any) -> Traced:
    dtype = common_type(a, low, high)
    return cast(
        Traced, np.minimum(np.maximum(trace.value(a, dtype), dtype.type(low)), dtype.type(high))
    )


def _to_number(trace: Any, a: Any, nan: float, posinf: float, neginf: float) -> Any:
    kind = a.dtype.type
    value = np.where(np.isnan(a), kind(nan), a)
    value = np.where(value == kind(np.inf), kind(posinf), value)
    return np.where(value == kind(-np.inf), kind(neginf), value)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.nan_to_num: _to_number,
    np.copyto: lambda trace, target, value, where: trace.store(target, value, where),
    np.broadcast_to: lambda trace, a, shape: trace.spread(a),
    np.broadcast_arrays: lambda trace, *a: tuple(trace.spread(x) for x in a),
}
