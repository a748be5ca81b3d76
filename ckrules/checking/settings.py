"""Settings of ``ckrules check``: ``[tool.ckrules]`` of pyproject.toml, or ``ckrules.toml``.

The file nearest to a checked file holds for it; a command-line option goes before the environment
(``CKRULES_ARCH`` for ``arch``), that before the file, that before the default.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ckrules.support import opening
from ckrules.support.document import Document
from ckrules.support.errors import CkrulesError, UsageError, nearest
from ckrules.support.toml_path import TomlPath

OWN_FILE, SHARED_FILE = "ckrules.toml", "pyproject.toml"
ENVIRONMENT = "CKRULES_"
COMMAND_LINE = "command line"
INCLUDE = (
    "*.ck.json", "*.ck.jsonl", "*.ck.toml", "*.ck.csv", "*.conf",
    "**/configs/**/*.json", "*.cpp", "*.hpp", "*tuned*.csv", "*_common.py", "*_instance*.py",
)  # fmt: skip
EXCLUDE = (".*", "__pycache__", "build", "node_modules")


@dataclass(frozen=True, slots=True)
class SettingKey:
    """A key of the settings: its type, its default and what it means."""

    type: str
    default: Any
    doc: str


KEYS: Mapping[str, SettingKey] = {
    "arch": SettingKey("text", None, "GPU of configurations that name none"),
    "ck": SettingKey("text", None, "CK headers"),
    "ck-include": SettingKey("path", None, "CK's include folder, whose version counts without ck"),
    "profile": SettingKey("text", None, "rule set"),
    "select": SettingKey("list", ("ALL",), "codes or families that are checked"),
    "extend-select": SettingKey("list", (), "codes or families that are checked too"),
    "ignore": SettingKey("list", (), "codes or families that are not reported"),
    "per-file-ignores": SettingKey(
        "lists", {}, "codes by file pattern, with a JSON pointer behind #"
    ),
    "severity": SettingKey("texts", {}, "error, warning or note by code, family or ALL"),
    "baseline": SettingKey("path", None, "file of known findings"),
    "include": SettingKey("list", INCLUDE, "files that are read in folders"),
    "exclude": SettingKey("list", EXCLUDE, "files and folders that are skipped"),
    "arch-paths": SettingKey("paths", (), "GPU files, or folders of them"),
    "tile-reading": SettingKey(
        "text", "gmn", "how .tile(a, b, c) of C++ macros is read: gmn or mnk"
    ),
    "docs-url": SettingKey(
        "text", "", "address of the pages of rules: {page} is replaced, or what goes before"
    ),
    "required-version": SettingKey("text", None, "versions of ckrules that may run, as >=0.1,<0.2"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that hold for some files, with where each came from."""

    values: Mapping[str, Any]
    origins: Mapping[str, str] = field(default_factory=dict)
    #: The folder that patterns of files are relative to.
    root: Path = field(default_factory=Path.cwd)
    #: The settings file, and where in it the settings are.
    document: Document | None = None
    inside: TomlPath = ()

    def error(self, message: str, key: str, *below: str | int) -> UsageError:
        """The error of a value, with the place in the file, the variable or the option it is from.

        ``below`` leads to a part of the value.
        """
        origin = self.origins.get(key, "")
        if self.document is not None and origin == os.path.relpath(self.document.name):
            at_key = bool(below) and isinstance(below[-1], str)
            return self.document.error((*self.inside, key, *below), message, key=at_key)
        return UsageError(f"{origin}: {message}" if origin.startswith(ENVIRONMENT) else message)

    @contextmanager
    def blamed(self, key: str, *below: str | int) -> Iterator[None]:
        """Gives the errors of a block the place of the value that they are about."""
        try:
            yield
        except CkrulesError as error:
            raise self.error(str(error), key, *below) from None

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def release(self) -> tuple[str | None, Path | None]:
        """The CK version that is named, and the tree that is given.

        A version is left out where the tree is said nearer: by an option, not by a file.
        """
        ck, include = self["ck"], self["ck-include"]
        if include is not None and self._distance("ck-include") < self._distance("ck"):
            ck = None
        return ck, include

    def _distance(self, key: str) -> int:
        origin = self.origins.get(key, "")
        return 0 if origin == COMMAND_LINE else 1 if origin.startswith(ENVIRONMENT) else 2

    def lines(self) -> Iterable[str]:
        """One line a key: its value and where it came from."""
        for key in KEYS:
            value = self.values[key]
            shown = "not set" if value is None else _shown(value)
            yield f"{key} = {shown}  # {self.origins.get(key, 'default')}"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f'"{k}" = {_shown(v)}' for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_shown(v) for v in value) + "]"
    return f'"{value}"'


