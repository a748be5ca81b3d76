"""GEMM kernels that the toolchain's tests compile, in folders that later runs find again."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from ckrules.codegen.generate import Generator
from ckrules.compiling import executors, toolchain
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.database import FILE
from ckrules.compiling.results import Result, Results
from ckrules.compiling.session import BuildOptions, BuildSession
from ckrules.device.cpu import CpuPlugin
from ckrules.device.execute import Runner
from ckrules.device.hostlib import HostLibrary
from ckrules.device.jobs import Job
from ckrules.kernels import problem_books
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config, config_from_name
from ckrules.kernels.families import problems_of
from tests.compiling.kernels import STAMP, alone

Kernel = tuple[str, str]
"""GPU and name."""
Built = dict[tuple[str, str, str], Result]
"""The rows by GPU, name and artifact."""


class Kernels:
    """The legal kernels of CK 2025.11 that a file of ``tests/data`` lists by GPU and name.

    Args:
        family: The beginning of the file's name, and of the folder's.
    """

    def __init__(self, family: str) -> None:
        data = Path(__file__).resolve().parents[1] / "data"
        self.file = data / f"{family}_kernels.txt"
        self.folder = toolchain.root() / "tests" / f"{family}-2025.11"

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

    def build(self, hosts: frozenset[Kernel]) -> Built:
        """Compiles what has not been compiled yet: device code of all, host libraries of some."""
        place = self.folder
        with alone(place):
            configs = [Config(p) for p in self.points]
            # --force: whether they are legal is a test of its own, and must not empty the folder.
            report = Generator(Books("2025.11"), place, force=True, stamp=STAMP).run(configs)
            with (
                Results(place / FILE) as results,
                executors.executor("local", executors.default_jobs()) as (pool, width),
            ):
                device = BuildSession(place, BuildOptions(artifacts=(Artifact.DEVICE,)))
                assert report.kernels == len(device.kernels) == len(self.points)
                device.run(results, pool, width)
                host = BuildSession(place, BuildOptions(artifacts=(Artifact.HOST,)))
                host.kernels = [k for k in host.kernels if (k.arch, k.name) in hosts]
                assert len(host.kernels) == len(hosts)
                host.run(results, pool, width)
                return {(r.arch, r.name, r.artifact): r for r in results.rows()}

    def place(self, arch: str) -> Path:
        """Where the kernels of a GPU are: of a list with several each has a folder."""
        several = len({gpu for gpu, _ in self.names}) > 1
        return self.folder / arch if several else self.folder

    def library(self, kernel: Kernel) -> HostLibrary:
        """The host library of a kernel."""
        arch, name = kernel
        return HostLibrary(self.place(arch) / f"{name}.host.so")

    def compiled(self, kernel: Kernel, built: Built) -> None:
        """Asserts that a kernel compiled, with the LDS that was predicted."""
        device = built[(*kernel, "device")]
        assert device.status == "ok", device.diagnostic
        assert device.lds_bytes == device.predicted_lds_bytes
        assert device.finding is None

    def computes(self, kernel: Kernel, built: Built, problems: tuple[str, ...]) -> None:
        """Asserts that a kernel computes problems right that the rules let through."""
        arch, name = kernel
        host = built[arch, name, "host"]
        assert host.status == "ok", host.diagnostic
        point = self.points[self.names.index(kernel)]
        library = self.library(kernel)
        family = problems_of(point["variant"])
        rules = problem_books.book(point["variant"], ck="2025.11")
        device = CpuPlugin().open(0, {"order": "forward,reversed,random", "jobs": "1"})
        for text in problems:
            problem = family.parse(text)
            assert [v.code for v in rules.violations({**point, **family.values(problem)})] == []
            assert library.is_supported(problem), library.reason(problem)
            found = Runner(device).run(Job(self.place(arch), name, problem, 0, 0))
            assert (found.status, found.detail, found.wrong) == ("ok", "", 0), text

    def refuses(self, kernel: Kernel, more: tuple[str, ...] = ()) -> None:
        """Asserts that a host library refuses what rules of kind launch refuse, and no more."""
        point = self.points[self.names.index(kernel)]
        library = self.library(kernel)
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
        texts += [f"M={m}+8,N={n}+{2 * n},K={k}", f"M={m}+8,N={n}+6,K={k}", *more]
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
