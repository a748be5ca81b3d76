"""Lint finds what was planted, and nothing in a sound book."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from ckrules.engine.diagram.errors import BudgetExceededError
from ckrules.engine.expr import BoolExpr
from ckrules.engine.expr.variables import Enum, Int, domain_of
from ckrules.engine.rules import Rule
from ckrules.engine.rules.book import RuleBook, Vocabulary
from ckrules.engine.space import Space
from ckrules.reasoning import lint as lint_module
from ckrules.reasoning import whole as whole_module
from ckrules.reasoning.decider import Decider
from ckrules.reasoning.findings import CODES, LintReport
from ckrules.reasoning.lint import lint
from ckrules.reasoning.near import NearPoints
from ckrules.reasoning.oracle import SolverOracle
from ckrules.support.errors import UndecidedError
from tests.reasoning.books import A, B, C, F, W, book_of, books, candidates, conditions, meets


def _codes(rules: list[BoolExpr], **options: object) -> dict[str, set[str]]:
    out: dict[str, set[str]] = {}
    for f in lint(book_of(rules), **options).findings:  # type: ignore[arg-type]
        out.setdefault(f.code, set()).add(f.subject)
    return out


SOUND = [A * B <= 12, C >= A * 4, (W == "mem").implies(F | (B <= 2))]


class TestPlanted:
    def test_sound_book_is_quiet(self) -> None:
        """A book in which each rule does something has no findings of weight."""
        assert _codes(SOUND) == {}

    def test_contradiction(self) -> None:
        """Two rules that leave nothing of a value are named together."""
        found = _codes([*SOUND, (W == "off").implies(A >= 4), (W == "off").implies(A * 4 <= 12)])
        assert "w = 'off'" in found["LINT001"]

    def test_value_that_one_rule_forbids(self) -> None:
        """A value without points because of a single rule is the weaker finding."""
        assert _codes([*SOUND, W != "off"])["LINT002"] == {"w = 'off'"}

    def test_rule_that_never_fires(self) -> None:
        """A rule that is true for all candidates is dead."""
        assert _codes([*SOUND, A * B <= 24])["LINT003"] == {"RULE004"}

    def test_redundant_rule(self) -> None:
        """A rule that the others imply is redundant."""
        assert _codes([*SOUND, A * B <= 16])["LINT004"] == {"RULE004"}

    def test_division_by_zero(self) -> None:
        """A divisor that a candidate makes zero is named with a witness."""
        report = lint(book_of([*SOUND, C % B == 0]), codes=["LINT006"])
        (finding,) = report.findings
        assert finding.witness is not None
        assert finding.witness["b"] == 0

    def test_a_rule_that_holds_where_a_divisor_is_zero_is_not_called_broken(self) -> None:
        """Only the condition around the division is false, and `not` of it true."""
        book = book_of([~(C % B == 0)])
        (finding,) = lint(book, codes=["LINT006"]).findings
        assert finding.witness is not None
        assert book.violations(finding.witness) == []
        assert finding.message.endswith("can be 0; the condition around it counts as false there")

    def test_field_that_nothing_reads(self) -> None:
        """A field without rules is listed."""
        assert _codes([A <= 4])["LINT007"] == {"b", "c", "w", "f"}

    def test_region_limits_the_questions(self) -> None:
        """Within a region a rule may never fire that does elsewhere."""
        found = _codes([*SOUND, (W == "off").implies(A <= 3)], conditions=[W == "mem"])
        assert "RULE004" in found["LINT003"] | found.get("LINT005", set())


def _expected_empty(legal: list[dict[str, Any]]) -> set[tuple[str, Any]]:
    everything = {(n, v) for p in candidates() for n, v in p.items()}
    return everything - {(n, v) for p in legal for n, v in p.items()}


def _named_empty(report: LintReport) -> set[tuple[str, Any]]:
    return {
        (h.field, v)
        for f in report.findings if f.code in ("LINT001", "LINT002") and f.conflict is not None
        for h in f.conflict.held for v in h.values if len(f.conflict.held) == 1
    }  # fmt: skip


def _check(book: RuleBook, report: LintReport) -> None:
    """Every finding of single rules and values, and no other, is what listing shows."""
    everything = candidates()
    assert not report.undecided
    rules = {r.code: r for r in book.rules}
    subjects = {code: {f.subject for f in report.findings if f.code == code} for code in CODES}
    broken = {c: [p for p in everything if not meets(p, [r.condition])] for c, r in rules.items()}
    assert subjects["LINT003"] == {c for c, points in broken.items() if not points}
    legal = [p for p in everything if meets(p, [r.condition for r in book.rules])]
    for f in report.findings:
        if f.code in ("LINT001", "LINT002"):
            assert f.conflict is not None
            held = f.conflict.held
            assert not any(all(p[h.field] in h.values for h in held) for p in legal)
            assert (f.code == "LINT001") == (len(f.rules) > 1)
        if f.code == "LINT004":
            own, *others = f.rules
            rest = [r.condition for r in others]
            assert all(meets(p, [own.condition]) for p in everything if meets(p, rest))
        if f.code == "LINT006":
            assert f.witness in everything
    left = [r for c, r in rules.items() if c not in subjects["LINT003"] | subjects["LINT004"]]
    for r in left:  # what is not found to be implied rejects something alone
        beside = [x.condition for x in left if x is not r]
        assert any(meets(p, beside) for p in broken[r.code]), r.code
    assert legal == [] or _named_empty(report) == _expected_empty(legal)
    read = set().union(*(r.condition.support for r in book.rules))
    assert subjects["LINT007"] == set(book.fields) - read


class TestRandomBooks:
    @settings(max_examples=40)
    @given(books(4))
    def test_findings_are_exactly_what_listing_shows(self, book: RuleBook) -> None:
        """Dead, implied and needed rules, empty values and unread fields."""
        _check(book, lint(book))

    @settings(max_examples=30)
    @given(books(4))
    def test_solver_alone_finds_the_same(self, book: RuleBook) -> None:
        """A book whose space is too large to compile is left to the solver."""

        def refuse(space: Space) -> Space:
            raise BudgetExceededError("for a test")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(whole_module, "whole", refuse)
            patch.setattr(lint_module, "whole", refuse)
            patch.setattr(Decider, "_listed", _not_listed)
            patch.setattr(Decider, "_compiled", _too_hard)
            _check(book, lint(book))

    @settings(max_examples=30)
    @given(books(3), conditions())
    def test_compiled_space_decides_what_the_solver_does_not(
        self, book: RuleBook, condition: BoolExpr
    ) -> None:
        """A solver that gives up at once changes no answer about a few conditions."""
        wanted = [condition, *(r.condition for r in book.rules)]
        domains = {n: domain_of(v).values for n, v in book.fields.items()}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Decider, "_listed", _not_listed)
            patch.setattr(SolverOracle, "find", _give_up)
            found = Decider(book.fields, domains, timeout=600).find(wanted)
            core = Decider(book.fields, domains, timeout=600).impossible(wanted)
        assert (found is not None) == any(meets(p, wanted) for p in candidates())
        assert found is None or meets(found, wanted)
        assert (core is None) == (found is not None)


def _give_up(*words: object) -> None:
    raise UndecidedError("timeout")


def test_nothing_decides() -> None:
    """Where neither the solver nor a compiled space answers, the question stays open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Decider, "_listed", _not_listed)
        patch.setattr(Decider, "_compiled", _too_hard)
        patch.setattr(SolverOracle, "find", _give_up)
        report = lint(book_of([*SOUND, A * B % 11 != 7]), codes=["LINT003"])
    assert not report.findings
    assert [q.split(":")[0] for q in report.undecided] == ["whether RULE004 fires"]


