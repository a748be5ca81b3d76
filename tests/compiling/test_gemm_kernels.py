"""Real GEMM kernels: compiled by clang against CK 2025.11, and some of them run on the CPU."""

from __future__ import annotations

import pytest

from ckrules.compiling.results import Result
from ckrules.device.cpu import CpuPlugin
from ckrules.device.execute import Runner
from ckrules.device.hostlib import HostLibrary
from ckrules.device.jobs import Job
from ckrules.kernels import problem_books
from ckrules.kernels.books import Books
from ckrules.kernels.families import problems_of
from tests.compiling import gemm_kernels as kernels
from tests.helpers.toolchain import require_toolchain

pytestmark = [pytest.mark.toolchain, pytest.mark.slow]

_16 = "False_False_False_False_32x32x32_1x2x1_16x16x16"
_ANY = "forward,reversed,random"
#: What is run: GPU, kernel, problems and, where blocks wait for each other, the order.
RUN: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {
    (
        "gfx942",
        "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_64x64x32_2x2x1_16x16x16",
    ): (("M=65,N=64,K=96", "M=64,N=64,K=128,k_batch=2"), _ANY),
    (
        "gfx942",
        "gemm_bf16_rrr_mem_default_interwave_False_False_True_False_32x64x64_1x2x1_32x32x8",
    ): (("M=33,N=64,K=72",), _ANY),
    (
        "gfx942",
        "gemm_int8_rcr_compv3_default_intrawave_False_False_False_False_32x32x64_1x2x1_16x16x32",
    ): (("M=32,N=64,K=192",), _ANY),
    (
        "gfx942",
        (
            "gemm_fp16_ccrr_compv4_default_intrawave_False_False_False_True_64x64x32_2x2x1_32x32x8"
            "_multid_MultiDAdd_d2"
        ),
    ): (("M=128,N=128,K=128",), _ANY),
    (
        "gfx942",
        "gemm_fp16_rcr_compv4_default_intrawave_False_False_True_False_64x64x32_2x2x1_16x16x16",
    ): (("M=64,N=64,K=96", "M=64,N=64,K=160"), _ANY),
    (
        "gfx942",
        (
            "gemm_fp8_rcr_preshufflev2_default_default_False_False_False_False_64x64x64_1x4x1"
            "_16x16x32_preshuffle"
        ),
    ): (("M=64,N=64,K=256", "M=1,N=128,K=320"), _ANY),
    ("gfx942", "gemm_fp16_rcr_compv3_default_intrawave_" + _16 + "_batched"): (
        ("M=40,N=32,K=64,batch=3",),
        _ANY,
    ),
    (
        "gfx942",
        (
            "gemm_fp16_rrr_mem_default_intrawave_False_False_False_False_32x32x64_1x2x1_16x16x16"
            "_grouped"
        ),
    ): (("M=32+5+40,N=32+64+32,K=128",), _ANY),
    (
        "gfx942",
        (
            "gemm_fp16_rcr_compv3_default_intrawave_False_False_False_True_32x32x32_1x1x1_16x16x16"
            "_grouped"
        ),
    ): (("M=64+5+33,N=64+128+64,K=96",), _ANY),
    (
        "gfx942",
        (
            "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_32x64x32_1x2x1_16x16x16"
            "_streamk"
        ),
    ): (("M=64,N=128,K=160", "M=32,N=64,K=224"), _ANY),
    (
        "gfx942",
        (
            "gemm_fp16_rcr_mem_default_intrawave_False_False_False_False_32x32x64_1x2x1_16x16x16"
            "_streamk_linear"
        ),
    ): (
        (
            "M=64,N=64,K=320",
            "M=224,N=32,K=128",
        ),
        "random",
    ),
    ("gfx1201", "gemm_fp16_rcr_compv3_default_intrawave_" + _16 + "_batched"): (
        ("M=32,N=32,K=96,batch=2",),
        _ANY,
    ),
    ("gfx90a", "gemm_fp16_ccr_compv3_default_intrawave_" + _16): (("M=32,N=32,K=64",), _ANY),
}
IDS = [f"{arch}-{name.removeprefix('gemm_')}" for arch, name in kernels.names()]


