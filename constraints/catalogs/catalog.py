"""One catalog: what it lists for a direction, GPU, dimensions and dtype, in order and as a space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, cast

from ckrules.arch import Gpu, load_all
from ckrules.constraints.catalogs.candidates import Point, candidates
from ckrules.constraints.catalogs.fields import DOMAINS, TILE, VECTOR, WARP, WAVES
from ckrules.constraints.catalogs.membership import Membership
from ckrules.constraints.catalogs.model import CatalogData
from ckrules.constraints.catalogs.selections import select, selected_rows
from ckrules.constraints.catalogs.stages import STAGES, Staged, stage_book, survivors
from ckrules.constraints.conv.vocabulary import KERNEL_DTYPES, LAYOUTS, VARIANTS
from ckrules.constraints.depthwise import vocabulary as depthwise
from ckrules.constraints.library import operator_of
from ckrules.engine.backends.compiled import compile_function
from ckrules.engine.book import RuleBook, Vocabulary
from ckrules.engine.errors import CkrulesError, UsageError, unknown
from ckrules.engine.expr import Value, all_of, rel
from ckrules.engine.parse import parse
from ckrules.engine.rules import Rule
from ckrules.engine.space import Space
from ckrules.engine.table import Table
from ckrules.names import format_name, rule_set_spelling


class Catalog:
    """A set of kernels that a file describes; see `ckrules.constraints.catalogs`.

    Args:
        data: The file's content.
        origin: The catalog that it selects from, if it does.
        ck: The CK headers.
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
        self._gpus = {g.name: g for g in self.gpus}
        self._member = Membership(data, ck, self.gpus)
        self._categories = [(c.name, self._member.condition(c)) for c in self._cuts]

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
        spelt = rule_set_spelling(cast(Any, point))
        if "layout" in spelt and self._base.data.layout_names == "own":
            spelt["layout"] = LAYOUTS[int(point["ndim"])]
        return spelt

    def kernel_name(self, point: Mapping[str, Value]) -> str:
        """The kernel's name as upstream's rule set prints it."""
        return format_name(cast(Any, point), self.spelling(point))

    # -- lists ---------------------------------------------------------------------------------

    def listed(self, variant: str, gpu: str, ndim: int, dtype: str) -> list[Point]:
        """What upstream's rule set yields, in its order; depthwise kernels come last.

        Raises:
            UnknownNameError: For an unknown direction, GPU or dtype, with near matches.

        >>> from ckrules.constraints.catalogs import load
        >>> full = load("full")
        >>> points = full.listed("bwd_data", "gfx942", 2, "fp16")
        >>> len(points), full.kernel_name(points[0])[-33:]
        (124, '_16x64x32_1x1x1_16x16x32_vec1_8_4')
        """
        for what, word, known in (
            ("direction", variant, VARIANTS), ("GPU", gpu, self._gpus),
            ("dtype", dtype, KERNEL_DTYPES),
        ):  # fmt: skip
            if word not in known:
                raise unknown(what, word, known)
        if ndim not in LAYOUTS:
            raise UsageError(f"ndim must be 1, 2 or 3, not {ndim!r}")
        if self.origin is not None and self.data.select is not None:
            whole = self.origin.listed(variant, gpu, ndim, dtype)
            return select(self.data.select, whole, self._category)
        holds = self._holds
        kept: dict[tuple[Value, ...], Point] = {}
        for point in candidates(self._member, variant, self._gpus[gpu], ndim, dtype):
            if all(holds(point)):
                kept.setdefault(tuple(point.values()), point)
        return [*kept.values(), *self._depthwise(variant, gpu, ndim, dtype)]

    @cached_property
    def _holds(self) -> Any:
        return compile_function([r.condition for r in self._member.rules])

    def _category(self, point: Mapping[str, Value]) -> str:
        if point["variant"] == "forward_depthwise":
            return "depthwise"
        return next(
            (n for (n, _), ok in zip(self._categories, self._tell(point), strict=True) if ok),
            "regular",
        )

    @cached_property
    def _tell(self) -> Any:
        return compile_function([c for _, c in self._categories])

    def _depthwise(self, variant: str, gpu: str, ndim: int, dtype: str) -> list[Point]:
        table = self.data.depthwise
        if table is None or (table.variant, table.ndim) != (variant, ndim):
            return []
        start: Point = {
            "variant": "forward_depthwise", "arch": gpu, "dtype": dtype, "ndim": ndim,
            "layout": depthwise.LAYOUTS[ndim],
        }  # fmt: skip
        names = list(self._depthwise_words.variables)
        full = [{**start, **row} for row in self._depthwise_rows]
        return [{k: p[k] for k in names} for p in full]

    # -- as rules and spaces -------------------------------------------------------------------

    def book(self, variant: str | None = None) -> RuleBook:
        """The catalog's rules for a variant's operator, to check and explain points with.

        A point that breaks none is in the catalog, whatever its direction. For a catalog that
        is selected from another, these are the other one's rules: see `space`.

        >>> from ckrules.constraints.catalogs import load
        >>> book = load("full").book("forward")
        >>> [v.code for v in book.violations({**book.vocabulary.baseline, "tile_m": 96})][0]
        'CAT001'
        """
        if self.origin is not None:
            return self._base.book(variant)
        if operator_of(variant) == "depthwise":
            return self._depthwise_book
        return self._conv_book

    @cached_property
    def _conv_book(self) -> RuleBook:
        return RuleBook(f"catalog {self.name}", self._member.words, self._member.rules, check=False)

    def space(
        self, variant: str | Sequence[str] | None = None, *, stage: str = "listed", **fields: Any
    ) -> Space:
        """The catalog's points as a space, for counting, sampling and comparing.

        Args:
            variant: One or several directions of one operator (default: the GEMM-based ones);
                depthwise kernels are the space of ``forward_depthwise``.
            stage: ``listed``, or ``generated`` or ``legal`` for what survives these rules too.
            fields: Values or lists of values that fields are held to.

        >>> from ckrules.constraints.catalogs import load
        >>> load("full").space("bwd_data", arch="gfx942", ndim=2, dtype="fp16").count()
        124
        """
        variants = [variant] if isinstance(variant, str) else list(variant or VARIANTS)
        operators = {operator_of(v) for v in variants}
        if len(operators) > 1:
            raise UsageError("depthwise kernels have other fields: ask for them alone")
        held = {"variant": variants, **fields}
        values: Mapping[str, Sequence[Any]] = {}
        if self.origin is not None:
            book, values = self._selected(held)
        else:
            book = self.book(variants[0])
            values = {} if operators == {"depthwise"} else self._values
        rules = list(book.rules)
        if stage != "listed":
            rules += stage_book(stage, variants[0], self.ck, self.gpus).rules
        names = book.vocabulary.quantities
        space = Space(book.fields.values(), rules, names=names, fixed=values)
        return space.bind(**held)

    @cached_property
    def _values(self) -> dict[str, list[Any]]:
        """The sizes that the tables mention, so that a space has no other candidates."""
        found: dict[str, set[Any]] = {}
        for rule in self._member.rules:
            for table in _relations(rule):
                for i, key in enumerate(table.keys):
                    if key in (*TILE, *WAVES, *WARP, *VECTOR) and table.name != "gpu_tilings":
                        found.setdefault(key, set()).update(row[i] for row in table.rows)
        if self._member.data.gpu_waves or self._member.uncurated.rows:
            for gpu in self.gpus:
                shapes = gpu.dispatcher.wave_maps if gpu.dispatcher else ()
                for i, key in enumerate(WAVES):
                    found.setdefault(key, set()).update(w[i] for w in shapes)
            for key in WARP:
                found.pop(key, None)
        derived = self._member.derived
        fixed: dict[str, list[Any]] = {
            k: [v] for k, v in self._member.fixed.items() if DOMAINS[k].sort != "bool"
        }
        return {**{k: sorted(v) for k, v in found.items() if k not in derived}, **fixed}

    def _selected(self, held: Mapping[str, Any]) -> tuple[RuleBook, dict[str, list[Any]]]:
        """A book with the listed points of every asked key as its one relation, and their values."""
        many = {k: v if isinstance(v, (list, tuple)) else [v] for k, v in held.items()}
        variants = many["variant"]
        wanted = ["forward"] if variants == ["forward_depthwise"] else variants
        gpus = many.get("arch", list(self._gpus))
        keys = product(wanted, gpus, many.get("ndim", LAYOUTS), many.get("dtype", KERNEL_DTYPES))
        book = self._base.book(variants[0])
        rows = [
            tuple(p.values())
            for key in keys
            for p in self.listed(*key)
            if (p["variant"] == "forward_depthwise") == (variants == ["forward_depthwise"])
        ]
        names = list(book.fields)
        values = {k: list(dict.fromkeys(r[i] for r in rows)) for i, k in enumerate(names) if rows}
        found = selected_rows(self.name, self.data.source, book.fields, rows)
        rule = Rule(
            "CAT010", "not-selected", "profile", found, profiles=("catalog",),
            sources=(self.data.source,), doc="The selection takes the kernel.",
        )  # fmt: skip
        rules = [*book.rules, rule]
        return RuleBook(f"catalog {self.name}", book.vocabulary, rules, check=False), values

    def stage(self, points: Sequence[Mapping[str, Value]], stage: str) -> Staged:
        """The points that survive a stage, and why the others do not.

        ``listed`` keeps all, ``generated`` what upstream's dispatcher filter lets through,
        ``legal`` what no rule of severity error of the legal profile refuses.

        >>> from ckrules.constraints.catalogs import load
        >>> full = load("full")
        >>> full.stage(full.listed("bwd_data", "gfx942", 2, "fp16"), "generated").removed
        {'DISP004': 124}
        """
        if stage not in STAGES:
            raise unknown("stage", stage, STAGES)
        return survivors(points, stage, self.ck, self.gpus)

    # -- depthwise -----------------------------------------------------------------------------

    @cached_property
    def _depthwise_words(self) -> depthwise.Depthwise:
        return depthwise.vocabulary(max(self.ck, depthwise.SINCE), self.gpus)

    @cached_property
    def _depthwise_rows(self) -> list[Point]:
        """The rows with their derived fields, which are formulas over the row alone."""
        from ckrules.engine.backends.pointwise import At

        table = self.data.depthwise
        if table is None:
            return []
        formulas: dict[str, Any] = {}
        for field, text in table.derived.items():
            try:
                formulas[field] = parse(text.text, self._depthwise_words.names())
            except CkrulesError as error:
                raise self.data.fault(text.path, str(error)) from None
        return [{**row, **{k: At(row).value(e) for k, e in formulas.items()}} for row in table.rows]

    @cached_property
    def _depthwise_book(self) -> RuleBook:
        words: Vocabulary = self._depthwise_words
        columns = [
            k for k in words.variables if self._depthwise_rows and k in self._depthwise_rows[0]
        ]
        rows = [tuple(r[k] for k in columns) for r in self._depthwise_rows]
        table = Table.relation("listed_depthwise", columns, rows, source=self.data.source)
        listed = rel(table, *(words.variables[k] for k in columns)) if rows else all_of(False)
        near = self.data.depthwise.ndim if self.data.depthwise else 2
        rule = Rule(
            "CAT011", "depthwise-not-in-catalog", "profile",
            all_of(listed, words.ndim == near), profiles=("catalog",),
            sources=(self.data.source,), doc="The depthwise kernel is in the list.",
        )  # fmt: skip
        return RuleBook(f"catalog {self.name}: depthwise", words, [rule], check=False)


def _relations(rule: Rule) -> list[Table]:
    from ckrules.engine.traversal import walk

    return [n.data for n in walk(rule.condition) if n.op == "rel"]
