"""What the compiler allocates for drawn kernels, kept as data that estimates are fitted to.

Each kernel's device unit is compiled as ``ckrules build`` compiles it, with its most used entry
alone, and no host library. The data are one CSV file a family; a line is written as soon as its
kernel is compiled, so that a run that was ended goes on where it was.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ckrules.certify.probe import exists
from ckrules.certify.sizes import kind_by_kind, tells_kinds
from ckrules.codegen.generate import Generator, MainEntry, main_entry
from ckrules.compiling import codeobject, tasks
from ckrules.compiling.executors import executor
from ckrules.compiling.failures import REFUSALS, FailureClass
from ckrules.compiling.precompiled import SharedHeaders
from ckrules.compiling.session import BuildOptions, BuildSession
from ckrules.engine.expr import Value
from ckrules.engine.expr.variables import domain_of
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.kernels.families import family_of
from ckrules.support import files, opening
from ckrules.support.errors import UsageError
from ckrules.support.scratch import ScratchFolder

Point = Mapping[str, Value]

#: Points of a space that are looked at for each one that is kept, and the power of the volume that
#: every second one is drawn with (`ckrules.certify.sizes.small_first`): the others are uniform.
_SURPLUS, _POWER = 20, 1
_LARGEST_FILE = 256 << 20


@dataclass(frozen=True, slots=True)
class Allocation:
    """What the compiler made of one kernel's most used entry; zeros where it made nothing."""

    failure: str = ""
    """Why there is no code; empty: there is."""
    vgprs: int = 0
    """Registers of a lane, accumulation registers included."""
    agprs: int = 0
    sgprs: int = 0
    spills: int = 0
    scratch_bytes: int = 0
    lds_bytes: int = 0
    code_bytes: int = 0
    seconds: float = 0.0
    """Of the processor, with headers precompiled where the compiler can; 0: not known."""
    entries: int = 1
    """How many the whole kernel has: hot loops, tails and memory operations."""
    compiler: str = ""


UNWRITTEN = "no template"
"""The failure of a kernel that is not generated."""

USUAL_GPUS = ("gfx942", "gfx950", "gfx90a", "gfx1201", "gfx1100")
"""Those that rules are usually certified on: two compilers, three sizes of register files."""

FIGURES = tuple(f.name for f in fields(Allocation))


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """One line of the data."""

    point: Point
    seed: int
    allocation: Allocation


@dataclass
class RegisterData:
    """The lines of a family, and the file that they are kept in.

    Args:
        names: The fields of a configuration.
    """

    path: Path
    names: Sequence[str]
    rows: dict[tuple[Value, ...], CompiledKernel] = field(default_factory=dict)

    def key(self, point: Point) -> tuple[Value, ...]:
        """What tells configurations apart."""
        return tuple(point[n] for n in self.names)

    def add(self, row: CompiledKernel) -> None:
        """Keeps a line, in the file too, whole or not at all.

        Raises:
            UsageError: If the file cannot be written.
        """
        self.rows[self.key(row.point)] = row
        figures = (getattr(row.allocation, n) for n in FIGURES)
        values = [row.seed, *map(_written, self.key(row.point)), *figures]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with files.alone(self.path.parent):  # another run may begin the file
                self._append(values)
        except OSError as error:
            raise UsageError(f"{self.path}: cannot write: {error.strerror or error}") from None

    def _append(self, values: Sequence[object]) -> None:
        end = 0
        try:
            with self.path.open("a", encoding="utf-8", newline="") as file:
                end = file.tell()
                writer = csv.writer(file, lineterminator="\n")
                if not end:
                    writer.writerow(["seed", *self.names, *FIGURES])
                writer.writerow(values)
        except OSError:
            with suppress(OSError):  # such as of a disk that was full after half a line
                os.truncate(self.path, end)
            raise


