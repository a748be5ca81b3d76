"""Constants of GEMMs' times are looked for without a table, and judged on it."""

from __future__ import annotations

from dataclasses import replace

from ckrules.constraints.tile_gemm.device import terms
from ckrules.kernels.books import Books
from ckrules.ranking.ranker import Ranker
from ckrules.ranking.winners import WinnerLists
from scripts import fit_gemm_timing as fit

BOOKS = Books("2026.06")


def test_steps_lead_nearer_to_the_winners_and_leave_the_constants_alone() -> None:
    groups = fit.winners(BOOKS)
    assert len(groups) == 4
    assert sum(map(len, groups.values())) >= 850
    lists = WinnerLists(Ranker(model=False), BOOKS)
    rows = groups["a8w8_blockscale_tuned_gemm", "Instinct MI355X"][::40]
    before = terms.GEMMS
    far = fit.loss(fit.figures(lists, rows, replace(terms.FITTED, staggered=True)))
    found = fit.searched(lists, rows, 12)
    assert fit.loss(fit.figures(lists, rows, found)) < far
    assert fit.loss(fit.figures(lists, rows, before)) < far
    assert terms.GEMMS is before
