"""Built kernels on disk: which are there, and how a worker opens one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.build.commands import ARTIFACTS
from ckrules.engine.errors import UsageError, unknown

if TYPE_CHECKING:
    from ckrules.build.session import Listed
    from ckrules.device.jobs import Kernel


@dataclass(frozen=True, slots=True)
class Built:
    """A kernel of a generated folder."""

    folder: Path
    name: str
    ck: str
    arch: str
    rules: str
    legal: bool
    config: dict[str, Any]
    missing: str
    """What keeps it from being run; empty if nothing does."""


def open_built(folder: Path, name: str) -> tuple[Kernel, bytes]:
    """The host library and the code object of a built kernel.

    Raises:
        HostLibraryError: If the library cannot be loaded.
        UsageError: If there is no code object.
    """
    from ckrules.build.hostlib import HostLibrary

    code = _path(folder, name, "device")
    if not code.is_file():
        raise UsageError(f"{code}: not built")
    return HostLibrary(_path(folder, name, "host")), code.read_bytes()


def find(places: Iterable[str], home: str | None = None) -> list[Built]:
    """The kernels that arguments name.

    Args:
        places: Folders that ``ckrules generate`` wrote, paths of a kernel's files in them, or
            names of kernels in ``home``.
        home: The folder of names; the working folder if None.

    Raises:
        UsageError: If a folder has no kernels.
        UnknownNameError: If a folder has no kernel of a name.
    """
    found: dict[tuple[Path, str], Built] = {}
    for place in places:
        for kernel in _one(place, home):
            found.setdefault((kernel.folder, kernel.name), kernel)
    return list(found.values())


def _one(place: str, home: str | None) -> Iterator[Built]:
    from ckrules.build.session import manifests
    from ckrules.names import strip_file_decoration

    path = Path(place)
    if path.is_dir():
        yield from map(_built, manifests(path))
        return
    folder = path.parent if path.parent != Path() else Path(home or ".")
    name = _stem(path.name, strip_file_decoration)
    listed = manifests(folder)
    hits = [k for k in listed if k.name == name]
    if not hits:
        raise unknown("kernel", name, [k.name for k in listed])
    yield from map(_built, hits)


def _stem(name: str, strip: Any) -> str:
    for _, result in ARTIFACTS.values():
        suffix = result.format(name="")
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return str(strip(name))


def _path(folder: Path, name: str, artifact: str) -> Path:
    return folder / ARTIFACTS[artifact][1].format(name=name)


def _built(listed: Listed) -> Built:
    missing = ""
    if not listed.units:
        missing = "stream-K and explicit GEMM run through upstream's launcher only"
    elif absent := [
        a for a in ("device", "host") if not _path(listed.folder, listed.name, a).is_file()
    ]:
        missing = f"not built: no {' and no '.join(absent)} artifact"
    return Built(
        folder=listed.folder,
        name=listed.name,
        ck=listed.ck,
        arch=listed.arch,
        rules=listed.rules,
        legal=listed.legal,
        config=listed.config,
        missing=missing,
    )
