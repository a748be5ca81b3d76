"""Construct, count and list search spaces, side by side with other tuners in one run.

    python benchmarks/spaces.py [FILE…] [--peers-python VENV/bin/python]

Without files the spaces of ``tests/data/spaces`` are taken.
Every measurement is a process of its own, so that its peak memory can be read and nothing is
warm. Imports are not counted. The peers (kernel-tuner, python-constraint2, pyATF, OR-tools, z3)
may live in another environment; a peer that is not installed is reported as absent, one that
does not finish in time as such. All tools must agree on the count.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

Space = dict[str, Any]
Result = dict[str, float]
SPACES = Path(__file__).resolve().parent.parent / "tests" / "data" / "spaces"
_TOO_MANY = 30_000_000  # combinations that itertools is still asked to go through
_TABLE = 2_000_000  # combinations of one constraint that CP-SAT gets as a table


def _clock(result: Result, key: str, work: Callable[[], Any]) -> Any:
    now = time.process_time if os.environ.get("BENCH_CLOCK") == "cpu" else time.perf_counter
    began = now()
    out = work()
    result[key] = now() - began
    return out


def _names(text: str, known: list[str]) -> list[str]:
    code = compile(text, "<constraint>", "eval")
    return [n for n in known if n in code.co_names]


def ckrules(space: Space) -> Result:
    """This package: compiled form, columns of codes, and tuples of values."""
    os.environ["CKRULES_CACHE_DIR"] = ""
    import numpy as np

    import ckrules.engine.diagram.cache
    import ckrules.engine.diagram.columns
    import ckrules.engine.diagram.compiler
    import ckrules.engine.diagram.dense
    import ckrules.engine.diagram.restrict
    import ckrules.engine.diagram.split_block  # noqa: F401
    from ckrules.adapters.kernel_tuner import space_of

    out: Result = {}
    params = {v["name"]: v["values"] for v in space["variables"]}

    def construct() -> Any:
        made = space_of(params, space["constraints"])
        out["count"] = made.count()
        return made

    made = _clock(out, "construct", construct)

    def table() -> Any:
        parts = list(made.columns(1 << 20))
        return {n: np.concatenate([p[n] for p in parts]) for n in made.names} if parts else {}

    _clock(out, "list", table)
    out["table"] = out["construct"] + out["list"]
    rows = _clock(out, "list", made.to_tuples)
    assert len(rows) == out["count"]
    out["tuples"] = out["construct"] + out.pop("list")
    return out


def kernel_tuner(space: Space) -> Result:
    """Kernel Tuner's Searchspace, which is a list of tuples when it is made."""
    from kernel_tuner.searchspace import Searchspace

    params = {v["name"]: v["values"] for v in space["variables"]}
    out: Result = {}
    made = _clock(out, "tuples", lambda: Searchspace(params, list(space["constraints"]), 1 << 40))
    out["count"] = made.size
    return out


def python_constraint2(space: Space) -> Result:
    """The solver that Kernel Tuner uses, without Kernel Tuner."""
    from constraint import OptimizedBacktrackingSolver, Problem

    def run() -> Any:
        problem = Problem(OptimizedBacktrackingSolver(forwardcheck=False))
        for v in space["variables"]:
            problem.addVariable(v["name"], v["values"])
        for text in space["constraints"]:
            problem.addConstraint(text)
        return problem.getSolutionsOrderedList([v["name"] for v in space["variables"]])

    out: Result = {}
    out["count"] = len(_clock(out, "tuples", run))
    return out


def pyatf(space: Space) -> Result:
    """pyATF's chain of trees; each constraint goes to the last parameter that it reads."""
    from pyatf import TP, Set
    from pyatf.search_space import SearchSpace

    names = [v["name"] for v in space["variables"]]

    def run() -> Any:
        mine: dict[str, list[str]] = {}
        for text in space["constraints"]:
            mine.setdefault(_names(text, names)[-1], []).append(text)
        params = []
        for v in space["variables"]:
            texts = mine.get(v["name"], [])
            used = [n for n in names if any(n in _names(t, names) for t in texts)]
            body = " and ".join(f"({t})" for t in texts)
            check = eval(f"lambda {', '.join(used)}: {body}") if texts else None
            params.append(TP(v["name"], Set(*v["values"]), check))
        return SearchSpace(*params, enable_1d_access=True, verbosity=0)

    out: Result = {}
    made = _clock(out, "construct", run)
    size = made.constrained_size
    out["count"] = size
    get = made.get_configuration
    rows = _clock(out, "list", lambda: [tuple(get(i).values()) for i in range(size)])
    assert len(rows) == out["count"]
    out["tuples"] = out["construct"] + out.pop("list")
    return out


