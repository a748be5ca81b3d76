"""What problems have of their family's folder."""

from __future__ import annotations

import pytest

from ckrules.arch import load
from ckrules.constraints.fmha_v3.problems import TwoGroupProblems
from ckrules.kernels.folder_problems import FolderProblems

GPUS = (load("gfx950"),)


def test_fields_and_rules_are_those_of_the_folder() -> None:
    own = TwoGroupProblems()
    assert type(own.vocabulary("2025.11", GPUS)).__name__ == "TwoGroupFit"
    assert {r.code[:5] for r in own.rules()} == {"TPROB"}


def test_problems_that_derive_have_those_of_their_base() -> None:
    """Also where they lie in another folder."""
    own = type("Own", (TwoGroupProblems,), {"__module__": __name__})()
    assert [r.code for r in own.rules()] == [r.code for r in TwoGroupProblems().rules()]


def test_a_folder_without_them_says_so() -> None:
    own = type("Own", (FolderProblems,), {"__module__": __name__})()
    with pytest.raises(NotImplementedError, match="Own: no module problem_rules beside it"):
        own.rules()
