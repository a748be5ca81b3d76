"""Lint finds what was planted, and nothing in a sound book."""

from __future__ import annotations

from hypothesis import given, settings

from ckrules.engine.book import RuleBook
from ckrules.engine.expr import BoolExpr
from ckrules.reasoning.lint import lint
from tests.reasoning.books import A, B, C, F, W, book_of, books, candidates, meets


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

    def test_field_that_nothing_reads(self) -> None:
        """A field without rules is listed."""
        assert _codes([A <= 4])["LINT007"] == {"b", "c", "w", "f"}

    def test_region_limits_the_questions(self) -> None:
        """Within a region a rule may never fire that does elsewhere."""
        found = _codes([*SOUND, (W == "off").implies(A <= 3)], conditions=[W == "mem"])
        assert "RULE004" in found["LINT003"] | found.get("LINT005", set())


class TestRandomBooks:
    @settings(max_examples=40)
    @given(books(4))
    def test_findings_are_exactly_what_listing_shows(self, book: RuleBook) -> None:
        """Dead rules and empty values are those that all candidates show."""
        everything = candidates()
        report = lint(book)
        assert not report.undecided
        dead = {f.subject for f in report.findings if f.code == "LINT003"}
        assert dead == {
            r.code for r in book.rules if all(meets(p, [r.condition]) for p in everything)
        }
        legal = [p for p in everything if meets(p, [r.condition for r in book.rules])]
        for f in report.findings:
            if f.code in ("LINT001", "LINT002"):
                assert f.clash is not None
                held = f.clash.held
                assert not any(all(p[h.field] in h.values for h in held) for p in legal)
            if f.code == "LINT004":
                own, *others = f.rules
                rest = [r.condition for r in others]
                assert all(meets(p, [own.condition]) for p in everything if meets(p, rest))
        empty = {(n, v) for p in everything for n, v in p.items()}
        empty -= {(n, v) for p in legal for n, v in p.items()}
        named = {
            (h.field, v)
            for f in report.findings if f.code in ("LINT001", "LINT002") and f.clash is not None
            for h in f.clash.held for v in h.values if len(f.clash.held) == 1
        }  # fmt: skip
        assert legal == [] or named == empty