def _too_hard(*words: object) -> None:
    raise BudgetExceededError("for a test")


def _not_listed(*words: object) -> tuple[bool, None]:
    return False, None


@settings(max_examples=30)
@given(books(3), conditions())
def test_a_region_needs_no_solver(book: RuleBook, condition: BoolExpr) -> None:
    """Without a solver lint answers all the same, about the whole book and about a region."""
    for region in ([], [condition]):
        expected = lint(book, conditions=region)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SolverOracle, "find", _give_up)
            found = lint(book, conditions=region)
        assert not found.undecided
        assert [(f.code, f.subject) for f in found.findings] == [
            (f.code, f.subject) for f in expected.findings
        ]


@settings(max_examples=60)
@given(books(3), conditions())
def test_compiling_decides_what_can_hold(book: RuleBook, condition: BoolExpr) -> None:
    """Compiled conditions and points near others answer as listing all points does."""
    wanted = [condition, *(r.condition for r in book.rules)]
    domains = {n: domain_of(v).values for n, v in book.fields.items()}
    legal = [p for p in candidates() if meets(p, wanted[1:])]
    near = NearPoints(domains | {"a": domains["a"][:1]}, legal[:3])
    truth = any(meets(p, wanted) for p in candidates())
    for listed, pool in ((True, None), (False, None), (False, near)):
        with pytest.MonkeyPatch.context() as patch:
            if not listed:
                patch.setattr(Decider, "_listed", _not_listed)
            decider = Decider(book.fields, domains, near=pool, compiled=True)
            assert (decider.impossible(wanted) is None) == truth
            assert (decider.find(wanted) is not None) == truth
        assert decider.proof == "compiled"
    shown = near.find(wanted)
    assert shown is None or meets(shown, wanted)


def test_a_narrow_region_asks_no_more_than_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values outside the region are empty by what was asked for: no core is sought for them."""
    asked: list[dict[str, Any]] = []
    plain = lint_module._Lint._conflict

    def counted(self: Any, region: Any, conflicts: Any) -> Any:
        asked.append(dict(region))
        return plain(self, region, conflicts)

    monkeypatch.setattr(lint_module._Lint, "_conflict", counted)
    words = Vocabulary([Enum("gpu", list("abcdefgh")), Int("m", [1, 2, 4, 8]), Int("k", [1, 2])])
    rules = [
        Rule("AA001", "m-below-8", "compile", words.m < 8),
        Rule("AA002", "k-on-c", "compile", words.k == 1, words.gpu == "c"),
    ]
    book = RuleBook("toy", words, rules, check=False)
    whole = lint(book, keys=["gpu", "k"])
    wide = len(asked)
    asked.clear()
    narrow = lint(book, keys=["gpu", "k"], conditions=[words.gpu == "c"])
    assert asked == [{"m": 8}, {"k": 2}]
    assert len(asked) <= wide
    told = {"m = 8 cannot hold under AA001 (m-below-8)"}
    assert told <= {f.message for f in whole.findings} & {f.message for f in narrow.findings}


def test_how_far_it_is_can_be_told() -> None:
    words = Vocabulary([Int("k", [16, 32])])
    told: list[int] = []
    lint(RuleBook("toy", words, [], check=False), told=told.append)
    assert told == [1] * 5
