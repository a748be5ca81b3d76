"""Hold the rules against the compiler on drawn configurations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.options import Words
from ckrules.cli.terminal import note, progress
from ckrules.engine.errors import UsageError, unknown
from ckrules.selection import Books

if TYPE_CHECKING:
    from ckrules.build.certify import Case, Matrix
    from ckrules.build.toolchain import Toolchain

_FORMATS = ("text", "json")
_VARIANTS = ("forward", "bwd_data", "bwd_weight")

EPILOG = """\b
The compiler's front end judges each configuration (every static_assert); limits of
the back end, of the launch and of the hardware are not asked about. Verdicts are
kept, so a repeated or interrupted run goes on where it was.

\b
Exit codes: 0 rules and compiler agree, 1 they differ somewhere, 2 usage or no toolchain.
"""


@click.command(epilog=EPILOG)
@click.argument("inputs", nargs=-1)
@click.option("--arch", required=True, metavar="GPU", help="The GPU to compile for.")
@click.option("--ck", default="2025.11", metavar="VERSION", help="CK headers. [2025.11]")
@click.option("--variant", type=Words(lambda: _VARIANTS), help="Directions. [all three]")
@click.option(
    "--where", multiple=True, metavar="EXPR", help="Draw only where this holds. Repeatable."
)
@click.option("--n", "count", default=100, type=click.IntRange(1, 100_000), help="How many. [100]")
@click.option("--seed", default=0, help="The same seed draws the same configurations. [0]")
@click.option("--jobs", "-j", default=2, type=click.IntRange(1, 256), help="Compilers at once. [2]")
@click.option(
    "--batch", default=6, type=click.IntRange(1, 64), help="Kernels a compiler run, if legal. [6]"
)
@click.option("--timeout", default=600.0, metavar="SECONDS", help="Per configuration. [600]")
@click.option("--compiler", metavar="NAME", help="clang-19, amdclang++ or hipcc. [first found]")
@click.option("--ck-include", metavar="DIR", help="A CK include folder. [make toolchain's]")
@click.option("--store", metavar="FILE", help="Where verdicts are kept. [in the user's cache]")
@click.option("--format", "form", metavar="|".join(_FORMATS), default="text", help="[text]")
def command(
    inputs: tuple[str, ...],
    arch: str,
    ck: str,
    variant: tuple[str, ...] | None,
    where: tuple[str, ...],
    count: int,
    seed: int,
    jobs: int,
    batch: int,
    timeout: float,
    compiler: str | None,
    ck_include: str | None,
    store: str | None,
    form: str,
) -> int:
    """Hold the rules against the compiler on drawn configurations.

    Draws configurations, uniformly and around the boundary of every rule, predicts which of them
    compile, asks the compiler, and prints where the two differ. INPUTS (as for `check`) are
    asked about instead of drawn configurations.
    """
    from ckrules.build.certify import certify
    from ckrules.build.toolchain import cache_home
    from ckrules.build.verdicts import VerdictStore

    if form not in _FORMATS:
        raise unknown("format", form, _FORMATS)
    books = Books(ck)
    gpu = books.plain_arch(arch)
    tools = _tools(ck, compiler, ck_include)
    points = (
        _read(inputs, books, gpu)
        if inputs
        else _drawn(books, gpu, variant or _VARIANTS, where, count, seed)
    )
    path = Path(store) if store else cache_home() / "verdicts.sqlite"
    with VerdictStore(path) as kept, progress("compiling", len(points)) as bar:
        matrix = certify(
            books.of("forward"), points, tools, kept, jobs=jobs, batch=batch, timeout=timeout,
            progress=lambda case: bar.advance(1),
        )  # fmt: skip
    codes = [r.code for r in books.of("forward").rules if r.kind == "compile"]
    click.echo(_json(matrix, codes) if form == "json" else _text(matrix, codes))
    for case in matrix.failures:
        note(f"no verdict: {case.failure}")
    return 1 if matrix.disagreements or matrix.failures else 0


def _tools(ck: str, compiler: str | None, include: str | None) -> Toolchain:
    from ckrules.build.toolchain import require, with_headers

    return with_headers(include, compiler) if include else require(ck, compiler)


def _drawn(
    books: Books,
    arch: str,
    variants: tuple[str, ...],
    where: tuple[str, ...],
    count: int,
    seed: int,
) -> list[dict[str, Any]]:
    from ckrules.build.draw import Drawer, mixed

    for v in variants:
        if v not in _VARIANTS:
            raise unknown("variant that can be certified", v, _VARIANTS)
    points: list[dict[str, Any]] = []
    for i, v in enumerate(variants):
        share = count // len(variants) + (i < count % len(variants))
        if share:
            drawer = Drawer(books.of(v), {"variant": (v,), "arch": (arch,)}, seed, where)
            points += mixed(drawer, share)
    return points


def _read(inputs: tuple[str, ...], books: Books, arch: str) -> list[dict[str, Any]]:
    from ckrules.readers import Context, Problem, read_input

    points = []
    for argument in inputs:
        for item in read_input(argument, Context(books, arch)):
            if isinstance(item, Problem):
                place, text = item.lines()[0]
                raise UsageError(f"{place}: {text}")
            points.append({**item.config.point, "arch": arch})
    if not points:
        raise UsageError("no configurations found")
    return points


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"


def _text(matrix: Matrix, codes: list[str]) -> str:
    out = [
        "                       compiles   rejected",
        *(
            f"predicted {word:<12}{matrix.count(predicted=p, compiled=True):>9}"
            f"{matrix.count(predicted=p, compiled=False):>11}"
            for word, p in (("to compile", True), ("to fail", False))
        ),
        f"recall    {_share(matrix.recall)} of what compiles is not rejected",
        f"precision {_share(matrix.precision)} of what is not rejected compiles",
        "",
        "rule     confirmed  alone  refuted",
    ]
    for s in matrix.by_rule(codes):
        out.append(f"{s.code:<9}{s.confirmed:>9}{s.alone:>7}{s.refuted:>9}")
    for case in matrix.disagreements:
        out += ["", *_difference(case)]
    return "\n".join(out)


def _difference(case: Case) -> list[str]:
    assert case.verdict is not None
    said = case.verdict.error or "compiles"
    return [
        "differs: " + json.dumps(dict(case.point)),
        "  compiler: " + said,
        *(f"  {v.code}: {v.message}" for v in case.broken),
    ]


def _json(matrix: Matrix, codes: list[str]) -> str:
    cases = [
        {
            "config": dict(c.point),
            "predicted": not c.broken,
            "ok": None if c.verdict is None else c.verdict.ok,
            "error": c.failure or (c.verdict.error if c.verdict else None),
            "violations": [v.to_dict() for v in c.broken],
        }
        for c in matrix.cases
    ]
    rules = {s.code: [s.confirmed, s.alone, s.refuted] for s in matrix.by_rule(codes)}
    head = {"recall": matrix.recall, "precision": matrix.precision, "rules": rules}
    return json.dumps({**head, "cases": cases}, indent=1)
