"""One catalog: what it lists for what is asked for, in order and as a space."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

from ckrules.arch import Gpu, load_all
from ckrules.constraints.catalogs.candidates import Point, candidates
from ckrules.constraints.catalogs.fields import CatalogFields, fields_of
from ckrules.constraints.catalogs.membership import Membership
from ckrules.constraints.catalogs.model import CatalogData, Condition
from ckrules.constraints.catalogs.rows import RowKernels
from ckrules.constraints.catalogs.selections import select, selected_rows
from ckrules.constraints.catalogs.stages import Staged, stage_book, stages_of, survivors
from ckrules.constraints.catalogs.sweeps import SweepKernels
from ckrules.engine.evaluate.compiled import compile_function
from ckrules.engine.expr import BoolExpr, Value
from ckrules.engine.lang.where import parse_condition
from ckrules.engine.rules import Kind, Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.engine.space import Space
from ckrules.kernels.families import families, family_of, gpus_of
from ckrules.kernels.names import format_name, rule_set_spelling
from ckrules.support.errors import CkrulesError, UsageError, unknown

#: Code and name of the rule of catalogs that select from another one, and what it says.
NOT_SELECTED = ("CAT010", "not-selected")
TAKES = "The selection takes the kernel."


class Catalog:
    """A set of kernels that a file describes; see `ckrules.constraints.catalogs`.

    Args:
        origin: The catalog that it selects from, if it does.
        gpus: The GPUs that points may name (default: all of `ckrules.arch`).
    """

    def __init__(
        self,
        data: CatalogData,
        origin: Catalog | None = None,
        *,
        ck: str,
        gpus: Sequence[Gpu] | None = None,
    ) -> None:
        self.data, self.origin, self.ck = data, origin, ck
        self.gpus = tuple(load_all() if gpus is None else gpus)
        self.family = families()[data.family]
        self._gpus = {g.name: g for g in gpus_of(self.family, self.gpus)}
        #: What a list is asked for, in the order of `listed`'s arguments.
        self.keys = (
            "variant",
            "arch",
            *(k for k in self._fields.keys if k not in ("variant", "arch")),
        )
        self._sweep = (
            SweepKernels(data, data.sweep, self.family, ck, self.gpus) if data.sweep else None
        )
        self._tables = None if self._sweep else self._read_tables()
        listed = self._tables is None and self._sweep is None
        self._rows = {
            name: RowKernels(data, family, ck, self.gpus)
            for name, family in families().items()
            if listed or name != data.family
        }
        self._categories = [(c.name, self._condition(c)) for c in self._cuts]

    def _read_tables(self) -> Membership | None:
        """The tables of the file; None if it lists its family's kernels one by one."""
        data = self.data
        if any(block.family == data.family for block in data.rows):
            for key, table in (
                ("tiles", data.tiles),
                ("features", data.features),
                ("kernels", data.kernels),
            ):
                if table:
                    what = "kernels of the catalog's own family are listed in one form"
                    raise data.fault((key,), what)
            return None
        if self.family.walk is None:
            if data.rows or data.select:
                return None
            raise data.fault(("catalog",), f"nothing in the file lists {self.family.name} kernels")
        return Membership(data, self.family, self.family.walk, self.ck, self.gpus)

    def _condition(self, entry: Condition) -> BoolExpr:
        if self._tables is not None:
            return self._tables.condition(entry)
        try:
            return parse_condition(entry.text.text, self._rows[self.family.name].words.names())
        except CkrulesError as error:
            raise self.data.fault(entry.text.path, str(error)) from None

    @property
    def _fields(self) -> CatalogFields:
        return fields_of(self.data.family)

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of its lists: those whose rules its family has.

        >>> from ckrules.constraints.catalogs import load
        >>> load("full").stages, load("aiter").stages
        (('listed', 'generated', 'builder', 'legal'), ('listed', 'legal'))
        """
        return stages_of(self.family)

    @property
    def name(self) -> str:
        """The catalog's name."""
        return self.data.name

    @property
    def _cuts(self) -> Any:
        return self.data.select.categories if self.data.select else ()

    @property
    def _base(self) -> Catalog:
        """The catalog whose tables decide: this one, or the one that is selected from."""
        return self if self.origin is None else self.origin._base

    def __repr__(self) -> str:
        return f"Catalog({self.name!r})"

    # -- names ---------------------------------------------------------------------------------

    def spelling(self, point: Mapping[str, Value]) -> dict[str, str]:
        """How upstream's rule set spells the point: compv1, and its own word for the layout.

        >>> from ckrules.constraints.catalogs import load
        >>> load("full").spelling({"variant": "forward", "ndim": 3, "pipeline": "basic_v1"})
        {'pipeline': 'compv1', 'layout': 'nhwgc'}
        """
        spelt = rule_set_spelling(point)
        if "layout" in spelt and self._base.data.layout_names == "own":
            family = family_of(str(point["variant"]))
            spelt["layout"] = str(family.defaults(str(point["variant"]), point["ndim"])["layout"])
        return spelt

    def kernel_name(self, point: Mapping[str, Value]) -> str:
        """The kernel's name as upstream's rule set prints it."""
        return format_name(dict(point), self.spelling(point))

    # -- lists ---------------------------------------------------------------------------------

    def listed(self, *values: Value) -> list[Point]:
        """What the catalog yields for a key, in upstream's order; other families come last.

        Args:
            values: A value for each of `keys`.

        Raises:
            UnknownNameError: For an unknown word, with near matches.
            UsageError: For a number that the field does not have.

        >>> from ckrules.constraints.catalogs import load
        >>> full = load("full")
        >>> full.keys
        ('variant', 'arch', 'ndim', 'dtype')
        >>> points = full.listed("bwd_data", "gfx942", 2, "fp16")
        >>> len(points), full.kernel_name(points[0])[-33:]
        (124, '_16x64x32_1x1x1_16x16x32_vec1_8_4')
        """
        key = dict(zip(self.keys, values, strict=True))
        for name, value in key.items():
            self._check(name, value)
        if self.origin is not None and self.data.select is not None:
            return select(self.data.select, self.origin.listed(*values), self._category)
        kept: dict[tuple[Value, ...], Point] = {}
        if self._tables is not None:
            holds = self._holds
            for point in candidates(self._tables, key, self._gpus[str(key["arch"])]):
                if all(holds(point)):
                    kept.setdefault(tuple(point.values()), point)
        if self._sweep is not None:
            kept = {tuple(p.values()): p for p in self._sweep.listed(key)}
        rows = sorted(self._rows.items(), key=lambda item: item[0] != self.family.name)
        return [*kept.values(), *(p for _, part in rows for p in part.listed(key))]

    def guests(self) -> list[Point]:
        """The kernels of other families that a file has beside, which no key chooses."""
        return [p for rows in self._rows.values() for p in rows.guests()]

    def _check(self, name: str, value: Value) -> None:
        known = self._gpus if name == "arch" else self._fields.values(name)
        if value in known:
            return
        if isinstance(value, str):
            raise unknown("GPU" if name == "arch" else name, value, known)
        raise UsageError(f"{name} must be one of {', '.join(map(str, known))}, not {value!r}")

    @cached_property
    def _holds(self) -> Any:
        return compile_function([r.condition for r in self.book().rules])

    def _category(self, point: Mapping[str, Value]) -> Hashable:
        """The category of a point within its dimensions and dtype; other families are their own."""
        family = family_of(str(point["variant"])).name
        name = family
        if family == self.data.family:
            found = zip(self._categories, self._tell(point), strict=True)
            name = next((n for (n, _), ok in found if ok), "regular")
        asked = (k for k in fields_of(family).keys if k not in ("variant", "arch"))
        return name, *(point[k] for k in asked)

    @cached_property
    def _tell(self) -> Any:
        return compile_function([c for _, c in self._categories])

    # -- families ------------------------------------------------------------------------------

    def keys_with(self, variant: str) -> list[str]:
        """The variants of the catalog's own family whose lists have kernels of a variant.

        >>> from ckrules.constraints.catalogs import load
        >>> load("full").keys_with("forward_depthwise"), load("rdna").keys_with("forward_depthwise")
        (['forward'], [])
        """
        name = family_of(variant).name
        if name == self.data.family:
            return [variant]
        blocks = self._base._rows[name].near
        everywhere = self.family.variants
        wanted = (v for near in blocks for v in near.get("variant", everywhere))
        return list(dict.fromkeys(str(v) for v in wanted))

    def numbered(self, variant: str, arch: str) -> list[tuple[int, Mapping[str, Value]]]:
        """The kernels of a tool's list in its order, each with its number there.

        >>> from ckrules.constraints.catalogs import load
        >>> listed = load("aiter").numbered("flatmm", "gfx942")
        >>> len(listed), listed[-1][0]  # the list has some kernels twice
        (126, 138)
        """
        rows = self._base._rows.get(family_of(variant).name)
        return [] if rows is None else list(rows.numbered({"variant": variant, "arch": arch}))

    # -- as rules and spaces -------------------------------------------------------------------

    def book(self, variant: str | None = None) -> RuleBook:
        """The catalog's rules for a variant's family, to check and explain points with.

        A point that breaks none is in the catalog, whatever its direction. For a catalog that
        is selected from another, these are the other one's rules: see `space`.

        >>> from ckrules.constraints.catalogs import load
        >>> book = load("full").book("forward")
        >>> [v.code for v in book.violations({**book.vocabulary.baseline, "tile_m": 96})][0]
        'CAT001'
        """
        if self.origin is not None:
            return self._base.book(variant)
        name = self.data.family if variant is None else family_of(variant).name
        if name in self._rows:
            return self._rows[name].book
        return self._table_book if self._sweep is None else self._sweep.book

    @cached_property
    def _table_book(self) -> RuleBook:
        tables = self._tables
        assert tables is not None  # else the rows have a book
        return RuleBook(f"catalog {self.name}", tables.words, tables.rules, check=False)

    def space(
        self, variant: str | Sequence[str] | None = None, *, stage: str = "listed", **fields: Any
    ) -> Space:
        """The catalog's points as a space, for counting, sampling and comparing.

        Args:
            variant: One or several variants of one family (default: all of the catalog's own).
            stage: ``listed``, or ``generated`` or ``legal`` for what survives these rules too.
            fields: Values or lists of values that fields are held to.

        >>> from ckrules.constraints.catalogs import load
        >>> load("full").space("bwd_data", arch="gfx942", ndim=2, dtype="fp16").count()
        124
        """
        own = self.family.variants
        variants = [variant] if isinstance(variant, str) else list(variant or own)
        names = {family_of(v).name for v in variants}
        if len(names) > 1:
            raise UsageError(
                f"{' and '.join(sorted(names))} kernels have other fields: ask for one alone"
            )
        held = {"variant": variants, **fields}
        values: Mapping[str, Sequence[Any]] = {}
        if self.origin is not None:
            book, values = self._selected(held)
        else:
            book = self.book(variants[0])
            (name,) = names
            part = self._rows.get(name, self._sweep or self._tables)
            values = part.values if part is not None else {}
        rules = [*book.rules, *self.stage_book(stage, variants[0]).rules]
        quantities = book.vocabulary.quantities
        space = Space(book.fields.values(), rules, names=quantities, fixed=values)
        return space.bind(**held)

    def _selected(self, held: Mapping[str, Any]) -> tuple[RuleBook, dict[str, list[Any]]]:
        """A book with the listed points of every asked key as its one relation, and their values."""
        many = {k: v if isinstance(v, (list, tuple)) else [v] for k, v in held.items()}
        variants = many["variant"]
        wanted = list(dict.fromkeys(k for v in variants for k in self.keys_with(v)))
        gpus = many.get("arch", list(self._gpus))
        rest = (many.get(k, self._fields.values(k)) for k in self.keys[2:])
        book = self._base.book(variants[0])
        family = family_of(variants[0]).variants
        rows = [
            tuple(p.values())
            for key in product(wanted, gpus, *rest)
            for p in self.listed(*key)
            if p["variant"] in family
        ]
        names = list(book.fields)
        values = {k: list(dict.fromkeys(r[i] for r in rows)) for i, k in enumerate(names) if rows}
        found = selected_rows(self.name, self.data.source, book.fields, rows)
        rule = Rule(
            *NOT_SELECTED, Kind.PROFILE, found, profiles=("catalog",),
            sources=(self.data.source,), doc=TAKES,
        )  # fmt: skip
        rules = [*book.rules, rule]
        return RuleBook(f"catalog {self.name}", book.vocabulary, rules, check=False), values

    def _check_stage(self, stage: str) -> None:
        if stage not in self.stages:
            raise unknown(f"stage of {self.family.name} lists", stage, self.stages)

    def stage_book(self, stage: str, variant: str) -> RuleBook:
        """The rules that a stage adds to the list, for a variant's family.

        Those that upstream asks before it lists are in `book`.
        """
        self._check_stage(stage)
        asked = {r.code for r in self.book(variant).rules}
        found = stage_book(stage, variant, self.ck, self.gpus)
        return found.select(lambda r: r.code not in asked)

    def stage(self, points: Sequence[Mapping[str, Value]], stage: str) -> Staged:
        """The points that survive a stage, and why the others do not.

        ``listed`` keeps all, ``generated`` what upstream's dispatcher filter lets through,
        ``legal`` what no rule of severity error of the legal profile refuses.

        >>> from ckrules.constraints.catalogs import load
        >>> full = load("full")
        >>> full.stage(full.listed("bwd_data", "gfx942", 2, "fp16"), "generated").removed
        {'DISP004': 124}
        """
        self._check_stage(stage)
        return survivors(points, stage, self.ck, self.gpus)
