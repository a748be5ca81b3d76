"""Check the rules against the compiler, or against what kernels compute."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckrules.cli.formats import TEXT, output_options
from ckrules.cli.options import OneOf, Words, arch_file_option, option
from ckrules.cli.output import text_output
from ckrules.cli.terminal import note, progress
from ckrules.kernels.books import Books
from ckrules.kernels.families import family_of
from ckrules.support import folders
from ckrules.support.errors import UsageError, unknown
from ckrules.support.visible import json_text, visible_lines

if TYPE_CHECKING:
    from ckrules.certify.backend import Compared
    from ckrules.certify.bench import Manner
    from ckrules.certify.experiment import Case, Matrix
    from ckrules.cli.numerics import Wanted
    from ckrules.compiling.session import BuildOptions
    from ckrules.compiling.toolchain import Toolchain

GROUP = "maintain"

EPILOG = """\b
The compiler's front end judges each configuration (every static_assert); limits of
the back end, of the launch and of the hardware are not asked about. Verdicts are
kept, so a repeated or interrupted run goes on where it was.

\b
With --codegen the kernels become code objects, as ckrules build makes them: what the
back end refuses or leaves empty, LDS, registers and spills beside the predictions.

\b
With --numerics legal kernels, and kernels that break one rule of kind wrong-result
or launch, are built and run on the device cpu (ckrules validate --device cpu), in
several orders of waves and blocks; no GPU is needed.

\b
Examples:
  ckrules certify --arch gfx942 --ck 2025.11 -n 300 --seed 1
  ckrules certify --codegen --arch gfx950 -n 20 --where "tile_m*tile_n*tile_k <= 32768"
  ckrules certify --numerics --arch gfx942 -n 200 --seed 1
  ckrules certify --numerics --arch gfx942 kernels.json --blocks 0 --keep out