def load(path: Path, family: str, books: Books) -> RegisterData:
    """The data of a family, empty where there is no file.

    Raises:
        UsageError: If the file is something else, or damaged.
    """
    variants = [v for v in books.variants if family_of(v).name == family]
    book = books.of(variants[0])
    domains = {name: domain_of(node) for name, node in book.fields.items()}
    data = RegisterData(path, tuple(domains))
    if not path.exists():
        return data
    read = {
        n: {_written(v): v for v in d.values} if d.sort != "int" else None
        for n, d in domains.items()
    }
    text = opening.read(path, _LARGEST_FILE).decode("utf-8", errors="replace")
    ends = text.count("\n")
    for number, line in enumerate(csv.DictReader(io.StringIO(text)), start=2):
        try:
            point = {
                n: int(line[n]) if known is None else known[line[n]] for n, known in read.items()
            }
            figures = {f.name: _figure(f.type, line[f.name]) for f in fields(Allocation)}
            row = CompiledKernel(point, int(line["seed"]), Allocation(**figures))
            if number > ends:
                raise ValueError("the last line was cut off")
        except (KeyError, TypeError, ValueError):
            raise UsageError(
                f"{path}:{number}: not a line of `ckrules certify registers`: expected the columns "
                "of its head and values of their fields"
            ) from None
        data.rows[data.key(point)] = row
    return data


def _written(value: Value) -> str:
    return {True: "1", False: "0"}[value] if isinstance(value, bool) else str(value)


def _figure(kind: Any, text: str) -> Any:
    return {"int": int, "float": float, "str": str}[kind](text)


def families(books: Books) -> tuple[str, ...]:
    """The families whose kernels can be compiled and have an estimate of registers.

    >>> families(Books("2025.11"))
    ('conv', 'gemm', 'quant', 'scaled')
    """
    every = (v for v in books.variants if exists(v))
    has = (v for v in every if "vgprs" in books.of(v).vocabulary.quantities)
    return tuple(dict.fromkeys(family_of(v).name for v in has))


