"""Holds what is said to make the same code against the compiler, for drawn sets.

    python scripts/same_code.py RECORD [--variant V,…] [--arch A,…] [-n N] [--seed S] [--entries N]

Both configurations of a set are generated and compiled to a code object; compared are the
instructions and the kernel descriptor of every entry, byte by byte.

RECORD has a line of JSON for each set; a run goes on where another one ended, and prints how many
sets of each claim agree. A set that differs refutes the claim, which must go.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from ckrules.arch import load
from ckrules.certify.draws import spread
from ckrules.certify.oracle import CompilerError
from ckrules.codegen.generate import Generator
from ckrules.compiling import codeobject, toolchain
from ckrules.compiling.compile_commands import Recipe, code_object_flags
from ckrules.compiling.execution import execute
from ckrules.compiling.failures import classify
from ckrules.engine.expr import Value, all_of
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules.alike import Alike, canonical, keys
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.support.errors import UsageError

Point = Mapping[str, Value]

_BEGINS = '\nextern "C"'
_NAME, _ALL, _RESULT = "kernel{:04}", "all.cpp", "all.hsaco"
#: The bytes of a kernel descriptor that say where its instructions are (LLVM's user guide of the
#: AMDGPU back end, KERNEL_CODE_ENTRY_BYTE_OFFSET).
_OFFSET = slice(16, 24)

#: Small kernels with few entries: what is compared takes the compiler seconds, not minutes.
SMALL = ("tile_m * tile_n <= 4096 & tile_k <= 64", "pipeline != 'mem' | mem_stages == 2")
UNIT = 6


def main() -> int:
    """Compares and records; 1 if some sets differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path)
    parser.add_argument("--ck", default="2025.11")
    parser.add_argument("--variant", default="forward,bwd_data,bwd_weight")
    parser.add_argument("--arch", default="gfx90a,gfx942,gfx1100,gfx1201")
    parser.add_argument("-n", type=int, default=2, help="sets of each claim, variant and GPU")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--entries", type=int, help="of each kernel [all]")
    asked = parser.parse_args()
    books, known = Books(asked.ck), read(asked.record)
    for variant, arch in product(asked.variant.split(","), asked.arch.split(",")):
        held = {"variant": (variant,), "arch": (arch,)}
        drawn = pairs(books.of(variant), held, asked.n, asked.seed, SMALL)
        new = [one for one in drawn if line(one, asked.ck)["sets"] not in known]
        for some in (new[i : i + UNIT] for i in range(0, len(new), UNIT)):
            answers = compare(some, books, entries=asked.entries)
            with asked.record.open("a", encoding="utf-8") as file:
                for one, answer in zip(some, answers, strict=True):
                    said = {"same": answer.same, "what": answer.what, "entries": asked.entries}
                    row = {**line(one, asked.ck), **said}
                    file.write(json.dumps(row) + "\n")
            print(variant, arch, *(a.what or a.same for a in answers), flush=True)
    return report(asked.record)


def line(one: Pair, ck: str) -> dict[str, Any]:
    """What a record says of a set before it is known whether it agrees."""
    sets = json.dumps([dict(one.point), one.changed(), ck])
    return {"claims": one.claims, "sets": sets}


def read(record: Path) -> set[str]:
    """The sets that are recorded."""
    if not record.exists():
        return set()
    return {json.loads(text)["sets"] for text in record.read_text("utf-8").splitlines()}


def report(record: Path) -> int:
    """Prints how many sets agree by claim; 1 if some differ."""
    found: Counter[tuple[str, str]] = Counter()
    for text in record.read_text("utf-8").splitlines():
        row = json.loads(text)
        said = {True: "the same", False: "different", None: "not compiled"}[row["same"]]
        found.update((claim, said) for claim in {*row["claims"], "every set"})
    for (claim, said), n in sorted(found.items()):
        print(f"{claim}: {n} {said}")
    return 1 if any(said == "different" for _, said in found) else 0


@dataclass(frozen=True)
class Pair:
    """A configuration and the canonical one of its set."""

    point: Point
    first: Point
    claims: tuple[str, ...]
    """The claims by which they are the same."""

    def changed(self) -> dict[str, tuple[Value, Value]]:
        """The fields that differ, with both values."""
        return {n: (v, self.first[n]) for n, v in self.point.items() if v != self.first[n]}


@dataclass(frozen=True)
class CompiledPair:
    """What the compiler made of a pair."""

    same: bool | None
    """None where one of them was not compiled."""
    what: str = ""
    """What differs, or why there is no answer."""


