"""Random domains and restriction texts, and Python's own answers to them."""

from __future__ import annotations

import math
import warnings
from itertools import product
from random import Random
from types import CodeType
from typing import Any

WORDS = ("mem", "compv3", "wavelet")
_BIG = (2**53 - 1, 2**53, 2**53 + 1, 2**40, 2**40 - 1, 9007199254740995, 2**31, 1000003)
_FLOATS = (0.5, 1.0, 2.0, -0.5, 0.1, 3.7, 1e-3, 0.0, 2.5, -2.0, 1e16, 2.0**53, 1.5)

Domains = dict[str, list[Any]]


def domains(random: Random) -> Domains:
    """Two to four parameters of few values: ints, floats, both, Booleans or words."""
    return {name: _values(random) for name in "abcd"[: random.randint(2, 4)]}


def _values(random: Random) -> list[Any]:
    others = ["signed", "powers", "float", "mixed", "mixed", "bool", "word", "big", "odd"]
    kind = random.choice(["small"] * 5 + others)
    pools: dict[str, tuple[Any, ...]] = {
        "small": tuple(range(9)), "signed": tuple(range(-4, 5)), "float": _FLOATS,
        "powers": tuple(1 << i for i in range(11)), "mixed": (*range(5), 8, 0.5, 2.5, -1.5, 3.0),
        "bool": (False, True), "word": WORDS,
        "big": (2**40, 2**40 - 1, 2**31, 1000003, 1, 3, 2**40 - 5),
        "odd": (*_BIG, *_FLOATS),
    }  # fmt: skip
    pool = pools[kind]
    picked: list[Any] = []
    for value in random.sample(pool, min(len(pool), random.randint(1, 4))):
        if float(value) not in map(float, picked) if not isinstance(value, str) else True:
            picked.append(value)
    return picked


class Texts:
    """Restriction texts over some domains; most are well typed, and some are not."""

    def __init__(self, random: Random, given: Domains) -> None:
        self.random = random
        kinds = {n: _kind(v[0]) for n, v in given.items()}
        self.numbers = [n for n, k in kinds.items() if k != "word"]
        self.words = [n for n, k in kinds.items() if k == "word"]
        self.whole = [n for n in self.numbers if all(isinstance(v, int) for v in given[n])]
        self.given = given

    def condition(self, depth: int = 3) -> str:
        """A condition nested at most so deep."""
        pick, sub = self.random.choice, depth - 1
        roll = self.random.random()
        if depth <= 0 or roll < 0.45:
            return self.comparison(max(depth, 1))
        if roll < 0.6:
            return f"({self.condition(sub)} {pick(['and', 'or'])} {self.condition(sub)})"
        if roll < 0.66:
            return f"(not {self.condition(sub)})"
        if roll < 0.72:
            return f"({self.condition(sub)} if {self.condition(sub)} else {self.condition(sub)})"
        if roll < 0.78:
            return f"({self.condition(sub)} {pick('&|^')} {self.condition(sub)})"
        if roll < 0.83:
            parts = ", ".join(self.condition(sub) for _ in range(self.random.randint(1, 3)))
            return f"{pick(['all', 'any'])}([{parts}])"
        if roll < 0.9:
            return self.number(sub)
        return f"({self.number(sub)} {pick(['and', 'or'])} {self.number(sub)})"

    def comparison(self, depth: int) -> str:
        """Comparisons of numbers, words and tuples, chained ones, `in` and `not in`."""
        pick, sub = self.random.choice, depth - 1
        signs = ["==", "!=", "<", "<=", ">", ">="]
        roll = self.random.random()
        if self.words and roll < 0.2:
            word = pick(self.words)
            value = repr(pick(self.given[word]))
            pair = f"({word}, {self.number(sub)}) == ({value}, {self.number(sub)})"
            return pick([f"{word} {pick(['==', '!='])} {value}", f"{word} in [{value}]", pair])
        left, right = self.number(sub), self.number(sub)
        if roll < 0.35:
            listed = ", ".join(self.literal() for _ in range(self.random.randint(1, 4)))
            left_in, right_in = pick(["[]", "()", "{}"])
            return f"{left} {pick(['in', 'not in'])} {left_in}{listed},{right_in}"
        if roll < 0.45:
            return f"{left} {pick(signs)} {right} {pick(signs)} {self.number(sub)}"
        if roll < 0.5:
            return f"({left}, {right}) {pick(signs)} ({self.number(sub)}, {self.literal()})"
        if roll < 0.55:
            return f"{left} % {right} == {pick(['0', '0', '1'])}"
        return f"{left} {pick(signs)} {right}"

    def literal(self) -> str:
        """A number as it is written."""
        small = [str(self.random.randint(0, 9)), str(1 << self.random.randint(0, 11))]
        odd = [repr(self.random.choice(_FLOATS)), str(self.random.choice(_BIG)), "-1", "True"]
        return self.random.choice(small * 4 + odd)

    def number(self, depth: int = 2) -> str:
        """A number nested at most so deep."""
        pick, sub, roll = self.random.choice, depth - 1, self.random.random()
        if depth <= 0 or roll < 0.25:
            return pick(self.numbers) if self.numbers and pick((1, 1, 1, 0)) else self.literal()
        a, b = self.number(sub), self.number(sub)
        if roll < 0.6:
            return f"({a} {pick(['+', '-', '*', '*', '//', '%', '/'])} {b})"
        if roll < 0.7:
            whole = (pick(self.whole) if self.whole and pick((0, 1)) else x for x in (a, b))
            return f" {pick(['&', '|', '^', '<<', '>>'])} ".join(whole).join("()")
        if roll < 0.74:
            return f"({a} ** {pick(['2', '3', '0.5', '-1', b])})"
        if roll < 0.78:
            return f"({a} if {self.condition(sub)} else {b})"
        if roll < 0.82:
            return f"({pick('-~+')}{a})"
        if roll < 0.84:
            return f"({self.condition(sub)} + {b})"
        one = [
            "abs", "int", "float", "bool", "round", "math.floor", "math.ceil", "math.trunc",
            "math.sqrt", "math.log2", "int", "ceil", "floor", "math.isqrt", "math.log10",
        ]  # fmt: skip
        two = ["min", "max", "pow", "math.gcd", "math.lcm", "math.fmod", "divmod", "math.pow"]
        if roll < 0.94:
            return f"{pick(one)}({pick([a, f'{a} / {b}', f'{a} * 0.5'])})"
        name = pick([*two, "sum", "min", "max"])
        if name == "divmod":
            return f"divmod({a}, {b})[{pick('01')}]"
        return f"sum([{a}, {b}])" if name == "sum" else f"{name}({a}, {b})"


def _kind(value: Any) -> str:
    return "word" if isinstance(value, str) else "number"


NAMES = {"math": math, "ceil": math.ceil, "floor": math.floor}


def answers(text: str, given: Domains) -> list[tuple[dict[str, Any], bool | None]]:
    """Python's answer at every point, None where it raises an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(text, "<restriction>", "eval")
    points = [dict(zip(given, row, strict=True)) for row in product(*given.values())]
    return [(point, _answer(code, point)) for point in points]


def _answer(code: CodeType, point: dict[str, Any]) -> bool | None:
    try:
        return bool(eval(code, {**NAMES}, point))
    except (ArithmeticError, TypeError, ValueError):
        return None