def ortools(space: Space) -> Result:
    """CP-SAT, with every constraint as a table of allowed values, and all solutions."""
    from ortools.sat.python import cp_model

    names = [v["name"] for v in space["variables"]]
    values = {v["name"]: v["values"] for v in space["variables"]}

    class Collect(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        def __init__(self, variables: list[Any]) -> None:
            super().__init__()
            self.variables, self.rows = variables, []  # type: ignore[var-annotated]

        def on_solution_callback(self) -> None:
            self.rows.append(tuple(self.value(v) for v in self.variables))

    def run() -> Any:
        model = cp_model.CpModel()
        index = {n: model.new_int_var(0, len(values[n]) - 1, n) for n in names}
        for text in space["constraints"]:
            used = _names(text, names)
            if math.prod(len(values[n]) for n in used) > _TABLE:
                raise NotImplementedError("a constraint has too many combinations for a table")
            check = eval(f"lambda {', '.join(used)}: {text}")
            places = product(*(range(len(values[n])) for n in used))
            columns = [values[n] for n in used]
            picked = ((r, [c[i] for c, i in zip(columns, r, strict=True)]) for r in places)
            rows = [r for r, values_of in picked if _true(check, values_of)]
            model.add_allowed_assignments([index[n] for n in used], rows)
        solver = cp_model.CpSolver()
        solver.parameters.enumerate_all_solutions = True
        solver.parameters.num_workers = 1
        collect = Collect([index[n] for n in names])
        solver.solve(model, collect)
        return collect.rows

    out: Result = {}
    out["count"] = len(_clock(out, "tuples", run))
    return out


def _true(check: Callable[..., Any], row: list[Any]) -> bool:
    try:
        return bool(check(*row))
    except ZeroDivisionError:
        return False


def z3(space: Space) -> Result:
    """z3 with a clause that blocks each model found, as IREE's tuner enumerates."""
    import z3 as solver

    names = [v["name"] for v in space["variables"]]

    def run() -> int:
        terms = {n: solver.Int(n) for n in names}
        s = solver.Solver()
        for v in space["variables"]:
            s.add(solver.Or([terms[v["name"]] == x for x in v["values"]]))
        for text in space["constraints"]:
            s.add(_z3_term(text, terms))
        found = 0
        while s.check() == solver.sat:
            model = s.model()
            s.add(solver.Or([t != model.eval(t, model_completion=True) for t in terms.values()]))
            found += 1
        return found

    out: Result = {}
    out["count"] = _clock(out, "tuples", run)
    return out


def _z3_term(text: str, terms: dict[str, Any]) -> Any:
    """The constraint as a z3 term; exact division only where it is exact for all values."""
    import ast

    import z3 as solver

    ops: dict[type, Callable[[Any, Any], Any]] = {
        ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
        ast.FloorDiv: lambda a, b: a / b, ast.Mod: lambda a, b: a % b,
        ast.Eq: lambda a, b: a == b, ast.NotEq: lambda a, b: a != b, ast.Lt: lambda a, b: a < b,
        ast.LtE: lambda a, b: a <= b, ast.Gt: lambda a, b: a > b, ast.GtE: lambda a, b: a >= b,
    }  # fmt: skip

    def read(node: ast.AST) -> Any:
        if isinstance(node, ast.Name):
            return terms[node.id]
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in ops:
            return ops[type(node.op)](read(node.left), read(node.right))
        if isinstance(node, ast.BoolOp):
            join = solver.And if isinstance(node.op, ast.And) else solver.Or
            return join([read(v) for v in node.values])
        if isinstance(node, ast.Compare):
            sides = [read(x) for x in (node.left, *node.comparators)]
            pairs = zip(node.ops, sides, sides[1:], strict=False)
            return solver.And([ops[type(o)](a, b) for o, a, b in pairs])
        raise NotImplementedError(f"{type(node).__name__} has no exact counterpart")

    return read(ast.parse(text, mode="eval").body)


def itertools(space: Space) -> Result:
    """Every combination, filtered by one compiled function."""
    names = [v["name"] for v in space["variables"]]
    if math.prod(len(v["values"]) for v in space["variables"]) > _TOO_MANY:
        raise NotImplementedError(f"more than {_TOO_MANY:,} combinations")
    body = " and ".join(f"({t})" for t in space["constraints"]) or "True"

    def run() -> Any:
        check = eval(f"lambda {', '.join(names)}: {body}")
        return [r for r in product(*(v["values"] for v in space["variables"])) if _true(check, r)]

    out: Result = {}
    out["count"] = len(_clock(out, "tuples", run))
    return out


TOOLS: dict[str, tuple[Callable[[Space], Result], str]] = {
    "ckrules": (ckrules, "ckrules"),
    "kernel-tuner": (kernel_tuner, "kernel_tuner"),
    "python-constraint2": (python_constraint2, "constraint"),
    "pyATF": (pyatf, "pyatf"),
    "OR-tools CP-SAT": (ortools, "ortools"),
    "z3 blocking": (z3, "z3"),
    "itertools": (itertools, "itertools"),
}


def work(tool: str, path: str) -> dict[str, Any]:
    """One measurement, in this process."""
    function, module = TOOLS[tool]
    if importlib.util.find_spec(module) is None:
        return {"absent": True}
    space = json.loads(Path(path).read_text())
    try:
        out: dict[str, Any] = dict(function(space))
    except NotImplementedError as error:
        return {"impossible": str(error)}
    out["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return out


def measure(tool: str, path: str, python: str, repeat: int, limit: float) -> dict[str, Any]:
    """Medians of ``repeat`` processes."""
    command = [python, os.path.abspath(__file__), "--worker", tool, path]
    runs: list[dict[str, Any]] = []
    for _ in range(repeat):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return {"timeout": limit}
        if done.returncode:
            return {"failed": done.stderr.strip().splitlines()[-1:] or ["no message"]}
        run = json.loads(done.stdout.splitlines()[-1])
        if "count" not in run:
            return run
        runs.append(run)
    return {k: statistics.median(r[k] for r in runs) for k in runs[0]}


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f}" if seconds < 0.1 else f"{seconds * 1e3:,.0f}"


def rows(path: str, found: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The lines of the Markdown table of one space."""
    ours = found["ckrules"]
    for tool, result in found.items():
        if "count" not in result:
            key, value = next(iter(result.items()))
            text = {"absent": "absent", "timeout": f"not done in {value} s"}.get(key)
            text = text or f"{key}: {value}"
            yield f"| {tool} | | | | {text} | |"
            continue
        cells = [_milliseconds(result[k]) if k in result else "" for k in ("construct", "table")]
        tuples = _milliseconds(result["tuples"])
        ratio = "" if tool == "ckrules" else f"{result['tuples'] / ours['table']:,.1f}×"
        memory = f"{result['memory'] / 2**20:,.0f} MB"
        yield f"| {tool} | {cells[0]} | {cells[1]} | {tuples} | {ratio} | {memory} |"


def report(path: str, found: dict[str, dict[str, Any]]) -> bool:
    """Print one space's table; false if the tools disagree on the count."""
    counts = {t: int(r["count"]) for t, r in found.items() if "count" in r}
    ours = counts.get("ckrules")
    print(f"\n### {Path(path).stem}: {ours:,} points\n")
    print("| tool | construct + count, ms | table, ms | tuples, ms | tuples / our table | memory |")
    print("|---|---|---|---|---|---|")
    for line in rows(path, found):
        print(line)
    wrong = {t: c for t, c in counts.items() if c != ours}
    if wrong:
        print(f"\n**Counts differ**: {wrong}")
    sys.stdout.flush()
    return not wrong


def summary(results: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Print the geometric means over the spaces that a tool finished."""
    print("\n### Geometric means\n")
    print("| tool | spaces | its tuples / our table | / our construct + count | / our tuples |")
    print("|---|---|---|---|---|")
    for tool in TOOLS:
        both = [r for r in results.values() if "count" in r[tool] and tool != "ckrules"]
        if not both:
            continue
        means = [
            math.exp(statistics.mean(math.log(r[tool]["tuples"] / r["ckrules"][k]) for r in both))
            for k in ("table", "construct", "tuples")
        ]
        print(f"| {tool} | {len(both)} | " + " | ".join(f"{m:,.1f}×" for m in means) + " |")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "spaces", nargs="*", default=sorted(map(str, SPACES.glob("*.json"))), help="space files"
    )
    parser.add_argument("--peers-python", default=sys.executable, help="interpreter with the peers")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120, help="seconds a measurement may take")
    parser.add_argument(
        "--cpu", action="store_true", help="CPU time instead of wall time, for a busy machine"
    )
    parser.add_argument("--tools", nargs="*", default=list(TOOLS))
    parser.add_argument("--worker", nargs=2, metavar=("TOOL", "FILE"))
    args = parser.parse_args()
    if args.worker:
        print(json.dumps(work(*args.worker)))
        return 0
    os.environ["BENCH_CLOCK"] = "cpu" if args.cpu else "wall"
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores")
    results: dict[str, dict[str, dict[str, Any]]] = {}
    agree = True
    for path in args.spaces:
        found = {}
        for tool in args.tools:
            python = sys.executable if tool in ("ckrules", "itertools") else args.peers_python
            found[tool] = measure(tool, path, python, args.repeat, args.limit)
        results[path] = found
        agree &= report(path, found)
    if set(args.tools) == set(TOOLS):
        summary(results)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
