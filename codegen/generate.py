"""Generation: points in, a folder of kernels out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ckrules.codegen import project
from ckrules.codegen.model import Kernel, Resources, kernel
from ckrules.codegen.render import render
from ckrules.codegen.stamp import Stamp, current
from ckrules.codegen.writer import Tree
from ckrules.config import Config
from ckrules.engine.errors import UsageError
from ckrules.engine.rules import Violation
from ckrules.judge import Judge
from ckrules.names import rule_set_spelling
from ckrules.selection import Books

MANIFEST = "ckrules-kernels.jsonl"
"""What a generated folder holds, one kernel a line: what `ckrules build` works from."""


@dataclass(frozen=True)
class Refused:
    """A configuration that was not generated."""

    config: Config
    broken: tuple[Violation, ...]


@dataclass
class Report:
    """What one run of the generator did."""

    kernels: int = 0
    written: int = 0
    unchanged: int = 0
    refused: list[Refused] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)


class Generator:
    """Writes kernels of one CK release.

    Args:
        books: The rules, and with them the release.
        out: The folder to write to; kernels of several GPUs go to a folder each inside it.
        force: Generate configurations that break rules of severity error, too.
        ninja: Write ``build.ninja``; None: if the package is installed.
        stamp: What the files say they were made with.
    """

    def __init__(
        self,
        books: Books,
        out: Path,
        *,
        force: bool = False,
        ninja: bool | None = None,
        stamp: Stamp | None = None,
    ) -> None:
        self.books, self.out, self.force, self.ninja = books, out, force, ninja
        self.stamp = stamp or current(books.ck, books.arch_files)
        self._judges: dict[str, Judge] = {}
        self._resources: dict[str, Callable[[Mapping[str, Any]], Resources]] = {}

    def run(
        self, configs: Iterable[Config], progress: Callable[[int], None] | None = None
    ) -> Report:
        """Generates every legal configuration.

        Raises:
            UsageError: If two configurations have the same name and GPU but differ, or a file
                cannot be written.
        """
        report = Report()
        by_arch: dict[str, dict[str, tuple[Kernel, bool]]] = {}
        for config in configs:
            broken = self._broken(config)
            illegal = any(v.rule.severity == "error" for v in broken)
            if illegal and not self.force:
                report.refused.append(Refused(config, tuple(broken)))
                continue
            found = self._kernel(config)
            members = by_arch.setdefault(found.arch, {})
            twin = members.get(found.name)
            if twin is not None and twin[0].point != found.point:
                raise UsageError(f"two configurations are named {found.name}")
            members[found.name] = (found, not illegal)
        for arch in sorted(by_arch):
            folder = self.out / arch if len(by_arch) > 1 else self.out
            self._folder(folder, list(by_arch[arch].values()), report, progress)
        return report

    def _broken(self, config: Config) -> list[Violation]:
        variant = config.variant
        if variant not in self._judges:
            self._judges[variant] = Judge(self.books.of(variant))
        return self._judges[variant](config.point)

    def _kernel(self, config: Config) -> Kernel:
        point = config.point
        name = config.name
        if name is None:
            raise UsageError(f"no name can say {json.dumps(dict(point))}")
        return kernel(point, name, self.books.ck, self._known(point))

    def _known(self, point: Mapping[str, Any]) -> Resources:
        variant = str(point["variant"])
        if variant not in self._resources:
            self._resources[variant] = _resources(self.books, variant)
        return self._resources[variant](point)

    def _folder(
        self,
        folder: Path,
        members: list[tuple[Kernel, bool]],
        report: Report,
        progress: Callable[[int], None] | None,
    ) -> None:
        tree = Tree(folder)
        kernels = [k for k, _ in members]
        for k in kernels:
            for path, text in kernel_files(k, self.stamp):
                tree.put(path, text)
            if progress is not None:
                progress(1)
        for path, text in project.files(kernels, self.stamp):
            tree.put(path, text)
        if self.ninja is not False:
            try:
                tree.put("build.ninja", project.ninja_file(kernels, self.stamp))
            except UsageError:
                if self.ninja:
                    raise
        tree.put(MANIFEST, "".join(manifest_line(k, ok, self.stamp) for k, ok in members))
        report.kernels += len(kernels)
        report.written += tree.written
        report.unchanged += tree.unchanged
        report.folders.append(folder)


def _resources(books: Books, variant: str) -> Callable[[Mapping[str, Any]], Resources]:
    """A function of points that answers what the templates take from the rules."""
    book = books.of(variant)
    quantities = book.vocabulary.quantities
    known = [n for n in ("lds_bytes", "wave_size", "adds_atomically") if n in quantities]

    def answer(point: Mapping[str, Any]) -> Resources:
        values = book.resources(point, known)
        return Resources(
            values.get("lds_bytes"),
            int(values.get("wave_size") or 64),
            bool(values.get("adds_atomically")),
        )

    return answer


def kernel_files(k: Kernel, stamp: Stamp) -> Iterator[tuple[str, str]]:
    """Path and text of the files of one kernel."""
    values = {"k": k, "stamp": stamp}
    if k.depthwise:
        header = "depthwise/kernel.hpp.j2"
    else:
        header = f"conv/kernel_{k.ck.replace('.', '_')}.hpp.j2"
    yield f"{k.name}.hpp", render(header, values)
    yield f"{k.name}.cpp", render("conv/unit.cpp.j2", values)
    yield f"{k.name}.device.cpp", render("conv/device.cpp.j2", values)
    yield f"{k.name}.host.cpp", render("conv/host.cpp.j2", values)
    yield (
        f"dispatcher_wrappers/dispatcher_wrapper_{k.name}.hpp",
        render("dispatcher/wrapper.hpp.j2", values),
    )


def manifest_line(k: Kernel, legal: bool, stamp: Stamp) -> str:
    """A kernel's line of the manifest."""
    line = {
        "name": k.name,
        "ck": k.ck,
        "arch": k.arch,
        "rules": stamp.rules,
        "legal": legal,
        "lds_bytes": k.resources.lds_bytes,
        "config": dict(k.point),
    }
    return json.dumps(line) + "\n"


def rule_set_configs(configs: Iterable[Config]) -> Iterator[Config]:
    """The configurations spelt as upstream's rule sets spell them (compv1 for basic_v1)."""
    for config in configs:
        yield Config(config.point, rule_set_spelling(config.point))  # type: ignore[arg-type]
