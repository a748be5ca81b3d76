"""Find convolution problems that a set of kernels leaves without a kernel."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.answers import Writer, answer_options, configurations, timeout_option
from ckrules.cli.options import Request, space_options
from ckrules.cli.terminal import note
from ckrules.engine.errors import UsageError, unknown
from ckrules.engine.expr import implies

if TYPE_CHECKING:
    from ckrules.engine.book import RuleBook
    from ckrules.reasoning.cover import Kernels, Uncovered

_SHOWN = 20

EPILOG = """\b
KERNELS are names or files; without them, the kernels that the options select
(--catalog tiny, or a part of the space, even a large one). A problem file has
a problem a line, as `ckrules check --problem` takes them
(N=32,C=64,K=64,H=56,W=56,Y=3,X=3,pad=1), or CSV or JSON Lines with the same
names. --symbolic and --range use the fields of problems: N, G, C, K (channels
of all groups), group_c, group_k, k_batch, image_h, filter_w, conv_stride_d,
conv_dilation_h, left_pad_w, right_pad_w and so on.

\b
Examples:
  ckrules cover kernels.txt --arch gfx942 --problems layers.csv
  ckrules cover --catalog tiny --variant forward --arch gfx942 --dtype fp16 \\
      --symbolic "group_c % 8 == 0 & group_k % 8 == 0"

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
@timeout_option(60)
@answer_options
def command(
    kernels: tuple[str, ...],
    request: Request,
    problems: str | None,
    symbolic: str | None,
    ranges: tuple[str, ...],
    timeout: float,
    write: Writer,
) -> int:
    """Find convolution problems that a set of kernels leaves without a kernel."""
    if (problems is None) == (symbolic is None):
        raise UsageError("one of --problems and --symbolic is needed")
    group, ndims = _grouped(kernels, request)
    if group is None or not group.count:
        note("no kernels")
        return 3
    if problems is not None:
        return _listed(group, problems, write)
    limits = {**_usual(ndims), **dict(_range(r, group) for r in ranges)}
    return _symbolic(group, symbolic or "", limits, timeout, write)


def _grouped(names: Sequence[str], request: Request) -> tuple[Kernels | None, set[Any]]:
    """The kernels that are asked about by what they ask of problems, and their dimensions."""
    from ckrules.constraints import operator_of

    if not names and not request.catalog:
        return _selected(request)
    by_operator: dict[str, list[Mapping[str, Any]]] = {}
    ndims: set[Any] = set()
    for p in _kernels(names, request):
        ndims.add(p["ndim"])
        by_operator.setdefault(operator_of(str(p["variant"])), []).append(p)
    group: Kernels | None = None
    for some in by_operator.values():
        book = _applicability(str(some[0]["variant"]), request)
        group = group or _empty(book)
        group.add(book, some)
    return group, ndims


def _applicability(variant: str | None, request: Request) -> RuleBook:
    from ckrules.constraints import problems

    return problems.book(variant or "forward", ck=request.books.ck, gpus=_gpus(request))


def _empty(book: RuleBook) -> Kernels:
    from ckrules.constraints import problems
    from ckrules.engine.variables import domain_of
    from ckrules.reasoning.cover import Kernels

    return Kernels(book, (), [domain_of(f).name for f in problems.fields()])


def _selected(request: Request) -> tuple[Kernels, set[Any]]:
    """All kernels of the part of the space that the options select, none of them listed."""
    from ckrules.engine.variables import domain_of
    from ckrules.reasoning.projection import projected

    if not request.given and not request.where:
        raise UsageError("which kernels? Give names, files, --catalog or --variant and --arch")
    part = request.selection
    variants = part.bound.get("variant", ())
    book = _applicability(str(variants[0]) if variants else None, request)
    group = _empty(book)
    groups = projected(
        list(part.book.fields.values()),
        [*(r.condition for r in part.book.rules), *part.where],
        group.reads(book),
        fixed=part.bound,
        order=part.book.vocabulary.order,
    )
    group.add_groups(book, groups)
    return group, set(part.bound.get("ndim", domain_of(part.book.fields["ndim"]).values))


def _gpus(request: Request) -> Any:
    from ckrules.arch import load_all

    return load_all(request.books.arch_files) if request.books.arch_files else None


def _kernels(names: Sequence[str], request: Request) -> list[Mapping[str, Any]]:
    if request.catalog and not names:
        from ckrules.cli.catalog_list import CatalogList

        return list(CatalogList(request).points)
    arch = request.given.get("arch", ())
    if len(arch) > 1:
        raise UsageError("kernels are asked about for one GPU at a time")
    found = configurations(names, request.books, next(iter(arch), None))
    return [c.point for c in found]


def _listed(group: Kernels, path: str, write: Writer) -> int:
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

    write(found.to_dict(), lines())
    return 0 if found.complete else 1


