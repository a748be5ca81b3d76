"""What many units include, compiled once for all of them.

Half of what a small kernel costs the front end is reading CK's headers. What a unit means does not
depend on this, so that nothing of it is in the keys of results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock

from ckrules.compiling.compile_commands import flags
from ckrules.compiling.execution import execute
from ckrules.compiling.tasks import Task, is_runtime_header
from ckrules.compiling.toolchain import Toolchain
from ckrules.support import files
from ckrules.support.scratch import ScratchFolder

_WORTH = 3
"""So many runs pay for the headers."""
_TIMEOUT = 600.0
_ONE = ("-Xclang", "-fno-cxx-modules")
"""Without the modules of C++20, for which clang 19 holds HIP's functions for host and for device
against each other as if they were of two modules."""
_OWN = re.compile(r'#include "(?!runtime/)(\w+\.hpp)"$')
"""How a generated unit includes the kernel's own header."""


class Precompiled:
    """The headers of the units of one command line, precompiled when it is worth it.

    Threads may ask. The folder goes when the object does.

    Args:
        command: The compiler and its flags, without a unit, for a run that makes no file.
        files: Files that the headers include, by their path below the folder of the compilation.
            Units have to read these very files: what `flags` gives names their folder.
        timeout: Seconds of processor time that compiling them may take.
        scratch: Folder for temporary files; None: the system's own.
    """

    def __init__(
        self,
        command: Sequence[str],
        files: Mapping[str, str] | None = None,
        timeout: float = _TIMEOUT,
        scratch: Path | None = None,
    ) -> None:
        self._command, self._files, self._timeout = tuple(command), dict(files or {}), timeout
        self._scratch = scratch
        self._lock = Lock()
        self._asked = 0
        self._flags: tuple[str, ...] | None = None
        self._folder: ScratchFolder | None = None

    def flags(self, head: str, coming: int = 1) -> tuple[str, ...]:
        """The flags with which a unit takes its headers from here; none if it had better not.

        Args:
            head: The directives at the head of every such unit.
            coming: So many units are known to come, this one and others before them included.
        """
        with self._lock:
            self._asked += 1
            if self._flags is None and max(self._asked, coming) >= _WORTH:
                self._flags = self._compiled(head)
            return self._flags or ()

    def _compiled(self, head: str) -> tuple[str, ...]:
        """Compiles the headers; if they fail, each kernel says so itself."""
        self._folder = ScratchFolder(self._scratch)
        folder = Path(self._folder.name)
        for relative, text in self._files.items():
            (folder / relative).parent.mkdir(parents=True, exist_ok=True)
            files.put(folder / relative, text)
        files.put(folder / "headers.hpp", head + "\n")
        # Within the folder: LLVM fills in each % of a name of a file that it writes.
        result = str(folder / "headers.pch")
        asked = (*_ONE, *_clang("-emit-pch", "-o", "headers.pch"))
        status, *_ = execute([*self._command, *asked, "headers.hpp"], folder, self._timeout)
        if status != 0 or not Path(result).is_file():
            return ()
        known = (*_ONE, *_clang("-include-pch", result))
        # a compiler may write what it cannot read
        status, *_ = execute([*self._command, *known, "headers.hpp"], folder, self._timeout)
        if status != 0:
            return ()
        return (*known, f"-I{folder}") if self._files else known


class SharedHeaders:
    """The headers of generated units, precompiled; the tasks of one session share it.

    Args:
        scratch: Folder for temporary files that outlasts it; None: the system's own.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        self._lock, self._scratch = Lock(), scratch
        self._known: dict[tuple[str, ...], Precompiled] = {}

    def flags(self, task: Task, tools: Toolchain, coming: int = 1) -> tuple[str, ...]:
        """The flags with which a task's unit takes its headers from here.

        Where there are any, the folder of the compilation must not hold the runtime's headers.

        Args:
            tools: What compiles it here.
            coming: How many such tasks there are in all, as far as that is known.
        """
        head = head_of(task)
        if head is None:
            return ()
        words = [w for w in flags(task.recipe, task.artifact, tools) if w != "-c"]
        command = (str(tools.compiler), *words, "-fsyntax-only")
        files = {path: text for path, text in task.sources.items() if is_runtime_header(path)}
        key = (*command, head, *files.values())
        with self._lock:
            made = Precompiled(command, files, task.timeout, self._scratch)
            shared = self._known.setdefault(key, made)
        return shared.flags(head, coming)


def head_of(task: Task) -> str | None:
    """The directives with which a task's unit begins, those of the kernel's header in its place.

    None for a unit that begins otherwise.
    """
    before: list[str] = []
    for line in _directives(task.sources[task.artifact.source(task.name)]):
        if (own := _OWN.match(line)) and own[1] in task.sources:
            inside = _directives(task.sources[own[1]])
            return "\n".join([*before, *(each for each in inside if each != "#pragma once")])
        before.append(line)
    return None


def _directives(text: str) -> Iterator[str]:
    """The directives before anything else but comments."""
    for line in text.splitlines():
        if line.startswith("#"):
            yield line
        elif line and not line.startswith("//"):
            return


def _clang(*words: str) -> tuple[str, ...]:
    """Words for the front end itself, past the driver."""
    return tuple(part for word in words for part in ("-Xclang", word))
