"""Catalogs and the families whose kernels they have, or have not."""

from __future__ import annotations

import pytest

from tests.cli.run import run


@pytest.mark.parametrize(
    ("catalog", "words", "said"),
    [
        ("full", ("--variant", "standard"), "full lists kernels of conv, none of standard"),
        ("aiter", ("--family", "gemm"), "aiter lists kernels of scaled, none of standard"),
        ("fp16_rcr_essential", ("--variant", "forward"), "lists kernels of gemm, none of forward"),
    ],
)
def test_nothing_of_a_family_is_no_count(catalog: str, words: tuple[str, ...], said: str) -> None:
    found = run("count", "--catalog", catalog, *words)
    assert (found.exit_code, found.stdout) == (2, "")
    assert said in found.stderr


SMALL = ("--variant", "forward", "--arch", "gfx1201", "--dtype", "fp16", "--ndim", "2")


def test_rules_that_a_list_has_already_are_not_asked_twice() -> None:
    """The builder is asked before upstream lists, so that some of its rules are the list's own."""
    found = run("diff", "listed", "builder", "--catalog", "full", *SMALL)
    counted = [
        run("count", "--catalog", "full", "--stage", s, *SMALL) for s in ("listed", "builder")
    ]
    listed, left = (int(c.stdout) for c in counted)
    assert f"only listed: {listed - left}\n" in found.stdout
    assert "only builder: 0\n" in found.stdout
    assert run("lint", "--profile", "builder", *SMALL, "--select", "LINT001").exit_code == 0


def test_a_filter_of_gemms_is_not_linted_with_a_list_of_convolutions() -> None:
    words = ("--profile", "dispatcher", "--family", "gemm", "--arch", "gfx942", "--dtype", "fp16")
    found = run("lint", *words, "--select", "LINT007", "--format", "json")
    assert '"catalog"' not in found.stdout
    assert '"rules": []' in found.stdout
    assert '"profile": "dispatcher"' in found.stdout
