"""GEMM kernels that the toolchain's tests compile when they need them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from ckrules.compiling.artifacts import RUNNABLE, Artifact
from ckrules.device.cpu import CpuPlugin
from ckrules.device.execute import Runner
from ckrules.device.jobs import Job
from ckrules.kernels import problem_books
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name
from ckrules.kernels.families import problems_of
from tests.compiling.kernels import Kernel as Built
from tests.compiling.kernels import KernelSet

Kernel = tuple[str, str]
"""GPU and name."""


class Kernels:
    """The legal kernels of CK 2025.11 that a file of ``tests/data`` lists by GPU and name.

    Args:
        family: The beginning of the file's name, and of the folder's.
        few: Those that `make test` compiles.
    """

    def __init__(self, family: str, few: Iterable[Kernel]) -> None:
        self.family, self.few = family, tuple(few)
        self.file = Path(__file__).resolve().parents[1] / "data" / f"{family}_kernels.txt"

    @cached_property
    def names(self) -> tuple[Kernel, ...]:
        """GPU and name of each."""
        lines = (line.split() for line in self.file.read_text("utf-8").splitlines())
        return tuple((arch, name) for arch, name in lines)

    @cached_property
    def points(self) -> tuple[dict[str, Any], ...]:
        """The configurations."""
        books = Books("2025.11")
        return tuple(
            dict(config_from_name(name, books, arch=arch).point) for arch, name in self.names
        )

    def broken(self) -> list[Any]:
        """The rules that kernels break."""
        books = Books("2025.11")
        return [v for p in self.points for v in books.of(p["variant"]).violations(p)]

    @cached_property
    def _set(self) -> KernelSet:
        return KernelSet(self.family, self.points, self.few)

    def params(self, kernels: Iterable[Kernel]) -> list[Any]:
        """Kernels as parameters of tests, named by GPU and name."""
        return [
            pytest.param(k, id="-".join(k), marks=self._set.marks(self.point(k))) for k in kernels
        ]

    def point(self, kernel: Kernel) -> dict[str, Any]:
        """The configuration of a kernel."""
        return self.points[self.names.index(kernel)]

    def build(self, kernel: Kernel, artifacts: tuple[Artifact, ...] = RUNNABLE) -> Built:
        """A kernel with these artifacts, compiled if they are not there."""
        built = self._set.build(self.point(kernel), artifacts)
        assert built.name == kernel[1]
        for artifact in artifacts:
            result = built.results[artifact]
            assert result.status == "ok", result.diagnostic
        return built

    def compiled(self, kernel: Kernel) -> None:
        """Asserts that a kernel compiles, with the LDS that was predicted."""
        device = self.build(kernel, (Artifact.DEVICE,)).results[Artifact.DEVICE]
        assert device.lds_bytes == device.predicted_lds_bytes
        assert device.finding is None

    def computes(self, kernel: Kernel, problems: tuple[str, ...]) -> None:
        """Asserts that a kernel computes problems right that the rules let through."""
        built = self.build(kernel)
        point, library = self.point(kernel), built.library
        family = problems_of(point["variant"])
        rules = problem_books.book(point["variant"], ck="2025.11")
        device = CpuPlugin().open(0, {"order": "forward,reversed,random", "jobs": "1"})
        for text in problems:
            problem = family.parse(text)
            assert [v.code for v in rules.violations({**point, **family.values(problem)})] == []
            assert library.is_supported(problem), library.reason(problem)
            found = Runner(device).run(Job(built.folder, built.name, problem, 0, 0))
            assert (found.status, found.wrong) == ("ok", 0), (text, found.detail)
            # equal values that several waves write are a remark
            assert not found.detail or "with equal values" in found.detail, text

    def refuses(self, kernel: Kernel, more: tuple[str, ...] = (), also: str = "") -> None:
        """Asserts that a host library refuses what rules of kind launch refuse, and no more.

        Args:
            kernel: One of those in `names`.
            more: Problems beside those that every kernel is asked about.
            also: What those say beside their sizes; then none is of groups.
        """
        point = self.point(kernel)
        library = self.build(kernel, (Artifact.HOST,)).library
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
        if not also:
            texts += [f"M={m}+8,N={n}+{2 * n},K={k}", f"M={m}+8,N={n}+6,K={k}"]
        texts = [*(text + also for text in texts), *more]
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
