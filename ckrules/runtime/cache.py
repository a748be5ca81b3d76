"""Built kernels in the user's cache: found by what they are made of, built once by all processes.

An entry is a folder named by a hash of sources, flags and compiler (`ckrules.compiling.tasks`); it
holds a manifest of one line, the code object, the host library and a digest of both, and is renamed
into place when it is whole; one that was cut off since, as by a power cut, is not found. Who builds
an entry holds its lock; others wait, and find it. The entries that were used longest ago go when
all together are larger than the limit. What is found is executed, so that folder and files have to
be this user's own, and nothing is found through a link.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ckrules.codegen.generate import MANIFEST, Generator
from ckrules.compiling import manifest
from ckrules.compiling.codeobject import LARGEST
from ckrules.compiling.results import digest
from ckrules.compiling.session import BuildOptions, BuildSession
from ckrules.compiling.tasks import run, task_key
from ckrules.support import files, folders, opening
from ckrules.support.errors import CkrulesError

if TYPE_CHECKING:
    from ckrules.compiling.manifest import ManifestEntry
    from ckrules.compiling.tasks import BuildOutcome, Task
    from ckrules.kernels.books import Books
    from ckrules.kernels.config import Config

LIMIT = 2 << 30
"""Bytes that all entries together may take."""
_LOCK = ".lock"
_PART = ".part"
_DIGEST = "digest"
"""The file that says what the others were."""
_STALE = 3600.0
"""Seconds after which nobody fills a folder any more: filling one is copying a few files."""
_KEY = 32


class BuildError(CkrulesError, RuntimeError):
    """A kernel that cannot be built; the message is the compiler's."""


@dataclass(frozen=True)
class KernelRequest:
    """A kernel that is to be in the cache: its line of the manifest, and what compiles it."""

    name: str
    key: str
    line: str
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """An entry as `ckrules cache` shows it; ``used`` is a time in seconds since 1970."""

    name: str
    arch: str
    bytes: int
    used: float