\b
Exit codes: 0 rules and verdicts agree, 1 they differ somewhere, 2 usage or no toolchain.
"""


@click.command(epilog=EPILOG)
@click.argument("inputs", nargs=-1)
@option("--arch", required=True, metavar="GPU", help="The GPU to compile for.")
@option("--ck", default="2025.11", metavar="VERSION", help="CK headers. [2025.11]")
@arch_file_option
@option(
    "--family",
    type=OneOf(lambda: _families(Books()), "family that can be certified"),
    metavar="NAME",
    help="Kind of kernel, where no variant says it [conv].",
)
@option(
    "--variant",
    type=Words(lambda: _variants(Books())),
    help="Variants of one family. [all of the family]",
)
@option("--where", multiple=True, metavar="EXPR", help="Draw only where this holds. Repeatable.")
@option(
    "-n",
    "--limit",
    "count",
    default=100,
    type=click.IntRange(1, 100_000),
    help="So many configurations at most [100].",
)
@option("--seed", default=0, help="The same seed draws the same configurations. [0]")
@option("--jobs", "-j", default=2, type=click.IntRange(1, 256), help="Compilers at once. [2]")
@option(
    "--batch", default=12, type=click.IntRange(1, 64), help="Kernels a compiler run, if legal. [12]"
)
@option("--timeout", default=600.0, metavar="SECONDS", help="Per configuration. [600]")
@option(
    "--codegen", is_flag=True, help="Compile to code objects: LDS, registers, launch and hardware."
)
@option("--numerics", is_flag=True, help="Build and run kernels on the device cpu.")
@option(
    "--blocks", default=32, type=click.IntRange(min=0), help="Columns of blocks run; 0: all. [32]"
)
@option(
    "--order", default="forward,reversed,random", metavar="LIST", help="Of waves and blocks. [all]"
)
@option(
    "--problems", type=click.IntRange(min=1), metavar="N", help="So many a kernel. [built-in set]"
)
@option(
    "--minutes", type=click.FloatRange(min=0), metavar="M", help="Begin no kernel after M. [no end]"
)
@option("--labels", metavar="FILE", help="JSON Lines with config, problem, status to match.")
@option("--keep", metavar="DIR", help="Keep the kernels there. [thrown away]")
@option("--compiler", metavar="NAME", help="A compiler by name. [first that knows the GPU]")
@option("--ck-include", metavar="DIR", help="A CK include folder. [make toolchain's]")
@option("--record", metavar="FILE", help="Add the counts to a file of evidence.")
@option("--store", metavar="FILE", help="Where verdicts are kept. [in the user's cache]")
@output_options(TEXT)
def command(
    inputs: tuple[str, ...],
    arch: str,
    ck: str,
    arch_files: tuple[str, ...],
    family: str | None,
    variant: tuple[str, ...] | None,
    where: tuple[str, ...],
    count: int,
    seed: int,
    jobs: int,
    batch: int,
    timeout: float,
    codegen: bool,
    compiler: str | None,
    ck_include: str | None,
    numerics: bool,
    blocks: int,
    order: str,
    problems: int | None,
    minutes: float | None,
    labels: str | None,
    keep: str | None,
    record: str | None,
    store: str | None,
    form: str,
    output: str | None,
) -> int:
    """Check the rules against the compiler, or against what kernels compute.

    Draws configurations, uniformly and around the boundary of every rule, predicts which of them
    compile (with --numerics: compute right), asks the compiler (the device cpu), and prints where
    the two differ. INPUTS (as for `check`) are asked about instead of drawn configurations.
    """
    from ckrules import arch as gpu_facts
    from ckrules.certify import recording
    from ckrules.certify.experiment import certify
    from ckrules.certify.oracle import Oracle
    from ckrules.certify.verdicts import VerdictStore
    from ckrules.compiling.toolchain import first_line

    books = Books(ck, arch_files=[Path(p) for p in arch_files])
    gpu = gpu_facts.load(books.plain_arch(arch), extra=books.arch_files)
    if lacking := gpu.lacking(books.ck):
        raise UsageError(lacking)
    variants = _chosen(books, family, variant)
    if codegen and numerics:
        raise UsageError("--numerics does not go with --codegen")
    if numerics:
        from ckrules.cli.numerics import Places, answer

        manner = _manner(order, seed, blocks, problems, timeout)
        wanted = _wanted(books, gpu.name, variants, inputs, labels, where, count)
        wanted = replace(wanted, minutes=minutes)
        points = [lab.point for lab in wanted.labels] or wanted.points
        asked, options = _asked(variant, where, count, seed, points), _built(compiler, ck_include)
        places = Places(store, keep, record)
        return answer(wanted, manner, options, places, jobs, asked, form, output)
    for name, given in (
        ("--labels", labels),
        ("--keep", keep),
        ("--problems", problems),
        ("--minutes", minutes),
    ):
        if given is not None:
            raise UsageError(f"{name} goes with --numerics")
    tools = _tools(ck, compiler, ck_include, gpu.name)
    note(f"compiler: {tools.compiler} ({tools.version})")
    drawn = _beyond if codegen else _drawn
    points = (
        _read(inputs, books, gpu.name)
        if inputs
        else drawn(books, gpu.name, variants, where, count, seed)
    )
    rules = books.of(str(points[0]["variant"]))
    asked = _asked(variant, where, count, seed, points if inputs else None)
    path = Path(store) if store else folders.cache() / "verdicts.sqlite"
    if codegen:
        from ckrules.cli import codegen_report

        def keep_counts(cases: Sequence[Compared]) -> None:
            if record is not None:
                about = (gpu.name, books.ck, first_line(tools.version), asked)
                recording.add(Path(record), recording.of_backend(cases, *about))

        return codegen_report.answer(
            rules, points, tools, gpu, timeout, path, form, output, keep_counts
        )
    oracle = Oracle(tools, gpu, timeout)
    with VerdictStore(path) as kept, progress("compiling", len(points)) as bar:
        matrix = certify(
            rules, points, oracle, kept, jobs=jobs, batch=batch,
            progress=lambda case: bar.advance(1),
        )  # fmt: skip
    codes = [r.code for r in rules.rules if r.kind == "compile"]
    with text_output(output) as stream:
        stream.write((_json if form == "json" else _shown)(matrix, codes) + "\n")
    for case in matrix.failures:
        note(f"no verdict: {case.failure}")
    if record is not None:
        about = (str(points[0]["variant"]), gpu.name, books.ck, first_line(oracle.tools.version))
        recording.add(Path(record), recording.of_compiler(matrix, *about, asked))
    return 1 if matrix.disagreements or matrix.failures else 0


def _manner(order: str, seed: int, blocks: int, limit: int | None, timeout: float) -> Manner:
    from ckrules.certify.bench import Manner
    from ckrules.device.cpu import plan_of

    manner = Manner(tuple(order.split(",")), seed, blocks, limit, timeout)
    plan_of(manner.options)  # complains of an unknown order
    return manner


def _wanted(
    books: Books,
    arch: str,
    variants: tuple[str, ...],
    inputs: tuple[str, ...],
    labels: str | None,
    where: tuple[str, ...],
    count: int,
) -> Wanted:
    from ckrules.certify.labels import read
    from ckrules.cli.numerics import Wanted

    if labels is not None and inputs:
        raise UsageError("--labels: not beside other configurations")
    found = tuple(lab for lab in read(labels, books) if lab.point["arch"] == arch) if labels else ()
    if labels and not found:
        raise UsageError(f"{labels}: no labels for {arch}")
    points = _read(inputs, books, arch) if inputs else None
    given: list[Mapping[str, Any]] = [*(points or ()), *(lab.point for lab in found)]
    if given:  # whose family is theirs
        variants = tuple(dict.fromkeys(str(point["variant"]) for point in given))
    return Wanted(books, arch, variants, points, found, where, count)


def _built(compiler: str | None, include: str | None) -> BuildOptions:
    from ckrules.compiling.session import BuildOptions

    return BuildOptions(compiler=compiler, include=Path(include).resolve() if include else None)


def _asked(
    variants: tuple[str, ...] | None,
    where: tuple[str, ...],
    count: int,
    seed: int,
    points: Sequence[Mapping[str, Any]] | None,
) -> str:
    """What was asked for, in the words of the command line."""
    from ckrules.certify.recording import points_id

    if points is not None:
        return f"{len(points)} configurations {points_id(points)}"
    words = [f"-n {count} --seed {seed}"]
    words += [f"--variant {','.join(variants)}"] if variants else []
    return " ".join([*words, *(f"--where '{text}'" for text in where)])


def _tools(ck: str, compiler: str | None, include: str | None, arch: str) -> Toolchain:
    from ckrules.compiling.toolchain import require, with_headers

    if include:
        return with_headers(include, compiler, arch)
    return require(ck, compiler, arch=arch)


def _variants(books: Books) -> tuple[str, ...]:
    """The variants that the compiler can be asked about."""
    from ckrules.certify.probe import exists

    return tuple(v for v in books.variants if exists(v))


def _families(books: Books) -> list[str]:
    return list(dict.fromkeys(family_of(v).name for v in _variants(books)))


def _chosen(books: Books, family: str | None, asked: tuple[str, ...] | None) -> tuple[str, ...]:
    """The variants to draw from, all of one family."""
    known = _variants(books)
    for v in asked or ():
        if v not in known:
            raise unknown("variant that can be certified", v, known)
    name = family or family_of(asked[0] if asked else known[0]).name
    for v in asked or ():
        if family_of(v).name != name:
            raise UsageError(f"{v} is not a variant of the family {name}: certify one at a time")
    return asked or tuple(v for v in known if family_of(v).name == name)


def _drawn(
    books: Books,
    arch: str,
    variants: tuple[str, ...],
    where: tuple[str, ...],
    count: int,
    seed: int,
) -> list[dict[str, Any]]:
    from ckrules.certify.draws import shares
    from ckrules.certify.probe import fields
    from ckrules.certify.sampling import Sampler, mixed

    rules = books.of(variants[0])
    judged = fields(rules.example({}))
    points: list[dict[str, Any]] = []
    for fixed, share in shares(variants, arch, count):
        points += mixed(Sampler(rules, fixed, seed, where, judged), share)
    return points


def _beyond(
    books: Books,
    arch: str,
    variants: tuple[str, ...],
    where: tuple[str, ...],
    count: int,
    seed: int,
) -> list[dict[str, Any]]:
    """Configurations for the back end: a third legal, the others beyond one of its rules each."""
    from ckrules.certify.draws import draw, shares

    rules = books.of(variants[0])
    points: list[dict[str, Any]] = []
    for fixed, share in shares(variants, arch, count):
        points += draw(rules, fixed, share, seed, where, 2 / 3, ("hardware", "launch")).points
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
    names = {family_of(str(p["variant"])).name for p in points}
    if len(names) > 1:
        raise UsageError(f"kernels of {' and '.join(sorted(names))}: certify one family at a time")
    return points


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"


def _shown(matrix: Matrix, codes: list[str]) -> str:
    return visible_lines(_text(matrix, codes))


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
    return [
        "differs: " + json.dumps(dict(case.point)),
        "  compiler: " + (case.verdict.error or "compiles"),
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
    return json_text({**head, "cases": cases}, indent=1)
