"""The rooms of the package and what imports what: checked, and drawn for docs/architecture.md.

    python scripts/architecture.py            lists imports that go up, and modules in a circle
    python scripts/architecture.py --write    draws docs/architecture.svg again
    python scripts/architecture.py --check    also fails if the drawing is stale
    python scripts/architecture.py --lines    also lists the lines of Python by room

Every import counts, those inside functions and for type checkers too.

Exit codes: 0 in order, 1 an import goes up, modules import each other, or the drawing is stale.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import networkx as nx
from jinja2 import Environment

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "architecture.svg"
TEMPLATE = Path(__file__).with_suffix(".svg.j2")
FOLDERS = {"ckrules": "ckrules", "ckrules.arch": "arch", "ckrules.constraints": "constraints",
           "ckrules.codegen": "codegen"}  # fmt: skip

LAYERS = (
    ("support",),
    ("engine", "arch"),
    ("reasoning", "kernels", "adapters"),
    ("constraints",),
    ("readers", "output", "codegen", "compat"),
    ("checking", "ranking"),
    ("compiling",),
    ("emulator",),
    ("device",),
    ("certify", "editor", "pictures", "runtime"),
    ("explore", "report"),
    ("cli",),
)
"""The rooms from the ground up: a room imports what is below it, and nothing beside it but what
`BESIDE` lists."""
BESIDE = frozenset({("adapters", "readers")})

Graph = Mapping[str, frozenset[str]]


def modules() -> dict[str, Path]:
    """Every module of the package by its import name."""
    modules = {}
    for package, folder in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            inside = package == "ckrules" and parts[0] in FOLDERS.values()
            if inside or "__pycache__" in parts:
                continue
            name = ".".join((package, *(p for p in parts if p != "__init__")))
            modules[name] = path
    return modules


def imports(known: Mapping[str, Path]) -> dict[str, frozenset[str]]:
    """The modules that each module imports; of a package's name the module that defines it."""
    return {name: frozenset(_imported(path, known)) - {name} for name, path in known.items()}


def _imported(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{a.name}" for a in node.names]
            names = [n if n in known else node.module for n in inner]
        else:
            continue
        yield from (n for n in names if n in known)


def room(module: str) -> str:
    """The room of a module: its folder below the package; "" for the front door.

    >>> room("ckrules.engine.diagram.block"), room("ckrules.constraints.conv.names")
    ('engine', 'constraints')
    """
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] != "__main__" else ""


def rising(graph: Graph) -> list[tuple[str, str]]:
    """Imports that go up or sideways."""
    level = {r: i for i, row in enumerate(LAYERS) for r in row}
    found = []
    for module, targets in graph.items():
        for target in sorted(targets):
            a, b = room(module), room(target)
            if not a or not b or a == b or (a, b) in BESIDE:
                continue
            if level[b] >= level[a]:
                found.append((module, target))
    return found


def circles(graph: Graph) -> list[list[str]]:
    """Modules that import each other, directly or in a circle, each set sorted."""
    edges = ((a, b) for a, targets in graph.items() for b in targets)
    parts = nx.strongly_connected_components(nx.DiGraph(edges))
    return sorted(sorted(p) for p in parts if len(p) > 1)


def draw(graph: Graph) -> str:
    """The rooms as an SVG: a box for each, and arrows to what it imports."""
    wide, high, gap, width = 150, 40, 46, 760
    places = {}
    for i, row in enumerate(reversed(LAYERS)):
        start = (width - len(row) * wide - (len(row) - 1) * gap) // 2
        for j, name in enumerate(row):
            places[name] = (start + j * (wide + gap), 20 + i * (high + gap))
    template = Environment(trim_blocks=True, lstrip_blocks=True).from_string(
        TEMPLATE.read_text(encoding="utf-8")
    )
    return template.render(
        places=places,
        arrows=sorted(_nearest(graph)),
        wide=wide,
        high=high,
        width=width,
        height=40 + len(LAYERS) * (high + gap) - gap,
    )


def _nearest(graph: Graph) -> Iterable[tuple[str, str]]:
    """The imports between rooms, without those that follow from others."""
    pairs = {(room(a), room(b)) for a, targets in graph.items() for b in targets}
    rooms = nx.DiGraph((a, b) for a, b in pairs if a and b and a != b)
    if not nx.is_directed_acyclic_graph(rooms):
        return list(rooms.edges)
    return list(nx.transitive_reduction(rooms).edges)


def line_counts(known: Mapping[str, Path]) -> dict[str, int]:
    """Lines of Python by room."""
    counts = dict.fromkeys((r for row in LAYERS for r in row), 0)
    for name, path in known.items():
        if room(name) in counts:
            counts[room(name)] += len(path.read_text(encoding="utf-8").splitlines())
    return counts


def main(argv: list[str] | None = None) -> int:
    """The command; see the module."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--write", action="store_true", help="draw the picture again")
    parser.add_argument("--check", action="store_true", help="fail if the picture is stale")
    parser.add_argument("--lines", action="store_true", help="list the lines of each room")
    options = parser.parse_args(argv)
    known = modules()
    graph = imports(known)
    up, round_trips = rising(graph), circles(graph)
    for a, b in up:
        print(f"{a} imports {b}, which is not below it")
    for names in round_trips:
        print(f"import each other: {', '.join(names)}")
    picture = draw(graph)
    if options.lines:
        for name, count in line_counts(known).items():
            print(f"{count:7,} {name}")
    if options.write:
        PICTURE.write_text(picture, encoding="utf-8")
    stale = options.check and (
        not PICTURE.is_file() or PICTURE.read_text(encoding="utf-8") != picture
    )
    if stale:
        print("docs/architecture.svg is stale: run python scripts/architecture.py --write")
    return int(bool(up or round_trips or stale))


if __name__ == "__main__":
    sys.exit(main())
