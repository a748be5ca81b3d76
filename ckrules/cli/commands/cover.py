"""Find convolution problems that a set of kernels leaves without a kernel."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.answers import configurations, write
from ckrules.cli.options import Request, space_options
from ckrules.cli.terminal import note
from ckrules.engine.errors import UsageError

if TYPE_CHECKING:
    from ckrules.reasoning.cover import Kernels, Uncovered

_MOST = 200_000
_SHOWN = 20

EPILOG = """\b
KERNELS are names or files; without them, the kernels that the options select
(--catalog tiny, or any part of the space of at most 200,000 points). A problem
file has JSON Lines or CSV with the columns N, G, C, K, input_d/h/w,
filter_z/y/x, stride_d/h/w, pad_d/h/w, dilation_d/h/w and split_k; what is
left out has a default. C and K are channels of one group.

\b
Examples:
  ckrules cover kernels.txt --arch gfx942 --problems layers.csv
  ckrules cover --catalog tiny --variant forward --arch gfx942 --dtype fp16 \\
      --symbolic "C % 8 == 0 & K % 8 == 0"

\b
Exit codes: 0 all covered (a proof for --symbolic), 1 not, 2 bad input,
3 no kernels, 4 undecided.
"""


@click.command(epilog=EPILOG)
@click.argument("kernels", nargs=-1)
@space_options
@click.option("--problems", metavar="FILE|-", help="Problems, one JSON object or CSV row a line.")
@click.option("--symbolic", metavar="EXPR", help="All problems that meet a condition.")
@click.option(
    "--range",
    "ranges",
    multiple=True,
    metavar="FIELD=LO..HI",
    help="Values of a problem field for --symbolic. Repeatable.",
)
@click.option("--timeout", type=click.FloatRange(min=0.1), default=60.0, help="Seconds [60].")
@click.option("--format", "form", metavar="text|json", default="text", help="[text]")
@click.option("-o", "--output", metavar="FILE", help="Write to a file.")
def command(
    kernels: tuple[str, ...],
    request: Request,
    problems: str | None,
    symbolic: str | None,
    ranges: tuple[str, ...],
    timeout: float,
    form: str,
    output: str | None,
) -> int:
    """Find convolution problems that a set of kernels leaves without a kernel."""
    from ckrules.constraints.problems import PROBLEM_FIELDS, problem_book
    from ckrules.reasoning.cover import Kernels

    if (problems is None) == (symbolic is None):
        raise UsageError("one of --problems and --symbolic is needed")
    points = _kernels(kernels, request)
    if not points:
        note("no kernels")
        return 3
    variant = str(points[0]["variant"])
    book = problem_book(variant, request.books.ck, gpus=_gpus(request))
    group = Kernels(book, points, PROBLEM_FIELDS)
    if problems is not None:
        return _listed(group, problems, form, output)
    return _symbolic(group, symbolic or "", ranges, points, timeout, form, output)


def _gpus(request: Request) -> Any:
    from ckrules.arch import load_all

    return load_all(request.books.arch_files) if request.books.arch_files else None


def _kernels(names: Sequence[str], request: Request) -> list[Mapping[str, Any]]:
    if names:
        arch = request.given.get("arch", ())
        if len(arch) > 1:
            raise UsageError("kernels are asked about for one GPU at a time")
        found = configurations(names, request.books, next(iter(arch), None))
        return [c.point for c in found]
    if not request.given and not request.catalog:
        raise UsageError("which kernels? Give names, files, --catalog or --variant and --arch")
    if request.catalog:
        from ckrules.cli.catalog_list import CatalogList

        return [p for p in CatalogList(request).points if "tile_m" in p]
    space = request.selection.space
    count = space.count()
    if count > _MOST:
        raise UsageError(f"{count:,} kernels are too many: select at most {_MOST:,}")
    return list(space)


def _listed(group: Kernels, path: str, form: str, output: str | None) -> int:
    items = list(_read(path))
    if not items:
        note("no problems")
        return 3
    found = group.cover(items)

    def lines() -> Iterator[str]:
        covered = len(items) - len(found.uncovered)
        yield f"{covered:,} of {len(items):,} problems are covered by {found.kernels:,} kernels"
        for u in found.uncovered[:_SHOWN]:
            yield f"  uncovered: {_one_line(u)}"
        if len(found.uncovered) > _SHOWN:
            yield f"  … and {len(found.uncovered) - _SHOWN:,} more"

    write(form, output, found.to_dict(), lines())
    return 0 if found.complete else 1


def _symbolic(
    group: Kernels,
    text: str,
    ranges: Sequence[str],
    points: Sequence[Mapping[str, Any]],
    timeout: float,
    form: str,
    output: str | None,
) -> int:
    from ckrules.constraints.problems import RANGES
    from ckrules.engine.expr import Expr
    from ckrules.engine.parse import parse_condition

    names: dict[str, Expr] = dict(group.variables)
    names |= {
        n: q for n, q in group.book.vocabulary.quantities.items() if q.support <= set(group.names)
    }
    region = parse_condition(text, names)
    limits = {**RANGES, **dict(_range(r, group.names) for r in ranges)}
    highest = max(int(p.get("ndim", 3)) for p in points)
    for d, f in (("d", "z"), ("h", "y"))[: 3 - highest]:  # dimensions that no kernel has
        for stem, name in (("input", d), ("filter", f), ("stride", d), ("dilation", d)):
            limits[f"{stem}_{name}"] = (1, 1)
        limits[f"pad_{d}"] = (0, 0)
    sensible = group.book["PROB001"].condition
    found = group.prove(limits, [region], given=[sensible], timeout=timeout)

    def lines() -> Iterator[str]:
        if found.empty:
            yield "covered: no problem of the ranges meets the condition"
        elif found.counterexample is None:
            yield f"covered: some kernel of {found.kernels:,} accepts every such problem (proved)"
        else:
            yield f"not covered: {_one_line(found.counterexample)}"

    shown = {"condition": text, "ranges": {n: list(r) for n, r in limits.items()}}
    write(form, output, {**shown, **found.to_dict()}, lines())
    return 0 if found.covered else 1


def _one_line(u: Uncovered) -> str:
    from ckrules.constraints.problems import DEFAULTS

    always = ("N", "G", "C", "K", "input_h", "input_w", "filter_y", "filter_x")
    shown = {n: v for n, v in u.problem.items() if n in always or v != DEFAULTS[n]}
    rules = ", ".join(f"{code} for {n:,}" for code, n in u.refused_by.items())
    return " ".join(f"{n}={v}" for n, v in shown.items()) + f" (refused by {rules})"


def _range(text: str, names: Sequence[str]) -> tuple[str, tuple[int, int]]:
    from ckrules.engine.errors import unknown

    name, _, values = text.partition("=")
    low, dots, high = values.partition("..")
    name, high = name.strip(), high if dots else low
    if name not in names:
        raise unknown("problem field", name, names)
    if not (low.strip().isdecimal() and high.strip().isdecimal() and len(values) < 30):
        raise UsageError(f"--range {text!r} is not of the form FIELD=LO..HI")
    lo, hi = int(low), int(high)
    if lo > hi or hi > 2**31 - 1:
        raise UsageError(f"--range {text!r}: expected LO <= HI <= 2147483647")
    return name, (lo, hi)


def _read(path: str) -> Iterator[dict[str, Any]]:
    from ckrules.constraints.problems import read_problem
    from ckrules.engine.errors import CkrulesError

    try:
        raw = sys.stdin.buffer.read() if path == "-" else open(path, "rb").read()  # noqa: SIM115
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not a text in UTF-8") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    for line, given in _rows(path, text):
        try:
            yield dict(read_problem(given))
        except CkrulesError as error:
            raise UsageError(f"{path}:{line}: {error}") from None


def _rows(path: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    if text.lstrip().startswith("{"):
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    given = json.loads(line)
                except (ValueError, RecursionError):
                    raise UsageError(f"{path}:{number}: not a JSON object") from None
                if not isinstance(given, dict):
                    raise UsageError(f"{path}:{number}: not a JSON object")
                yield number, given
        return
    try:
        for number, row in enumerate(csv.DictReader(io.StringIO(text)), 2):
            yield number, {k or "": _number(v) for k, v in row.items() if v not in (None, "")}
    except csv.Error as error:
        raise UsageError(f"{path}: {error}") from None


def _number(value: Any) -> Any:
    text = str(value).strip()
    return int(text) if text.lstrip("-").isdecimal() and len(text) < 20 else text
