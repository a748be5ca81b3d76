"""Rules ask for facts of GPUs, never for their names, so that files of other GPUs say as much."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from ckrules.arch import CK_VERSIONS, Gpu, load_all
from ckrules.arch.loader import read_gpu
from ckrules.engine.evaluate.vector import encode, evaluate_columns
from ckrules.engine.expr.traversal import walk
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels import library, problem_books
from ckrules.kernels.families import families
from tests.cli.run import run

DATA = Path(__file__).parents[2] / "arch" / "data"
CASES = [
    (name, ck)
    for (name, family), ck in product(families().items(), CK_VERSIONS)
    if library.available(family, ck)
]
NAME = "gemm_{}_rcr_{}_{}_intrawave_False_{}_False_False_128x128x64_2x2x1_32x32x16_out_{}"


def book(name: str, ck: str, gpus: tuple[Gpu, ...] | None = None) -> RuleBook:
    """The legal and the fast rules of a family; profiles of tools name GPUs as the tools do."""
    return library.book(families()[name].variants[0], ck=ck, profile="fast", gpus=gpus)


def copies() -> dict[str, Gpu]:
    """The GPUs of the package under names that no GPU has, by their own."""
    found = {}
    for gpu in load_all():
        text = (DATA / f"{gpu.name}.toml").read_text()
        other = text.replace(f'name = "{gpu.name}"', f'name = "{gpu.name}copy"', 1)
        found[gpu.name] = read_gpu("copy.toml", other.encode())
    return found


def draws(rules: RuleBook, number: int) -> Iterator[dict[str, object]]:
    """Points from everywhere, and the rules' own examples."""
    rng = random.Random(7)
    for _ in range(number):
        yield {n: rng.choice(domain_of(v).values) for n, v in rules.fields.items()}
    for rule in rules.rules:
        for accepted in (True, False):
            for example in rules.declared(rule, accepted=accepted):
                yield dict(rules.example(example.fields))


@pytest.mark.parametrize(("name", "ck"), CASES)
def test_no_rule_names_a_gpu(name: str, ck: str) -> None:
    """Facts of GPUs are looked up in tables, never said of a name."""
    books = [book(name, ck)]
    if families()[name].problems is not None:
        books.append(problem_books.book(families()[name].variants[0], ck=ck))
    named = {
        r.code
        for b in books
        for r in b.rules
        for node in walk(r.expr, r.applies)
        if node.op in ("eq", "ne", "isin") and any(a is b.fields["arch"] for a in node.args)
    }
    assert named == set()


@pytest.mark.parametrize(("name", "ck"), CASES)
def test_a_copy_of_a_gpu_breaks_the_same_rules(name: str, ck: str) -> None:
    other = copies()
    rules = book(name, ck, (*load_all(), *other.values()))
    points = list(draws(book(name, ck), 1000))
    conditions = [r.condition for r in rules.rules]

    columns = {n: encode([p[n] for p in points]) for n in rules.fields}

    def broken(of: dict[str, str]) -> list[list[bool]]:
        gpus = [of[str(p["arch"])] for p in points]
        found = evaluate_columns(conditions, {**columns, "arch": encode(gpus)}, len(points))
        return [f.tolist() for f in found]

    for gpu in other:  # every point on every GPU
        here = dict.fromkeys(other, gpu)
        there = dict.fromkeys(other, other[gpu].name)
        differ = [
            r.code
            for r, a, b in zip(rules.rules, broken(here), broken(there), strict=True)
            if a != b
        ]
        assert differ == [], gpu


@pytest.mark.parametrize(("gpu", "ck", "kernel", "code"), [
    ("gfx942", "2026.06", NAME.format("fp16", "compv3", "cshuffle", False, "bf8"), "GEMM010"),
    ("gfx950", "2025.11", NAME.format("fp16", "compv3", "default", True, "fp8"), "GEMM008"),
])  # fmt: skip
def test_a_file_of_another_gpu_rejects_the_same(
    gpu: str, ck: str, kernel: str, code: str, tmp_path: Path
) -> None:
    path = tmp_path / "other.toml"
    path.write_text((DATA / f"{gpu}.toml").read_text().replace(f'"{gpu}"', '"gfx9f9"', 1))
    for name in (gpu, "gfx9f9"):
        words = ["check", "--isolated", "--arch-file", path, "--arch", name, "--ck", ck, kernel]
        result = run(*map(str, words))
        assert result.exit_code == 1, name
        assert code in result.stdout, name
