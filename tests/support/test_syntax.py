"""Syntax trees in several threads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import ckrules

BOTH = """
import sys, threading
from ckrules.support.syntax import expression_tree, module_tree
sys.setswitchinterval(1e-6)
code = "\\n".join(f"a = [{'(' * 20}{i}{')' * 20}, (1 + 2) * 3]" for i in range(60))
faults = []
def work(f, text):
    try:
        for _ in range(60):
            f(text)
    except SystemError as error:
        faults.append(error)
threads = [threading.Thread(target=work, args=a) for a in
           [(module_tree, code), (expression_tree, "[" + "1 + 2, " * 300 + "3]")] * 2]
[t.start() for t in threads]
[t.join() for t in threads]
print(faults)
"""


def test_two_threads_make_trees() -> None:
    done = subprocess.run([sys.executable, "-c", BOTH], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_nobody_makes_trees_otherwise() -> None:
    """What another thread parses meanwhile would end with a SystemError of CPython 3.11."""
    root = Path(ckrules.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Attribute) and ast.unparse(node) == "ast.parse":
                found.add(str(path.relative_to(root)))
    assert found == {"support/syntax.py"}