class SettingsResolver:
    """Finds the settings of files, each settings file read once.

    Args:
        options: What the command line says, by key; None where it says nothing.
        config: A settings file that holds for all files instead of the nearest.
        isolated: Use no settings file at all.
        environment: The environment, for ``CKRULES_*``.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        *,
        config: Path | None = None,
        isolated: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._options = {k: v for k, v in options.items() if v is not None}
        self._config, self._isolated = config, isolated
        self._environment = os.environ if environment is None else environment
        self._by_folder: dict[Path, Path | None] = {}
        self._by_file: dict[Path | None, Settings] = {}

    def of(self, folder: Path) -> Settings:
        """The settings of the files in a folder.

        Raises:
            UsageError: For a faulty settings file, with its line.
        """
        path = None if self._isolated else self._config or self._nearest(folder)
        if path not in self._by_file:
            self._by_file[path] = self._made(path)
        return self._by_file[path]

    def _nearest(self, folder: Path) -> Path | None:
        folder = Path(os.path.abspath(folder))
        if folder not in self._by_folder:
            files = (folder / name for name in (OWN_FILE, SHARED_FILE))
            found = next((p for p in files if _has_settings(p)), None)
            if found is None and folder.parent != folder:
                found = self._nearest(folder.parent)
            self._by_folder[folder] = found
        return self._by_folder[folder]

    def _made(self, path: Path | None) -> Settings:
        values: dict[str, Any] = {k: key.default for k, key in KEYS.items()}
        origins: dict[str, str] = {}
        root = Path.cwd()
        document: Document | None = None
        inside: tuple[str | int, ...] = ()
        if path is not None:
            root = Path(os.path.abspath(path)).parent
            found, document, inside = load(path)
            for key, value in found.items():
                values[key], origins[key] = value, os.path.relpath(path)
        for key, meta in KEYS.items():
            name = ENVIRONMENT + key.upper().replace("-", "_")
            word = self._environment.get(name)
            if word and meta.type not in ("lists", "texts"):
                values[key] = _from_environment(meta.type, word)
                origins[key] = name
        for key, value in self._options.items():
            values[key], origins[key] = value, COMMAND_LINE
        made = Settings(values, origins, root, document, inside)
        with made.blamed("required-version"):
            _required(values["required-version"])
        return made


def _from_environment(kind: str, word: str) -> Any:
    if kind == "list":
        return tuple(w.strip() for w in word.split(",") if w.strip())
    if kind == "paths":
        return tuple(Path(w) for w in word.split(os.pathsep) if w)
    return Path(word) if kind == "path" else word


def _has_settings(path: Path) -> bool:
    """Whether a file is one of settings; a pyproject.toml needs a table ``tool.ckrules``."""
    try:
        data = opening.read(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return False
    except OSError:  # such as a pipe: reading it says so
        return path.name == OWN_FILE
    if path.name == OWN_FILE:
        return True
    if b"ckrules" not in data:
        return False
    try:
        document = Document(str(path), data)
    except UsageError:  # another tool's business, unless the settings are in it
        return b"[tool.ckrules" in data
    tool = document.data.get("tool")
    return isinstance(tool, dict) and "ckrules" in tool


def load(path: Path) -> tuple[dict[str, Any], Document, TomlPath]:
    """The settings that a file gives, the file, and where in it they are.

    Paths in it are relative to its folder.

    Raises:
        UsageError: For a file that cannot be read, an unknown key or a wrong value, with its place.
    """
    try:
        document = Document(str(path), opening.read(path))
    except (OSError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{path}: cannot read the settings: {why}") from None
    at: TomlPath = ()
    given: object = document.data
    if path.name == SHARED_FILE:
        at = "tool", "ckrules"
        for part in at:
            given = given.get(part, {}) if isinstance(given, dict) else {}
    if not isinstance(given, dict):
        raise document.error(at, "tool.ckrules is not a table")
    out: dict[str, Any] = {}
    for key, value in given.items():
        if key not in KEYS:
            hits = nearest(key, KEYS, n=1)
            near = f": did you mean {hits[0]!r}?" if hits else f": known are {', '.join(KEYS)}"
            raise document.error((*at, key), f"unknown setting {key!r}{near}", key=True)
        kind = KEYS[key].type
        if kind in _INNER and isinstance(value, dict):
            out[key] = {}
            for name, inner in value.items():
                where, what = (*at, key, name), f"{key} of {name}"
                out[key][name] = _read(document, where, what, _INNER[kind], inner, path.parent)
        else:
            out[key] = _read(document, (*at, key), key, kind, value, path.parent)
    return out, document, at


_INNER = {"lists": "list", "texts": "text"}
"""Types that are tables of others."""


def _read(document: Document, at: TomlPath, what: str, kind: str, value: Any, folder: Path) -> Any:
    """The value of a type; raises `UsageError` if it is of another, with its place."""
    try:
        return _value(kind, value, folder)
    except TypeError as error:
        raise document.error(at, f"{what} is not {error}", key=True) from None


def _value(kind: str, value: Any, folder: Path) -> Any:
    if kind in ("text", "path"):
        if not isinstance(value, str):
            raise TypeError("a string")
        return folder / value if kind == "path" else value
    if kind in ("list", "paths"):
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise TypeError("a list of strings")
        return tuple(folder / v for v in value) if kind == "paths" else tuple(value)
    raise TypeError("a table")


def _required(wanted: str | None) -> None:
    if not wanted:
        return
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    from ckrules import __version__

    parts = (p.strip() for p in wanted.split(","))
    try:
        asked = SpecifierSet(",".join(p if p[:1] in "<>=!~" else f"=={p}" for p in parts))
    except InvalidSpecifier:
        form = "is not of the form >=0.1,<0.2"
        raise UsageError(f"required-version {wanted!r} {form}") from None
    if not asked.contains(__version__, prereleases=True):
        raise UsageError(f"requires ckrules {wanted}, this is {__version__}")
