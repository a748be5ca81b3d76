"""Conditions as C++: they say what the other back ends say, or refuse."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ckrules.codegen.condition import function
from ckrules.compiling import library, toolchain
from ckrules.engine.expr import BoolExpr, lookup, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Bool, Int
from ckrules.support.errors import UsageError
from tests.engine import backends
from tests.engine.test_backends import SPECIMENS, A, B, everywhere
from tests.helpers.toolchain import require_toolchain

MEMBERS = {name: f"p.{name}" for name in "abpq"}
MAIN = """
#include <cstdio>
#include <cstring>
#include "ckrules_rules.hpp"
struct point { long a, b; bool p, q; };
%s
static const point points[] = {%s};
static bool (*const conditions[])(const void*) = {%s};
int main()
{
    for(auto condition : conditions)
    {
        for(const point& p : points)
            std::putchar(condition(&p) ? '1' : '0');
        std::putchar('\\n');
    }
}
"""


def said() -> tuple[list[str], list[list[bool]]]:
    """The functions of every specimen that C++ can say, and what is right."""
    texts, expected = [], []
    pairs = Table.relation("pairs", ("a", "b"), [(1, 2), (2, -3), (8, 1)])
    more = [rel(pairs, A, B), ~rel(pairs, A, B), rel(pairs, A // B, B)]
    for conditions in (*SPECIMENS.values(), more):
        for condition in conditions:
            try:
                texts.append(function(f"f{len(texts)}", condition, "point", MEMBERS))
            except UsageError:
                continue
            answers = backends.evaluate("pointwise")([condition], everywhere())
            expected.append([truth for (truth,) in answers])
    return texts, expected


def can_say(condition: BoolExpr) -> bool:
    try:
        function("f", condition, "point", MEMBERS)
    except UsageError:
        return False
    return True


def test_most_kinds_can_be_said() -> None:
    """Specimens of words and reals are refused, others are not."""
    unsaid = {kind for kind, some in SPECIMENS.items() if not any(map(can_say, some))}
    assert unsaid == {"truediv", "rel"}


def test_what_it_lacks_is_named() -> None:
    x = Int("x", [1, 2])
    with pytest.raises(UsageError, match="C\\+\\+ cannot say x"):
        function("f", x > 1, "point", MEMBERS)
    with pytest.raises(UsageError, match="C\\+\\+ cannot say 9223372036854775808"):
        function("f", Int("a", [1, 2]) < 2**63, "point", MEMBERS)
    assert "p.p" in function("f", ~Bool("p"), "point", MEMBERS)


def test_a_table_is_written_once() -> None:
    """For each lookup it was written twice, which was most of what a library cost."""
    double = Table("double", ("a",), {1: 2, 8: 16})
    pairs = Table.relation("pairs", ("a", "b"), [(1, 2), (2, -3)])
    conditions = (lookup(double, A) < B) & (lookup(double, B) < A) & rel(pairs, A, B)
    text = function("f", conditions, "point", MEMBERS)
    assert text.count("static const long long") == 2
    assert text.count("{{1, 2}, {8, 16}}") == 1


@pytest.mark.toolchain
def test_compiled_functions_agree(tmp_path: Path) -> None:
    require_toolchain()
    found = toolchain.find_compiler()
    assert not isinstance(found, toolchain.Missing)
    texts, expected = said()
    points = ", ".join(
        f"{{{w['a']}, {w['b']}, {int(w['p'])}, {int(w['q'])}}}" for w in everywhere()
    )
    names = ", ".join(f"f{k}" for k in range(len(texts)))
    source = tmp_path / "all.cpp"
    source.write_text(MAIN % ("\n".join(texts), points, names))
    data = Path(library.__file__).parent / "data"
    program = tmp_path / "all"
    command = [str(found[1]), "--driver-mode=g++", "-std=c++17", "-O1", f"-I{data}"]
    subprocess.run([*command, "-o", str(program), str(source)], check=True, capture_output=True)
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    lines = [[c == "1" for c in line] for line in done.stdout.splitlines()]
    assert len(texts) > 60
    assert lines == expected
