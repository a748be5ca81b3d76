"""Chooses the kernels of the catalog `recommended`: few that together serve many networks.

    python scripts/recommend.py FOLDER [--arch A,…] [--variant V,…] [--dtype D,…]

For each GPU, variant and dtype, kernels are drawn from the legal ones of both CK releases (of
pipelines that both have), and taken greedily: always the one that most shortens the predicted times
of the convolutions in constraints/conv/networks.toml, relative to the best drawn kernel of each. At
most 64 are taken, and no more when another one gains less than a thousandth. Times are those of
`ckrules rank`: of the package's models where there is one, else estimates.
FOLDER gets a TOML file for each GPU; the same package gives the same files.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ckrules.arch import load_all
from ckrules.constraints.conv.networks import networks
from ckrules.constraints.conv.problem import Convolution, parse
from ckrules.engine.evaluate.vector import encode, evaluate_columns
from ckrules.engine.rewrite.simplify import Simplifier
from ckrules.engine.rules.batch import BatchChecker
from ckrules.kernels import problem_books
from ckrules.kernels.books import Books
from ckrules.kernels.families import problems_of
from ckrules.kernels.selection import select
from ckrules.ranking.kernels import KernelTable
from ckrules.ranking.ranker import Ranker, shipped

MOST, GAIN, DRAWN, KEPT = 64, 5e-4, 250, 1500
#: What each halving of a load is taken to cost, of which estimates know too little: without it a
#: kernel of narrow loads, which more problems fit, would come before one of wide ones.
NARROW = 0.03
RELEASES = ("2025.11", "2026.06")
#: What is drawn from: what has been measured or run, and no kernels for special filters.
GIVEN = {
    "ndim": (2,), "layout": ("nhwgc",), "scheduler": ("intrawave",), "specialization": ("default",),
    "pipeline": ("compv3", "compv4", "mem"), "split_image": (False,), "explicit_gemm": (False,),
    "num_wave_groups": (1,), "streamk": ("off",),
    "tile_m": (16, 32, 64, 128, 256), "tile_n": (16, 32, 64, 128, 256), "tile_k": (16, 32, 64, 128),
    "wave_m": (1, 2, 4), "wave_n": (1, 2, 4), "warp_tile_m": (16, 32), "warp_tile_n": (16, 32),
}  # fmt: skip
VECTORS = (8, 4, 2, 1)
LAYOUTS = {1: "nwgc", 2: "nhwgc", 3: "ndhwgc"}
Point = dict[str, Any]


def main() -> int:
    """Writes the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    known = [g.name for g in load_all() if g.performance and not g.lacking(RELEASES[0])]
    parser.add_argument("--arch", default=",".join(known))
    parser.add_argument("--variant", default="forward,bwd_data,bwd_weight")
    parser.add_argument("--dtype", default="fp16,bf16,fp32")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for arch in asked.arch.split(","):
        found: list[Point] = []
        for variant, dtype in product(asked.variant.split(","), asked.dtype.split(",")):
            chosen, said = recommended(arch, variant, dtype)
            print(arch, variant, dtype, said, flush=True)
            found += chosen
        (asked.folder / f"{arch}.toml").write_text(text(arch, found), encoding="utf-8")
    return 0


@cache
def recommended(arch: str, variant: str, dtype: str) -> tuple[list[Point], str]:
    """The kernels that are chosen, and how good they are, in words.

    Estimates of both 16-bit types are the same, so that their kernels are, too.
    """
    if dtype == "bf16" and shipped(variant, dtype, arch) is None:
        found, said = recommended(arch, variant, "fp16")
        turned = [{**p, "dtype": dtype} for p in found]
        checkers = [BatchChecker(_books(ck).of(variant)) for ck in RELEASES]
        return [p for p in turned if not any(check(p) for check in checkers)], said
    points = candidates(arch, variant, dtype)
    if not points:
        return [], "no kernel is legal"
    problems = [p for n in networks() for p in map(parse, n.problems)]
    # Of what is fast on no fifth of the problems, none is looked at on all.
    few = sorted({i for p in problems[::5] for i in best(points, flat(p), variant)})
    points = [points[i] for i in few][:KEPT]
    times = np.stack([timed(points, flat(p), variant) for p in problems])
    served = np.isfinite(times.min(axis=1))
    times = times * np.exp(NARROW * np.asarray([narrow(p) for p in points]))
    ndims = [p.ndim for p, ok in zip(problems, served, strict=True) if ok]
    chosen, losses = covered(times[served], ndims)
    kernels = [of_dimensions(points[i], ndim, variant) for i, ndim in chosen]
    lost = np.exp(losses.mean()) - 1
    said = f"{len(kernels)} kernels of {len(points)} for {served.sum()} of {len(problems)} shapes"
    return kernels, f"{said}, {lost:.1%} slower than the best drawn one of each"


