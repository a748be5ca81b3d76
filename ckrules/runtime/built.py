"""Built kernels and their host libraries, which are opened when they are first asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules import arch as gpu_facts
from ckrules.compiling import folder as folders
from ckrules.device import problem_set
from ckrules.device.execute import opener_named, same_tensors
from ckrules.device.jobs import OPENER
from ckrules.device.prediction import WrongSums
from ckrules.kernels.books import Books
from ckrules.kernels.families import family_of, problems_of
from ckrules.support.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from ckrules.compiling.manifest import ManifestEntry
    from ckrules.device.jobs import LaunchableKernel
    from ckrules.kernels.parts import Problem, Tensor


@dataclass(frozen=True, slots=True)
class KernelFile:
    """Where a kernel is and what opens it: what other processes need to know of it."""

    folder: Path
    name: str
    opener: str = OPENER

    def open(self) -> tuple[LaunchableKernel, bytes]:
        """Its host library and code object.

        Raises:
            HostLibraryError: If the library cannot be loaded.
            UsageError: If there is no code object.
        """
        return opener_named(self.opener)(self.folder, self.name)


@dataclass(frozen=True)
class BuiltKernel:
    """One kernel of a manifest that is built."""

    entry: ManifestEntry
    file: KernelFile

    @classmethod
    def of(cls, entry: ManifestEntry, opener: str = OPENER) -> BuiltKernel:
        """The kernel of a manifest's line."""
        return cls(entry, KernelFile(entry.folder, entry.name, opener))

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.entry.name

    @property
    def variant(self) -> str:
        """What it computes, such as ``forward``."""
        return str(self.entry.config["variant"])

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """Its configuration with what it left out, so that rules can be asked."""
        given = self.entry.config
        usual = family_of(self.variant).defaults(self.variant, given.get("ndim"))
        return {**usual, **given}

    @cached_property
    def library(self) -> LaunchableKernel:
        """Its host library; the code object is read again by the device that runs it."""
        library, _ = self.file.open()
        return library

    def fits(self, problem: Problem) -> bool:
        """Whether it computes problems of this form at all."""
        return problem_set.fits(self.entry, problem)

    def takes(self, problem: Problem) -> bool:
        """Whether it takes the problem, as its own library says, and rules know of no wrong sums.

        Raises:
            UsageError: If the problem makes no sense.
        """
        return self.library.is_supported(problem) and not self._wrong(problem)

    def reason(self, problem: Problem) -> str:
        """Why it does not take the problem."""
        said = self.library.reason(problem)
        return said or f"it computes wrong sums ({', '.join(self._wrong(problem))})"

    def _wrong(self, problem: Problem) -> tuple[str, ...]:
        """The rules that say that it takes the problem and computes something else."""
        with problem_set.readable(self.entry):
            return self._wrong_sums(problem)

    @cached_property
    def _wrong_sums(self) -> WrongSums:
        return WrongSums(self.entry)

    def tensors(self, problem: Problem) -> tuple[Tensor, ...]:
        """The tensors of a problem, as its host library takes them.

        Raises:
            UsageError: If it was built for other tensors.
        """
        found = problems_of(self.variant).tensors(problem, self.config)
        same_tensors(self.library.info, found)
        return found.all

    def operation(self, problem: Problem) -> Operation:
        """What it computes of which tensors, and the values of fields from which that follows."""
        config = _Noted(self.config)
        found = problems_of(self.variant).tensors(problem, config)
        tensors = tuple((t.name, t.direction, t.dtype, t.order) for t in found.all)
        return Operation((found.key(), tensors), config.read)


@dataclass(frozen=True)
class Operation:
    """What a kernel computes of a problem."""

    what: tuple[object, ...]
    """Kernels for which this is the same can stand for each other."""
    read: Mapping[str, Any]
    """The values of the fields from which it follows; None: a field that is not there."""

    def same(self, config: Mapping[str, Any]) -> bool:
        """Whether a kernel computes the same because it agrees in these fields."""
        return all(config.get(name) == value for name, value in self.read.items())


class _Noted(Mapping[str, Any]):
    """A configuration that notes which of its fields are read."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self.read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        self.read[name] = self._config.get(name)
        return self._config[name]

    def __iter__(self) -> Iterator[str]:
        self.read |= self._config
        return iter(self._config)

    def __len__(self) -> int:
        self.read |= self._config
        return len(self._config)


def of_gpu(entries: Iterable[ManifestEntry], arch: str | None, where: str) -> list[ManifestEntry]:
    """The kernels of a GPU; of the only one, where none is named.

    Raises:
        UsageError: If there is none for the GPU, or several are there and none is named.
    """
    listed = list(entries)
    archs = sorted({e.arch for e in listed})
    if arch is None and len(archs) > 1:
        raise UsageError(f"{where}: kernels of {', '.join(archs)}: give arch, such as {archs[0]!r}")
    if arch is not None and arch not in archs:
        with suppress(UnknownNameError):
            arch = Books().plain_arch(arch)
    found = [e for e in listed if arch in (None, e.arch)]
    if not found and listed:
        raise UsageError(f"{where}: no kernel of {arch}; there are kernels of {', '.join(archs)}")
    return found


def in_folder(folder: Path | str | None, arch: str | None) -> list[ManifestEntry]:
    """The kernels of a folder and GPU that are built; none without a folder.

    Raises:
        UsageError: If none is built, or no GPU is named where one has to be.
    """
    if folder is None:
        if arch is None:
            raise UsageError("without a folder of kernels, give arch, such as 'gfx942'")
        gpu_facts.load(arch)  # complains of an unknown one
        return []
    # absolute, since libraries and results are opened later, wherever the program is then
    listed = of_gpu(folders.manifests(Path(folder).absolute()), arch, str(folder))
    found = [k for k in listed if not k.missing]
    if not found:
        raise UsageError(f"{folder}: none of {len(listed)} kernels is built: ckrules build")
    return found