def _symbolic(
    group: Kernels,
    text: str,
    limits: Mapping[str, tuple[int, int]],
    timeout: float,
    write: Writer,
) -> int:
    from ckrules.engine.expr import Expr
    from ckrules.engine.parse import parse_condition

    names: dict[str, Expr] = dict(group.variables)
    names |= group.quantities
    region = parse_condition(text, names)
    found = group.prove(limits, [region], given=_sensible(names), timeout=timeout)

    def lines() -> Iterator[str]:
        if found.empty:
            yield "covered: no problem of the ranges meets the condition"
        elif found.counterexample is None:
            yield f"covered: some kernel of {found.kernels:,} accepts every such problem (proved)"
        else:
            yield f"not covered: {_one_line(found.counterexample)}"

    shown = {"condition": text, "ranges": {n: list(r) for n, r in limits.items()}}
    write({**shown, **found.to_dict()}, lines())
    return 0 if found.covered else 1


def _usual(ndims: set[Any]) -> dict[str, tuple[int, int]]:
    """The sizes that symbolic questions go through unless they say otherwise."""
    out = {"N": (1, 256), "G": (1, 64), "C": (1, 4096), "K": (1, 4096), "k_batch": (1, 1)}
    out["problem_ndim"] = (min(ndims), max(ndims))
    for place, axis in enumerate("dhw"):
        has = max(ndims) >= 3 - place
        out |= {
            f"image_{axis}": (1, 512 if has else 1),
            f"filter_{axis}": (1, 11 if has else 1),
            f"conv_stride_{axis}": (1, 4 if has else 1),
            f"conv_dilation_{axis}": (1, 4 if has else 1),
            f"left_pad_{axis}": (0, 8 if has else 0),
            f"right_pad_{axis}": (0, 8 if has else 0),
        }
    return out


def _sensible(names: Mapping[str, Any]) -> list[Any]:
    """What every problem meets: whole groups, an output, and nothing along missing axes."""
    out = [names["C"] % names["G"] == 0, names["K"] % names["G"] == 0]
    for place, axis in enumerate("dhw"):
        image, taps, stride, dilation, left, right = (
            names[f"{stem}_{axis}"]
            for stem in (
                "image", "filter", "conv_stride", "conv_dilation", "left_pad", "right_pad",
            )
        )  # fmt: skip
        out.append(image + left + right >= dilation * (taps - 1) + 1)
        flat = [image == 1, taps == 1, stride == 1, dilation == 1, left == 0, right == 0]
        out += [implies(names["problem_ndim"] < 3 - place, f) for f in flat]
    return out


def _one_line(u: Uncovered) -> str:
    quiet = {"filter": 1, "conv_stride": 1, "conv_dilation": 1, "left_pad": 0, "right_pad": 0}
    shown = {
        n: v
        for n, v in u.problem.items()
        if v != quiet.get(n[:-2]) and not (n in ("image_d", "k_batch") and v == 1)
    }
    rules = ", ".join(f"{code} for {n:,}" for code, n in u.refused_by.items())
    return " ".join(f"{n}={v}" for n, v in shown.items()) + f" (refused by {rules})"


def _range(text: str, group: Kernels) -> tuple[str, tuple[int, int]]:
    name, _, values = text.partition("=")
    low, dots, high = values.partition("..")
    name, high = name.strip(), high if dots else low
    if name not in group.names:
        raise unknown("problem field", name, group.names)
    if not (low.strip().isdecimal() and high.strip().isdecimal() and len(values) < 30):
        raise UsageError(f"--range {text!r} is not of the form FIELD=LO..HI")
    lo, hi = int(low), int(high)
    domain = group.variables[name].data
    if not domain.lo <= lo <= hi <= domain.hi:
        raise UsageError(f"--range {text!r}: expected {domain.lo} <= LO <= HI <= {domain.hi}")
    return name, (lo, hi)


def _read(path: str) -> Iterator[dict[str, Any]]:
    from ckrules.constraints.problems import values
    from ckrules.device.problem import parse
    from ckrules.engine.errors import CkrulesError

    try:
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not a text in UTF-8") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    for line, problem in _lines(path, text):
        try:
            yield dict(values(parse(problem)))
        except CkrulesError as error:
            raise UsageError(f"{path}:{line}: {error}") from None


def _lines(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Line number and problem text of every problem of a file."""
    rows = text.splitlines()
    first = next((r.strip() for r in rows if r.strip()), "")
    if first.startswith("{"):
        for number, row in enumerate(rows, 1):
            if row.strip():
                yield number, _joined(_object(f"{path}:{number}", row))
    elif "=" in first or first.startswith("#"):
        for number, row in enumerate(rows, 1):
            problem = row.partition("#")[0].strip()
            if problem:
                yield number, problem
    else:
        try:
            for number, cells in enumerate(csv.DictReader(io.StringIO(text)), 2):
                yield number, _joined({k or "": v for k, v in cells.items() if v})
        except csv.Error as error:
            raise UsageError(f"{path}: {error}") from None


def _object(place: str, text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise UsageError(f"{place}: not a JSON object")
    return given


def _joined(given: Mapping[str, Any]) -> str:
    return ",".join(f"{k}={v}" for k, v in given.items())
