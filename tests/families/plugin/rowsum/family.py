"""The family's object, fields, facts and names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ckrules.arch import DTYPES, Gpu
from ckrules.engine.expr import BoolExpr, EnumExpr, Expr, IntExpr, ite, lookup
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Bool, Enum, Int, Role
from ckrules.engine.rules import RuleDef
from ckrules.engine.rules.book import Vocabulary, quantity, quantity_in
from ckrules.kernels.family import Family
from ckrules.kernels.name_grammar import Grammar, Suffix, flag, literal, number, one_of
from ckrules.kernels.parts import ParsedName

BASELINE = {
    "variant": "rowsum", "arch": "gfx942", "dtype": "fp32", "rows": 4, "threads": 256,
    "vector": 4, "mode": "direct", "unroll": 1, "staged": False,
}  # fmt: skip


class RowSum(Vocabulary):
    """Fields, facts and quantities."""

    arch: EnumExpr
    dtype: EnumExpr
    rows: IntExpr
    threads: IntExpr
    vector: IntExpr
    mode: EnumExpr
    unroll: IntExpr
    staged: BoolExpr
    baseline = BASELINE

    def __init__(self, variables: Iterable[Expr], facts: Mapping[str, Table], ck: str) -> None:
        super().__init__(variables)
        self.facts, self.ck = facts, ck

    @quantity
    def wave_size(self) -> IntExpr:
        """Lanes of a wave."""
        node: IntExpr = lookup(self.facts["wave_size"], self.arch)
        return node

    @quantity_in("bytes")
    def element_bytes(self) -> IntExpr:
        """Size of an element."""
        node: IntExpr = lookup(self.facts["element_bytes"], self.dtype)
        return node

    @quantity
    def row_threads(self) -> IntExpr:
        """Threads that share a row."""
        return self.threads // self.rows

    @quantity_in("bytes")
    def lds_bytes(self) -> IntExpr:
        """LDS of a workgroup."""
        return ite(self.mode == "lds", self.threads * 4, 0)


GRAMMAR = Grammar(
    (
        literal("rowsum_"), one_of("dtype", ("fp32", "fp16")), literal("_"),
        one_of("mode", ("direct", "lds")), literal("_"), number("rows"), literal("x"),
        number("threads"), literal("_v"), number("vector"),
    ),
    (
        Suffix("_u", "_uN", (literal("_u"), number("unroll")), {"unroll": 1}),
        flag("_staged", "staged"),
    ),
)  # fmt: skip


class Names:
    """How the kernels are called."""

    prefix = "rowsum_"

    def parse(self, text: str) -> ParsedName:
        """The point of a name."""
        return ParsedName({"variant": "rowsum", **GRAMMAR.parse(text)[0]})

    def format(self, point: Mapping[str, Any], spelling: Mapping[str, str] | None = None) -> str:
        """The name of a point."""
        return GRAMMAR.format(point, spelling)

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        """Where a field is."""
        return GRAMMAR.span(text, name)

    def without_defaults(self, text: str) -> str:
        """Without ``_u1``."""
        return GRAMMAR.without_defaults(text)

    def rule_set_spelling(self, point: Mapping[str, Any]) -> dict[str, str]:
        """Nobody spells them otherwise."""
        return {}


class RowSums(Family):
    """Sums of rows."""

    name = "rowsum"
    title = "rowsum"
    variants = ("rowsum",)
    topics = {"ROW": "sums of rows"}  # noqa: RUF012
    aliases = {"mode": {"shared": "lds"}}  # noqa: RUF012

    def vocabulary(self, ck: str, gpus: Sequence[Gpu]) -> RowSum:
        """Five numbers, two words and a flag."""
        names = [g.name for g in gpus]
        purpose, size = Role.PURPOSE, Role.GEOMETRY
        fields: list[Expr] = [
            Enum("variant", self.variants, doc="what is computed", role=purpose),
            Enum("arch", names, doc="GPU", role=purpose),
            Enum("dtype", ("fp32", "fp16"), doc="type of the matrix", role=purpose),
            Int("rows", (1, 2, 4, 8), lo=1, hi=64, doc="rows of a block", role=size),
            Int("threads", (64, 96, 128, 256), lo=1, hi=1024, doc="threads of a block", role=size),
            Int("vector", (1, 2, 4, 8), lo=1, hi=16, doc="elements loaded at once"),
            Enum("mode", ("direct", "lds"), doc="how threads add", role=Role.METHOD),
            Int("unroll", (1, 2, 4, 16), lo=1, hi=64, doc="rows under way at once"),
            Bool("staged", doc="sums go through LDS in two stages"),
        ]
        facts = {
            "wave_size": Table("wave_size", ("arch",), {g.name: g.wave_size for g in gpus}),
            "element_bytes": Table(
                "element_bytes", ("dtype",), {d: DTYPES[d] // 8 for d in ("fp32", "fp16")}
            ),
        }
        return RowSum(fields, facts, ck)

    def rules(self) -> list[RuleDef]:
        """Six."""
        from rowsum import rules

        return [r for r in vars(rules).values() if isinstance(r, RuleDef)]

    def defaults(self, variant: str, ndim: object = None) -> Mapping[str, Any]:
        """What names leave out."""
        return {"unroll": 1, "staged": False}

    @property
    def naming(self) -> Names:
        """See `Names`."""
        return Names()

    @property
    def problems(self) -> Any:
        """See `rowsum.problem`."""
        from rowsum.problem import PROBLEMS

        return PROBLEMS

    @property
    def generation(self) -> Any:
        """See `rowsum.generation`."""
        from rowsum.generation import GENERATION

        return GENERATION


FAMILY = RowSums()