def drawn(
    books: Books, family: str, arch: str, count: int, seed: int, where: Sequence[str] = ()
) -> list[Point]:
    """Legal kernels of a family's variants: uniform ones and rather small ones in turn.

    Each combination of words (pipeline, dtype, epilogue …) gives its share. Fewer where there are
    not as many; none where the GPU has no kernels of the family.
    """
    variants = [v for v in books.variants if family_of(v).name == family]
    rows = [_of_variant(books, v, arch, -(-count // len(variants)), seed, where) for v in variants]
    turns = (p for turn in itertools.zip_longest(*rows) for p in turn if p is not None)
    return list(itertools.islice(turns, count))


def _of_variant(
    books: Books, variant: str, arch: str, count: int, seed: int, where: Sequence[str]
) -> list[Point]:
    book = books.of(variant)
    fixed = {"variant": (variant,), "arch": (arch,)}
    # Warnings hold, too: what does nothing has no kernel of its own, and often no name.
    space = book.space_of(list(book.rules), fixed).where(*where)
    if not len(space):
        return []
    dice = random.Random(seed)
    points = [dict(p) for p in space.sample(min(len(space), _SURPLUS * count), seed=seed)]
    words = [d.name for d in map(domain_of, book.fields.values()) if tells_kinds(d)]
    halves = [points[0::2], points[1::2]]
    kinds = [
        kind_by_kind(half, words, book, dice, power)
        for half, power in zip(halves, (_POWER, 0), strict=True)
    ]
    turns = (p for turn in itertools.zip_longest(*kinds) for p in turn if p is not None)
    return list(itertools.islice(turns, count))


class RegisterCompiler:
    """Compiles device units and reads what came out.

    Args:
        coming: How many kernels of one family and GPU are known to come.
    """

    def __init__(self, books: Books, options: BuildOptions, coming: int) -> None:
        self.books, self.options, self.coming = books, options, coming
        self._headers = SharedHeaders()

    def allocation(self, point: Point) -> Allocation:
        """What the compiler makes of a configuration.

        Raises:
            UsageError: If the compiler says nothing about it.
            MissingToolError: If the toolchain is not there.
        """
        config = Config(dict(point))
        try:
            main = main_entry(config, self.books)
        except UsageError:  # rules go further than the templates, such as for experts
            return Allocation(UNWRITTEN)
        with ScratchFolder() as name:
            Generator(self.books, Path(name), ninja=False).run([config])
            session = BuildSession(Path(name), self.options)
            ((_, task),) = session.tasks()
            session.tools_for(task)  # complains of what is missing
            alone = replace(task, sources={**task.sources, main.path: main.text})
            outcome = tasks.run(
                alone, lambda t, tools: self._headers.flags(t, tools, coming=self.coming)
            )
        return allocation_of(outcome, main)


def allocation_of(outcome: tasks.BuildOutcome, main: MainEntry) -> Allocation:
    """What a compilation says of a kernel's most used entry.

    Raises:
        UsageError: If it failed for a reason that is not the kernel's.
    """
    failure, seconds = outcome.failure, round(outcome.processor_seconds, 2)
    about: dict[str, Any] = {"seconds": seconds, "entries": main.of, "compiler": outcome.tool}
    if failure is not None:
        if failure.kind not in (*REFUSALS, FailureClass.TIMEOUT):
            raise UsageError(f"{failure.kind}: {failure.diagnostic}")
        return Allocation(str(failure.kind), **about)
    (made,) = (e for e in outcome.entries if e.name == main.entry)
    return Allocation(
        vgprs=made.vgprs,
        agprs=made.agprs,
        sgprs=made.sgprs,
        spills=made.vgpr_spills,
        scratch_bytes=made.scratch_bytes,
        lds_bytes=made.lds_bytes,
        code_bytes=len(codeobject.symbols(outcome.data)[main.entry]),
        **about,
    )


@dataclass(frozen=True)
class RegisterRequest:
    """Which kernels are compiled.

    Args:
        seed: The same seed draws the same ones.
        where: Conditions of ``--where``.
    """

    families: Sequence[str]
    archs: Sequence[str]
    count: int
    seed: int
    where: Sequence[str] = ()

    def points(self, books: Books) -> Iterator[tuple[str, Point]]:
        """Family and configuration, one of each family and GPU in turn, so that a part is mixed."""
        cells = list(itertools.product(self.families, self.archs))
        share = -(-self.count // len(cells))
        rows = [
            [(f, p) for p in drawn(books, f, a, share, self.seed, self.where)] for f, a in cells
        ]
        turns = (p for turn in itertools.zip_longest(*rows) for p in turn if p is not None)
        return itertools.islice(turns, self.count)


def collect(
    request: RegisterRequest,
    data: Mapping[str, RegisterData],
    compiler: RegisterCompiler,
    jobs: int = 1,
    minutes: float | None = None,
    progress: Callable[[bool], None] = lambda _: None,
) -> tuple[dict[str, list[CompiledKernel]], int]:
    """The lines of the kernels that were asked for by family, and how many are left.

    Args:
        data: What is known, by family; what is compiled is added.
        compiler: What compiles the rest.
        jobs: Compilers at once.
        minutes: After so many no kernel is begun.
        progress: Told of each kernel, and whether it was known.
    """
    end = math.inf if minutes is None else time.monotonic() + 60 * minutes

    def compiled(point: Point) -> CompiledKernel | None:
        if time.monotonic() >= end:
            return None
        return CompiledKernel(point, request.seed, compiler.allocation(point))

    found: dict[str, list[CompiledKernel]] = {}
    left, waiting = 0, dict[Future[CompiledKernel | None], str]()
    with executor("local", jobs) as (pool, _):
        for family, point in request.points(compiler.books):
            row = data[family].rows.get(data[family].key(point))
            if row is None:
                waiting[pool.submit(compiled, point)] = family
            else:
                found.setdefault(family, []).append(row)
                progress(True)
        for future in as_completed(waiting):
            row, family = future.result(), waiting[future]
            if row is None:
                left += 1
                continue
            data[family].add(row)
            found.setdefault(family, []).append(row)
            progress(False)
    return found, left