def pairs(
    book: RuleBook, fixed: Mapping[str, Sequence[Value]], n: int, seed: int, where: Sequence[str]
) -> Iterator[Pair]:
    """Legal configurations with the canonical ones of their sets, drawn for each claim in turn.

    Raises:
        UsageError: If no configuration has another one that is the same.
    """
    known = book.vocabulary.alike
    found: list[list[Pair]] = []
    for number, claim in enumerate(known):
        first = canonical([claim], book.fields, book.space_of((), fixed).domains)
        other = ~all_of(*first)
        space = book.space_of([*book.rules, other], fixed).where(*where)
        dice = random.Random(f"{seed} {number}")
        points = spread(space, book, n, seed, dice)
        found.append([pair(book, known, p) for p in points])
    if not any(found):
        raise UsageError("no configuration has another one that is the same")
    rows = [iter(f) for f in found]
    for _ in range(n):
        for row in rows:
            if (one := next(row, None)) is not None:
                yield one


def pair(book: RuleBook, known: Sequence[Alike], point: Point) -> Pair:
    """A configuration with the canonical one: of each field the first value that is alike."""
    now, names = dict(point), []
    for claim in known:
        key = keys([claim])
        for value in domain_of(book.fields[claim.field]).values:
            if value == now[claim.field]:
                break
            other = {**now, claim.field: value}
            if key(other) == key(now):
                now = other
                names.append(claim.name)
                break
    return Pair(point, now, tuple(names))


def compare(
    asked: Sequence[Pair], books: Books, *, entries: int | None = None, timeout: float = 3600.0
) -> list[CompiledPair]:
    """Compiles both configurations of each pair, all in one unit for one GPU, and compares them.

    Reading the headers is much of what a small kernel costs; kernels of one unit share it.

    Args:
        asked: The pairs.
        books: The release.
        entries: How many entries of each kernel are compiled, the most used first; None for all.
        timeout: Seconds of processor time for the unit.
    """
    points = [point for pair in asked for point in (pair.point, pair.first)]
    made = _unit(points, books, entries, timeout)
    if isinstance(made, str):
        return [CompiledPair(None, made)] * len(asked)
    answers = []
    for i in range(len(asked)):
        one, two = (kernels(made, _NAME.format(2 * i + j)) for j in (0, 1))
        if not one or not two:
            raise CompilerError("a code object without the entries that were asked for")
        differ = sorted(n for n in {*one, *two} if one.get(n) != two.get(n))
        answers.append(CompiledPair(not differ, ", ".join(differ)))
    return answers


def _unit(
    points: Sequence[Point], books: Books, entries: int | None, timeout: float
) -> bytes | str:
    """The code object of the device units of kernels; a text says why there is none."""
    arch = str(points[0]["arch"])
    tools = toolchain.require(books.ck, arch=arch)
    gpu = load(arch, extra=books.arch_files)
    with tempfile.TemporaryDirectory(prefix="ckrules-same-") as name:
        place = Path(name)
        names = [_NAME.format(i) for i in range(len(points))]
        configs = [Config(p, read_from=n) for p, n in zip(points, names, strict=True)]
        Generator(books, place, force=True, ninja=False).run(configs)
        # What an assertion would print has the kernel's types in it, which are not compared.
        lines = ["#define NDEBUG 1", "#define CKRULES_TYPES_ONLY 1"]
        lines += ['#include "runtime/ckrules_device.h"']
        lines += [f'#include "{n}.hpp"' for n in names]
        # What a unit calls its own is in a namespace each; the headers are there already.
        for n in names:
            parts = (place / f"{n}.device.cpp").read_text("utf-8").split(_BEGINS)
            own = _BEGINS.join(parts if entries is None else parts[: entries + 1])
            lines.append(f"namespace {n}_unit {{\n{own}\n}}")
        (place / _ALL).write_text("\n".join([*lines, ""]), encoding="utf-8")
        flags = code_object_flags(Recipe(books.ck, arch, gpu.defines), tools)
        command = [str(tools.compiler), *flags, _ALL, "-o", _RESULT]
        status, output, *_ = execute(command, place, timeout)
        if status is None:
            return f"the compiler {output}"
        if status:
            return classify(status, output).diagnostic
        return (place / _RESULT).read_bytes()


def kernels(data: bytes, name: str) -> dict[str, bytes]:
    """The instructions and the descriptor of each entry of a kernel, without its name.

    Raises:
        CodeObjectError: If it is not a code object.
    """
    kernels = {}
    for symbol, content in codeobject.symbols(data).items():
        if symbol.startswith(f"{name}__"):
            own = symbol.removeprefix(name)
            if own.endswith(".kd"):
                content = content[: _OFFSET.start] + content[_OFFSET.stop :]
            kernels[own] = content
    return kernels


if __name__ == "__main__":
    sys.exit(main())
