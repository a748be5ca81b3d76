"""Random problems: new ones of each family's kernels, nearly all of them right by the rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckrules.certify.bench import Manner
from ckrules.compiling.folder import ManifestEntry
from ckrules.device import problem_set, varied
from ckrules.device.interface import DeviceInfo
from ckrules.device.prediction import predict
from ckrules.device.session import RunOptions, ValidationSession
from ckrules.kernels.books import Books
from tests.device.descriptors import CONFIG

BOOKS = Books()
WITH_PROBLEMS = [f.variants[0] for f in BOOKS.families if f.problems is not None]


def kernel(variant: str, **changes: Any) -> ManifestEntry:
    config = {**BOOKS.of(variant).vocabulary.baseline, **changes}
    arch = str(config["arch"])
    return ManifestEntry(Path(), variant, BOOKS.ck, arch, (), "rules", True, None, config)


@pytest.mark.parametrize("variant", WITH_PROBLEMS)
def test_each_family_has_random_problems(variant: str) -> None:
    own = kernel(variant)
    built_in = problem_set.smoke(own)
    found = varied.varied(own, 16, seed=3)
    assert len(set(found)) == 16
    assert not set(found) & set(built_in)
    assert max(p.flops for p in found) <= max(p.flops for p in built_in)
    said = [predict(own, p) for p in found]
    assert all(s is not None and not (s.supported and s.wrong) for s in said)
    assert sum(s is not None and not s.supported for s in said) <= 2
    assert all(problem_set.fits(own, p) for p in found)


def test_the_seed_and_the_kernel_decide() -> None:
    own = kernel("forward")
    assert varied.varied(own, 8, seed=1) == varied.varied(own, 8, seed=1)
    assert varied.varied(own, 8, seed=1) != varied.varied(own, 8, seed=2)
    assert varied.varied(own, 8, seed=1) != varied.varied(replace(own, name="other"), 8, seed=1)
    assert varied.varied(own, 0, seed=1) == []


def test_sizes_that_no_built_in_problem_has_occur() -> None:
    own = kernel("standard")
    built_in: tuple[Any, ...] = problem_set.smoke(own)
    known = {(p.m, p.n, p.k) for p in built_in}
    found: list[Any] = varied.varied(own, 30, seed=0)
    for axis, side in enumerate("mnk"):
        assert {getattr(p, side) for p in found} - {sizes[axis] for sizes in known}


def test_a_validation_runs_them_beside_the_built_in_ones(tmp_path: Path) -> None:
    own = replace(kernel(**CONFIG), folder=tmp_path)
    devices = [DeviceInfo(0, "any", "")]
    for options, more in ((RunOptions("cpu"), 0), (RunOptions("cpu", varied=5, seed=2), 5)):
        session = ValidationSession([], None, devices, options)
        problems = [job.problem for _, job in session.jobs([own])]
        assert problems[: len(problem_set.smoke(own))] == list(problem_set.smoke(own))
        assert len(problems) == len(problem_set.smoke(own)) + more


def test_the_manner_of_a_certification_names_them() -> None:
    assert str(Manner(limit=3, varied=20)).endswith(", 3 problems, 20 random ones")