def flat(problem: Convolution) -> Convolution:
    """The problem in two dimensions, of which kernels are drawn: times depend on the GEMM alone."""
    if problem.ndim == 2:
        return problem
    sizes = (problem.batch, problem.groups, problem.in_channels, problem.out_channels)
    if problem.ndim == 1:
        image, taps = (1, *problem.input), (1, *problem.filter)
        stride, dilation = (1, *problem.stride), (1, *problem.dilation)
        pads = (0, *problem.left_pad), (0, *problem.right_pad)
        return Convolution(*sizes, image, taps, stride, dilation, *pads)
    # Depth and height as one axis, with as many outputs and taps.
    image, taps = ((a[0] * a[1], a[2]) for a in (problem.output, problem.filter))
    before, after = (tuple((t - 1 + more) // 2 for t in taps) for more in (0, 1))
    return Convolution(*sizes, image, taps, (1, 1), (1, 1), before, after)


@cache
def _books(ck: str) -> Books:
    return Books(ck, "fast")


def narrow(point: Point) -> float:
    """By how many halvings the loads of A and B are narrower than 16 bytes."""
    widest = 4 if point["dtype"] == "fp32" else 8
    widths = (min(int(point[f"vector_{x}"]), widest) for x in "ab")
    return float(sum(math.log2(widest / width) for width in widths))


@cache
def drawn(arch: str, variant: str, dtype: str) -> tuple[Point, ...]:
    """Kernels of every width of loads, each width its share."""
    given = {**GIVEN, "variant": (variant,), "arch": (arch,), "dtype": (dtype,)}
    space = select(_books(RELEASES[0]), given).distinct().space
    found: list[Point] = []
    for a, b in product(VECTORS, VECTORS):
        part = space.bind(vector_a=a, vector_b=b)
        found += [dict(p) for p in part.sample(DRAWN, seed=1)] if part.count() else []
    checker = BatchChecker(_books(RELEASES[1]).of(variant))
    return tuple(p for p in found if not checker(p))


def candidates(arch: str, variant: str, dtype: str) -> list[Point]:
    """Kernels to choose from: of GPUs, and of 16-bit types, with the same rules drawn once."""
    family = {g.name: (g.isa, g.family) for g in load_all()}
    alike = [n for n, key in family.items() if key == family[arch]]
    first, kind = alike[0], "fp16" if dtype == "bf16" else dtype
    points = [{**p, "arch": arch, "dtype": dtype} for p in drawn(first, variant, kind)]
    if (arch, dtype) != (first, kind):
        checkers = [BatchChecker(_books(ck).of(variant)) for ck in RELEASES]
        points = [p for p in points if not any(check(p) for check in checkers)]
    return points


def timed(points: Sequence[Point], problem: Convolution, variant: str) -> Any:
    """The predicted times, infinite where a kernel does not accept the problem."""
    table = _table(tuple(id(p) for p in points), points)
    times = np.asarray(Ranker().times(table[0], problem), dtype=np.float64)
    problems = problems_of(variant)
    values = problem_books.accepted(problems, problem)
    book = problem_books.book(variant, ck=RELEASES[0])
    known = Simplifier(values)
    conditions = [known.condition(r.condition) for r in book.rules]
    held = evaluate_columns(conditions, table[1], len(points))
    return np.where(np.logical_and.reduce(held), times, np.inf)


_TABLES: dict[tuple[int, ...], tuple[KernelTable, Mapping[str, Any]]] = {}


def _table(key: tuple[int, ...], points: Sequence[Point]) -> tuple[KernelTable, Mapping[str, Any]]:
    if key not in _TABLES:
        _TABLES.clear()
        columns = {n: encode([p[n] for p in points]) for n in points[0]}
        _TABLES[key] = KernelTable.of_points(list(points), _books(RELEASES[1])), columns
    return _TABLES[key]


def best(points: Sequence[Point], problem: Convolution, variant: str, n: int = 60) -> list[int]:
    """The places of the fastest kernels of a problem."""
    times = timed(points, problem, variant)
    order = np.argsort(times, kind="stable")[:n]
    return [int(i) for i in order if np.isfinite(times[i])]


def covered(times: Any, ndims: Sequence[int]) -> tuple[list[tuple[int, int]], Any]:
    """Kernels with their dimensions, chosen greedily, and how much slower each problem is."""
    slower = np.log(times / times.min(axis=1, keepdims=True))
    worst = 3.0  # of what no chosen kernel accepts: as if it were 20 times slower
    now = np.full(len(times), worst)
    dims = np.asarray(ndims)
    chosen: list[tuple[int, int]] = []
    while len(chosen) < MOST:
        options = []
        for ndim in sorted(set(ndims)):
            own = dims == ndim
            gains = np.maximum(now[own][:, None] - np.minimum(slower[own], worst), 0).sum(axis=0)
            place = int(np.argmax(gains))
            options.append((float(gains[place]), -ndim, place))
        gain, ndim, place = max(options)
        if gain / len(times) < GAIN:
            break
        chosen.append((place, -ndim))
        own = dims == -ndim
        now[own] = np.minimum(now[own], slower[own, place])
    return chosen, now


def of_dimensions(point: Point, ndim: int, variant: str) -> Point:
    """The kernel for other dimensions; backward weight has none of one (OP016)."""
    if variant == "bwd_weight" and ndim == 1:
        ndim = 2
    return {**point, "ndim": ndim, "layout": LAYOUTS[ndim]}


def text(arch: str, points: Sequence[Point]) -> str:
    """The file of a GPU: a row for each kernel, with the fields in which they differ."""
    unique = [dict(items) for items in dict.fromkeys(tuple(p.items()) for p in points)]
    fields = _books(RELEASES[0]).of("forward").fields
    varied = [n for n in fields if len({p[n] for p in unique}) > 1]
    fixed = {n: unique[0][n] for n in fields if n not in varied and n != "layout"}
    fixed.pop("arch")  # which the file's name says
    varied = [n for n in varied if n not in ("arch", "layout")]
    lines = [
        f"# Recommended kernels for {arch}. Made by scripts/recommend.py; do not edit.", "",
        "[catalog]", 'name = "recommended"',
        'title = "kernels that together serve the convolutions of well-known networks"',
        'source = "scripts/recommend.py: constraints/conv/networks.toml, predicted times"', "",
        "[[kernels]]", f"columns = [{', '.join(map(_toml, varied))}]",
        f"fixed = {{ {', '.join(f'{n} = {_toml(v)}' for n, v in fixed.items())} }}", "rows = [",
    ]  # fmt: skip
    lines += [f"  [{', '.join(_toml(p[n]) for n in varied)}]," for p in _joined(unique)]
    return "\n".join([*lines, "]", ""])


def _joined(points: Sequence[Point]) -> list[dict[str, Any]]:
    """The kernels in order, those of types with equal lists once, with all of these types."""
    lists: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for point in points:
        lists.setdefault((point["variant"], point["dtype"]), []).append({**point, "dtype": None})
    found: list[dict[str, Any]] = []
    for (variant, dtype), kernels in lists.items():
        types = [d for (v, d), other in lists.items() if v == variant and other == kernels]
        if dtype == types[0]:
            found += [{**k, "dtype": types if len(types) > 1 else dtype} for k in kernels]
    return found


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


if __name__ == "__main__":
    sys.exit(main())
