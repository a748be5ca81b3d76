"""Every test states something, and none ends early unseen."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
#: Calls that fail a test by themselves; the last part of a dotted name.
_STATING = frozenset({"raises", "warns", "fail", "check_call"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(tree: ast.AST) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function's own body: not those of functions and lambdas inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _own(child)


def early_returns(function: Function) -> list[int]:
    """The lines where a test gives up silently: a bare ``return`` below an ``if``."""
    return [
        inner.lineno
        for node in _own(function)
        if isinstance(node, ast.If)
        for inner in [node, *_own(node)]
        if isinstance(inner, ast.Return) and inner.value is None
    ]


def _calls(function: Function) -> set[str]:
    """The names that a function calls, without what stands before the last dot."""
    called = [n.func for n in ast.walk(function) if isinstance(n, ast.Call)]
    names = {f.attr for f in called if isinstance(f, ast.Attribute)}
    return names | {f.id for f in called if isinstance(f, ast.Name)}


def _asserts(function: Function) -> bool:
    calls = _calls(function)
    return (
        any(isinstance(n, ast.Assert) for n in ast.walk(function))
        or bool(calls & _STATING)
        or any(name.startswith("assert_") for name in calls)
    )


def _imported(tree: ast.Module) -> set[str]:
    """The files below tests/ that a file may import something from."""
    out = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tests":
            folder = "/".join((node.module or "").split(".")[1:])
            out |= {f"{folder}.py", *(f"{folder}/{a.name}.py" for a in node.names)}
    return out


def silent(trees: dict[str, ast.Module]) -> list[str]:
    """The tests that state nothing, themselves or by a function of the tests that they call."""
    functions = {name: list(_functions(tree)) for name, tree in trees.items()}
    near = {name: [name, *(_imported(tree) & trees.keys())] for name, tree in trees.items()}
    helpers = {
        (name, f.name): f
        for name, found in functions.items()
        for f in found
        if not f.name.startswith("test_")
    }
    stating = {key for key, f in helpers.items() if _asserts(f)}

    def states(name: str, f: Function) -> bool:
        calls = _calls(f)
        return (
            _asserts(f)
            or "golden" in calls  # the fixture of conftest.py
            or any((file, call) in stating for file in near[name] for call in calls)
        )

    while more := {k for k, f in helpers.items() if states(k[0], f)} - stating:
        stating |= more
    return [
        f"{name}:{f.lineno} {f.name}"
        for name, found in functions.items()
        for f in found
        if f.name.startswith("test_") and not states(name, f)
    ]


@cache
def _trees() -> dict[str, ast.Module]:
    return {
        path.relative_to(TESTS).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(TESTS.rglob("*.py"))
    }


def test_no_test_returns_early() -> None:
    places = [
        f"{name}:{line} {function.name}"
        for name, tree in _trees().items()
        for function in _functions(tree)
        if function.name.startswith("test_")
        for line in early_returns(function)
    ]
    assert places == [], "use pytest.skip with a reason, or else"


def test_every_test_states_something() -> None:
    assert silent(_trees()) == []


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("    if x:\n        return\n    assert x", [3]),
        ("    for y in x:\n        if y:\n            return\n    assert x", [4]),
        ("    if x:\n        pass\n    else:\n        return\n    assert x", [5]),
        ("    if x:\n        pytest.skip('no x')\n    assert x", []),
        ("    def f():\n        if x:\n            return\n    assert f()", []),
    ],
)
def test_early_returns_are_found(body: str, lines: list[int]) -> None:
    (function,) = list(_functions(ast.parse(f"def test_it(x):\n{body}\n")))[:1]
    assert early_returns(function) == lines


@pytest.mark.parametrize(
    ("body", "states"),
    [
        ("assert x", True),
        ("with pytest.raises(ValueError): x()", True),
        ("golden('a.txt', x)", True),
        ("checked(x)", True),
        ("checked_too(x)", True),
        ("x()", False),
        ("with open(x) as f: f.write('gone')", False),
    ],
)
def test_tests_that_state_nothing_are_found(body: str, states: bool) -> None:
    helpers = "def checked(x):\n    assert x\ndef checked_too(x):\n    checked(x)\n"
    tree = ast.parse(f"{helpers}def test_it(x):\n    {body}\n")
    assert silent({"a.py": tree}) == ([] if states else ["a.py:5 test_it"])
