"""Generation: points in, a folder of kernels out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ckrules.arch import Gpu, TargetGpu
from ckrules.codegen import project
from ckrules.codegen.model import KernelModel, generation_of
from ckrules.codegen.render import render
from ckrules.codegen.stamp import Stamp, current
from ckrules.codegen.writer import Tree
from ckrules.engine.rules import Violation
from ckrules.engine.rules.batch import BatchChecker
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.kernels.family import Family
from ckrules.kernels.names import plain, rule_set_spelling
from ckrules.support import files
from ckrules.support.errors import UsageError

MANIFEST = "ckrules-kernels.jsonl"
"""What a generated folder holds, one kernel a line: what `ckrules build` works from."""

SECONDS = "compile_seconds"
"""The quantity that predicts how long the device unit with one entry takes."""
ENTRY_SHARE = 0.2
"""What each further entry takes of that, who finds the headers read."""


@dataclass(frozen=True)
class Refused:
    """A configuration that was not generated."""

    config: Config
    broken: tuple[Violation, ...]


@dataclass
class GenerationReport:
    """What one run of the generator did."""

    kernels: int = 0
    written: int = 0
    unchanged: int = 0
    refused: list[Refused] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    seconds: int = 0
    """Of a processor, that the device units are predicted to take, but for the ``unknown``."""
    unknown: int = 0
    """Kernels of which nobody predicts that."""


class Generator:
    """Writes kernels of one CK release.

    Args:
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
        self._makers: dict[str, _Maker] = {}

    def run(
        self, configs: Iterable[Config], progress: Callable[[int], None] | None = None
    ) -> GenerationReport:
        """Generates every legal configuration.

        Raises:
            UsageError: If a family has no templates, two configurations have the same name and
                GPU but differ, a file cannot be written, or kernels of several GPUs would go below
                kernels of an earlier run.
        """
        report = GenerationReport()
        by_arch: dict[str, dict[str, tuple[KernelModel, bool]]] = {}
        for config in configs:
            maker = self._maker(config.family)
            broken = maker.judge(config.point)
            illegal = any(v.rule.severity == "error" for v in broken)
            if illegal and not self.force:
                report.refused.append(Refused(config, tuple(broken)))
                continue
            found = maker.model(config)
            members = by_arch.setdefault(found.arch, {})
            twin = members.get(found.name)
            if twin is not None and twin[0].point != found.point:
                raise UsageError(f"two configurations are named {found.name}")
            members[found.name] = (found, not illegal)
        if by_arch:
            try:
                self.out.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"{self.out}: cannot write: {error.strerror or error}") from None
            with files.alone(self.out):  # another run may write there
                self._write(by_arch, report, progress)
        return report

    def _write(
        self,
        by_arch: Mapping[str, Mapping[str, tuple[KernelModel, bool]]],
        report: GenerationReport,
        progress: Callable[[int], None] | None,
    ) -> None:
        if len(by_arch) > 1 and (self.out / MANIFEST).exists():  # it would hide what goes below
            raise UsageError(
                f"{self.out}: kernels of an earlier run are there, and these are for "
                f"{' and '.join(sorted(by_arch))}, a folder each: choose another folder"
            )
        folders = {a: self.out / a if len(by_arch) > 1 else self.out for a in sorted(by_arch)}
        trees = {a: self._tree(f, [k for k, _ in by_arch[a].values()]) for a, f in folders.items()}
        for arch, tree in trees.items():
            self._folder(tree, list(by_arch[arch].values()), report, progress)

    def _maker(self, family: Family) -> _Maker:
        if family.name not in self._makers:
            self._makers[family.name] = _Maker(family, self.books)
        return self._makers[family.name]

    def _same_version(self, folder: Path) -> None:
        """Refuses a folder of another CK version, whose kernels would be mixed with these."""
        try:
            with open(folder / MANIFEST, encoding="utf-8") as file:
                there = json.loads(file.readline() or "{}").get("ck", self.books.ck)
        except (OSError, ValueError, AttributeError):
            return
        if there != self.books.ck:
            raise UsageError(
                f"{folder}: kernels for CK {there} are there, and these are for CK "
                f"{self.books.ck}: choose another folder"
            )

    def _tree(self, folder: Path, kernels: list[KernelModel]) -> Tree:
        """The folder to write to; what is to stay as it is there is refused before any writing."""
        self._same_version(folder)
        tree = Tree(folder, own=(folder / MANIFEST).is_file())
        if not tree.own and folder.is_dir():
            for path, text in self._project(kernels):
                tree.check(path, text)
            for k in kernels:
                for path, _ in generation_of(k.family).files(k):
                    tree.check(path)
            tree.check(MANIFEST)
        return tree

    def _folder(
        self,
        tree: Tree,
        members: list[tuple[KernelModel, bool]],
        report: GenerationReport,
        progress: Callable[[int], None] | None,
    ) -> None:
        kernels = [k for k, _ in members]
        gpu = self.books.gpu(kernels[0].arch)
        for path, text in self._project(kernels):
            tree.put(path, text)
        for k in kernels:
            for path, text in kernel_files(k, self.stamp):
                tree.put(path, text)
            if progress is not None:
                progress(1)
        lines = (manifest_line(k, ok, self.stamp, gpu) for k, ok in members)
        tree.put(MANIFEST, "".join(lines))
        report.kernels += len(kernels)
        for seconds in map(device_seconds, kernels):
            if seconds is None:
                report.unknown += 1
            else:
                report.seconds += seconds
        report.written += tree.written
        report.unchanged += tree.unchanged
        report.folders.append(tree.root)

    def _project(self, kernels: list[KernelModel]) -> Iterator[tuple[str, str]]:
        """Path and text of what covers a folder, those for HIP where it builds for such a GPU."""
        gpu = self.books.gpu(kernels[0].arch)
        if isinstance(gpu, TargetGpu):
            yield from project.covering(kernels, {"stamp": self.stamp, "arch": gpu.name})
            return
        yield from project.files(kernels, self.stamp, gpu)
        if self.ninja is not False:
            try:
                text = project.ninja_file(kernels, self.stamp, gpu)
            except UsageError:  # the package is not installed
                if self.ninja:
                    raise
                return
            yield "build.ninja", text


