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
from ckrules.engine.errors import UsageError, unknown
from ckrules.engine.expr import implies

if TYPE_CHECKING:
    from ckrules.reasoning.cover import Kernels, Uncovered

_MOST = 200_000
_SHOWN = 20

EPILOG = """\b
KERNELS are names or files; without them, the kernels that the options select
(--catalog tiny, or any part of the space of at most 200,000 points). A problem
file has a problem a line, as `ckrules check --problem` takes them
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
    from ckrules.constraints import operator_of
    from ckrules.constraints import problems as applicability
    from ckrules.engine.variables import domain_of
    from ckrules.reasoning.cover import Kernels

    if (problems is None) == (symbolic is None):
        raise UsageError("one of --problems and --symbolic is needed")
    points = _kernels(kernels, request)
    if not points:
        note("no kernels")
        return 3
    by_operator: dict[str, list[Mapping[str, Any]]] = {}
    for p in points:
        by_operator.setdefault(operator_of(str(p["variant"])), []).append(p)
    sizes = [domain_of(f).name for f in applicability.fields()]
    group: Kernels | None = None
    for some in by_operator.values():
        variant = str(some[0]["variant"])
        book = applicability.book(variant, ck=request.books.ck, gpus=_gpus(request))
        if group is None:
            group = Kernels(book, some, sizes)
        else:
            group.add(book, some)
    assert group is not None
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

        return list(CatalogList(request).points)
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
    from ckrules.engine.expr import Expr
    from ckrules.engine.parse import parse_condition

    names: dict[str, Expr] = dict(group.variables)
    names |= group.quantities
    region = parse_condition(text, names)
    limits = {**_usual({int(p["ndim"]) for p in points}), **dict(_range(r, group) for r in ranges)}
    found = group.prove(limits, [region], given=_sensible(names), timeout=timeout)

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


def _usual(ndims: set[int]) -> dict[str, tuple[int, int]]:
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
        raw = sys.stdin.buffer.read() if path == "-" else open(path, "rb").read()  # noqa: SIM115
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
