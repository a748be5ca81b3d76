"""Rule books: checked when built, and what they answer about points."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.engine.expr.variables import Bool, Enum, Int
from ckrules.engine.rules import Examples, RuleDef, rule
from ckrules.engine.rules.batch import BatchChecker
from ckrules.engine.rules.book import RuleBook, Vocabulary, collect, quantity, quantity_in
from ckrules.engine.rules.rule import Kind, Rule
from ckrules.support.errors import CkrulesError, RuleBookError, UnknownNameError, UsageError


class Gemm(Vocabulary):
    tile_m: Any
    wave_m: Any
    pipeline: Any
    persistent: Any
    baseline: ClassVar[dict[str, Any]] = {
        "tile_m": 64, "wave_m": 2, "pipeline": "mem", "persistent": False,
    }  # fmt: skip
    ck = "2"

    @quantity
    def rows(self) -> Any:
        """Rows of a wave.

        Not shown.
        """
        return self.tile_m // self.wave_m

    @quantity_in("bytes")
    def lds_bytes(self) -> Any:
        """LDS of a block."""
        return self.tile_m * 32


def gemm() -> Gemm:
    return Gemm(
        [
            Int("tile_m", [16, 32, 64, 96], lo=0, hi=4096),
            Int("wave_m", [0, 1, 2, 3], hi=64),
            Enum("pipeline", ["mem", "compv3"]),
            Bool("persistent"),
        ]
    )


def even(
    code: str = "TILE001", name: str = "uneven-tile", accepts: Any = ({},),
    rejects: Any = ({"tile_m": 33},), applies: Any = None,
) -> RuleDef:  # fmt: skip
    @rule(
        code,
        name,
        kind="compile",
        source="x.hpp",
        accepts=accepts,
        rejects=rejects,
        applies=applies,
    )
    def declared(c: Gemm) -> Any:
        """Waves divide the tile."""
        return c.tile_m % c.wave_m == 0

    return declared


@rule(
    "PIPE001", "persistent-mem", kind="launch", source="y.hpp", severity="warning",
    accepts=[{"persistent": True, "pipeline": "compv3"}], rejects=[{"persistent": True}],
    applies=lambda c: c.persistent,
)  # fmt: skip
def pipe(c: Gemm) -> Any:
    """Persistent kernels do not use mem."""
    return c.pipeline != "mem"


@rule(
    "LDS001", "lds-overflow", kind="hardware", source="z",
    accepts=[{}], rejects=[{"tile_m": 4096}],
)  # fmt: skip
def lds(c: Gemm) -> Any:
    """The LDS fits."""
    return c.lds_bytes <= 65536


BOOK = RuleBook("gemm", gemm(), [even(), pipe, lds])


class TestChecks:
    @pytest.mark.parametrize(
        ("rules", "message"),
        [
            ([even(), even(name="other-name")], "duplicate rule code 'TILE001'"),
            ([even(), even("TILE002")], "duplicate rule name 'uneven-tile'"),
            ([even(accepts=[{"tile_m": 33}])], "rule TILE001: example 1 is not accepted"),
            ([even(rejects=[{"tile_m": 33}, {}])], "rule TILE001: example 2 is not rejected"),
            (
                [even(accepts=[{"tile": 16}])],
                "rule TILE001: accepted example: unknown field 'tile'",
            ),
            ([even(rejects=[{"tile_n": 3}])], "rejected example: .*did you mean 'tile_m'"),
            ([even(accepts=[{"tile_m": "64"}])], "accepted example: tile_m = '64' is not an"),
            ([even(accepts=[{"tile_m": -2}])], "accepted example: tile_m = -2 is out of range"),
            ([even(accepts=[{"pipeline": "mme"}])], "unknown pipeline 'mme': did you mean 'mem'"),
            ([even(accepts=[{"persistent": 1}])], "persistent = 1 is not true or false"),
            (
                [even(applies=lambda c: c.persistent)],
                "rule TILE001: does not apply to accepted example 1",
            ),
            (
                [even(applies=lambda c: c.tile_m == 64)],
                "rule TILE001: does not apply to rejected example 1",
            ),
            ([even(accepts=[])], "rule TILE001: no accepted example for 2"),
            ([even(rejects=[])], "rule TILE001: no rejected example for 2"),
            ([even(accepts=[{"@ck": "3"}])], "rule TILE001: no accepted example for 2"),
            (
                [even(rejects=[{"@ck": "3", "tile_m": 33}])],
                "rule TILE001: no rejected example for 2",
            ),
        ],
    )
    def test_wrong_books(self, rules: list[RuleDef], message: str) -> None:
        with pytest.raises(RuleBookError, match=message):
            RuleBook("gemm", gemm(), rules)

    def test_rule_of_an_unknown_field(self) -> None:
        @rule(
            "A001".replace("A", "AB"),
            "no-field",
            kind="compile",
            source="x",
            accepts=[{}],
            rejects=[{}],
        )
        def wrong(c: Any) -> Any:
            """Sentence."""
            return c.tile_n == 1

        with pytest.raises(CkrulesError, match="unknown field 'tile_n': did you mean 'tile_m'"):
            RuleBook("gemm", gemm(), [wrong])

    def test_baseline_that_lacks_a_field(self) -> None:
        words = gemm()
        words.baseline = {"tile_m": 64}
        with pytest.raises(RuleBookError, match="accepted example: lacks the field wave_m"):
            RuleBook("gemm", words, [even()])

    def test_examples_need_only_the_fields_of_the_rule(self) -> None:
        words = gemm()
        words.baseline = {"tile_m": 64, "wave_m": 2}
        assert RuleBook("gemm", words, [even()]).rules

    def test_examples_of_other_versions_are_left_out(self) -> None:
        declared = even(
            accepts=[{}, {"@ck": "1", "tile_m": 33}], rejects=[{"@ck": "2", "tile_m": 33}]
        )
        book = RuleBook("gemm", gemm(), [declared])
        assert book.examples(book.rules[0], accepted=True) == [dict(Gemm.baseline)]
        assert book.examples(book.rules[0], accepted=False)[0]["tile_m"] == 33

    def test_examples_hold_until_a_newer_version_is_named(self) -> None:
        declared = even(
            accepts=[{}, {"@ck": "1", "tile_m": 32}], rejects=[{"tile_m": 33}, {"@ck": "3"}]
        )
        book = RuleBook("gemm", gemm(), [declared])
        assert [p["tile_m"] for p in book.examples(book.rules[0], accepted=True)] == [64, 32]
        assert len(book.examples(book.rules[0], accepted=False)) == 1

    def test_a_book_without_versions_has_the_examples_of_every_version(self) -> None:
        words = gemm()
        words.ck = ""
        declared = even(accepts=[{}, {"@ck": "1", "tile_m": 32}], rejects=[{"tile_m": 33}])
        book = RuleBook("gemm", words, [declared])
        assert [p["tile_m"] for p in book.examples(book.rules[0], accepted=True)] == [64]

    def test_a_field_twice(self) -> None:
        with pytest.raises(RuleBookError, match="field a is declared twice"):
            Vocabulary([Int("a", [1]), Int("a", [2])])

    def test_checks_can_be_left_out(self) -> None:
        assert RuleBook("gemm", gemm(), [even(accepts=[{"tile_m": 33}])], check=False).rules


class TestVocabulary:
    def test_quantities(self) -> None:
        words = gemm()
        assert list(words.names()) == [*Gemm.baseline, "rows", "lds_bytes"]
        assert words.rows is words.rows
        assert words.rows.data.doc == "Rows of a wave."
        assert words.lds_bytes.data.unit == "bytes"
        assert words.quantities.keys() == {"rows", "lds_bytes"}

    @pytest.mark.parametrize(("name", "near"), [("tile_n", "tile_m"), ("lds_byte", "lds_bytes")])
    def test_unknown_names(self, name: str, near: str) -> None:
        with pytest.raises(
            UnknownNameError, match=f"unknown field '{name}': did you mean '{near}'"
        ):
            getattr(gemm(), name)

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("forgotten", "quantity forgotten: the method must return an expression, not None"),
            ("plain", "quantity plain: the method must return an expression, not 7"),
            ("misspelt", "quantity misspelt: .* has no attribute 'isinn'"),
            ("circle", "quantity .* is derived from itself, or nested too deeply"),
        ],
    )
    def test_faulty_quantities_are_named(self, name: str, said: str) -> None:
        """They were unknown fields ("did you mean 'plain'?"), or a RecursionError."""

        class Faulty(Gemm):
            @quantity
            def forgotten(self) -> Any:
                """Returns nothing."""

            @quantity
            def plain(self) -> Any:
                """A number."""
                return 7

            @quantity
            def misspelt(self) -> Any:
                """Asks for what expressions do not have."""
                return self.tile_m.isinn(3)

            @quantity
            def circle(self) -> Any:
                """Its own double."""
                return self.circle * 2

        words = Faulty([Int("tile_m", [1]), Int("wave_m", [1])])
        with pytest.raises(RuleBookError, match=said):
            getattr(words, name)

    def test_private_names_are_plain_attribute_errors(self) -> None:
        with pytest.raises(AttributeError):
            gemm()._nothing  # noqa: B018


class TestAnswers:
    POINT: ClassVar[dict[str, Any]] = {**Gemm.baseline, "tile_m": 33, "persistent": True}

    def test_order_and_lookup(self) -> None:
        assert [r.code for r in BOOK.rules] == ["LDS001", "PIPE001", "TILE001"]
        assert BOOK["TILE001"] is BOOK["uneven-tile"]
        with pytest.raises(UnknownNameError, match="unknown rule 'TILE01': did you mean 'TILE001'"):
            BOOK["TILE01"]

    def test_violations(self) -> None:
        found = BOOK.violations(self.POINT)
        assert [(v.code, v.message) for v in found] == [
            (
                "PIPE001",
                (
                    "Persistent kernels do not use mem, but pipeline = mem, expected another"
                    " (persistent = true)"
                ),
            ),
            ("TILE001", "Waves divide the tile, but tile_m = 33 is not a multiple of wave_m = 2"),
        ]
        assert found[1].values == {"tile_m": 33, "wave_m": 2}
        assert BOOK.violations(Gemm.baseline) == []

    def test_select(self) -> None:
        some = BOOK.select(lambda r: r.kind == "compile")
        assert [v.code for v in some.violations(self.POINT)] == ["TILE001"]

    @settings(max_examples=60)
    @given(
        st.lists(
            st.fixed_dictionaries(
                {
                    "tile_m": st.integers(0, 4096),
                    "wave_m": st.integers(0, 5),
                    "pipeline": st.sampled_from(["mem", "compv3"]),
                    "persistent": st.booleans(),
                }
            ),
            max_size=30,
        )
    )
    def test_many_points_as_single_ones(self, points: list[dict[str, Any]]) -> None:
        check = BatchChecker(BOOK)
        assert list(map(check, points)) == list(map(BOOK.violations, points))

    def test_resources(self) -> None:
        assert BOOK.resources(Gemm.baseline) == {"rows": 32, "lds_bytes": 2048}
        assert BOOK.resources({**Gemm.baseline, "wave_m": 0}) == {"rows": None, "lds_bytes": 2048}
        assert BOOK.resources(Gemm.baseline, ["lds_bytes"]) == {"lds_bytes": 2048}
        with pytest.raises(UnknownNameError, match="unknown quantity 'lds': "):
            BOOK.resources(Gemm.baseline, ["lds"])

    def test_space(self) -> None:
        legal = list(BOOK.space())
        assert all(not BOOK.violations(p) for p in legal)
        assert len(legal) == BOOK.space().count()
        assert BOOK.space(tile_m=64).count() < len(legal)


class TestPoint:
    def test_fields_come_in_order(self) -> None:
        given_ = dict(reversed(list(Gemm.baseline.items())))
        assert list(BOOK.point(given_)) == list(Gemm.baseline)

    def test_values_outside_the_candidates_are_points(self) -> None:
        assert BOOK.point({**Gemm.baseline, "tile_m": 77})["tile_m"] == 77

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"tile_m": float("nan")}, "tile_m = nan is not an integer"),
            ({"tile_m": float("inf")}, "tile_m = inf is not an integer"),
            ({"tile_m": 64.0}, "tile_m = 64.0 is not an integer"),
            ({"tile_m": True}, "tile_m = True is not an integer"),
            ({"tile_m": None}, "tile_m = None is not an integer"),
            ({"tile_m": [64]}, r"tile_m = \[64\] is not an integer"),
            ({"tile_m": -1}, "tile_m = -1 is out of range: expected 0 to 4096"),
            ({"tile_m": 2**70}, "tile_m = 1180591620717411303424 is out of range"),
            pytest.param({"tile_m": 10**5000}, "4,300 digits is out of range", id="huge"),
            ({"persistent": 1}, "persistent = 1 is not true or false"),
            ({"persistent": "yes"}, "persistent = 'yes' is not true or false"),
            ({"pipeline": "memm"}, "unknown pipeline 'memm': did you mean 'mem'"),
            ({"pipeline": "x" * 500}, "unknown pipeline"),
            ({"pipeline": 3}, "pipeline = 3 is not a string"),
            ({"tile_n": 3}, "unknown field 'tile_n': did you mean 'tile_m'"),
            ({3: 3}, "unknown field '3'"),
        ],
    )
    def test_wrong_values(self, change: dict[Any, Any], message: str) -> None:
        with pytest.raises((UsageError, UnknownNameError), match=message):
            BOOK.point({**Gemm.baseline, **change})

    def test_missing_fields(self) -> None:
        with pytest.raises(UsageError, match="missing field persistent"):
            BOOK.point({k: v for k, v in Gemm.baseline.items() if k != "persistent"})
        with pytest.raises(UsageError, match="missing fields tile_m, wave_m, pipeline, persistent"):
            BOOK.point({})


def test_examples_of_the_book_are_added_to_a_rule_or_replace_its_own() -> None:
    more = Examples(rejects=[{"tile_m": 97}])
    other = Examples(accepts=[{"tile_m": 32}], rejects=[{"tile_m": 97}], instead=True)
    assert [e.fields for e in even().with_examples(more).template.accepts] == [{}]
    assert [e.fields for e in even().with_examples(more).template.rejects] == [
        {"tile_m": 33},
        {"tile_m": 97},
    ]
    assert [e.fields for e in even().with_examples(other).template.accepts] == [{"tile_m": 32}]
    assert [e.fields for e in even().with_examples(other).template.rejects] == [{"tile_m": 97}]
    with pytest.raises(RuleBookError, match="no rejected example"):
        RuleBook("gemm", gemm(), [even(rejects=[])])
    assert RuleBook("gemm", gemm(), [even(rejects=[]).with_examples(more)]).rules


def test_collect_takes_several_packages_and_examples() -> None:
    import ckrules.constraints.depthwise as package
    import ckrules.constraints.tile_gemm as shared

    more = {"TILE001": Examples(rejects=[{"tile_m": 48}])}
    found = collect(shared, package, examples=more)
    assert [r.code for r in found] == [r.code for p in (shared, package) for r in collect(p)]
    declared = next(r for r in found if r.code == "TILE001")
    assert declared.template.rejects[-1].fields == {"tile_m": 48}
    with pytest.raises(RuleBookError, match="examples of rule TILE001, which is not declared"):
        collect(package, examples=more)


def test_collect_finds_every_module() -> None:
    import ckrules.constraints.depthwise as package

    found = collect(package)
    assert {r.code for r in found} >= {"DW001", "DW015"}
    assert len({r.code for r in found}) == len(found)


def test_violations_check_the_names_of_fields() -> None:
    """A misspelt field is not an answer, and a missing one an error that names it."""
    m, k = Int("tile_m", [16, 32]), Int("tile_k", [8, 16])
    fits = Rule("TILE001", "too-large", Kind.COMPILE, m * k <= 256)
    book = RuleBook("toy", Vocabulary([m, k]), [fits], check=False)
    assert repr(book) == "RuleBook('toy': 2 fields, 1 rules)"
    (found,) = book.violations({"tile_m": 32, "tile_k": 16})
    assert repr(found).startswith("Violation(TILE001 compile: tile_m * tile_k = 32 * 16")
    with pytest.raises(UnknownNameError, match=r"unknown field 'tile_mm': did you mean 'tile_m'"):
        book.violations({"tile_m": 32, "tile_k": 16, "tile_mm": 1})
    with pytest.raises(UsageError, match=r"missing fields tile_m, tile_k"):
        book.violations({})


HIDDEN = ("names", "order", "variables", "quantities", "cost", "baseline", "alike", "ck")


@pytest.mark.parametrize("name", HIDDEN)
def test_fields_may_be_called_like_parts_of_a_vocabulary(name: str) -> None:
    """Nodes read them; what reads fields as attributes is refused, for it would get the part."""
    field = Int(name, [1, 2, 3])
    words = Vocabulary([field])
    built = Rule("TILE001", "too-large", Kind.COMPILE, field < 3)
    book = RuleBook("toy", words, [built], check=False)
    assert book.space().count() == 2
    assert book.space(**{name: 1}).count() == 1
    assert list(book.fields) == list(words.names()) == [name]

    with pytest.raises(RuleBookError, match=f"field {name} is called like another part"):
        RuleBook("toy", words, [even()], check=False)
    with pytest.raises(RuleBookError, match=f"field {name} is called like another part of Gemm"):
        Gemm([field])


def test_the_baseline_has_fields_of_the_vocabulary() -> None:
    class Words(Vocabulary):
        baseline: ClassVar[dict[str, Any]] = {"m": 1, "mm": 2}

    @rule(
        "AB001", "too-big", kind="compile", source="x.hpp", accepts=[{"m": 1}], rejects=[{"m": 2}]
    )
    def small(c: Any) -> Any:
        """M is small."""
        return c.m < 2

    with pytest.raises(RuleBookError, match="unknown field of the baseline 'mm': did you"):
        RuleBook("toy", Words([Int("m", [1, 2])]), [small])