class KernelCache:
    """Built kernels by content.

    Args:
        place: The folder; None: ``kernels`` in the project's folder of the user's cache.
        limit: Bytes that all entries together may take.
        options: Compiler, include folder and flags of builds.
        compile: What carries out a task.
    """

    def __init__(
        self,
        place: Path | None = None,
        limit: int = LIMIT,
        options: BuildOptions | None = None,
        compile: Callable[[Task], BuildOutcome] = run,
    ) -> None:
        self.place = (place if place is not None else folders.cache() / "kernels").absolute()
        self.limit, self.options, self._compile = limit, options or BuildOptions(), compile

    def wanted(self, configs: Sequence[Config], books: Books) -> list[KernelRequest]:
        """What entries of configurations are made of, each under its key.

        Raises:
            BuildError: For a configuration that breaks rules, and if the folder cannot be used.
            MissingToolError: If the toolchain is not there.
            UsageError: If a configuration cannot be generated.
        """
        self._made()
        with tempfile.TemporaryDirectory(prefix="ckrules-") as name:
            report = Generator(books, Path(name), ninja=False).run(configs)
            if report.refused:
                first = report.refused[0]
                text = "; ".join(f"{v.code}: {v.message}" for v in first.broken[:3])
                raise BuildError(f"{first.config.name}: breaks rules: {text}")
            session = BuildSession(Path(name), self.options)
            lines = {
                (place, json.loads(line)["name"]): line
                for place in {k.folder for k in session.kernels}
                for line in (place / MANIFEST).read_text(encoding="utf-8").splitlines(True)
            }
            tasks: dict[tuple[Path, str], list[Task]] = {}
            keys: dict[tuple[Path, str], list[str]] = {}
            for kernel, task in session.tasks():
                at = (kernel.folder, kernel.name)
                tasks.setdefault(at, []).append(_anywhere(task))
                keys.setdefault(at, []).append(task_key(task, session.tools_for(task)))
            return [
                KernelRequest(at[1], _digest(lines[at], keys[at]), lines[at], tuple(each))
                for at, each in tasks.items()
            ]

    def _made(self) -> None:
        try:
            self.place.mkdir(mode=0o700, parents=True, exist_ok=True)
            opening.own(self.place.resolve())
        except OSError as error:
            raise BuildError(f"{self.place}: cannot keep kernels: {error.strerror}") from None

    def find(self, wanted: KernelRequest) -> ManifestEntry | None:
        """The kernel if it is built, and by this user."""
        place = self.place / wanted.key
        try:
            self._check(place)
            (found,) = manifest.read(place / MANIFEST)
            made = [opening.read(found.result(t.artifact), LARGEST) for t in wanted.tasks]
            whole = (place / _DIGEST).read_text(encoding="ascii") == _digest_of(made)
        except (CkrulesError, OSError, ValueError):
            return None
        if found.missing or not whole:
            return None
        with suppress(OSError):
            os.utime(place)  # used
        return found

    def _check(self, place: Path) -> None:
        """Complains about an entry into which others may have put something."""
        for path in (self.place.resolve(), place, *place.iterdir()):
            opening.own(path)

    def build(self, wanted: KernelRequest) -> ManifestEntry:
        """The kernel, built by this process unless it is there, or another one is at it.

        Raises:
            BuildError: If it cannot be compiled, or the folder cannot be used.
            OSError: If the cache cannot be written.
        """
        with self._alone(wanted.key):
            found = self.find(wanted)
            if found is not None:
                return found
            data = {}
            for task in wanted.tasks:
                outcome = self._compile(task)
                if outcome.failure is not None:
                    said = outcome.failure.diagnostic
                    raise BuildError(f"{wanted.name} ({task.artifact}): {said}")
                data[task.artifact.result(wanted.name)] = outcome.data
            self._keep(wanted, data)
            self._evict(wanted.key)
        found = self.find(wanted)
        if found is None:
            raise BuildError(f"{wanted.name}: removed from {self.place} while it was built")
        return found

    def _keep(self, wanted: KernelRequest, data: Mapping[str, bytes]) -> None:
        """Writes an entry, whole or not at all."""
        part = Path(tempfile.mkdtemp(suffix=_PART, dir=self.place))
        try:
            for name, content in data.items():
                files.replace(part / name, content, mode=0o600)
            files.replace(part / MANIFEST, wanted.line, mode=0o600)
            files.replace(part / _DIGEST, _digest_of(data.values()), mode=0o600)
            target = self.place / wanted.key
            shutil.rmtree(target, ignore_errors=True)  # damaged: what is whole was found before
            part.rename(target)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise

    @contextmanager
    def _alone(self, key: str) -> Iterator[None]:
        """Holds an entry's lock; it goes with the process that holds it."""
        self._made()
        how = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(self.place / f"{key}{_LOCK}", how, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # a child that was forked meanwhile has it open, too
            os.close(lock)

    def entries(self) -> list[Path]:
        """The entries, the least recently used first."""
        found = []
        for path in self.place.iterdir() if self.place.is_dir() else ():
            with suppress(OSError):  # removed by another process
                if path.is_dir() and len(path.name) == _KEY:
                    found.append((path.stat().st_mtime_ns, path.name, path))
        return [path for _, _, path in sorted(found)]

    def kept(self) -> list[Kept]:
        """What there is to say of the entries, the least recently used first."""
        found = []
        for path in self.entries():
            with suppress(OSError, ValueError):  # removed meanwhile, damaged, or somebody else's
                self._check(path)
                config = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
                used = path.stat().st_mtime
                found.append(Kept(str(config["name"]), str(config["arch"]), _size(path), used))
        return found

    def clear(self) -> int:
        """Removes all entries; how many there were."""
        self._sweep()
        return sum(self._removed(path) for path in self.entries())

    def _sweep(self) -> None:
        """Removes what processes that were killed left half filled."""
        for path in self.place.glob(f"*{_PART}"):
            with suppress(OSError):  # removed by another process
                if time.time() - path.lstat().st_mtime > _STALE:
                    shutil.rmtree(path, ignore_errors=True)

    def _evict(self, newest: str) -> None:
        self._sweep()
        entries = self.entries()
        sizes = {path: _size(path) for path in entries}
        total = sum(sizes.values())
        for path in entries:
            if total <= self.limit:
                return
            if path.name != newest and self._removed(path):
                total -= sizes[path]

    def _removed(self, path: Path) -> bool:
        """Whether an entry could be removed; loaded libraries stay loaded without their files."""
        gone = Path(tempfile.mkdtemp(suffix=_PART, dir=self.place))
        try:  # first out of sight, then away
            path.rename(gone / path.name)
        except OSError:
            return False
        finally:
            shutil.rmtree(gone, ignore_errors=True)
        return True


def _anywhere(task: Task) -> Task:
    """A task that does not need the folder that it was made from."""
    from dataclasses import replace

    return replace(task, scratch=None)


def _size(place: Path) -> int:
    total = 0
    for path in place.glob("*"):
        with suppress(OSError):
            total += path.stat().st_size
    return total


def _digest_of(artifacts: Iterable[bytes]) -> str:
    return " ".join(map(digest, artifacts))


def _digest(line: str, keys: Sequence[str]) -> str:
    """The name of an entry. Rule books whose versions differ may make the same kernel."""
    values = {k: v for k, v in json.loads(line).items() if k != "rules"}
    digest = hashlib.blake2b(digest_size=_KEY // 2)
    for part in (json.dumps(values, sort_keys=True), *keys):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()
