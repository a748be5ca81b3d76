"""Settings of ``ckrules check``: ``[tool.ckrules]`` of pyproject.toml, or ``ckrules.toml``.

The file nearest to a checked file holds for it; a command-line option goes before the environment
(``CKRULES_ARCH`` for ``arch``), that before the file, that before the default.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ckrules.engine.errors import CkrulesError, UsageError, nearest

FILES = ("ckrules.toml", "pyproject.toml")
ENVIRONMENT = "CKRULES_"
SEVERITIES = ("error", "warning", "note")
INCLUDE = (
    "*.ck.json", "*.ck.jsonl", "*.ck.toml", "*.ck.csv", "*.conf",
    "**/configs/**/*.json", "*.cpp", "*.hpp",
)  # fmt: skip
EXCLUDE = (".*", "__pycache__", "build", "node_modules")


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the settings: its type, its default and what it means."""

    type: str
    default: Any
    doc: str


KEYS: Mapping[str, Key] = {
    "arch": Key("text", None, "GPU of configurations that name none"),
    "ck": Key("text", None, "CK headers"),
    "profile": Key("text", None, "rule set"),
    "select": Key("list", ("ALL",), "codes or families that are checked"),
    "extend-select": Key("list", (), "codes or families that are checked too"),
    "ignore": Key("list", (), "codes or families that are not reported"),
    "per-file-ignores": Key("lists", {}, "codes by file pattern, with a JSON pointer behind #"),
    "severity": Key("texts", {}, "error, warning or note by code"),
    "baseline": Key("path", None, "file of known findings"),
    "include": Key("list", INCLUDE, "files that are read in folders"),
    "exclude": Key("list", EXCLUDE, "files and folders that are passed over"),
    "arch-paths": Key("paths", (), "GPU files, or folders of them"),
    "tile-reading": Key("text", "gmn", "how .tile(a, b, c) of C++ macros is read: gmn or mnk"),
    "docs-url": Key("text", "", "what goes before the pages of rules in links"),
    "required-version": Key("text", None, "versions of ckrules that may run, as >=0.1,<0.2"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that hold for some files, with where each came from."""

    values: Mapping[str, Any]
    origins: Mapping[str, str] = field(default_factory=dict)
    #: The folder that patterns of files are relative to.
    root: Path = field(default_factory=Path.cwd)

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

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


class Finder:
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
            found = next((p for n in FILES if _has_settings(p := folder / n)), None)
            if found is None and folder.parent != folder:
                found = self._nearest(folder.parent)
            self._by_folder[folder] = found
        return self._by_folder[folder]

    def _made(self, path: Path | None) -> Settings:
        values: dict[str, Any] = {k: key.default for k, key in KEYS.items()}
        origins: dict[str, str] = {}
        root = Path.cwd()
        if path is not None:
            root = Path(os.path.abspath(path)).parent
            for key, value in load(path).items():
                values[key], origins[key] = value, os.path.relpath(path)
        for key, meta in KEYS.items():
            name = ENVIRONMENT + key.upper().replace("-", "_")
            word = self._environment.get(name)
            if word and meta.type not in ("lists", "texts"):
                values[key] = _from_environment(meta.type, word)
                origins[key] = name
        for key, value in self._options.items():
            values[key], origins[key] = value, "command line"
        _required(values["required-version"], origins.get("required-version", ""))
        return Settings(values, origins, root)


def _from_environment(kind: str, word: str) -> Any:
    if kind == "list":
        return tuple(w.strip() for w in word.split(",") if w.strip())
    if kind == "paths":
        return tuple(Path(w) for w in word.split(os.pathsep) if w)
    return Path(word) if kind == "path" else word


def _has_settings(path: Path) -> bool:
    try:
        data = path.read_bytes()
    except OSError:
        return False
    return path.name == FILES[0] or b"tool.ckrules" in data or b"ckrules" in data


def load(path: Path) -> dict[str, Any]:
    """The settings that a file gives; paths in it are relative to its folder.

    Raises:
        UsageError: For a file that cannot be read, an unknown key or a wrong value, with line.
    """
    import tomllib

    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot read the settings: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not TOML: {error}") from None
    given = document
    if path.name == "pyproject.toml":
        tool = document.get("tool")
        given = tool.get("ckrules", {}) if isinstance(tool, dict) else {}
    out: dict[str, Any] = {}
    for key, value in given.items():
        line = _line(text, key, path.name == "pyproject.toml")
        where = f"{path}:{line}" if line else str(path)
        if key not in KEYS:
            hits = nearest(key, KEYS, n=1)
            near = f": did you mean {hits[0]!r}?" if hits else f": known are {', '.join(KEYS)}"
            raise UsageError(f"{where}: unknown setting {key!r}{near}")
        try:
            out[key] = _value(KEYS[key].type, value, path.parent)
        except TypeError as error:
            raise UsageError(f"{where}: {key} is not {error}") from None
    return out


def _line(text: str, key: str, nested: bool) -> int:
    inside = not nested
    pattern = re.compile(rf'\s*"?{re.escape(key)}"?\s*=')
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("["):
            name = line.strip().strip("[]").strip()
            inside = name == "tool.ckrules" if nested else False
            if name in (key, f"tool.ckrules.{key}"):
                return number
        elif inside and pattern.match(line):
            return number
    return 0


def _value(kind: str, value: Any, folder: Path) -> Any:
    if kind in ("text", "path"):
        if not isinstance(value, str):
            raise TypeError("a text")
        return folder / value if kind == "path" else value
    if kind in ("list", "paths"):
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise TypeError("a list of texts")
        return tuple(folder / v for v in value) if kind == "paths" else tuple(value)
    if not isinstance(value, dict):
        raise TypeError("a table")
    inner = "list" if kind == "lists" else "text"
    return {k: _value(inner, v, folder) for k, v in value.items()}


def _required(wanted: str | None, origin: str) -> None:
    if not wanted:
        return
    from ckrules import __version__

    own = _version(__version__)
    tests: dict[str, Callable[[Any, Any], bool]] = {
        ">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b, "==": lambda a, b: a == b,
        "!=": lambda a, b: a != b, ">": lambda a, b: a > b, "<": lambda a, b: a < b,
    }  # fmt: skip
    for part in wanted.split(","):
        match = re.fullmatch(r"\s*(>=|<=|==|!=|>|<)?\s*(\d+(?:\.\d+)*)\s*", part)
        if match is None:
            raise UsageError(f"{origin}: required-version {wanted!r} is not of the form >=0.1,<0.2")
        width = max(len(own), len(_version(match[2])))
        a, b = (v + (0,) * (width - len(v)) for v in (own, _version(match[2])))
        if not tests[match[1] or "=="](a, b):
            raise UsageError(f"{origin}: requires ckrules {wanted}, this is {__version__}")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(p) for p in re.findall(r"\d+", text)[:3])


class Codes:
    """Which codes are reported where, and how gravely.

    Raises:
        UsageError: For a code that does not exist, with near matches.
    """

    def __init__(self, settings: Settings, known: Callable[[], Iterable[str]]) -> None:
        self._settings = settings
        lists: list[Iterable[str]] = [
            *(settings[key] for key in ("select", "extend-select", "ignore", "severity")),
            *settings["per-file-ignores"].values(),
        ]
        wanted = {c for codes in lists for c in codes} - {"ALL"}
        if wanted:
            _check(wanted, set(known()))
        for code, severity in settings["severity"].items():
            if severity not in SEVERITIES:
                raise UsageError(
                    f"severity of {code}: {severity!r} is not one of {', '.join(SEVERITIES)}"
                )
        self._ignores = [
            (pattern.partition("#")[0], pattern.partition("#")[2], codes)
            for pattern, codes in settings["per-file-ignores"].items()
        ]
        self._selected: dict[tuple[str, bool], bool] = {}

    def selected(self, code: str, default: bool = True) -> bool:
        """Whether a code is reported at all; ``default`` is whether ALL means it too."""
        key = code, default
        if key not in self._selected:
            s = self._settings
            on = (default and "ALL" in s["select"]) or _covers(s["select"], code)
            on = on or "ALL" in s["extend-select"] or _covers(s["extend-select"], code)
            self._selected[key] = on and not _covers(s["ignore"], code)
        return self._selected[key]

    def ignored_in(self, code: str, source: str, pointer: str) -> bool:
        """Whether ``per-file-ignores`` leaves the code out for a file, or a part of it."""
        if not self._ignores:
            return False
        path = below(source, self._settings.root)
        for pattern, part, codes in self._ignores:
            if not matches(path, pattern) or not ("ALL" in codes or _covers(codes, code)):
                continue
            if not part or pointer == part or pointer.startswith(part.rstrip("/") + "/"):
                return True
        return False

    def severity(self, code: str, own: str) -> str:
        """How grave a code is."""
        return str(self._settings["severity"].get(code, own))


def _covers(codes: Iterable[str], code: str) -> bool:
    return any(code == c or (c.isalpha() and code.rstrip("0123456789") == c) for c in codes)


def _check(wanted: set[str], known: set[str]) -> None:
    families = {c.rstrip("0123456789") for c in known}
    for code in sorted(wanted - known - families):
        hits = nearest(code, known | families)
        tail = f"did you mean {' or '.join(hits)}?" if hits else "`ckrules rules` lists them"
        raise UnknownCodeError(f"unknown code {code!r}: {tail}")


class UnknownCodeError(CkrulesError, LookupError):
    """A code of no rule and no finding."""

    def __str__(self) -> str:
        return str(self.args[0])


def below(path: str, root: Path) -> str:
    """A path as patterns see it: from the root of the settings, or its name alone outside."""
    found = os.path.relpath(os.path.abspath(path), os.path.abspath(root)).replace(os.sep, "/")
    return found.rsplit("/", 1)[-1] if found.startswith("../") else found


def matches(path: str, pattern: str) -> bool:
    """Whether a path below the root is meant: by its whole, a folder of it or its name alone.

    >>> matches("configs/fwd/a.json", "configs/**/*.json"), matches("x/a.conf", "*.conf")
    (True, True)
    >>> matches("configs/a.json", "configs"), matches("other/a.json", "configs/*.json")
    (True, False)
    """
    parts = path.split("/")
    tries = ["/".join(parts[: i + 1]) for i in range(len(parts))]
    if "/" not in pattern:
        tries += parts
    compiled = _compiled(pattern)
    return any(compiled.fullmatch(t) for t in tries)


_PATTERNS: dict[str, re.Pattern[str]] = {}


def _compiled(pattern: str) -> re.Pattern[str]:
    if pattern not in _PATTERNS:
        out, at = "", 0
        text = pattern.removeprefix("./").rstrip("/")
        while at < len(text):
            if text.startswith("**/", at):
                out, at = out + "(?:[^/]+/)*", at + 3
            elif text.startswith("**", at):
                out, at = out + ".*", at + 2
            else:
                sign = text[at]
                out += {"*": "[^/]*", "?": "[^/]"}.get(sign) or re.escape(sign)
                at += 1
        _PATTERNS[pattern] = re.compile(out)
    return _PATTERNS[pattern]