@pytest.fixture(scope="session")
def built() -> dict[tuple[str, str, str], Result]:
    """Every result; without the toolchain the test is skipped, or fails if it is required."""
    require_toolchain()
    return kernels.build(frozenset(RUN))


def test_the_kernels_cover_what_they_should() -> None:
    points = kernels.points()
    assert len(points) >= 40
    legal = Books("2025.11").of("standard")
    assert [legal.violations(p) for p in points if legal.violations(p)] == []
    seen = {k: {p[k] for p in points} for k in ("variant", "arch", "dtype", "layout", "pipeline")}
    assert len(seen["variant"]) == 6
    assert seen["arch"] == {"gfx90a", "gfx942", "gfx950", "gfx1201"}
    assert len(seen["dtype"]) >= 7
    assert len(seen["layout"]) >= 7
    assert len(seen["pipeline"]) == 7
    assert set(RUN) <= set(kernels.names())
    assert len(RUN) >= 12


@pytest.mark.parametrize(("arch", "name"), kernels.names(), ids=IDS)
def test_it_compiles_and_has_the_predicted_lds(
    arch: str, name: str, built: dict[tuple[str, str, str], Result]
) -> None:
    device = built[arch, name, "device"]
    assert device.status == "ok", device.diagnostic
    assert device.lds_bytes == device.predicted_lds_bytes
    assert device.finding is None


@pytest.mark.parametrize(("arch", "name"), RUN)
def test_it_computes_right(arch: str, name: str, built: dict[tuple[str, str, str], Result]) -> None:
    host = built[arch, name, "host"]
    assert host.status == "ok", host.diagnostic
    point = kernels.points()[kernels.names().index((arch, name))]
    place = kernels.folder() / arch
    library = HostLibrary(place / f"{name}.host.so")
    family = problems_of(point["variant"])
    rules = problem_books.book(point["variant"], ck="2025.11")
    problems, order = RUN[arch, name]
    device = CpuPlugin().open(0, {"order": order, "jobs": "1"})
    for text in problems:
        problem = family.parse(text)
        assert [v.code for v in rules.violations({**point, **family.values(problem)})] == []
        assert library.is_supported(problem), library.reason(problem)
        found = Runner(device).run(Job(place, name, problem, 0, 0))
        assert (found.status, found.detail, found.wrong) == ("ok", "", 0), text


@pytest.mark.parametrize(("arch", "name"), RUN)
def test_support_is_as_the_rules_say(
    arch: str, name: str, built: dict[tuple[str, str, str], Result]
) -> None:
    """What IsSupportedArgument refuses is what rules of kind launch refuse."""
    point = kernels.points()[kernels.names().index((arch, name))]
    library = HostLibrary(kernels.folder() / arch / f"{name}.host.so")
    family = problems_of(point["variant"])
    rules = problem_books.book(point["variant"], ck="2025.11")
    m, n, k = (point[f"tile_{x}"] for x in "mnk")
    texts = [
        f"M={a},N={b},K={c}"
        for a in (m, 1, m + 4)
        for b in (n, n + 8, 3)
        for c in (2 * k, k + 8, 5)
    ]
    texts += [f"M={m},N={n},K={4 * k},k_batch=2", f"M={m},N={n},K={k},batch=2"]
    texts += [f"M={m}+8,N={n}+{2 * n},K={k}", f"M={m}+8,N={n}+6,K={k}"]
    answers = set()
    for text in texts:
        problem = family.parse(text)
        found = rules.violations({**point, **family.values(problem)})
        launch = [v.code for v in found if v.kind == "launch"]
        answers.add(library.is_supported(problem))
        assert library.is_supported(problem) is not bool(launch), (
            text,
            launch,
            library.reason(problem),
        )
    assert answers == {True, False}
