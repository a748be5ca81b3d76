"""What a family has of its folder."""

from __future__ import annotations

import pytest

from ckrules.arch import load
from ckrules.kernels.families import families
from ckrules.kernels.family import Family

GPUS = (load("gfx942"),)


def test_vocabulary_and_rules_are_those_of_the_folder() -> None:
    fmha = families()["fmha_steps"]
    codes = {r.code for r in fmha.rules()}
    assert {"FSTP001"} < codes
    assert {c[:4] for c in codes} <= set(fmha.topics)
    assert type(fmha.vocabulary("2025.11", GPUS)).__module__.endswith("fmha_steps.vocabulary")


def test_a_family_that_derives_has_those_of_its_base() -> None:
    """Also where it lies in another folder."""
    base = families()["depthwise"]
    own = type("Own", (type(base),), {"name": "own", "__module__": __name__})()
    assert [r.code for r in own.rules()] == [r.code for r in base.rules()]
    assert type(own.vocabulary("2026.06", GPUS)) is type(base.vocabulary("2026.06", GPUS))


def test_a_family_without_a_vocabulary_says_so() -> None:
    own = type("Own", (Family,), {"name": "own", "__module__": __name__})()
    for ask in (own.rules, lambda: own.vocabulary("2026.06", GPUS)):
        with pytest.raises(NotImplementedError, match="own: no module vocabulary beside"):
            ask()


def test_values_that_are_alike_are_those_of_the_folder() -> None:
    """A family without a module of them has none."""
    known = {
        n: f.vocabulary("2025.11", GPUS).alike
        for n, f in families().items()
        if f.since <= "2025.11"
    }
    assert {a.field for a in known["fmha_v3"]} == {"hdim", "block_per_cu"}
    assert known["conv"]
    assert not known["fmha_steps"]
