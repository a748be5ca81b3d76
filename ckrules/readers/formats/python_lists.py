"""Lists of kernels in Python code, which is read as text and never run.

The code has a dataclass, and lists or dicts of calls to it at the top level. Which dataclasses
there are, and what their fields mean, a family says under ``python`` of its readers
(`ckrules.kernels.reader_tables.RecordTable`).
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ckrules.engine.expr import Value
from ckrules.kernels.families import reader_tables, record_tables
from ckrules.kernels.reader_tables import OtherLibrary, RecordTable
from ckrules.readers.entries import (
    Context,
    Edit,
    Entry,
    Place,
    Remark,
    UnreadableText,
    entry_from_mapping,
)
from ckrules.readers.source import Head, LocatedText, SourceError, SourceFile
from ckrules.support.syntax import module_tree

SUFFIXES = (".py",)
ORDER = 7
COMMENT = "#"
QUOTED, COMMENT_ALONE = False, False
#: Longer code is not a list of kernels.
_LONGEST = 4 << 20


def sniff(head: Head) -> bool:
    """Whether the text has the fields of a dataclass that some family reads."""
    return "@dataclass" in head.text and any(
        all(name in head.text for name in needed) for needed in _marks()
    )


def _marks() -> Iterator[tuple[str, ...]]:
    """The fields by which dataclasses are recognised, of the family's and of other libraries."""
    yield from (table.needed for table in record_tables())
    yield from (needed for library in _libraries() for needed in library.records)


def _libraries() -> list[OtherLibrary]:
    return [o for table in reader_tables("tuned").values() for o in table.others]


def read(source: SourceFile, context: Context) -> Iterator[Entry | UnreadableText | Remark]:
    """Every kernel of the lists, in the order of the code."""
    text = source.text().text
    if len(text) > _LONGEST:
        raise SourceError(f"longer than {_LONGEST >> 20} MB: no list of kernels")
    module = _parsed(text)
    others = _count_others(module, source.name, context)
    records = {k: r for k, r in _records(module).items() if k not in others}
    if not others and not records:
        raise SourceError("no dataclass of kernels that is known here", 1, 1)
    code = _Code(source.name, text.split("\n"), records, context)
    for statement in module.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            yield from code.listed(_target(statement), statement.value)
    yield from code.elsewhere(module)


def _parsed(text: str) -> ast.Module:
    if (odd := re.search(r"\r(?!\n)", text)) is not None:
        # Python ends a line there, editors and messages do not.
        place = LocatedText(text).place(odd.start())
        raise SourceError("a carriage return without a line feed", *place)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return module_tree(text)
    except SyntaxError as error:
        raise SourceError(
            f"not Python: {error.msg}", error.lineno or 1, error.offset or 1
        ) from None
    except (ValueError, RecursionError, MemoryError):
        raise SourceError("not Python that can be read: nested too deeply", 1, 1) from None


def _target(statement: ast.Assign | ast.AnnAssign) -> str:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    return target.id if isinstance(target, ast.Name) else ""


@dataclass(frozen=True)
class _Record:
    """A dataclass: its fields in order, their defaults, and what they mean."""

    names: tuple[str, ...]
    defaults: Mapping[str, Any]
    table: RecordTable


def _records(module: ast.Module) -> dict[str, _Record]:
    """The dataclasses that some family reads, by name."""
    records: dict[str, _Record] = {}
    for node in module.body:
        if not isinstance(node, ast.ClassDef):
            continue
        names, texts = _fields(node), _texts(node)
        fit = (t for t in record_tables() if all(n in names for n in t.needed))
        table = next((t for t in fit if t.text in texts), None)
        if table is not None:
            defaults = {k: v for k, v in names.items() if v is not None}
            records[node.name] = _Record(tuple(names), defaults, table)
    return records


def _fields(node: ast.ClassDef) -> dict[str, Any]:
    """The fields of a dataclass with their defaults, None where there is none."""
    names: dict[str, Any] = {}
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            names[line.target.id] = None if line.value is None else _constant(line.value)
    return names


def _texts(node: ast.ClassDef) -> Collection[str]:
    """What the code of a dataclass writes, and the empty text."""
    return {"", *(str(n.value) for n in ast.walk(node) if isinstance(n, ast.Constant))}


def _count_others(module: ast.Module, source: str, context: Context) -> Collection[str]:
    """Counts the kernels of other libraries; the dataclasses that the code has for any."""
    others: dict[str, OtherLibrary] = {}
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            names = _fields(node)
            for library in _libraries():
                if any(all(n in names for n in needed) for needed in library.records):
                    others.setdefault(node.name, library)
    for made in ast.walk(module) if others else ():
        name = (
            made.func.id if isinstance(made, ast.Call) and isinstance(made.func, ast.Name) else ""
        )
        if name in others:
            context.census.add_other(others[name], source)
    return others


def _constant(node: ast.expr) -> Any:
    """A number, truth value or text; None for anything else."""
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _constant(node.operand)
        return -inner if type(inner) is int else None
    return value if isinstance(value, (int, str)) else None


