"""The sources of kernels: what artifacts are compiled from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from ckrules.codegen.model import generation_of
from ckrules.codegen.project import runtime
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.manifest import ManifestEntry
from ckrules.kernels.families import family_of
from ckrules.support import opening
from ckrules.support.errors import UsageError

_RUNTIME = "runtime"
_LARGEST = 64 << 20


class KernelSources:
    """Reads them; what the kernels of a folder share is read once."""

    def __init__(self) -> None:
        self._shared: dict[Path, str] = {}

    def of(self, kernel: ManifestEntry, artifact: Artifact) -> dict[str, str]:
        """The texts by their places in the kernel's folder.

        Raises:
            UsageError: If one is missing, outside the folder or not text.
        """
        generation = generation_of(family_of(str(kernel.config["variant"])))
        headers = (h.format(name=kernel.name) for h in generation.headers)
        names = [kernel.source(artifact).name, *headers]
        sources = {name: _text(kernel.folder, name) for name in names}
        for name in (f"{_RUNTIME}/{name}" for name in runtime(artifact, generation)):
            path = kernel.folder / name
            if path not in self._shared:
                self._shared[path] = _text(kernel.folder, name)
            sources[name] = self._shared[path]
        return sources


def _text(folder: Path, name: str) -> str:
    try:
        return opening.read(opening.inside(folder, name), _LARGEST).decode()
    except FileNotFoundError:
        raise UsageError(f"{folder / name}: missing: generate the folder again") from None
    except OSError as error:
        raise UsageError(f"{folder / name}: cannot read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{folder / name}: not a text in UTF-8: generate it again") from None


def code_of(text: str) -> str:
    """A source without the comments at its head, which name the versions of its makers.

    >>> code_of("// ckrules 0.1.0\\nint x; // y\\n")
    'int x; // y\\n'
    """
    lines = text.splitlines(keepends=True)
    first = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    return "".join(lines[first:])


def sources_digest(sources: Mapping[str, str]) -> str:
    """What tells the code of an artifact's sources from others."""
    parts = (part for path in sorted(sources) for part in (path, code_of(sources[path])))
    text = "\0".join(parts).encode()
    return hashlib.blake2b(text, digest_size=16).hexdigest()
