"""`recommended_fmha` and `recommended_fmha_bwd`: listed kernels, legal in both releases."""

from __future__ import annotations

from importlib.resources import files

import pytest

from ckrules.arch import load_all
from ckrules.constraints import catalogs
from ckrules.constraints.fmha.problem import parse
from ckrules.constraints.fmha.targets import target
from ckrules.kernels.applicability import Applicability
from ckrules.kernels.books import Books
from ckrules.kernels.library import book
from ckrules.kernels.names import format_name
from ckrules.kernels.networks import networks_of
from tests.helpers.scripts import load

PLACE = files(catalogs) / "data" / "recommended_fmha"
BACKWARD = files(catalogs) / "data" / "recommended_fmha_bwd"
GPUS = sorted(f.name.removesuffix(".toml") for f in PLACE.iterdir())
#: The catalog of each variant.
VARIANTS = {
    "fmha_fwd": "recommended_fmha", "fmha_fwd_splitkv": "recommended_fmha",
    "fmha_bwd": "recommended_fmha_bwd",
}  # fmt: skip


def test_there_is_a_file_for_each_gpu_that_upstream_lists_kernels_for() -> None:
    known = [g.name for g in load_all() if g.performance and target(g.name, apart=True) != "none"]
    assert sorted(known) == GPUS
    assert sorted(f.name.removesuffix(".toml") for f in BACKWARD.iterdir()) == GPUS


@pytest.mark.parametrize("arch", GPUS)
def test_every_network_has_a_kernel_that_is_legal_in_both_releases(arch: str) -> None:
    known = [parse(p) for n in networks_of("ckrules.constraints.fmha") for p in n.problems]
    for variant, name in VARIANTS.items():
        catalog = catalogs.load(name, archs=[arch])
        for dtype in ("fp16", "bf16"):
            points = list(catalog.space(variant, arch=arch, dtype=dtype))
            assert 0 < len(points) < 12
            for point in points:
                for ck in ("2025.11", "2026.06"):
                    assert not book(variant, ck=ck).violations(point)
            for problem in known:
                if (problem.seqlen_q == 1) == (variant == "fmha_fwd_splitkv"):
                    accepts = Applicability(str(problem), Books("2026.06"))
                    assert any(accepts(p) == [] for p in points), str(problem)


@pytest.mark.parametrize("variant", ["fmha_fwd_splitkv", "fmha_bwd"])
def test_the_script_chooses_them(variant: str) -> None:
    script = load("recommend_attention")
    chosen = script.recommended("gfx942", variant)
    found = catalogs.load(VARIANTS[variant], archs=["gfx942"])
    listed = list(found.space(variant, arch="gfx942", dtype="fp16"))
    assert sorted(map(format_name, chosen)) == sorted(map(format_name, listed))