@dataclass
class _Code:
    name: str
    lines: list[str]
    records: Mapping[str, _Record]
    context: Context
    _read: set[ast.expr] = field(default_factory=set)

    def place(self, node: ast.expr) -> Place:
        line, end = node.lineno, node.end_lineno or node.lineno
        return Place(
            self.name, line, self._column(line, node.col_offset),
            end, self._column(end, node.end_col_offset or 0),
        )  # fmt: skip

    def _column(self, line: int, offset: int) -> int:
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if text.isascii():
            return offset + 1
        return len(text.encode(errors="replace")[:offset].decode(errors="replace")) + 1

    def listed(self, name: str, value: ast.expr) -> Iterator[Entry | UnreadableText | Remark]:
        """The kernels of one list or dict, whose keys are their labels."""
        if isinstance(value, ast.Dict):
            pairs: list[tuple[ast.expr | None, ast.expr]] = list(
                zip(value.keys, value.values, strict=True)
            )
        elif isinstance(value, (ast.List, ast.Tuple)):
            pairs = [(None, element) for element in value.elts]
        else:
            return
        for key, node in pairs:
            record = self._record(node)
            if record is not None and isinstance(node, ast.Call):
                self._read.add(node)
                label = "" if key is None else f"{name}[{_constant(key)}]"
                yield from self._kernels(name, label, node, record)

    def elsewhere(self, module: ast.Module) -> Iterator[Remark]:
        """The kernels that code makes, as in loops and branches, or hands on one by one."""
        for node in ast.walk(module):
            if isinstance(node, ast.expr) and node not in self._read and self._record(node):
                text = "a kernel that no list of the module writes out: code is not run"
                yield Remark(self.place(node), "CFG006", text)

    def _record(self, node: ast.expr) -> _Record | None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self.records.get(node.func.id)
        return None

    def _kernels(
        self, name: str, label: str, call: ast.Call, record: _Record
    ) -> Iterator[Entry | UnreadableText | Remark]:
        """The kernel of a call, on each GPU that the list is for where nothing names one."""
        table, asked = record.table, self.context.arch
        silent = asked is None and "arch" not in {**table.fixed, **table.of_list(name)}
        for gpu in table.gpus if silent and table.gpus else (asked,):
            its = label if gpu == asked or not label else f"{label} on {gpu}"
            found = self._kernel(name, its, call, record, replace(self.context, arch=gpu))
            if isinstance(found, Entry):
                self.context.census.listed(found.config.point)
            yield found

    def _kernel(
        self, name: str, label: str, call: ast.Call, record: _Record, context: Context
    ) -> Entry | UnreadableText | Remark:
        place, table = self.place(call), record.table
        if len(call.args) > len(record.names):
            count = len(record.names)
            return UnreadableText(place, f"{len(call.args)} arguments, expected {count} at most")
        given: dict[str, ast.expr] = dict(zip(record.names, call.args, strict=False))
        for keyword in call.keywords:
            if keyword.arg is None or keyword.arg not in record.names or keyword.arg in given:
                return UnreadableText(
                    self.place(keyword.value), f"no argument {keyword.arg or '**'} here"
                )
            given[keyword.arg] = keyword.value
        said: dict[str, Any] = dict(record.defaults)
        for key, node in given.items():
            said[key] = _constant(node)
            if said[key] is None:
                return UnreadableText(
                    self.place(node), f"{key} is not a number, text or truth value"
                )
        lacks = [n for n in record.names if n not in said]
        if lacks:
            return UnreadableText(place, f"no argument {lacks[0]}")
        known = {*table.fields, *table.labels}
        for key, value in said.items():
            # what is not known here is taken for a switch, which is off by default
            if value in table.outside.get(key, ()) or (key not in known and value):
                at = self.place(given[key]) if key in given else place
                return Remark(at, "CFG006", f"{key} {value} is not covered by the rules")
        return self._entry(name, label, place, said, given, table, context)

    def _entry(
        self, name: str, label: str, place: Place, said: Mapping[str, Any],
        given: Mapping[str, ast.expr], table: RecordTable, context: Context,
    ) -> Entry | UnreadableText:  # fmt: skip
        fields: dict[str, Any] = {**table.fixed, **table.of_list(name)}
        for key, meant in table.fields.items():
            if key in said:
                fields[meant] = table.word(meant, said[key])
        table.finish(fields)
        keys = {meant: key for key, meant in table.fields.items()}

        def locate(what: str, at_key: bool) -> Place | None:
            node = given.get(keys.get(what, ""))
            return None if node is None else self.place(node)

        def rewrite(what: str, value: Value) -> Edit | None:
            at = locate(what, False)
            if at is None or isinstance(value, str):
                return None
            old = said[keys[what]]
            return Edit(at, repr(value) if isinstance(old, bool) else str(int(value)))

        return entry_from_mapping(fields, context, place, locate, rewrite, label=label)
