"""Chooses the kernels of `recommended_fmha` and `recommended_fmha_bwd`, which serve many networks.

    python scripts/recommend_attention.py FOLDER            forward and split-KV
    python scripts/recommend_attention.py FOLDER fmha_bwd   backward

For each GPU that upstream lists attention for, kernels are taken from what it lists for receipt 0
and what is legal for both CK releases, with the plainest functions: greedily, always the one that
most shortens the predicted times of the problems in constraints/fmha/networks.toml, relative to the
best one of each. Single rows of Q are split-KV's. FOLDER gets a TOML file for each GPU; the same
package gives the same files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ckrules.arch import load_all
from ckrules.constraints.fmha.problem import AttentionProblem, parse
from ckrules.constraints.fmha.targets import target
from ckrules.kernels.applicability import Applicability
from ckrules.kernels.books import Books
from ckrules.kernels.families import family_of
from ckrules.kernels.library import book
from ckrules.kernels.networks import networks_of
from ckrules.ranking.kernels import KernelTable

Point = dict[str, Any]
RELEASES = ("2025.11", "2026.06")
DTYPES = ("fp16", "bf16")
#: The kernels of each catalog, by family.
VARIANTS = {"fmha": ("fmha_fwd", "fmha_fwd_splitkv"), "fmha_bwd": ("fmha_bwd",)}
_PLAIN = {"mode": "batch", "bias": "no"}
PLAIN = {
    "fmha": {**_PLAIN, "logits": False, "dropout": False, "squant": False, "skip": False,
             "paged_kv": False},
    "fmha_bwd": {**_PLAIN, "dbias": False, "dropout": "no", "deterministic": False},
}  # fmt: skip
SOURCE = "scripts/recommend_attention.py: constraints/fmha/networks.toml, predicted times"
#: Another kernel has to shorten the times by so much in the mean.
GAIN = 1e-3
#: What a problem without a kernel counts, as a logarithm: 20 times the time of the best.
WORST = 3.0


def main() -> int:
    """Writes the files."""
    folder, family = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "fmha"
    folder.mkdir(parents=True, exist_ok=True)
    for gpu in load_all():
        if gpu.performance is None or target(gpu.name, apart=True) == "none":
            continue
        chosen = [p for v in VARIANTS[family] for p in recommended(gpu.name, v)]
        if chosen:
            said = text(gpu.name, family, chosen)
            (folder / f"{gpu.name}.toml").write_text(said, encoding="utf-8")
    return 0


def recommended(arch: str, variant: str) -> list[Point]:
    """The kernels for a GPU, of fp16: upstream lists the same of bf16, and times are the same."""
    points = list(candidates(arch, variant))
    if not points:
        return []
    single = variant == "fmha_fwd_splitkv"
    lines = (parse(line) for n in networks_of("ckrules.constraints.fmha") for line in n.problems)
    problems = [p for p in lines if (p.seqlen_q == 1) == single]
    times = np.stack([timed(points, p) for p in problems])
    served = np.isfinite(times.min(axis=1))
    chosen, lost = covered(np.log(times[served]))
    said = f"{len(chosen)} kernels of {len(points)} for {served.sum()} of {len(problems)} problems"
    print(arch, variant, f"{said}, {np.exp(lost) - 1:.1%} slower than the best one of each")
    return [points[i] for i in chosen]


def candidates(arch: str, variant: str) -> Iterator[Point]:
    """What upstream lists and both releases accept."""
    listed = book(variant, ck=RELEASES[0], profile="receipt_0")
    legal = [book(variant, ck=ck) for ck in RELEASES]
    plain = PLAIN[family_of(variant).name]
    fixed = {**plain, "variant": variant, "arch": arch, "dtype": DTYPES[0]}
    for point in listed.space(**fixed):
        same = [point, {**point, "dtype": DTYPES[1]}]
        split = variant == "fmha_fwd_splitkv"
        if point.get("lse", split) == split and not any(
            rules.violations(p) for rules in (*legal, listed) for p in same
        ):
            yield dict(point)


def timed(points: Sequence[Point], problem: AttentionProblem) -> Any:
    """The predicted times, infinite where a kernel does not take the problem in both releases."""
    tables = KernelTable.of_points(points, Books(RELEASES[0]))
    accepts = [Applicability(str(problem), Books(ck)) for ck in RELEASES]
    taken = np.asarray([all(a(p) == [] for a in accepts) for p in points])
    return np.where(taken, tables.estimate(problem).microseconds, np.inf)


def covered(times: Any) -> tuple[list[int], float]:
    """Kernels that are chosen greedily, and the mean of what is lost, as logarithms."""
    slower = np.minimum(times - times.min(axis=1, keepdims=True), WORST)
    now, chosen = np.full(len(times), WORST), list[int]()
    while True:
        gains = np.maximum(now[:, None] - slower, 0).mean(axis=0)
        best = int(np.argmax(gains))
        if gains[best] < GAIN:
            return chosen, float(now.mean())
        chosen.append(best)
        now = np.minimum(now, slower[:, best])


def text(arch: str, family: str, points: Sequence[Point]) -> str:
    """The file of a GPU: a row for each kernel, with the fields in which they differ."""
    varied = [n for n in points[0] if len({p[n] for p in points}) > 1]
    fixed = {n: v for n, v in points[0].items() if n not in (*varied, "arch", "dtype")}
    types = f"[{', '.join(map(toml, DTYPES))}]"
    lines = [
        f"# Recommended attention for {arch}. Made by scripts/recommend_attention.py; do not edit.",
        "", "[catalog]", f'name = "recommended_{family}"', f'family = "{family}"',
        'title = "kernels that together serve the attention of well-known networks"',
        f'source = "{SOURCE}"',
        "", "[[kernels]]", f"columns = [{', '.join(map(toml, ['dtype', *varied]))}]",
        f"fixed = {{ {', '.join(f'{n} = {toml(v)}' for n, v in fixed.items())} }}", "rows = [",
    ]  # fmt: skip
    lines += [f"  [{types}, {', '.join(toml(p[n]) for n in varied)}]," for p in points]
    return "\n".join([*lines, "]", ""])


def toml(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


if __name__ == "__main__":
    sys.exit(main())
