"""Kernels that a catalog lists one by one, of any family: as points and as a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from ckrules.arch import Gpu
from ckrules.constraints.catalogs.fields import fields_of
from ckrules.constraints.catalogs.model import CatalogData, CatalogRows
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import BoolExpr, Value, all_of, any_of, implies, isin, rel
from ckrules.engine.expr.relation import Table
from ckrules.engine.lang.where import parse
from ckrules.engine.restrictions import held_condition
from ckrules.engine.rules import Kind, Rule, version_key
from ckrules.engine.rules.book import RuleBook, Vocabulary
from ckrules.kernels.families import gpus_of
from ckrules.kernels.family import Family
from ckrules.support.errors import CkrulesError

Point = dict[str, Value]
Key = Mapping[str, Value]


class RowKernels:
    """The rows of one family in a catalog.

    Args:
        family: The family; the file may have no rows of it.
        gpus: The GPUs that points may name.

    Raises:
        ArchFileError: For an expression that cannot be read, or a field that nothing says.
    """

    def __init__(self, data: CatalogData, family: Family, ck: str, gpus: Sequence[Gpu]) -> None:
        self.data, self.family = data, family
        newest = max(ck, family.since, key=version_key)
        self.words: Vocabulary = family.vocabulary(newest, gpus_of(family, gpus))
        self._keys = fields_of(family.name).keys
        self._blocks = [
            (b, [self._row(b, r) for r in b.rows]) for b in data.rows if b.family == family.name
        ]

    def _row(self, block: CatalogRows, row: Mapping[str, Value]) -> Point:
        """A row with its derived fields, which are formulas over the row alone."""
        at = At(row)
        full = {**row, **{k: at.value(e) for k, e in self._formulas(block).items()}}
        if "variant" not in full and len(self.family.variants) == 1:
            full["variant"] = self.family.variants[0]
        said = {*full, *self._keys, *self.family.defaults(*self._purpose(full, block.near))}
        missing = [k for k in self.words.variables if k not in said]
        missing += [k for k, v in full.items() if v is None]
        if "variant" not in full:
            missing.insert(0, "variant")
        if missing:
            raise self.data.fault(block.path, f"nothing says {', '.join(missing)} of these rows")
        return {k: v for k, v in full.items() if v is not None}

    def _formulas(self, block: CatalogRows) -> dict[str, Any]:
        formulas = {}
        for field, text in block.derived.items():
            try:
                formulas[field] = parse(text.text, self.words.names())
            except CkrulesError as error:
                raise self.data.fault(text.path, str(error)) from None
        return formulas

    def _purpose(self, row: Key, near: Mapping[str, Sequence[Value]]) -> tuple[str, object]:
        dims = row.get("ndim", next(iter(near.get("ndim", ())), None))
        if dims is None:
            dims = next(iter(fields_of(self.family.name).values("ndim")), None)
        return str(row.get("variant", self.family.variants[0])), dims

    @property
    def near(self) -> list[Mapping[str, tuple[Value, ...]]]:
        """Per block the keys of the catalog's own family with which its kernels are listed."""
        return [b.near for b, _ in self._blocks]

    def listed(self, key: Key) -> Iterator[Point]:
        """The kernels that belong to a list of the catalog, in the file's order.

        Args:
            key: What is asked for, by the fields of the catalog's own family.
        """
        own = self.family.name == self.data.family
        asked = {k: v for k, v in key.items() if k in self._keys and (own or k != "variant")}
        for (block, _), (said, rows) in zip(self._blocks, self._by_key, strict=True):
            if block.guests or any(key[k] not in block.near[k] for k in block.near if k in key):
                continue
            for row in rows.get(tuple(asked[k] for k in said), ()):
                if any(row.get(k, v) != v for k, v in asked.items()):
                    continue
                point = {**asked, **row}
                defaults = self.family.defaults(str(point["variant"]), point.get("ndim"))
                full = {**defaults, **point}
                yield {k: full[k] for k in self.words.variables}

    def guests(self) -> Iterator[Point]:
        """The kernels that are listed whatever is asked for, in the file's order."""
        for block, rows in self._blocks:
            yield from ({k: r[k] for k in self.words.variables} for r in rows if block.guests)

    def numbered(self, key: Key) -> Iterator[tuple[int, Point]]:
        """The kernels of a tool's list, each with its number there."""
        for block, rows in self._blocks:
            for number, row in zip(block.numbers, rows, strict=False):  # the last have none
                if all(row.get(name, value) == value for name, value in key.items()):
                    defaults = self.family.defaults(str(row["variant"]), row.get("ndim"))
                    full = {**defaults, **row}
                    yield number, {k: full[k] for k in self.words.variables}

    @cached_property
    def _by_key(self) -> list[tuple[list[str], dict[tuple[Value, ...], list[Point]]]]:
        """Per block the keys that all its rows say, and the rows by their values."""
        out = []
        for _, rows in self._blocks:
            said = [k for k in self._keys if k != "variant" and all(k in r for r in rows)]
            by: dict[tuple[Value, ...], list[Point]] = {}
            for row in rows:
                by.setdefault(tuple(row[k] for k in said), []).append(row)
            out.append((said, by))
        return out

    @cached_property
    def book(self) -> RuleBook:
        """The one rule that a point is a kernel of the list."""
        name = self.family.name
        title = f"catalog {self.data.name}"
        listed = any_of(*(self._listed(b, rows) for b, rows in self._blocks if rows))
        rule = Rule(
            "CAT011", f"{name}-not-in-catalog", Kind.PROFILE,
            all_of(listed, defaults_by_ndim(self.words, self.family)),
            profiles=("catalog",), sources=(self.data.source,),
            doc=f"The {name} kernel is in the list.",
        )  # fmt: skip
        shown = title if name == self.data.family else f"{title}: {name}"
        return RuleBook(shown, self.words, [rule], check=False)

    @cached_property
    def values(self) -> dict[str, list[Any]]:
        """The values of fields that every row says, so that a space has no other candidates."""
        rows = [r for _, block in self._blocks for r in block]
        said = [k for k in self.words.variables if rows and all(k in r for r in rows)]
        fields = self.words.variables
        return {
            k: list(dict.fromkeys(r[k] for r in rows))
            for k in said
            if not isinstance(fields[k], BoolExpr)
        }

    def _listed(self, block: CatalogRows, rows: Sequence[Point]) -> BoolExpr:
        fields: Mapping[str, Any] = self.words.variables
        defaults = self.family.defaults(str(rows[0]["variant"]))
        full = [{**defaults, **r} for r in rows]
        columns = [k for k in fields if k in full[0]]
        varied = [k for k in columns if len({r[k] for r in full}) > 1]
        table = Table.relation(
            f"listed_{self.family.name}", varied, dict.fromkeys(tuple(r[k] for k in varied) for r in full),
            source=self.data.source,
        )  # fmt: skip
        near = {k: v for k, v in block.near.items() if k in fields and k != "variant"}
        return all_of(
            *([rel(table, *(fields[k] for k in varied))] if varied else []),
            *(held_condition(fields[k], [full[0][k]]) for k in columns if k not in varied),
            *(isin(fields[k], list(v)) for k, v in near.items() if k not in columns),
        )


def defaults_by_ndim(words: Vocabulary, family: Family) -> BoolExpr:
    """Defaults that follow from the dimensions, such as the layout, have their values."""
    fields: Mapping[str, Any] = words.variables
    if "ndim" not in fields:
        return all_of()
    always = family.defaults(family.variants[0])
    return all_of(
        *(
            implies(fields["ndim"] == n, fields[k] == v)
            for n in fields_of(family.name).values("ndim")
            for k, v in family.defaults(family.variants[0], n).items()
            if k not in always
        )
    )