class _Maker:
    def __init__(self, family: Family, books: Books) -> None:
        self.generation = generation_of(family)
        self.ck, self.book = books.ck, books.of(family.variants[0])
        self.judge = BatchChecker(self.book)
        known = self.book.vocabulary.quantities
        self.known = [n for n in (*self.generation.quantities, SECONDS) if n in known]

    def model(self, config: Config) -> KernelModel:
        """The model of a configuration, with what the rule book says of it."""
        point, name = config.point, config.name
        if name is None:
            raise UsageError(f"no name can say {json.dumps(dict(point))}")
        values = dict.fromkeys(self.generation.quantities)
        values.update(self.book.resources(point, self.known))
        found: KernelModel = self.generation.kernel(point, plain(name), self.ck, values)
        return found


def files_of(config: Config, books: Books) -> Iterator[tuple[str, str]]:
    """Path and text of the files of one configuration, legal or not.

    Raises:
        UsageError: If its family has no templates, or no name says it.
    """
    model = _Maker(config.family, books).model(config)
    return kernel_files(model, current(books.ck, books.arch_files))


def can_generate(config: Config, books: Books) -> bool:
    """Whether a configuration becomes C++, legal or not: templates know less than rules judge.

    >>> from ckrules.kernels.books import Books
    >>> books = Books("2025.11")
    >>> flatmm = next(iter(books.of("flatmm").space(variant="flatmm", scales="row_column")))
    >>> can_generate(Config(flatmm), books)
    True
    >>> can_generate(Config({**flatmm, "scales": "per_1x128"}), books)
    False
    """
    try:
        _Maker(config.family, books).model(config)
    except UsageError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class MainEntry:
    """A device unit that has the most used entry of a kernel and no other one."""

    path: str
    text: str
    entry: str
    """What the entry is called in the code object."""
    of: int
    """How many the kernel has."""


def main_entry(config: Config, books: Books) -> MainEntry:
    """A configuration's device unit with its most used entry alone: the others cost as much again.

    Raises:
        UsageError: If its family has no templates, or no name says it.
    """
    k: Any = _Maker(config.family, books).model(config)
    alone = replace(k, entries=k.entries[:1])
    files = generation_of(k.family).files(alone)
    ((path, template),) = (f for f in files if f[0].endswith(".device.cpp"))
    values = {"k": alone, "stamp": current(books.ck, books.arch_files)}
    text = render(template, values, generation_of(k.family).templates)
    return MainEntry(path, text, f"{k.name}__{k.entries[0].suffix}", len(k.entries))


def kernel_files(k: KernelModel, stamp: Stamp) -> Iterator[tuple[str, str]]:
    """Path and text of the files of one kernel."""
    generation = generation_of(k.family)
    for path, template in generation.files(k):
        yield path, render(template, {"k": k, "stamp": stamp}, generation.templates)


def device_seconds(k: KernelModel) -> int | None:
    """Seconds of a processor that the device unit is predicted to take; None: nobody knows."""
    first: int | None = k.resources.get(SECONDS)
    more = len(getattr(k, "entries", ())) - 1
    return None if first is None else round(first * (1 + ENTRY_SHARE * max(more, 0)))


def manifest_line(k: KernelModel, legal: bool, stamp: Stamp, gpu: Gpu | TargetGpu) -> str:
    """A kernel's line of the manifest."""
    line = {
        "name": k.name,
        "family": k.family.name,
        "ck": k.ck,
        "arch": k.arch,
        "defines": gpu.defines,
        "rules": stamp.rules,
        "legal": legal,
        "lds_bytes": k.resources.get("lds_bytes"),
        "device_seconds": device_seconds(k),
        "config": dict(k.point),
    }
    return json.dumps(line) + "\n"


def rule_set_configs(configs: Iterable[Config]) -> Iterator[Config]:
    """The configurations spelt as upstream's rule sets spell them (compv1 for basic_v1)."""
    for config in configs:
        yield Config(config.point, rule_set_spelling(config.point))
