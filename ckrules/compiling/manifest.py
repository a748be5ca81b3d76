"""The manifest of a generated folder, read as what a stranger may have written.

Its names become file names and words of a compiler's command line, so that every value is checked
against its grammar before anything is made of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ckrules.arch import CK_VERSIONS, load
from ckrules.arch.loader import GPU_NAME, MACRO
from ckrules.compiling.artifacts import RUNNABLE, Artifact
from ckrules.kernels.families import targets
from ckrules.kernels.names import LONGEST, is_plain
from ckrules.support import opening
from ckrules.support.errors import CkrulesError, UsageError, nearest

_LONGEST_LINE = 1 << 20
_LONGEST_WORD = 200
_LARGEST_NUMBER = 1 << 53


@dataclass(frozen=True)
class ManifestEntry:
    """One kernel of a folder's manifest.

    Raises:
        UsageError: For a value that is not of its grammar.
    """

    folder: Path
    name: str
    ck: str
    arch: str
    defines: tuple[str, ...]
    """The macros that the GPU's file asks for."""
    rules: str
    legal: bool
    lds_bytes: int | None
    config: dict[str, Any] = field(repr=False)
    family: str = ""
    """Empty in what earlier versions wrote."""
    device_seconds: int | None = None
    """Seconds of a processor that the device unit is predicted to take; None: nobody knows."""

    def __post_init__(self) -> None:
        for key, (holds, expected) in _GRAMMAR.items():
            if not holds(getattr(self, key)):
                raise UsageError(f"{key} is {_short(getattr(self, key))}, expected {expected}")

    def source(self, artifact: Artifact) -> Path:
        """The unit that an artifact is compiled from."""
        return self.folder / artifact.source(self.name)

    def result(self, artifact: Artifact) -> Path:
        """Where an artifact is, once it is built."""
        return self.folder / artifact.result(self.name)

    @property
    def missing(self) -> str:
        """What keeps the kernel from being run; empty if nothing does."""
        absent = [a for a in RUNNABLE if not self.result(a).is_file()]
        return f"not built: no {' and no '.join(absent)} artifact" if absent else ""


def read(place: Path) -> Iterator[ManifestEntry]:
    """The kernels of a manifest, in its order.

    Raises:
        UsageError: With file and line, for what `ckrules generate` does not write.
    """
    seen: set[str] = set()
    try:
        with opening.binary(opening.inside(place.parent, place.name)) as stream:
            number = 0
            while line := stream.readline(_LONGEST_LINE + 1):
                number += 1
                try:
                    entry = _entry(place.parent, line)
                    if entry.name in seen:
                        raise UsageError(f"{entry.name} is listed twice")
                except CkrulesError as error:
                    raise UsageError(f"{place}:{number}: {error}") from None
                seen.add(entry.name)
                yield entry
    except OSError as error:
        raise UsageError(f"{place}: cannot read: {error.strerror or error}") from None


_REQUIRED = ("name", "ck", "arch", "rules", "legal", "lds_bytes", "config")
_OPTIONAL = ("defines", "family", "device_seconds")


def _entry(folder: Path, line: bytes) -> ManifestEntry:
    values = _object(line)
    for key in values:
        if key not in (*_REQUIRED, *_OPTIONAL):
            near = nearest(key, [*_REQUIRED, *_OPTIONAL], n=1)
            hint = f": did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"unknown key {_short(key)}{hint}")
    for key in _REQUIRED:
        if key not in values:
            raise UsageError(f"no key {key!r}: not a line of ckrules generate")
    # Folders that were generated before the macros were in them are for GPUs of the package.
    defines = values["defines"] if "defines" in values else _own_defines(values["arch"])
    given = tuple(defines) if isinstance(defines, list) else defines
    return ManifestEntry(folder=folder, **{**values, "defines": given})


def _object(line: bytes) -> dict[str, Any]:
    if len(line) > _LONGEST_LINE:
        raise UsageError(f"longer than {_LONGEST_LINE >> 20} MB: not a line of ckrules generate")
    try:
        values = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise UsageError(f"byte 0x{line[error.start]:02x} is not UTF-8") from None
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise UsageError("not a JSON object: not a line of ckrules generate")
    return values


def _own_defines(arch: object) -> tuple[str, ...]:
    return load(arch).defines if isinstance(arch, str) else ()


def _is_gpu(name: str) -> bool:
    return bool(GPU_NAME.fullmatch(name)) or name in targets()


def _is_number(value: object) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and 0 <= value < _LARGEST_NUMBER  # type: ignore[operator]  # a whole number, as seen above


def _is_word(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_WORD and value.isprintable()


def _is_config(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and _is_word(value.get("variant"))
        and all(_is_word(k) and (_is_word(v) or _is_scalar(v)) for k, v in value.items())
    )


def _is_scalar(value: object) -> bool:
    return isinstance(value, bool | float) or (isinstance(value, int) and _is_number(abs(value)))


#: What each value has to be, and how a message says it.
_GRAMMAR: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "name": (is_plain, f"a kernel name: letters, digits and _, at most {LONGEST}"),
    "ck": (lambda v: v in CK_VERSIONS, f"a CK version: {' or '.join(CK_VERSIONS)}"),
    "arch": (lambda v: _is_word(v) and _is_gpu(v), "a GPU such as gfx942"),
    "defines": (
        lambda v: isinstance(v, tuple) and all(_is_word(m) and MACRO.fullmatch(m) for m in v),
        "a list of macros NAME or NAME=VALUE",
    ),
    "rules": (_is_word, "the version of a rule book"),
    "legal": (lambda value: isinstance(value, bool), "true or false"),
    "lds_bytes": (lambda v: v is None or _is_number(v), "a number of bytes or null"),
    "device_seconds": (lambda v: v is None or _is_number(v), "a number of seconds or null"),
    "config": (_is_config, "an object with a variant, and numbers, words and Booleans"),
    "family": (_is_word, "the name of a family"),
}


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
